// Which phrases of a corpus are the same thing in other words: "LLMs" and "large language model", "camera-trap" and
// "camera traps". Only what the documents themselves say counts: none is joined by likeness.

import { phraseKey } from "./text.js";

const SMALL = new Set(["of", "the", "and", "for", "in", "on", "a", "an", "to", "with"]);
const SHORT_FORM = /\(\s*([A-Z][A-Za-z0-9-]{0,8}[A-Z0-9]s?)\s*\)/g;
const LONGEST_LOOKED_AT = 50_000;

// The last word in the singular, as far as its ending tells.
function singular(key) {
  if (/(?:ss|us|is|[aeiou]s)$/.test(key) && !/(?:es|os)$/.test(key)) return key;
  return key.replace(/ies$/, (_, at) => (at > 2 ? "y" : "ies")).replace(/(x|ch|sh|ss)es$/, "$1").replace(/([^s])s$/, "$1");
}

// What counts as the same phrase in another number or spelling.
export const keyOf = (phrase) => {
  const key = phraseKey(phrase);
  return key.length > 3 ? singular(key) : key;
};

function shortens(short, long) {
  const letters = short.toLowerCase().replace(/[^a-z0-9]/g, "").replace(/(?<=..)s$/, "");
  const words = phraseKey(long).split(" ");
  if (words.length < 2 || short.includes(" ")) return false;
  const initials = (some) => some.map((word) => word[0]).join("");
  return letters === initials(words) || letters === initials(words.filter((word) => !SMALL.has(word)));
}

// What a document writes as "large language models (LLMs)": pairs of the short and the long form.
function* introduced(text) {
  for (const match of text.slice(0, LONGEST_LOOKED_AT).matchAll(SHORT_FORM)) {
    const words = text.slice(Math.max(match.index - 120, 0), match.index).trim().split(/[\s‐‑-]+/);
    for (let count = 2; count <= Math.min(words.length, 9); count += 1) {
      const long = words.slice(-count).join(" ");
      if (/[.,;:()]/.test(long)) break;
      if (!SMALL.has(words.at(-count).toLowerCase()) && shortens(match[1], long)) {
        yield [match[1], long];
        break;
      }
    }
  }
}

// A function from a phrase to the key under which it counts in this corpus.
export function sameThings(documents) {
  const long = new Map(); // key of a short form → how often each long form stands for it
  const note = (short, other) => {
    const key = keyOf(short);
    const forms = long.get(key) ?? new Map();
    long.set(key, forms.set(keyOf(other), (forms.get(keyOf(other)) ?? 0) + 1));
  };
  for (const { text, result } of documents) {
    for (const pair of introduced(text)) note(...pair);
    for (const { phrase, variants = [] } of result.present)
      for (const other of variants)
        if (shortens(phrase, other)) note(phrase, other);
        else if (shortens(other, phrase)) note(other, phrase);
  }
  // Where a short form stands for several things, it is the one that it stands for most.
  const most = (forms) => [...forms].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0][0];
  const chosen = new Map([...long].map(([key, forms]) => [key, most(forms)]));
  return (phrase) => chosen.get(keyOf(phrase)) ?? keyOf(phrase);
}
