// Starts the page: against the service that sent it, or as a report with everything in it.

import { call, rememberKey } from "./api.js";
import { startConcepts } from "./concepts.js";
import { buildControls } from "./controls.js";
import { corpusSize, openCorpus, openFiles, redrawCorpus, startCorpus } from "./corpus.js";
import { byId, el, notice, plural, show } from "./dom.js";
import { filesOfDrop, filesOfInput, firstLine, looksLikeCorpus } from "./reading.js";
import { changeView, openFile, openResult, openText, refresh, startReading, startSheet } from "./sheet.js";

const embedded = byId("erukg-report");
let turned = null;

function showView() {
  const corpus = location.hash === "#corpus" && !byId("to-corpus").hidden;
  show(byId("document"), !corpus);
  show(byId("corpus"), corpus);
  for (const [link, here] of [[byId("to-document"), !corpus], [byId("to-corpus"), corpus]])
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  show(byId("back"), corpusSize() > 1);
  if (corpus) redrawCorpus();
  scrollTo(0, 0);
}

function go(view) {
  if (location.hash === `#${view}`) showView();
  else location.hash = view;
}

function describe({ version, model, collection }) {
  const name = typeof model === "string" ? model : (model?.name ?? "");
  const source = collection ? `collection of ${plural(collection.documents, "document")}` : "no collection";
  byId("made-with").textContent = [name && `model ${name}`, source].filter(Boolean).join(" · ");
  byId("foot").textContent = `erukg ${version}`;
}

function takeFiles(files) {
  if (files.length === 0) return;
  if (looksLikeCorpus(files) || location.hash === "#corpus") {
    go("corpus");
    openFiles(files, turned ? { mode: turned.mode(), settings: turned.changes() } : {});
  } else {
    go("document");
    openFile(files[0].file);
  }
}

function takeDrops() {
  let depth = 0;
  const over = (on) => byId("drop").classList.toggle("over", on);
  addEventListener("dragenter", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    depth += 1;
    over(true);
  });
  addEventListener("dragleave", () => {
    depth = Math.max(depth - 1, 0);
    if (depth === 0) over(false);
  });
  addEventListener("dragover", (event) => {
    if ([...event.dataTransfer.types].includes("Files")) event.preventDefault();
  });
  addEventListener("drop", async (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    depth = 0;
    over(false);
    takeFiles(await filesOfDrop(event.dataTransfer));
  });
}

function takeInput(button, input) {
  byId(button).addEventListener("click", () => byId(input).click());
  byId(input).addEventListener("change", () => {
    const files = filesOfInput(byId(input));
    byId(input).value = "";
    takeFiles(files);
  });
}

async function startService() {
  let info;
  let baselines;
  try {
    [info, baselines] = await Promise.all([call("v1/info"), call("v1/baselines")]);
  } catch (error) {
    if (error.status === 401 || error.status === 403) askForKey(error.message);
    else notice(byId("document-notice"), error.message, [["Try again", () => location.reload()]]);
    return;
  }
  describe(info);
  turned = buildControls(byId("controls-form"), info, baselines.results, refresh);
  byId("controls").open = matchMedia("(min-width: 75rem)").matches;
  startSheet(info, turned);
  startConcepts(info.vocabularies ?? [], changeView);
  startCorpus(info, (document_) => {
    go("document");
    openText(document_.text, document_.id);
  });
  takeInput("open", "file");
  takeInput("corpus-open", "corpus-files");
  takeInput("corpus-folder", "corpus-folder-files");
  takeDrops();
  document.documentElement.dataset.ready = "";
}

function askForKey(message) {
  const input = el("input", { type: "password", id: "key", autocomplete: "off" });
  const form = el(
    "form",
    { class: "sheet ask-key" },
    el("label", { for: "key" }, "This service needs an API key"),
    el("p", { class: "entry-hint" }, message),
    input,
    el("button", { type: "submit", class: "primary" }, "Continue"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    rememberKey(input.value.trim());
    byId("document-notice").replaceChildren();
    show(byId("entry"), true);
    startService();
  });
  show(byId("entry"), false);
  byId("document-notice").replaceChildren(form);
  input.focus();
}

function startReport() {
  const report = JSON.parse(embedded.textContent);
  const documents = report.documents.map((row) => ({ ...row, title: row.title || firstLine(row.text) }));
  document.documentElement.dataset.report = "";
  document.title = "Keyphrases";
  describe(report);
  byId("foot").textContent = [`Made with erukg ${report.version}`, report.made, report.note].filter(Boolean).join(" · ");
  for (const id of ["controls", "entry", "sheet-actions", "corpus-actions"]) show(byId(id), false);
  show(byId("to-corpus"), documents.length > 1);
  startReading();
  startCorpus(null, (document_) => {
    openAt(documents.indexOf(document_));
    go("document");
  });
  openCorpus(documents);
  const pick = byId("pick");
  const openAt = (number) => {
    pick.value = String(number);
    byId("previous").disabled = number === 0;
    byId("next").disabled = number === documents.length - 1;
    openResult(documents[number], report);
  };
  pick.replaceChildren(...documents.map((document_, i) => el("option", { value: i }, `${i + 1}. ${document_.title}`)));
  pick.addEventListener("change", () => openAt(Number(pick.value)));
  byId("previous").addEventListener("click", () => openAt(Number(pick.value) - 1));
  byId("next").addEventListener("click", () => openAt(Number(pick.value) + 1));
  show(byId("walk"), documents.length > 1);
  openAt(0);
  if (documents.length > 1 && !location.hash) location.replace("#corpus");
  document.documentElement.dataset.ready = "";
}

addEventListener("hashchange", () => ["", "#document", "#corpus"].includes(location.hash) && showView());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
if (embedded) startReport();
else await startService();
showView();
