// Concepts of a vocabulary for the text, how sure each is and what speaks for it, and terms that the vocabulary lacks.

import { announce, byId, el, formatNumber, show } from "./dom.js";
import { percent, sourceName, sourcesList } from "./explaining.js";
import { copyText } from "./exporting.js";
import { ACCEPTED, REJECTED, Verdicts } from "./verdicts.js";

const NEW_TERMS = 5;
const KEYS = { a: ACCEPTED, r: REJECTED };

let verdicts = null;

// Offer the service's vocabularies, if it has any; `changed` is told of another view or vocabulary.
export function startConcepts(vocabularies, changed) {
  if (vocabularies.length === 0) return;
  byId("vocabulary").replaceChildren(
    ...vocabularies.map(({ name, concepts }) => el("option", { value: name }, `${name} (${concepts.toLocaleString("en")})`)),
  );
  byId("vocabulary").addEventListener("change", changed);
  for (const input of byId("view").querySelectorAll("input")) input.addEventListener("change", changed);
  byId("copy-uris").addEventListener("click", () => copyAccepted(0));
  byId("copy-labels").addEventListener("click", () => copyAccepted(1));
  show(byId("view"), true);
}

// Choose a view and a vocabulary as an address names them; what the service does not have stays as it is.
export function putView(view, vocabulary) {
  if (byId("view").hidden) return;
  const select = byId("vocabulary");
  if ([...select.options].some(({ value }) => value === vocabulary)) select.value = vocabulary;
  byId("view").querySelector(`input[value=${view === "concepts" ? "concepts" : "phrases"}]`).checked = true;
}

export const conceptsWanted = () => byId("view").querySelector("input:checked").value === "concepts";

// What to ask the service for.
export function conceptsBody(id, text, topK) {
  const documents = [{ id, text }];
  verdicts = new Verdicts(text, byId("vocabulary").value);
  drawAccepted();
  return { documents, vocabulary: byId("vocabulary").value, top_k: topK, new_terms: NEW_TERMS };
}

// An answer in the form that the sheet has for all lists: phrases with spans.
export function conceptsResult(result) {
  return {
    ...result,
    concept: result.suggestions.map((found) => ({
      ...found,
      phrase: found.label,
      spans: found.matches.map(({ start, end }) => [start, end]),
    })),
    term: result.new_terms.map((found) => ({ ...found, spans: found.spans ?? [] })),
  };
}

// What is marked in the text: concepts as strongly as they are sure, but not those rejected; then new terms.
export function conceptMarks({ concept, term }) {
  return [
    ...concept.map((found, index) => ({
      kind: "concept",
      index,
      spans: verdicts.of(found.uri) === REJECTED ? [] : found.spans,
      strength: found.confidence,
    })),
    ...term.map(({ spans }, index) => ({ kind: "term", index, spans, strength: 0 })),
  ];
}

// `choose(kind, index)`, `point(kind, index or null)`, and `judged()` when a verdict was given.
export function drawConcepts({ concept, term }, actions) {
  byId("concept-count").textContent = concept.length || "";
  byId("concept-list").replaceChildren(
    concept.length > 0
      ? el("ol", { class: "phrase-list" }, ...concept.map((found, i) => conceptLine(found, i, actions)))
      : el("p", { class: "none" }, "The vocabulary has no concept for this text."),
  );
  byId("term-list").replaceChildren(
    term.length > 0
      ? el("ol", { class: "phrase-list" }, ...term.map((found, i) => el("li", {}, line("term", found, i, actions))))
      : el("p", { class: "none" }, "The vocabulary has what this text is about."),
  );
  drawAccepted();
}

function line(kind, found, index, { choose, point }, keydown) {
  return el(
    "button",
    {
      type: "button",
      class: "phrase",
      "aria-expanded": "false",
      "data-kind": kind,
      "data-index": index,
      on: {
        click: () => choose(kind, index),
        mouseenter: () => point(kind, index),
        mouseleave: () => point(kind, null),
        focus: () => point(kind, index),
        blur: () => point(kind, null),
        ...(keydown && { keydown }),
      },
    },
    el("span", { class: "rank", "aria-hidden": "true" }, String(index + 1)),
    el("span", { class: "name", dir: "auto" }, found.phrase),
    found.confidence !== undefined && el("span", { class: "score" }, percent(found.confidence)),
    found.confidence !== undefined && el("span", { class: "line whole", vars: { "--strength": found.confidence } }),
  );
}

function conceptLine(found, index, actions) {
  const node = el("li", { class: "judged" });
  const judge = (verdict) => {
    const now = verdicts.give(found.uri, verdict, found.label);
    showVerdict(node, now);
    drawAccepted();
    announce(`${found.label}: ${now ?? "no verdict"}. ${byId("accepted").textContent}`);
    actions.judged();
  };
  const button = (verdict, name, sign) =>
    el(
      "button",
      {
        type: "button",
        class: `verdict ${verdict}`,
        "data-verdict": verdict,
        "aria-label": `${name} ${found.label}`,
        title: name,
        on: { click: () => judge(verdict) },
      },
      el("span", { "aria-hidden": "true" }, sign),
    );
  const keydown = (event) => {
    const verdict = KEYS[event.key];
    if (!verdict || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    judge(verdict);
  };
  node.append(
    line("concept", found, index, actions, keydown),
    el("span", { class: "verdicts" }, button(ACCEPTED, "Accept", "✓"), button(REJECTED, "Reject", "✕")),
    evidence(found),
  );
  showVerdict(node, verdicts.of(found.uri));
  return node;
}

function showVerdict(node, verdict) {
  node.classList.toggle("is-accepted", verdict === ACCEPTED);
  node.classList.toggle("is-rejected", verdict === REJECTED);
  for (const button of node.querySelectorAll("button.verdict"))
    button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
}

// In one line: how often it stands in the text, the nearest document that carries it, and how many more do.
function evidence({ matches, votes: [nearest, ...others] }) {
  return el(
    "p",
    { class: "from" },
    matches.length > 0 && el("span", { class: "share" }, times(matches.length)),
    nearest && el("span", { class: "source" }, sourceName(nearest)),
    others.length > 0 && el("span", { class: "share" }, `+${others.length}`),
  );
}

const times = (count) => (count === 1 ? "once in the text" : `${count} times in the text`);

function drawAccepted() {
  const count = verdicts.accepted().length;
  byId("accepted").textContent = count === 0 ? "None accepted." : `${count} accepted.`;
  byId("copy-uris").disabled = count === 0;
  byId("copy-labels").disabled = count === 0;
}

async function copyAccepted(part) {
  const lines = verdicts.accepted().map((one) => `${one[part]}\n`);
  const copied = await copyText(lines.join(""));
  const message = copied ? `Copied ${lines.length}.` : "The browser does not allow copying.";
  byId("copied").textContent = message;
  announce(message);
  setTimeout(() => (byId("copied").textContent = ""), 2500);
}

// The card of a concept or a new term: what it is, where it stands, what speaks for it, who carries it.
export function conceptCard({ found, kind }) {
  if (kind === "term")
    return [
      el("p", { class: "where" }, `${standing(found.spans)} The vocabulary has no concept for it.`),
      found.confidence !== undefined && sureness(found.confidence, "people choose it as a keyphrase"),
    ];
  const reasons = Object.entries(found.why ?? {});
  const labels = [...new Set(found.matches.map(({ label }) => label))].filter((label) => label !== found.label);
  return [
    el("p", { class: "where identifier" }, identifier(found.uri), found.notation && ` · ${found.notation}`),
    el("p", { class: "where" }, standing(found.spans), labels.length > 0 && ` Other labels there: ${labels.join(", ")}.`),
    sureness(found.confidence, "an indexer chooses it"),
    reasons.length > 0 && el("h3", {}, "What speaks for it"),
    reasons.length > 0 && el("ul", { class: "reasons" }, ...reasons.map(reason)),
    found.votes.length > 0 && sourcesList(found.votes, "Similar documents that carry it"),
  ];
}

function standing(spans) {
  return spans.length === 0 ? "Not in the text." : `Stands ${times(spans.length)}.`;
}

function sureness(confidence, what) {
  return el("p", { class: "where" }, `Confidence ${percent(confidence)}: how likely it is that ${what}.`);
}

const reason = ([name, value]) => el("li", {}, el("span", {}, name), " ", el("b", {}, formatNumber(value)));

// A URI is a link only where it leads to the web.
function identifier(uri) {
  if (!/^https?:\/\//.test(uri)) return uri;
  return el("a", { href: uri, target: "_blank", rel: "noopener noreferrer" }, uri);
}
