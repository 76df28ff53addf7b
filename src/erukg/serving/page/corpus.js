// The corpus view: files in, a map of their keyphrases out, and from each phrase to its documents.

import { call, isStopped } from "./api.js";
import { announce, byId, debounce, el, notice, plural, show } from "./dom.js";
import { exportRow } from "./exporting.js";
import { buildGraph } from "./graph.js";
import { CorpusMap, roomFor } from "./map.js";
import { documentsOf } from "./reading.js";
import { Timeline } from "./timeline.js";

const BATCH = 16;
const BATCH_CHARACTERS = 500_000;
const DOCUMENTS_SHOWN = 50;
const PROBLEMS_SHOWN = 4;

const corpus = { documents: [], graph: null, map: null, timeline: null, chosen: null, shown: DOCUMENTS_SHOWN };
let openDocument = null;
let batchSize = BATCH;
let running = null;

export function startCorpus(info, opener) {
  openDocument = opener;
  batchSize = Math.min(BATCH, info?.limits?.documents ?? BATCH);
  exportRow(byId("corpus-export"), () => corpus.documents.map((document_) => document_.result), () => "corpus-keyphrases");
  byId("corpus-stop").addEventListener("click", () => running?.abort());
  addEventListener("resize", debounce(() => corpus.map && !byId("corpus").hidden && drawMap(), 200));
}

// The number of documents the map is made of.
export const corpusSize = () => corpus.documents.length;

export function redrawCorpus() {
  if (corpus.documents.length > 0 && corpus.map === null) showCorpus();
}

// Documents whose phrases are known already, as in a report.
export function openCorpus(documents) {
  corpus.documents = documents;
  corpus.map = null;
}

// Read files and ask for the keyphrases of their documents, some at a time; what is there when stopped is shown.
export async function openFiles(files, settings) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const problems = [];
  const documents = [];
  const problem = (place, message) => problems.push(`${place}: ${message}`);
  show(byId("corpus-empty"), false);
  show(byId("corpus-body"), false);
  show(byId("corpus-progress"), true);
  byId("corpus-notice").replaceChildren();
  byId("corpus-bar").removeAttribute("value");
  progress("Reading", 0, 0);
  try {
    const waiting = [];
    for await (const document_ of documentsOf(files, { signal, problem })) waiting.push(document_);
    for (let at = 0; at < waiting.length && !signal.aborted; ) {
      progress("Finding keyphrases", at, waiting.length);
      const batch = nextBatch(waiting, at);
      documents.push(...(await keyphrasesOf(batch, settings, signal, problem)));
      at += batch.length;
    }
  } catch (error) {
    if (!isStopped(error)) problem("The rest", error.message);
  }
  if (running.signal !== signal) return; // other files were opened meanwhile
  show(byId("corpus-progress"), false);
  corpus.documents = documents;
  if (documents.length > 0) showCorpus();
  else {
    show(byId("corpus-empty"), true);
    if (problems.length === 0 && !signal.aborted) problems.push("There are no documents in these files.");
  }
  if (problems.length > 0) sayProblems(problems);
}

function nextBatch(waiting, at) {
  let end = at;
  for (let size = 0; end < waiting.length && end - at < batchSize; end += 1) {
    size += waiting[end].text.length;
    if (end > at && size > BATCH_CHARACTERS) break;
  }
  return waiting.slice(at, end);
}

async function keyphrasesOf(batch, settings, signal, problem) {
  const body = { documents: batch.map(({ id, text }) => ({ id, text })), top_k: 10, ...settings, explain: false };
  const { results } = await call("v1/keyphrases", { body, signal });
  const out = [];
  results.forEach((result, i) => {
    if (result.error) problem(batch[i].id, result.error);
    else out.push({ ...batch[i], result });
  });
  return out;
}

function progress(what, done, all) {
  byId("corpus-progress-text").textContent = all > 0 ? `${what}: ${done} of ${plural(all, "document")}` : what;
  if (all > 0) byId("corpus-bar").value = done / all;
}

function sayProblems(problems) {
  const shown = problems.slice(0, PROBLEMS_SHOWN).join(" ");
  const rest = problems.length - PROBLEMS_SHOWN;
  const message = rest > 0 ? `${shown} There are ${plural(rest, "more problem")}.` : shown;
  notice(byId("corpus-notice"), message, [["Dismiss", () => byId("corpus-notice").replaceChildren()]]);
}

function showCorpus() {
  show(byId("corpus-empty"), false);
  show(byId("corpus-body"), true);
  corpus.timeline = new Timeline(byId("timeline"), corpus.documents, update);
  drawMap();
  announce(`A map of ${plural(corpus.graph.nodes.length, "phrase")}.`);
}

function drawMap() {
  const place = byId("map");
  const width = Math.max(place.clientWidth, 280);
  const height = Math.round(Math.min(Math.max(innerHeight * 0.6, 420), 720));
  const kept = corpus.chosen === null ? null : corpus.graph?.nodes[corpus.chosen]?.key;
  corpus.graph = buildGraph(corpus.documents, roomFor(width, height));
  const again = corpus.graph.nodes.findIndex((node) => node.key === kept);
  corpus.chosen = again >= 0 ? again : null;
  if (corpus.graph.nodes.length === 0) {
    place.replaceChildren(el("p", { class: "none" }, "No phrases were found in these documents."));
    corpus.map = null;
    byId("corpus-detail").replaceChildren();
    return;
  }
  corpus.map = new CorpusMap(place, corpus.graph, { width, height, choose });
  update();
}

function choose(index) {
  corpus.chosen = corpus.chosen === index ? null : index;
  corpus.shown = DOCUMENTS_SHOWN;
  update();
  if (corpus.chosen === null) return;
  announce(`${corpus.graph.nodes[index].label}: its documents are listed beside the map.`);
  if (matchMedia("(max-width: 60rem)").matches) byId("corpus-detail").scrollIntoView({ block: "nearest" });
}

function update() {
  const { documents, graph, map, timeline, chosen } = corpus;
  const inside = documents.map((document_) => timeline.holds(document_));
  const counts = graph.nodes.map((node) => node.documents.filter((number) => inside[number]).length);
  map.update(chosen, counts);
  timeline.draw(chosen === null ? null : graph.nodes[chosen].documents);
  const looked = inside.filter(Boolean).length;
  byId("corpus-summary").textContent =
    looked === documents.length
      ? `${plural(documents.length, "document")} and their ${plural(graph.nodes.length, "main phrase")}.`
      : `${looked} of ${plural(documents.length, "document")}, in the selected years.`;
  byId("corpus-detail").replaceChildren(...(chosen === null ? allPhrases(counts) : onePhrase(chosen, inside)));
}

function allPhrases(counts) {
  const { nodes } = corpus.graph;
  const order = nodes.map((_, i) => i).filter((i) => counts[i] > 0);
  order.sort((a, b) => counts[b] - counts[a] || a - b);
  return [
    el("h2", {}, "Phrases"),
    el(
      "ol",
      { class: "phrase-list tally" },
      ...order.map((i) =>
        el(
          "li",
          {},
          el(
            "button",
            { type: "button", class: `phrase group-${nodes[i].group}`, on: { click: () => choose(i) } },
            el("span", { class: "dot", "aria-hidden": "true" }),
            el("span", { class: "name" }, nodes[i].label),
            el("span", { class: "score" }, String(counts[i])),
          ),
        ),
      ),
    ),
  ];
}

function onePhrase(chosen, inside) {
  const { graph, documents } = corpus;
  const node = graph.nodes[chosen];
  const numbers = node.documents.filter((number) => inside[number]);
  const links = graph.links.filter(({ a, b }) => a === chosen || b === chosen);
  links.sort((a, b) => b.strength - a.strength);
  const near = links.map(({ a, b }) => (a === chosen ? b : a));
  const more = () => {
    corpus.shown += DOCUMENTS_SHOWN;
    update();
  };
  return [
    el("button", { type: "button", class: "quiet back", on: { click: () => choose(chosen) } }, "All phrases"),
    el("h2", { class: "chosen-phrase" }, node.label),
    near.length > 0 &&
      el(
        "p",
        { class: "others" },
        "Together with ",
        ...near.map((i) =>
          el("button", { type: "button", class: "chip", on: { click: () => choose(i) } }, graph.nodes[i].label),
        ),
      ),
    el("h3", {}, plural(numbers.length, "document")),
    el("ul", { class: "document-list" }, ...numbers.slice(0, corpus.shown).map((number) => documentLine(documents[number]))),
    numbers.length > corpus.shown && el("button", { type: "button", on: { click: more } }, "Show more"),
  ].filter(Boolean);
}

function documentLine(document_) {
  const best = document_.result.present.slice(0, 3).map((found) => found.phrase);
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", on: { click: () => openDocument(document_) } },
      el("span", { class: "title" }, document_.title || document_.id),
      el("span", { class: "about" }, [document_.year, ...best].filter(Boolean).join(" · ")),
    ),
  );
}
