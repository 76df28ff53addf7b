// Starts the page: against the service that sent it, or as a report with everything in it.

import { readAddress, writeAddress } from "./address.js";
import { call, rememberKey } from "./api.js";
import { startConcepts } from "./concepts.js";
import { buildControls } from "./controls.js";
import { corpusSize, enterCorpus, openCorpus, openFiles, startCorpus } from "./corpus.js";
import { byId, el, notice, plural, show } from "./dom.js";
import { filesOfDrop, filesOfInput, looksLikeCorpus } from "./reading.js";
import { changeView, enterDocument, openFile, openResult, openText } from "./sheet.js";
import { refresh, returnToDocument, startReading, startSheet } from "./sheet.js";
import { firstLine } from "./text.js";

const embedded = byId("erukg-report");
let openInReport = null; // opens the document that an address of a report names

function showView(view) {
  const corpus = view === "corpus" && !byId("to-corpus").hidden;
  show(byId("document"), !corpus);
  show(byId("corpus"), corpus);
  for (const [link, here] of [[byId("to-document"), !corpus], [byId("to-corpus"), corpus]])
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  show(byId("back"), corpusSize() > 1);
  scrollTo({ top: 0, behavior: "instant" });
}

// Show what the address names.
async function route() {
  const { view, params } = readAddress();
  showView(view);
  if (!byId("corpus").hidden) await enterCorpus(params);
  else if (openInReport) openInReport(params);
  else await enterDocument(params);
}

// To the other view, as it was left; a step that "Back" undoes.
function go(view) {
  if (readAddress().view !== view) writeAddress(view, {}, true);
  showView(view);
}

function describe({ version, model, collection }) {
  const name = typeof model === "string" ? model : (model?.name ?? "");
  const source = collection ? `collection of ${plural(collection.documents, "document")}` : "no collection";
  byId("made-with").textContent = [name && `model ${name}`, source].filter(Boolean).join(" · ");
  byId("foot").textContent = `erukg ${version}`;
}

function takeFiles(files) {
  if (files.length === 0) return;
  if (looksLikeCorpus(files) || !byId("corpus").hidden) {
    go("corpus");
    openFiles(files);
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
    if (error.status === 401) askForKey(error.message);
    else notice(byId("document-notice"), error.message, [["Try again", () => location.reload()]]);
    return;
  }
  describe(info);
  byId("foot").append(" · ", el("a", { href: "docs" }, "The API"));
  byId("controls").open = matchMedia("(min-width: 48rem)").matches;
  byId("history").open = matchMedia("(min-width: 75rem)").matches;
  startSheet(info, buildControls(byId("controls-form"), info, { changed: () => refresh(), baselines: baselines.results }));
  startConcepts(info.vocabularies ?? [], changeView);
  startCorpus(info, (document_) => {
    go("document");
    openText(document_.text, document_.title || document_.id, { known: true });
  });
  takeInput("open", "file");
  takeInput("corpus-open", "corpus-files");
  takeInput("corpus-folder", "corpus-folder-files");
  takeDrops();
  addEventListener("popstate", route);
  await route();
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
  for (const id of ["side", "entry", "sheet-actions", "corpus-actions", "corpus-settings"]) show(byId(id), false);
  show(byId("to-corpus"), documents.length > 1);
  startReading();
  startCorpus(null, (document_) => {
    writeAddress("document", { n: documents.indexOf(document_) }, true);
    route();
  });
  openCorpus(documents);
  const pick = byId("pick");
  const openAt = (number, phrase = null) => {
    pick.value = String(number);
    byId("previous").disabled = number === 0;
    byId("next").disabled = number === documents.length - 1;
    openResult(documents[number], report, phrase);
  };
  const walk = (number) => {
    openAt(number);
    writeAddress("document", { n: number });
  };
  openInReport = (params) => {
    const number = Number(params.get("n") ?? (pick.value || 0));
    openAt(number in documents ? number : 0, params.get("phrase"));
  };
  pick.replaceChildren(...documents.map((document_, i) => el("option", { value: i }, `${i + 1}. ${document_.title}`)));
  pick.addEventListener("change", () => walk(Number(pick.value)));
  byId("previous").addEventListener("click", () => walk(Number(pick.value) - 1));
  byId("next").addEventListener("click", () => walk(Number(pick.value) + 1));
  show(byId("walk"), documents.length > 1);
  if (documents.length > 1 && !location.hash) writeAddress("corpus", {});
  addEventListener("popstate", route);
  route();
  document.documentElement.dataset.ready = "";
}

for (const link of document.querySelectorAll('a[href="#document"], a[href="#corpus"]'))
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const view = link.getAttribute("href").slice(1);
    go(view);
    if (view === "corpus") enterCorpus(new URLSearchParams());
    else if (openInReport) openInReport(new URLSearchParams());
    else returnToDocument();
  });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
if (embedded) startReport();
else await startService();
