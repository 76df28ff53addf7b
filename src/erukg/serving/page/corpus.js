// The corpus view: files in, a map of their keyphrases out, and from each phrase to its documents.

import { writeAddress } from "./address.js";
import { call, isStopped } from "./api.js";
import { documentList, onePhraseView, phraseView } from "./browse.js";
import { buildControls } from "./controls.js";
import { announce, byId, debounce, el, notice, plural, show } from "./dom.js";
import { exportRow } from "./exporting.js";
import { buildGraph } from "./graph.js";
import { CorpusMap, roomFor } from "./map.js";
import { documentsOf } from "./reading.js";
import { load, save } from "./storage.js";
import { Timeline } from "./timeline.js";
import { trendsOf } from "./trends.js";

const BATCH = 16;
const BATCH_CHARACTERS = 500_000;
const DOCUMENTS_SHOWN = 50;
const PROBLEMS_SHOWN = 4;
const MOST_NAMED = 200;

// `selected` are numbers of documents; `alone` says that the map is made of these only. `found` are the documents that
// a search leaves (a set of numbers, or null).
const corpus = {
  documents: [],
  graph: null,
  map: null,
  timeline: null,
  chosen: null,
  wanted: null,
  selected: new Set(),
  alone: false,
  find: "",
  sort: "most",
  shown: DOCUMENTS_SHOWN,
};
let openDocument = null;
let batchSize = BATCH;
let running = null;
let controls = null; // none in a report

export function startCorpus(info, opener) {
  openDocument = opener;
  batchSize = Math.min(BATCH, info?.limits?.documents ?? BATCH);
  if (info) {
    const changed = () => show(byId("corpus-again"), corpus.documents.length > 0);
    controls = buildControls(byId("corpus-controls"), info, { changed });
    byId("corpus-again").addEventListener("click", () => findPhrases(corpus.documents));
  }
  const results = () => lookedAt().map((number) => corpus.documents[number].result);
  exportRow(byId("corpus-export"), results, () => "corpus-keyphrases");
  byId("corpus-stop").addEventListener("click", () => running?.abort());
  byId("corpus-find").addEventListener("input", () => {
    corpus.find = byId("corpus-find").value;
    corpus.shown = DOCUMENTS_SHOWN;
    corpus.map?.zoom.whole();
    update();
  });
  for (const input of byId("corpus-tab").querySelectorAll("input"))
    input.addEventListener("change", () => {
      corpus.chosen = null;
      update();
    });
  addEventListener("resize", debounce(() => corpus.map && !byId("corpus").hidden && drawMap(), 200));
}

// The number of documents the map is made of.
export const corpusSize = () => corpus.documents.length;

// Show what the address names of the corpus: this session's, or the one that the browser keeps.
export async function enterCorpus(params) {
  if (corpus.documents.length === 0 && controls && !running) await restore();
  if (corpus.documents.length === 0) return;
  if (params.size > 0) takeParams(params);
  if (corpus.map === null || params.size > 0) showCorpus();
  else tell();
}

async function restore() {
  const kept = await load("corpus", "last");
  if (!kept || running) return;
  controls.restore(new URLSearchParams(kept.settings));
  corpus.documents = kept.documents;
  if (kept.documents.some(({ result }) => !result)) await findPhrases(kept.documents);
}

function takeParams(params) {
  corpus.wanted = params.get("phrase");
  corpus.find = params.get("find") ?? "";
  corpus.sort = params.get("sort") ?? "most";
  const numbers = (params.get("docs") ?? "").split(".").filter(Boolean).map(Number);
  corpus.selected = new Set(numbers.filter((number) => number in corpus.documents));
  corpus.alone = params.has("alone") && corpus.selected.size > 0;
  corpus.years = [params.get("from"), params.get("to")];
  byId("corpus-tab").querySelector(`input[value=${params.get("tab") === "documents" ? "documents" : "phrases"}]`).checked = true;
  byId("corpus-find").value = corpus.find;
}

function tell() {
  if (byId("corpus").hidden) return;
  const { graph, chosen, find, sort, timeline, selected, alone } = corpus;
  const part = timeline?.useful && !timeline.whole();
  writeAddress("corpus", {
    phrase: chosen === null ? null : graph.nodes[chosen].label,
    find,
    sort: sort === "most" ? null : sort,
    tab: tab() === "documents" ? "documents" : null,
    from: part ? timeline.from : null,
    to: part ? timeline.to : null,
    docs: selected.size <= MOST_NAMED ? [...selected].join(".") : null,
    alone: alone ? 1 : null,
  });
}

const tab = () => byId("corpus-tab").querySelector("input:checked").value;

// Documents whose phrases are known already, as in a report.
export function openCorpus(documents) {
  corpus.documents = documents;
  corpus.map = null;
}

// Read files, and find the keyphrases of their documents.
export async function openFiles(files) {
  await work("Reading", async (signal, problem) => {
    const documents = [];
    for await (const document_ of documentsOf(files, { signal, problem })) documents.push(document_);
    Object.assign(corpus, { selected: new Set(), alone: false, find: "", chosen: null, wanted: null, years: null });
    byId("corpus-find").value = "";
    return keyphrasesOfAll(documents, signal, problem);
  });
}

// Find the keyphrases of documents, with the settings of this view; what is there when stopped is shown.
function findPhrases(documents) {
  return work("Finding keyphrases", (signal, problem) => keyphrasesOfAll(documents, signal, problem));
}

async function work(what, action) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const problems = [];
  for (const id of ["corpus-empty", "corpus-body", "corpus-again"]) show(byId(id), false);
  show(byId("corpus-progress"), true);
  byId("corpus-notice").replaceChildren();
  byId("corpus-bar").removeAttribute("value");
  progress(what, 0, 0);
  const documents = await action(signal, (place, message) => problems.push(`${place}: ${message}`));
  if (running.signal !== signal) return; // other files were opened meanwhile
  running = null;
  show(byId("corpus-progress"), false);
  corpus.documents = documents;
  if (documents.length > 0) {
    keep();
    showCorpus();
  } else {
    show(byId("corpus-empty"), true);
    if (problems.length === 0 && !signal.aborted) problems.push("There are no documents in these files.");
  }
  if (problems.length > 0) sayProblems(problems);
}

const keep = (documents = corpus.documents) =>
  save("corpus", "last", { documents, settings: new URLSearchParams(controls.state()).toString() });

async function keyphrasesOfAll(waiting, signal, problem) {
  const out = [];
  const begin = performance.now();
  if (waiting.length > 0) keep(waiting.map(({ result: _, ...rest }) => rest)); // so that a reload goes on
  try {
    for (let at = 0; at < waiting.length && !signal.aborted; ) {
      progress("Finding keyphrases", at, waiting.length);
      const batch = nextBatch(waiting, at);
      out.push(...(await keyphrasesOf(batch, signal, problem)));
      at += batch.length;
    }
  } catch (error) {
    if (!isStopped(error)) problem("The rest", error.message);
  }
  corpus.seconds = (performance.now() - begin) / 1000;
  return out;
}

function nextBatch(waiting, at) {
  let end = at;
  for (let size = 0; end < waiting.length && end - at < batchSize; end += 1) {
    size += waiting[end].text.length;
    if (end > at && size > BATCH_CHARACTERS) break;
  }
  return waiting.slice(at, end);
}

async function keyphrasesOf(batch, signal, problem) {
  const body = { documents: batch.map(({ id, text }) => ({ id, text })), ...controls.body(), explain: false };
  const { results } = await call("v1/keyphrases", { body, signal });
  const out = [];
  results.forEach((result, i) => {
    if (result.error) problem(batch[i].id, result.error);
    else out.push({ ...batch[i], result: controls.ownWords() ? { ...result, absent: [] } : result });
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
  corpus.timeline = new Timeline(byId("timeline"), corpus.documents, update, corpus.years ?? []);
  drawMap();
  announce(`A map of ${plural(corpus.graph.nodes.length, "phrase")}.`);
}

function drawMap() {
  const place = byId("map");
  const width = Math.max(place.clientWidth, 280);
  const height = Math.round(Math.min(Math.max(innerHeight * 0.6, 420), 720));
  const kept = corpus.wanted ?? (corpus.chosen === null ? null : corpus.graph?.nodes[corpus.chosen]?.label);
  const numbers = corpus.documents.map((_, i) => i).filter((i) => !corpus.alone || corpus.selected.has(i));
  corpus.wanted = null;
  corpus.graph = buildGraph(corpus.documents, numbers, roomFor(width, height));
  const again = corpus.graph.nodes.findIndex((node) => node.forms.has(kept));
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
  byId("corpus-detail").scrollTop = 0;
  if (corpus.chosen === null) return;
  announce(`${corpus.graph.nodes[index].label}: its documents are listed beside the map.`);
  if (matchMedia("(max-width: 60rem)").matches) byId("corpus-detail").scrollIntoView({ block: "nearest" });
}

// The numbers of the documents looked at: within the years, and selected if any are.
function lookedAt() {
  const { documents, timeline, selected } = corpus;
  return documents.map((_, i) => i).filter((i) => timeline.holds(documents[i]) && (selected.size === 0 || selected.has(i)));
}

function update() {
  const { documents, graph, map, timeline, chosen, selected, find } = corpus;
  if (!map) return;
  const looked = new Set(lookedAt());
  const inside = documents.map((_, i) => looked.has(i));
  const counts = graph.nodes.map((node) => node.documents.filter((number) => inside[number]).length);
  const letters = find.trim().toLowerCase();
  const has = (text) => text.toLowerCase().includes(letters);
  const fitting = (node, i) => ([...node.forms.keys()].some(has) ? [i] : []);
  const sought = letters ? new Set(graph.nodes.flatMap(fitting)) : null;
  map.update(chosen, sought, counts);
  timeline.draw(chosen === null ? (selected.size > 0 ? [...selected] : null) : graph.nodes[chosen].documents);
  const took = corpus.seconds === undefined ? "" : ` Found in ${corpus.seconds.toFixed(1)} s.`;
  byId("corpus-summary").textContent =
    looked.size === documents.length
      ? `${plural(documents.length, "document")} and their ${plural(graph.nodes.filter((node) => node.main).length, "main phrase")}.${took}`
      : `${looked.size} of ${plural(documents.length, "document")} ${selected.size > 0 ? "selected" : "in the selected years"}.`;
  const trends = trendsOf(graph.nodes, documents, inside);
  byId("corpus-detail").replaceChildren(...detail({ inside, counts, trends, sought, has, letters }));
  tell();
}

function detail({ inside, counts, trends, sought, has, letters }) {
  const { documents, graph, timeline, chosen, selected, alone, shown, sort } = corpus;
  const list = (numbers) => documentList({ documents, numbers, selected, alone, most: shown }, actions);
  if (chosen !== null) {
    const links = graph.links.filter(({ a, b }) => a === chosen || b === chosen).sort((a, b) => b.strength - a.strength);
    const near = links.map(({ a, b }) => (a === chosen ? b : a)).map((i) => ({ i, label: graph.nodes[i].label }));
    const numbers = graph.nodes[chosen].documents.filter((number) => inside[number]);
    const phrase = { node: graph.nodes[chosen], near, trend: trends?.[chosen] };
    return onePhraseView(phrase, list(numbers), { choose, back: () => choose(chosen) });
  }
  if (tab() === "phrases") {
    const sortBy = (name) => {
      corpus.sort = name;
      update();
      byId("corpus-sort").focus();
    };
    return phraseView({ nodes: graph.nodes, counts, trends, sought, sort }, { choose, sortBy });
  }
  const held = documents.map((_, i) => i).filter((i) => timeline.holds(documents[i]));
  return list(held.filter((i) => !letters || has(documents[i].title ?? "") || has(documents[i].text)));
}

const actions = {
  open: (document_) => openDocument(document_),
  select: (number, on) => {
    if (on) corpus.selected.add(number);
    else corpus.selected.delete(number);
    changeSelection();
    byId("corpus-detail").querySelector(`input[data-number="${number}"]`)?.focus({ preventScroll: true });
  },
  selectAll: (numbers) => {
    for (const number of numbers) corpus.selected.add(number);
    changeSelection();
  },
  clearAll: () => {
    corpus.selected.clear();
    changeSelection();
  },
  only: () => {
    corpus.alone = !corpus.alone;
    drawMap();
  },
  more: () => {
    corpus.shown += DOCUMENTS_SHOWN;
    update();
  },
};

// A map of selected documents alone follows the selection; another one only says how many of them each phrase has.
function changeSelection() {
  if (!corpus.alone) update();
  else {
    corpus.alone = corpus.selected.size > 0;
    drawMap();
  }
}
