// The document view: a text, its phrases marked in it and listed beside it, and why.

import { ServiceError, isStopped, latestOnly, readFile } from "./api.js";
import { conceptCard, conceptMarks, conceptsBody, conceptsResult, conceptsWanted, drawConcepts } from "./concepts.js";
import { announce, byId, el, notice, plural, show } from "./dom.js";
import { EXAMPLE } from "./example.js";
import { explanationCard, phraseCard } from "./explaining.js";
import { exportRow } from "./exporting.js";
import { baselineList, ghostList, phraseList } from "./phrases.js";
import { phraseKey, segments, strengths } from "./text.js";

const answers = latestOnly();
const comparison = latestOnly();
const LIST_BUTTONS = "#lists button.phrase, #concepts button.phrase";

// What is shown now; `result` belongs to `text`, also while the next answer is awaited. Its lists are `present` and
// `absent`, or `concept` and `term`; `marks` are what is marked in the text, each with its list and its place in it.
const sheet = {
  id: null,
  text: "",
  result: null,
  marks: [],
  alpha: 1,
  beta: 1,
  factors: {},
  bands: {},
  baseline: null,
  chosen: null,
  opener: null,
};
let turning = null; // the controls; none in a report
let opening = null; // stops the file that is being read
let service = null; // what the service said about itself; none in a report

export function startSheet(info, controls) {
  service = info;
  sheet.factors = info.factors;
  sheet.bands = info.bands ?? {};
  turning = controls;
  byId("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    openText(byId("text").value, sheet.id);
  });
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("entry").requestSubmit();
  });
  // A text pasted into the empty field is meant to be looked at, not edited.
  byId("text").addEventListener("paste", () => {
    const empty = byId("text").value === "";
    setTimeout(() => empty && byId("text").value.trim() && byId("entry").requestSubmit());
  });
  byId("example").addEventListener("click", () => openText(EXAMPLE, "example"));
  byId("edit").addEventListener("click", () => editText());
  byId("fresh").addEventListener("click", () => {
    putText(null, "");
    editText();
  });
  startReading();
}

// What a report needs of this view: everything but the entry of texts.
export function startReading() {
  exportRow(byId("document-export"), () => [sheet.result], () => fileName(sheet.id ?? "keyphrases"));
  byId("reading").addEventListener("click", (event) => {
    const mark = event.target.closest("mark");
    if (mark) chooseAt(mark);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && sheet.chosen) closeExplanation();
  });
}

function fileName(id) {
  return id.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(-80) || "keyphrases";
}

function putText(id, text) {
  answers.stop();
  comparison.stop();
  busy(false);
  Object.assign(sheet, { id, text, result: null, marks: [], baseline: null, chosen: null });
  byId("text").value = text;
  byId("document-notice").replaceChildren();
  show(byId("explanation"), false);
  showLists(false);
}

// Keyphrases or concepts beside the text, or how to read them.
function showLists(on) {
  const concepts = conceptsWanted();
  show(byId("lists"), on && !concepts);
  show(byId("concepts"), on && concepts);
  show(byId("guide"), !on && !concepts);
  show(byId("concept-guide"), !on && concepts);
  if (!on) drawRemarks([]);
}

function editText() {
  show(byId("entry"), true);
  show(byId("reading"), false);
  show(byId("sheet-bar"), false);
  byId("text").focus();
}

export function openText(text, id = null) {
  putText(id, text);
  if (!text.trim()) {
    notice(byId("document-notice"), "There is no text yet. Paste one, open a file, or try the example.");
    byId("text").focus();
    return;
  }
  showText(id);
  refresh();
}

// A document whose phrases are known already, as all are in a report.
export function openResult(document_, { settings, factors, bands = {} }) {
  putText(document_.id, document_.text);
  showText(document_.title || document_.id);
  sheet.result = document_.result;
  Object.assign(sheet, { alpha: settings.alpha, beta: settings.beta, factors, bands });
  drawResult();
}

function showText(name) {
  show(byId("entry"), false);
  show(byId("reading"), true);
  show(byId("sheet-bar"), true);
  byId("sheet-name").textContent = name ?? "";
  byId("reading").replaceChildren(document.createTextNode(sheet.text));
}

export async function openFile(file) {
  opening?.abort();
  opening = new AbortController();
  const { signal } = opening;
  answers.stop();
  busy(true);
  try {
    openText(await readFile(file, { signal }), file.name);
  } catch (error) {
    if (isStopped(error)) return;
    busy(false);
    notice(byId("document-notice"), `${file.name}: ${error.message}`, [["Try again", () => openFile(file)]]);
  }
}

// Show keyphrases instead of concepts, or the other way round, or concepts of another vocabulary.
export function changeView() {
  const concepts = conceptsWanted();
  show(byId("vocabulary-choice"), concepts);
  byId("find").textContent = concepts ? "Find concepts" : "Find keyphrases";
  turning.onlyTopK(concepts);
  if (byId("reading").hidden) showLists(false);
  else openText(sheet.text, sheet.id);
}

// Ask again for the sheet's text, with the controls as they are now.
export async function refresh() {
  if (!sheet.text.trim() || byId("reading").hidden) return;
  const find = conceptsWanted() ? askConcepts : askPhrases;
  busy(true);
  if (sheet.result === null) drawWaiting();
  compareAgain();
  try {
    const found = await find(sheet.id ?? "text", sheet.text);
    byId("document-notice").replaceChildren();
    busy(false);
    drawResult();
    announce([found, ...(sheet.result.notices ?? []).map((one) => one.message)].join(" "));
  } catch (error) {
    if (isStopped(error)) return;
    busy(false);
    if (sheet.result === null) showLists(false);
    notice(byId("document-notice"), error.message, [["Try again", refresh]]);
  }
}

async function askPhrases(id, text) {
  const mode = turning.mode();
  const documents = [{ id, text }];
  const body = { documents, mode, top_k: turning.topK(), settings: turning.changes(), explain: true };
  const result = await ask("v1/keyphrases", body);
  sheet.result = result;
  sheet.alpha = mode === "extract" ? 1 : turning.value("alpha");
  sheet.beta = mode === "extract" ? 1 : turning.value("beta");
  return `${plural(result.present.length, "phrase")} in the text, ${result.absent.length} not in it.`;
}

async function askConcepts(id, text) {
  sheet.result = conceptsResult(await ask("v1/suggest", conceptsBody(id, text, turning.topK())));
  return `${plural(sheet.result.concept.length, "concept")}, ${plural(sheet.result.term.length, "new term")}.`;
}

async function ask(path, body) {
  const waiting = (seconds) => announce(`The service is busy; asking again in ${seconds} seconds.`);
  const { results } = await answers.call(path, { body, waiting });
  if (results[0].error) throw new ServiceError(results[0].error);
  return results[0];
}

async function compareAgain() {
  const system = turning.baseline();
  if (!system || conceptsWanted()) {
    comparison.stop();
    sheet.baseline = null;
    return;
  }
  const label = byId("baseline").selectedOptions[0].textContent;
  try {
    const body = { text: sheet.text, system, top_k: turning.topK() };
    const { results } = await comparison.call("v1/baseline", { body });
    sheet.baseline = { label, results };
  } catch (error) {
    if (isStopped(error)) return;
    sheet.baseline = { label, results: [], error: error.message };
  }
  if (sheet.result !== null) drawLists();
}

function busy(on) {
  show(byId("busy"), on);
  byId("document").setAttribute("aria-busy", String(on));
}

function drawWaiting() {
  showLists(true);
  drawRemarks([]);
  for (const id of ["present-count", "absent-count", "concept-count"]) byId(id).textContent = "";
  const [main, other] = conceptsWanted() ? ["concept-list", "term-list"] : ["beside", "absent-list"];
  byId(main).replaceChildren(ghostList(7));
  byId(other).replaceChildren(ghostList(4));
}

function drawResult() {
  drawMarks();
  drawLists();
  if (sheet.chosen) keepChosen();
}

function drawMarks() {
  const { text, result } = sheet;
  sheet.marks = result.concept ? conceptMarks(result) : phraseMarks(result.present);
  const pieces = segments(text, sheet.marks).map(({ start, end, phrases }) => {
    const piece = text.slice(start, end);
    if (phrases.length === 0) return document.createTextNode(piece);
    const { kind, strength } = sheet.marks[phrases[0]];
    return el("mark", { class: kind, "data-phrases": phrases.join(" "), vars: { "--strength": strength } }, piece);
  });
  byId("reading").replaceChildren(...pieces);
}

function phraseMarks(present) {
  const strong = strengths(present);
  return present.map(({ spans }, index) => ({ kind: "present", index, spans, strength: strong[index] }));
}

// The marks that a piece of the text belongs to, the strongest first.
const marksAt = (mark) => mark.dataset.phrases.split(" ").map((number) => sheet.marks[number]);

function drawLists() {
  showLists(true);
  drawRemarks(sheet.result.notices ?? []);
  if (sheet.result.concept) drawConcepts(sheet.result, { choose, point, judged });
  else drawPhrases(sheet.result, sheet.baseline);
  pressChosen();
}

function judged() {
  drawMarks();
  pressChosen();
}

function drawPhrases(result, baseline) {
  byId("present-count").textContent = result.present.length || "";
  byId("absent-count").textContent = result.absent.length || "";
  const shared = baseline && new Set(baseline.results.map((one) => phraseKey(one.phrase)));
  const ours =
    result.present.length > 0
      ? phraseList(result.present, "present", { choose, point, shared, bands: sheet.bands.present })
      : el("p", { class: "none" }, "No phrases were found in this text.");
  byId("beside").classList.toggle("two", baseline !== null);
  byId("beside").replaceChildren(
    ...(baseline === null
      ? [ours]
      : [
          el("div", {}, el("h3", {}, "erukg"), ours),
          el("div", { id: "baseline-list" }, el("h3", {}, baseline.label), theirs(baseline, result.present)),
        ]),
  );
  byId("absent-list").replaceChildren(
    result.absent.length > 0
      ? phraseList(result.absent, "absent", { choose, bands: sheet.bands.absent })
      : el("p", { class: "none" }, whyNoneAbsent()),
  );
}

function drawRemarks(notices) {
  byId("remarks").replaceChildren(...notices.map(({ code, message }) => el("li", { "data-code": code }, message)));
  show(byId("remarks"), notices.length > 0);
}

function theirs(baseline, ours) {
  if (baseline.error) return el("p", { class: "none" }, baseline.error);
  if (baseline.results.length === 0) return el("p", { class: "none" }, "It finds no phrases in this text.");
  return baselineList(baseline.results, ours);
}

function whyNoneAbsent() {
  if (sheet.result.notices?.some((one) => one.code === "not-english")) return "Absent phrases are only generated for English texts.";
  if (turning?.mode() === "extract") return "Extraction looks only at the text. Switch to Generate for absent phrases.";
  if (service && !service.collection) return "There is no collection of other documents to suggest phrases; see erukg collection build.";
  return "No similar documents suggest other phrases.";
}

// Light up in the text what is pointed at in a list; nothing with null.
function point(kind, index) {
  for (const mark of byId("reading").querySelectorAll("mark"))
    mark.classList.toggle("lit", marksAt(mark).some((one) => one.kind === kind && one.index === index));
}

function choose(kind, index, others = []) {
  const found = sheet.result[kind][index];
  if (!sheet.chosen) sheet.opener = document.activeElement;
  sheet.chosen = { kind, index, found, others };
  drawExplanation();
  const card = byId("explanation");
  card.focus({ preventScroll: true });
  card.scrollTop = 0;
  card.parentElement.scrollTop = 0;
  card.scrollIntoView({ block: "nearest" });
}

function drawExplanation() {
  const { alpha, beta, factors, chosen } = sheet;
  const body = sheet.result.concept ? conceptCard(chosen) : phraseCard({ ...chosen, alpha, beta, factors });
  byId("explanation").replaceChildren(
    ...explanationCard(chosen, body, {
      close: closeExplanation,
      choose: (other) => choose(other.kind, other.index, swapped(other)),
    }),
  );
  show(byId("explanation"), true);
  pressChosen();
}

function swapped(other) {
  const { kind, index, found, others } = sheet.chosen;
  return [{ kind, index, found }, ...others.filter((one) => one.found !== other.found)];
}

function chooseAt(mark) {
  const [first, ...rest] = marksAt(mark);
  choose(first.kind, first.index, rest.map(({ kind, index }) => ({ kind, index, found: sheet.result[kind][index] })));
}

// After a new answer the chosen phrase may have another place, or none.
function keepChosen() {
  const key = phraseKey(sheet.chosen.found.phrase);
  for (const kind of sheet.result.concept ? ["concept", "term"] : ["present", "absent"]) {
    const index = sheet.result[kind].findIndex((one) => phraseKey(one.phrase) === key);
    if (index < 0) continue;
    sheet.chosen = { kind, index, found: sheet.result[kind][index], others: [] };
    drawExplanation();
    return;
  }
  const away = byId("explanation").contains(document.activeElement);
  sheet.chosen = null;
  show(byId("explanation"), false);
  if (away) byId("main").focus({ preventScroll: true });
  pressChosen();
}

function pressChosen() {
  const { chosen } = sheet;
  for (const button of document.querySelectorAll(LIST_BUTTONS)) {
    const here = chosen && button.dataset.kind === chosen.kind && Number(button.dataset.index) === chosen.index;
    button.setAttribute("aria-pressed", String(Boolean(here)));
  }
  for (const mark of byId("reading").querySelectorAll("mark"))
    mark.classList.toggle("chosen", marksAt(mark).some((one) => one.kind === chosen?.kind && one.index === chosen.index));
}

function closeExplanation() {
  const { kind, index } = sheet.chosen;
  const inside = byId("explanation").contains(document.activeElement);
  sheet.chosen = null;
  show(byId("explanation"), false);
  pressChosen();
  if (!inside) return;
  const button = document.querySelector(`.margin button[data-kind="${kind}"][data-index="${index}"]`);
  (sheet.opener?.isConnected && sheet.opener !== document.body ? sheet.opener : button)?.focus();
}
