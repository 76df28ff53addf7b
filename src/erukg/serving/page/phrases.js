// The lists beside the text: phrases in it, phrases not in it, and a baseline's for comparison.

import { el, formatNumber } from "./dom.js";
import { sourceMark } from "./explaining.js";
import { phraseKey, strengths } from "./text.js";

const SOURCES_SHOWN = 2;

// `choose(kind, index)` when one is clicked, `point(kind, index or null)` when one is pointed at.
export function phraseList(found, kind, { choose, point, shared, bands }) {
  const strong = strengths(found);
  return el(
    "ol",
    { class: `phrase-list ${kind}` },
    ...found.map((one, i) => {
      const button = el(
        "button",
        {
          type: "button",
          class: "phrase",
          "aria-pressed": "false",
          "data-kind": kind,
          "data-index": i,
          on: {
            click: () => choose(kind, i),
            mouseenter: () => point?.(kind, i),
            mouseleave: () => point?.(kind, null),
            focus: () => point?.(kind, i),
            blur: () => point?.(kind, null),
          },
        },
        el("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
        el("span", { class: "name" }, one.phrase, shared?.has(phraseKey(one.phrase)) && sharedMark()),
        el("span", { class: "score" }, bandMark(one, bands), formatNumber(one.score)),
        el("span", { class: "line", vars: { "--strength": strong[i] } }),
      );
      return el("li", {}, button, variantsLine(one.variants), kind === "absent" && sourcesLine(one.sources));
    }),
  );
}

// How sure it is, in a word; nothing where settings were turned so far that this is not known.
function bandMark(one, bands) {
  if (!bands || one.confidence === undefined || one.confidence === null) return null;
  const strong = one.related ? bands.related : bands.strong;
  const band = one.confidence >= strong ? "strong" : one.confidence >= bands.fair ? "fair" : "weak";
  const title = `confidence ${formatNumber(one.confidence)}: how likely people are to choose the phrase`;
  return el("span", { class: `band ${band}`, title }, band);
}

// Other forms in the text that the phrase stands for.
function variantsLine(variants) {
  return variants?.length > 0 && el("p", { class: "from" }, el("span", { class: "share" }, `also: ${variants.join(", ")}`));
}

function sourcesLine(sources) {
  const rest = sources.length - SOURCES_SHOWN;
  return el(
    "p",
    { class: "from" },
    ...sources.slice(0, SOURCES_SHOWN).map(sourceMark),
    rest > 0 && el("span", { class: "share" }, `+${rest}`),
  );
}

export function baselineList(found, ours) {
  const strong = strengths(found);
  const shared = new Set(ours.map((one) => phraseKey(one.phrase)));
  return el(
    "ol",
    { class: "phrase-list baseline" },
    ...found.map((one, i) =>
      el(
        "li",
        { class: "phrase" },
        el("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
        el("span", { class: "name" }, one.phrase, shared.has(phraseKey(one.phrase)) && sharedMark()),
        el("span", { class: "score" }, formatNumber(one.score)),
        el("span", { class: "line", vars: { "--strength": strong[i] } }),
      ),
    ),
  );
}

function sharedMark() {
  return el("span", { class: "both", title: "in both lists" }, el("span", { class: "sr-only" }, " (in both lists)"));
}

// Placeholder lines while the first answer is awaited.
export function ghostList(count) {
  const lines = Array.from({ length: count }, (_, i) => el("span", { vars: { "--width": `${85 - ((i * 37) % 45)}%` } }));
  return el("div", { class: "ghosts", "aria-hidden": "true" }, ...lines);
}
