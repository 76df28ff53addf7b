// Explains a phrase: where it stands and what speaks for it, in words; then the factors whose product its score is.

import { inWords } from "./confidence.js";
import { el, formatNumber, plural } from "./dom.js";
import { sourceLink } from "./links.js";
import { around } from "./text.js";

// The content of the explanation card: where the phrase stands, what `body` has to say, the phrases at the same place.
export function explanationCard({ found, others, at }, text, body, { close, choose, step }) {
  return [
    el(
      "div",
      { class: "explanation-head" },
      el("h2", { id: "explanation-heading", dir: "auto" }, found.phrase),
      el("button", { type: "button", class: "quiet icon", "aria-label": "Close", on: { click: close } }, "×"),
    ),
    found.spans?.length > 0 && occurrence(found.spans, at, text, step),
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

// One occurrence among the words around it, and the way to the others.
function occurrence(spans, at, text, step) {
  const [before, phrase, after] = around(text, spans[at]);
  const disabled = spans.length < 2;
  const button = (label, sign, by) =>
    el("button", { type: "button", class: "quiet icon", "aria-label": label, disabled, on: { click: () => step(by) } }, sign);
  return el(
    "div",
    { class: "occurrence" },
    el("q", { dir: "auto" }, before, el("b", {}, phrase), after),
    el(
      "div",
      { class: "stepper" },
      button("Previous occurrence", "‹", -1),
      el("span", { id: "occurrence-number" }, `${at + 1} of ${spans.length}`),
      button("Next occurrence", "›", 1),
    ),
  );
}

// What there is to say about a phrase, in words, and on demand how its score is computed. `chosen` has found, kind,
// rating, alpha, beta, and factors: the label and help of each factor, as the service or the report gives them.
export function phraseCard(chosen) {
  const { found, kind, rating } = chosen;
  const why = found.explanation;
  return [
    el("p", { class: "where" }, [standing(found, kind), sureness(found, kind, rating)].filter(Boolean).join(" ")),
    why && reasonsInWords(found, chosen.factors),
    kind === "absent" && found.sources.length > 0 && sourcesList(found.sources),
    why && el("details", { class: "formula" }, el("summary", {}, "How the score is computed"), ...scoreParts(found, chosen)),
  ];
}

function standing(found, kind) {
  const count = found.sources?.length;
  if (kind === "absent") {
    const others = `${plural(count, "similar document")} of the collection ${count === 1 ? "goes" : "go"} by it.`;
    if (!found.variants?.length) return `Not in the text: ${others}`;
    return `Not in the text, which says “${found.variants[0]}”.${count > 0 ? ` ${others}` : ""}`;
  }
  const before = found.explanation?.words_before;
  const times = found.spans.length === 1 ? "Occurs once in the text" : `Occurs ${found.spans.length} times in the text`;
  if (before === undefined || before === null) return `${times}.`;
  const first = found.spans.length === 1 ? "" : "first ";
  return before === 0 ? `${times}, ${first}at its very beginning.` : `${times}, ${first}after ${plural(before, "word")}.`;
}

function sureness({ confidence }, kind, { band }) {
  if (!band) return "How sure it is cannot be told here.";
  const like = kind === "absent" ? " for a suggestion" : "";
  return `${band[0].toUpperCase()}${band.slice(1)}${like}: people choose ${inWords(confidence)} phrases like it.`;
}

// Weights of words and of phrases have no 1 that changes nothing; what they come to is in the table of words.
const SCALES = ["informativeness", "phraseness"];
const REASONS = 3;
const SOURCES = 5;
const LEAST = 0.1;

// The factors that moved the score most, for and against it.
function reasonsInWords({ phrase, explanation: why }, factors) {
  const heaviest = heaviestWord(phrase, why.terms);
  const named = Object.entries(why.factors)
    .filter(([name, value]) => !SCALES.includes(name) && value > 0 && Math.abs(Math.log(value)) > LEAST)
    .map(([name, value]) => ({ label: factors[name]?.label ?? name, size: Math.log(value) }))
    .sort((a, b) => Math.abs(b.size) - Math.abs(a.size));
  const pro = named.filter(({ size }) => size > 0).slice(0, REASONS).map(({ label }) => label);
  const contra = named.filter(({ size }) => size < 0).slice(0, REASONS).map(({ label }) => label);
  const line = (sign, lead, labels) =>
    labels.length > 0 && el("li", { class: sign }, el("strong", {}, lead), " ", labels.join("; "), ".");
  return el(
    "ul",
    { class: "in-words" },
    heaviest && el("li", {}, el("strong", {}, "Says most about the text:"), " ", heaviest, "."),
    line("pro", "For it:", pro),
    line("contra", "Against it:", contra),
  );
}

// Of a phrase of several words, the one whose pieces weigh most.
function heaviestWord(phrase, terms) {
  const words = phrase.split(/[\s‐‑-]+/);
  const piece = [...terms].sort((a, b) => b.weight - a.weight)[0]?.term.replace(/^##/, "");
  return words.length > 1 && piece ? words.find((word) => word.toLowerCase().includes(piece)) : null;
}

const wordOf = (term) => term.replace(/^##/, "‑");

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
        el("dd", {}, [help, name === "phraseness" && phrasenessDetail(why, beta)].filter(Boolean).join(" ")),
      ]),
    ),
  ];
}

function phrasenessDetail(why, beta) {
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
      el("th", { scope: "row" }, wordOf(term.term)),
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

// The documents behind a phrase with their shares, the nearest at once.
export function sourcesList(sources, heading = "Sources") {
  const line = (source) => el("li", {}, sourceName(source), el("span", { class: "share" }, percent(source.share)));
  const list = (some) => el("ul", { class: "sources" }, ...some.map(line));
  const rest = sources.slice(SOURCES);
  return el(
    "div",
    {},
    el("h3", {}, heading),
    list(sources.slice(0, SOURCES)),
    rest.length > 0 && el("details", { class: "more" }, el("summary", {}, plural(rest.length, "more", "more")), list(rest)),
  );
}

// A source's title, or else its id, as a link where that leads somewhere.
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
