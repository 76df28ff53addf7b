// Why a phrase has its score: the factors it is the product of, and the weights of its words.

import { el, formatNumber, plural } from "./dom.js";
import { sourceLink } from "./links.js";

// Symbol, what stands below and above it, and its name.
const FACTORS = {
  position: ["ω", "", "p", "position"],
  phraseness: ["P", "pn", "λ", "phraseness"],
  informativeness: ["f̂", "", "", "informativeness"],
};

// The content of the explanation card. `chosen` has found, kind, others (phrases at the same place) and alpha, beta.
export function explanationCard(chosen, { close, choose }) {
  const { found, kind, others, alpha, beta } = chosen;
  const where =
    kind === "absent"
      ? `Not in the text; learned from ${plural(found.sources.length, "similar document")}.`
      : `In the text, ${plural(found.spans.length, "time")}.`;
  return [
    el(
      "div",
      { class: "explanation-head" },
      el("h2", { id: "explanation-heading" }, found.phrase),
      el("button", { type: "button", class: "quiet icon", "aria-label": "Close", on: { click: close } }, "×"),
    ),
    el("p", { class: "where" }, where),
    ...(found.explanation ? scoreParts(found, kind, alpha, beta) : []),
    others.length > 0 &&
      el(
        "p",
        { class: "others" },
        "Also here: ",
        ...others.map((other) =>
          el("button", { type: "button", class: "chip", on: { click: () => choose(other) } }, other.found.phrase),
        ),
      ),
    kind === "absent" && sourcesList(found.sources),
  ].filter(Boolean);
}

function scoreParts(found, kind, alpha, beta) {
  const why = found.explanation;
  const product = Object.entries(why.factors).map(([name, value]) => {
    const [symbol, below, above, label] = FACTORS[name] ?? ["", "", "", name.replaceAll("_", " ")];
    const sign = symbol && el("i", {}, symbol, below && el("sub", {}, below), above && el("sup", {}, above));
    return el("li", {}, el("b", {}, formatNumber(value)), el("span", {}, sign, ` ${label}`));
  });
  return [
    el("h3", {}, "Score"),
    el(
      "ol",
      { class: "product", "aria-label": `Score ${formatNumber(found.score)}, the product of` },
      el("li", { class: "total" }, el("b", {}, formatNumber(found.score)), el("span", {}, "score")),
      ...product,
    ),
    el("h3", {}, "Words"),
    termTable(why.terms, alpha),
    el("h3", {}, "Parts"),
    el(
      "dl",
      { class: "parts" },
      ...part("f̂", "informativeness", why.informativeness, "What its words weigh in all, over its length."),
      ...part("P", "phraseness", why.phraseness, phrasenessNote(why, beta), "pn"),
      ...part("ω", "position", why.position, positionNote(why, kind)),
    ),
  ];
}

function part(symbol, name, value, note, below = "") {
  const sign = el("i", {}, symbol, below && el("sub", {}, below));
  return [
    el("dt", {}, sign, ` ${name}`, el("b", {}, formatNumber(value))),
    el("dd", {}, note),
  ];
}

function phrasenessNote(why, beta) {
  const own = formatNumber(why.phraseness_document);
  if (beta >= 1) return `How often it is used as a phrase in this text: ${own}.`;
  const theirs = formatNumber(why.phraseness_neighbours);
  return `How often it is used as a phrase: ${own} in this text, ${theirs} in similar ones, mixed with β = ${formatNumber(beta)}.`;
}

function positionNote(why, kind) {
  if (kind === "absent" || why.words_before === null) return "The same for all phrases that are not in the text.";
  if (why.words_before === 0) return "It stands at the very beginning.";
  return `It first stands after ${plural(why.words_before, "word")}; early phrases count more.`;
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
    el("caption", {}, el("span", { class: "key own" }, "this text"), el("span", { class: "key theirs" }, "similar texts")),
    el(
      "thead",
      { class: "sr-only" },
      el("tr", {}, ...["word", "share", "weight"].map((name) => el("th", { scope: "col" }, name))),
    ),
    el("tbody", {}, ...rows),
  );
}

function sourcesList(sources) {
  return el(
    "div",
    {},
    el("h3", {}, "Sources"),
    el("ul", { class: "sources" }, ...sources.slice(0, 12).map((source) => el("li", {}, sourceMark(source)))),
    sources.length > 12 && el("p", { class: "quiet-text" }, `and ${plural(sources.length - 12, "more", "more")}`),
  );
}

// A source's id, as a link where it leads somewhere, and its share.
export function sourceMark(source) {
  const { label, href } = sourceLink(source.id);
  const name = href
    ? el("a", { href, target: "_blank", rel: "noopener noreferrer" }, label)
    : el("span", { class: "source-id" }, label);
  return el("span", { class: "source" }, name, el("span", { class: "share" }, ` ${percent(source.share)}`));
}

function percent(share) {
  const value = share * 100;
  return `${value >= 10 ? Math.round(value) : value.toFixed(1)} %`;
}
