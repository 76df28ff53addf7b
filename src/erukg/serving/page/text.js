// Where phrases occur in a text. The service counts code points, a JavaScript string counts UTF-16 units.

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

// How strong a phrase is among its like, from 0 to 1: the best has 1.
export function strengths(phrases) {
  const best = Math.max(...phrases.map((phrase) => phrase.score), 0);
  return phrases.map((phrase) => (best > 0 ? Math.max(phrase.score, 0) / best : 0));
}

// What counts as the same phrase when lists are compared.
export function phraseKey(phrase) {
  return phrase.toLowerCase().replace(/[\s‐‑-]+/g, " ").trim();
}
