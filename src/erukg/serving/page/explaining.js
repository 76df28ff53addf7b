// Explains a phrase's score: the factors whose product it is, and the weights of its words.

import { el, formatNumber, plural } from "./dom.js";
import { sourceLink } from "./links.js";

// The content of the explanation card: what `body` has to say under the phrase, and the phrases at the same place.
export function explanationCard({ found, others }, body, { close, choose }) {
  return [
    el(
      "div",
      { class: "explanation-head" },
      el("h2", { id: "explanation-heading" }, found.phrase),
      el("button", { type: "button", class: "quiet icon", "aria-label": "Close", on: { click: close } }, "×"),
    ),
    ...body,
    others.length > 0 &&
      el(
        "p",
        { class: "others" },
        "Also here: ",
        ...others.map((other) =>
          el("button", { type: "button", class: "chip", on: { click: () => choose(other) } }, other.found.phrase),
        ),
      ),
  ].filter(Boolean);
}

// What there is to say about a phrase. `chosen` has found, kind, alpha, beta, and factors: the label and help of each
// factor, as the service or the report gives them.
export function phraseCard(chosen) {
  const { found, kind } = chosen;
  return [
    el("p", { class: "where" }, occurrence(found, kind)),
    ...(found.explanation ? scoreParts(found, chosen) : []),
    kind === "absent" && sourcesList(found.sources),
  ];
}

function occurrence(found, kind) {
  if (kind === "absent") return `Not in the text; suggested by ${plural(found.sources.length, "similar document")}.`;
  return found.spans.length === 1 ? "Occurs once in the text." : `Occurs ${found.spans.length} times in the text.`;
}

function scoreParts(found, { factors, alpha, beta }) {
  const why = found.explanation;
  // A factor of 1 changes nothing.
  const used = Object.entries(why.factors)
    .filter(([, value]) => value !== 1)
    .map(([name, value]) => ({ name, value, ...(factors[name] ?? { label: name, help: "" }) }));
  return [
    el("h3", {}, "Score"),
    el(
      "ol",
      { class: "product", "aria-label": `Score ${formatNumber(found.score)}, the product of` },
      el("li", { class: "total" }, el("b", {}, formatNumber(found.score)), el("span", {}, "score")),
      ...used.map(({ value, label }) => el("li", {}, el("b", {}, formatNumber(value)), el("span", {}, label))),
    ),
    el("h3", {}, "Words"),
    termTable(why.terms, alpha),
    el("h3", {}, "Factors"),
    el(
      "dl",
      { class: "parts" },
      ...used.flatMap(({ name, value, label, help }) => [
        el("dt", {}, label, el("b", {}, formatNumber(value))),
        el("dd", {}, [help, detail(name, why, beta)].filter(Boolean).join(" ")),
      ]),
    ),
  ];
}

// What a factor was computed from, for this phrase.
function detail(name, why, beta) {
  if (name === "position" && why.words_before !== null)
    return why.words_before === 0
      ? "It begins the text."
      : `It first occurs after ${plural(why.words_before, "word")}.`;
  if (name !== "phraseness") return "";
  const own = formatNumber(why.phraseness_document);
  if (beta >= 1) return `Here P_pn is ${own}.`;
  const theirs = formatNumber(why.phraseness_neighbours);
  return `Here P_pn is ${formatNumber(why.phraseness)}: ${own} in this text and ${theirs} in similar documents, mixed with β = ${formatNumber(beta)}.`;
}

function termTable(terms, alpha) {
  const most = Math.max(...terms.map((term) => term.weight), 1e-9);
  const rows = terms.map((term) => {
    const theirs = Math.min(Math.max((1 - alpha) * term.neighbours, 0), Math.max(term.weight, 0));
    const own = Math.max(term.weight, 0) - theirs;
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, term.term.replace(/^##/, "‑")),
      el(
        "td",
        { class: "bars" },
        el("span", { class: "bar own", vars: { "--share": own / most } }),
        el("span", { class: "bar theirs", vars: { "--share": theirs / most } }),
      ),
      el("td", { class: "number" }, formatNumber(term.weight)),
    );
  });
  return el(
    "table",
    { class: "terms" },
    el("caption", {}, el("span", { class: "key own" }, "this text"), el("span", { class: "key theirs" }, "similar documents")),
    el(
      "thead",
      { class: "sr-only" },
      el("tr", {}, ...["word", "share", "weight"].map((name) => el("th", { scope: "col" }, name))),
    ),
    el("tbody", {}, ...rows),
  );
}

export function sourcesList(sources, heading = "Sources") {
  return el(
    "div",
    {},
    el("h3", {}, heading),
    el("ul", { class: "sources" }, ...sources.slice(0, 12).map((source) => el("li", {}, sourceMark(source)))),
    sources.length > 12 && el("p", { class: "quiet-text" }, `and ${plural(sources.length - 12, "more", "more")}`),
  );
}

// A source's title, or else its id, as a link where that leads somewhere, and its share.
export function sourceMark(source) {
  return el("span", { class: "source" }, sourceName(source), el("span", { class: "share" }, ` ${percent(source.share)}`));
}

export function sourceName({ id, title }) {
  const { label, href } = sourceLink(id);
  const shown = { dir: "auto", title: title && `${label}: ${title}` };
  if (!href) return el("span", { class: "source-id", ...shown }, title || label);
  return el("a", { href, target: "_blank", rel: "noopener noreferrer", ...shown }, title || label);
}

export function percent(share) {
  const value = share * 100;
  return `${value >= 10 ? Math.round(value) : value.toFixed(1)} %`;
}
