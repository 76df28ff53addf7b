// Texts and places in them. The service counts code points, a JavaScript string counts UTF-16 units.

// The UTF-16 offset of each of the given code point offsets.
export function toUnits(text, offsets) {
  const sorted = [...new Set(offsets)].sort((a, b) => a - b);
  const units = new Map();
  let points = 0;
  let at = 0;
  for (const offset of sorted) {
    while (points < offset && at < text.length) {
      at += text.codePointAt(at) > 0xffff ? 2 : 1;
      points += 1;
    }
    units.set(offset, at);
  }
  return units;
}

// The text cut wherever a phrase begins or ends: pieces {start, end, phrases}, where phrases are the numbers of those
// that cover the piece, best first. Phrases may overlap and contain each other.
export function segments(text, phrases) {
  const units = toUnits(text, phrases.flatMap((phrase) => phrase.spans.flat()));
  const events = [];
  phrases.forEach((phrase, number) => {
    for (const [start, end] of phrase.spans) {
      const [from, to] = [units.get(start), units.get(end)];
      if (from < to) events.push([from, 1, number], [to, -1, number]);
    }
  });
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const out = [];
  const open = new Map();
  let last = 0;
  for (const [at, change, number] of events) {
    if (at > last) {
      out.push({ start: last, end: at, phrases: [...open.keys()].sort((a, b) => a - b) });
      last = at;
    }
    const count = (open.get(number) ?? 0) + change;
    if (count > 0) open.set(number, count);
    else open.delete(number);
  }
  if (last < text.length) out.push({ start: last, end: text.length, phrases: [] });
  return out;
}

// What stands around a place of the text: the words before it, itself, the words after it.
export function around(text, [start, end], room = 60) {
  const units = toUnits(text, [start, end]);
  const [from, to] = [units.get(start), units.get(end)];
  const before = text.slice(Math.max(from - room, 0), from).replace(/^\S*\s/, from > room ? "… " : "$&");
  const after = text.slice(to, to + room).replace(/\s\S*$/, to + room < text.length ? " …" : "$&");
  return [before, text.slice(from, to), after].map((part) => part.replace(/\s+/g, " "));
}

// What counts as the same phrase when lists are compared.
export function phraseKey(phrase) {
  return phrase.toLowerCase().replace(/[\s‐‑-]+/g, " ").trim();
}

export function firstLine(text) {
  const line = text.trimStart().split("\n", 1)[0].trim();
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}

// Two runs of FNV-1a from different starts: texts are told apart, and cannot be told from it.
export function hash(text) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i += 1) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b);
  }
  return `${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}-${text.length.toString(36)}`;
}

const WRAPPED_LINES = 3;
const GOING_ON = 0.4;
const FULL = 0.7;
const NARROWEST = 30;
const WIDEST = 150;
const ITEM = /^\s*(?:[•‣▪*–—-]\s|\(?[\divx]{1,4}[.)]\s)/i;

// Lines broken at the margin of a page joined to paragraphs; other line breaks stay. A word divided at the end of a
// line becomes whole, and keeps its hyphen when the text writes it so elsewhere.
export function joinLines(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").map((line) => line.trimEnd());
  const lengths = lines.map((line) => line.length).filter(Boolean).sort((a, b) => a - b);
  const margin = lengths[Math.floor(lengths.length * 0.9)] ?? 0;
  const full = (line) => line.length >= FULL * margin;
  let out = lines[0];
  for (let i = 1; i < lines.length; i += 1) {
    const [before, line] = [lines[i - 1], lines[i]];
    const divided = /(\p{L}+)[-\u00ad]$/u.exec(before);
    const next = /^\p{Ll}+/u.exec(line);
    if (divided && next) {
      const whole = text.includes(`${divided[1]}-${next[0]}`);
      out = (whole && before.endsWith("-") ? out : out.slice(0, -1)) + line;
    } else if (before && line && full(before) && !ITEM.test(line)) out += ` ${line.trimStart()}`;
    else out += `\n${line}`;
  }
  return out;
}

// Whether a text looks as if it came from a page: lines end at the same margin, and the next goes on with the sentence.
export function looksWrapped(text) {
  const lines = text.split("\n").map((line) => line.trim());
  const widest = Math.max(...lines.map((line) => line.length));
  if (widest < NARROWEST || widest > WIDEST) return false;
  const pairs = lines.slice(0, -1).map((line, i) => [line, lines[i + 1]]);
  const full = pairs.filter(([line, next]) => next && line.length >= FULL * widest);
  const goingOn = full.filter(([line, next]) => !/[.!?:;]$/.test(line) && /^\p{Ll}/u.test(next));
  return full.length >= WRAPPED_LINES && goingOn.length >= GOING_ON * full.length;
}
