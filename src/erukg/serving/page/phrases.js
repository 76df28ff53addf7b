// The lists beside the text: phrases in it, phrases not in it, and a baseline's for comparison.

import { bandMark, bar } from "./confidence.js";
import { el } from "./dom.js";
import { sourceName } from "./explaining.js";
import { phraseKey } from "./text.js";

const SOURCES_SHOWN = 1;

// `rated` has the rating of each. `choose(kind, index)` when one is clicked, `point(kind, index or null)` when one is
// pointed at.
export function phraseList(found, kind, { choose, point, shared, rated }) {
  return el(
    "ol",
    { class: `phrase-list ${kind}` },
    ...found.map((one, i) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            class: "phrase",
            "aria-expanded": "false",
            "data-kind": kind,
            "data-index": i,
            on: {
              click: () => choose(kind, i),
              mouseenter: () => point(kind, i),
              mouseleave: () => point(kind, null),
              focus: () => point(kind, i),
              blur: () => point(kind, null),
            },
          },
          el("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
          el("span", { class: "name", dir: "auto" }, one.phrase, shared?.has(phraseKey(one.phrase)) && sharedMark()),
          el("span", { class: "score" }, bandMark(rated[i])),
          bar(rated[i]),
        ),
        variantsLine(one.variants, kind),
        kind === "absent" && one.sources.length > 0 && sourcesLine(one.sources),
      ),
    ),
  );
}

// Other forms in the text that the phrase stands for, or the words that an absent one was made of.
function variantsLine(variants, kind) {
  const line = kind === "absent" ? `the text says “${variants?.[0]}”` : `also: ${variants?.join(", ")}`;
  return variants?.length > 0 && el("p", { class: "also", dir: "auto" }, line);
}

function sourcesLine(sources) {
  const rest = sources.length - SOURCES_SHOWN;
  return el(
    "p",
    { class: "from" },
    ...sources.slice(0, SOURCES_SHOWN).map((source) => el("span", { class: "source" }, sourceName(source))),
    rest > 0 && el("span", { class: "share" }, `+${rest} more`),
  );
}

export function baselineList(found, ours) {
  const shared = new Set(ours.map((one) => phraseKey(one.phrase)));
  return el(
    "ol",
    { class: "phrase-list baseline" },
    ...found.map((one, i) =>
      el(
        "li",
        { class: "phrase" },
        el("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
        el("span", { class: "name", dir: "auto" }, one.phrase, shared.has(phraseKey(one.phrase)) && sharedMark()),
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
