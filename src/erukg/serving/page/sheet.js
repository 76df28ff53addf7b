// The document view: a text, its phrases marked in it and listed beside it, and why.

import { fitsLink, writeAddress } from "./address.js";
import { ServiceError, isStopped, latestOnly, readFile } from "./api.js";
import { conceptsBody, conceptsResult, conceptsWanted, putView } from "./concepts.js";
import { sheet } from "./current.js";
import { announce, byId, notice, plural, show } from "./dom.js";
import { EXAMPLE } from "./example.js";
import { copyText, exportRow } from "./exporting.js";
import { drawHistory, keptText, remember, startHistory } from "./history.js";
import { drawLists, drawResult, drawWaiting, showLists } from "./lists.js";
import { dropChosen, startMarking } from "./marking.js";
import { keepDraft, keptDraft } from "./storage.js";
import { hash, joinLines, looksWrapped } from "./text.js";

const answers = latestOnly();
const comparison = latestOnly();
let turning = null; // the controls; none in a report
let opening = null; // stops the file that is being read

export function startSheet(info, controls) {
  Object.assign(sheet, { factors: info.factors, bands: info.bands ?? {}, collection: Boolean(info.collection) });
  turning = controls;
  const field = byId("text");
  byId("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    openText(field.value, sheet.example ? null : sheet.id);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("entry").requestSubmit();
  });
  field.addEventListener("input", () => keepDraft(field.value));
  // A text pasted into the empty field is meant to be looked at, not edited.
  field.addEventListener("paste", () => {
    const empty = field.value === "";
    setTimeout(() => {
      if (!empty || !field.value.trim()) return;
      if (looksWrapped(field.value)) field.value = joinLines(field.value);
      byId("entry").requestSubmit();
    });
  });
  byId("example").addEventListener("click", openExample);
  byId("edit").addEventListener("click", () => editText(sheet.text));
  byId("fresh").addEventListener("click", () => {
    putText(null, "");
    editText("");
  });
  startHistory(info, (kept, params) => {
    takeParams(params);
    openText(kept.text, kept.name);
  });
  startReading([["Link", "Copy link", copyLink]]);
}

// What a report needs of this view: everything but the entry of texts.
export function startReading(more = []) {
  const results = () => (sheet.result ? [sheet.result] : []);
  exportRow(byId("document-export"), results, () => fileName(sheet.id ?? "keyphrases"), more);
  startMarking(() => tell());
}

function fileName(id) {
  return id.replace(/\.\w+$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(-80) || "keyphrases";
}

// Show what the address names: a text in it, a text that the browser keeps, or the worked example.
export async function enterDocument(params) {
  const [given, key] = [params.get("text"), params.get("doc")];
  const kept = given === null && key !== null ? await keptText(key) : null;
  const text = given ?? kept?.text ?? null;
  const draft = keptDraft();
  takeParams(params);
  if (key !== null && text === null) missingText();
  else if (text === null) openExample();
  else if (text === sheet.text && !byId("reading").hidden) refresh();
  else openText(text, params.get("name") ?? kept?.name ?? null, { known: true });
  if (!draft) return;
  keepDraft(draft);
  if (text === null) byId("text").value = draft;
  else editText(draft);
}

// Show what was there when the view was left.
export function returnToDocument() {
  if (sheet.text) tell();
  else enterDocument(new URLSearchParams());
}

function takeParams(params) {
  sheet.wanted = params.get("phrase");
  putView(params.get("view"), params.get("vocabulary"));
  turning.restore(params);
  showWhich();
}

function missingText() {
  putText(null, "");
  editText("");
  const what = "The text of this link is too long for a link, and this browser does not have it.";
  notice(byId("document-notice"), `${what} Paste it here: the settings of the link are in place.`);
}

// The settings and the view, as they are kept of a text.
function settingsNow() {
  return { ...turning.state(), ...(conceptsWanted() && { view: "concepts", vocabulary: byId("vocabulary").value }) };
}

const bestPhrases = () => (sheet.result.present ?? sheet.result.concept).slice(0, 3).map((found) => found.phrase);

// Say in the address what is shown, and keep it.
function tell(push = false) {
  if (byId("document").hidden) return;
  const phrase = sheet.chosen?.found.phrase;
  if (!turning) {
    writeAddress("document", { n: byId("pick").value, phrase });
    return;
  }
  const params = { ...settingsNow(), phrase };
  if (!sheet.text) return;
  if (sheet.example) writeAddress("document", params, push);
  else {
    const text = fitsLink(sheet.text) ? { text: sheet.text } : { doc: hash(sheet.text) };
    writeAddress("document", { ...text, name: sheet.id, ...params }, push);
  }
}

async function copyLink() {
  const copied = await copyText(location.href);
  if (!copied) return "The browser does not allow copying.";
  return sheet.example || fitsLink(sheet.text) ? "Link copied." : "Link copied, without the text: it is too long.";
}

function putText(id, text) {
  answers.stop();
  comparison.stop();
  busy(false);
  dropChosen();
  Object.assign(sheet, { id, text, example: false, result: null, marks: [], baseline: null });
  byId("document-notice").replaceChildren();
  showLists(false);
}

function editText(text) {
  byId("entry").classList.remove("compact");
  byId("text").value = text;
  show(byId("entry"), true);
  show(byId("reading"), false);
  show(byId("sheet-bar"), false);
  byId("text").focus();
}

function openExample() {
  putText("example", EXAMPLE);
  sheet.example = true;
  byId("text").value = "";
  showText("A worked example");
  byId("entry").classList.add("compact");
  show(byId("entry"), true);
  show(byId("sheet-actions"), false);
  // Not on a touch screen, where a keyboard would cover the example.
  if (matchMedia("(hover: hover)").matches) byId("text").focus({ preventScroll: true });
  tell();
  drawHistory(null);
  refresh();
}

export function openText(text, id = null, { known = false } = {}) {
  const wanted = sheet.wanted;
  putText(id, text);
  if (!text.trim()) {
    editText("");
    notice(byId("document-notice"), "There is no text yet. Paste one, open a file, or try the example.");
    return;
  }
  sheet.wanted = wanted;
  keepDraft("");
  showText([id, plural(text.trim().split(/\s+/).length, "word")].filter(Boolean).join(" · "));
  tell(!known);
  refresh();
}

// A document whose phrases are known already, as all are in a report.
export function openResult(document_, { settings, factors, bands = {} }, wanted = null) {
  putText(document_.id, document_.text);
  showText(document_.title || document_.id);
  Object.assign(sheet, { alpha: settings.alpha, beta: settings.beta, factors, bands, wanted });
  sheet.result = document_.result;
  drawResult();
}

function showText(name) {
  show(byId("entry"), false);
  show(byId("reading"), true);
  show(byId("sheet-bar"), true);
  show(byId("sheet-actions"), turning !== null);
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

function showWhich() {
  const concepts = conceptsWanted();
  show(byId("vocabulary-choice"), concepts);
  byId("find").textContent = concepts ? "Find concepts" : "Find keyphrases";
  turning.onlyTopK(concepts);
}

// Show keyphrases instead of concepts, or the other way round, or concepts of another vocabulary.
export function changeView() {
  showWhich();
  dropChosen();
  sheet.result = null;
  if (byId("reading").hidden) showLists(false);
  else {
    byId("reading").replaceChildren(document.createTextNode(sheet.text));
    refresh();
  }
}

// Ask again for the sheet's text, with the controls as they are now.
export async function refresh() {
  if (!sheet.text.trim() || byId("reading").hidden) return;
  const find = conceptsWanted() ? askConcepts : askPhrases;
  const begin = performance.now();
  busy(true);
  if (sheet.result === null) drawWaiting();
  compareAgain();
  try {
    const found = await find(sheet.id ?? "text", sheet.text);
    byId("document-notice").replaceChildren();
    busy(false);
    drawResult();
    byId("taken").textContent = `${found} · ${seconds(performance.now() - begin)}`;
    announce([`${found}.`, ...(sheet.result.notices ?? []).map((one) => one.message)].join(" "));
    tell();
    if (!sheet.example) remember(sheet.text, sheet.id, new URLSearchParams(settingsNow()).toString(), bestPhrases());
  } catch (error) {
    if (isStopped(error)) return;
    busy(false);
    if (sheet.result === null) showLists(false);
    notice(byId("document-notice"), error.message, [["Try again", refresh]]);
  }
}

const seconds = (ms) => (ms < 950 ? `${Math.max(Math.round(ms / 10) / 100, 0.01)} s` : `${(ms / 1000).toFixed(1)} s`);

async function askPhrases(id, text) {
  const body = turning.body();
  // A text that is sent alone is remembered by the service, so that other settings rank its phrases again at once.
  const result = { ...(await ask("v1/keyphrases", { text, ...body, explain: true })), id };
  const own = turning.ownWords();
  if (own) result.absent = [];
  const [alpha, beta] = ["alpha", "beta"].map((name) => (sheet.collection ? turning.value(name) : 1));
  Object.assign(sheet, { result, own, alpha, beta });
  const others = own ? "" : `, ${result.absent.length} suggested`;
  return `${result.present.length} in the text${others}`;
}

async function askConcepts(id, text) {
  sheet.result = conceptsResult(await ask("v1/suggest", conceptsBody(id, text, turning.body().top_k)));
  return `${plural(sheet.result.concept.length, "concept")}, ${plural(sheet.result.term.length, "new term")}`;
}

async function ask(path, body) {
  const waiting = (time) => announce(`The service is busy; asking again in ${time} seconds.`);
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
  const label = turning.baselineLabel();
  try {
    const body = { text: sheet.text, system, top_k: turning.body().top_k };
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
