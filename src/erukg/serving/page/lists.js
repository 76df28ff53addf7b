// What stands beside the text: phrases or concepts in lists, what to know about the text, and how to read them.

import { conceptsWanted, drawConcepts } from "./concepts.js";
import { isUnrated, ratings } from "./confidence.js";
import { sheet } from "./current.js";
import { byId, el, show } from "./dom.js";
import { choose, drawMarks, keepChosen, point, saveCard, showChosen } from "./marking.js";
import { baselineList, ghostList, phraseList } from "./phrases.js";
import { phraseKey } from "./text.js";

// Keyphrases or concepts, or how to read them.
export function showLists(on) {
  const concepts = conceptsWanted();
  show(byId("lists"), on && !concepts);
  show(byId("export"), on && !concepts);
  show(byId("concepts"), on && concepts);
  show(byId("guide"), !on && !concepts);
  show(byId("concept-guide"), !on && concepts);
  show(byId("taken"), on);
  if (!on) drawRemarks([]);
}

// While the first answer is awaited.
export function drawWaiting() {
  showLists(true);
  drawRemarks([]);
  for (const id of ["present-count", "absent-count", "concept-count"]) byId(id).textContent = "";
  byId("taken").textContent = "Working …";
  const [main, other] = conceptsWanted() ? ["concept-list", "term-list"] : ["beside", "absent-list"];
  byId(main).replaceChildren(ghostList(7));
  byId(other).replaceChildren(ghostList(4));
}

// The sheet's result, in the text and in the lists.
export function drawResult() {
  const { result, bands } = sheet;
  sheet.rated = {};
  if (!result.concept)
    for (const kind of ["present", "absent"]) sheet.rated[kind] = ratings(result[kind], bands[kind], result.notices);
  drawMarks();
  drawLists();
  keepChosen();
}

export function drawLists() {
  const { result, baseline } = sheet;
  saveCard();
  showLists(true);
  drawRemarks(result.notices ?? []);
  if (result.concept) drawConcepts(result, { choose, point, judged });
  else drawPhrases(result, baseline);
  showChosen();
}

function judged() {
  drawMarks();
  showChosen();
}

function drawPhrases(result, baseline) {
  byId("present-count").textContent = result.present.length || "";
  byId("absent-count").textContent = result.absent.length || "";
  const shared = baseline && new Set(baseline.results.map((one) => phraseKey(one.phrase)));
  const ours =
    result.present.length > 0
      ? phraseList(result.present, "present", { choose, point, shared, rated: sheet.rated.present })
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
      ? phraseList(result.absent, "absent", { choose, point, rated: sheet.rated.absent })
      : el("p", { class: "none" }, whyNoneAbsent()),
  );
}

// What the service says of the text, and what that means for the bars.
function drawRemarks(notices) {
  const lines = notices.map(({ code, message }) => el("li", { "data-code": code }, message));
  const phrases = sheet.result?.present ?? [];
  const unknown = sheet.bands.present && phrases.every((one) => typeof one.confidence !== "number");
  const aside = (sentence) => lines.push(el("li", { class: "aside" }, sentence));
  if (phrases.length > 0 && isUnrated(notices)) aside("How sure a phrase is cannot be told for such a text, so bars stay short.");
  else if (phrases.length > 0 && unknown) aside("With these settings it is not known how sure a phrase is, so bars stay short.");
  byId("remarks").replaceChildren(...lines);
  show(byId("remarks"), lines.length > 0);
}

function theirs(baseline, ours) {
  if (baseline.error) return el("p", { class: "none" }, baseline.error);
  if (baseline.results.length === 0) return el("p", { class: "none" }, "It finds no phrases in this text.");
  return baselineList(baseline.results, ours);
}

function whyNoneAbsent() {
  const codes = (sheet.result.notices ?? []).map((one) => one.code);
  if (sheet.collection === false) {
    return "There is no collection of other documents to suggest phrases; see erukg collection build.";
  }
  if (sheet.own) return "Only the text's own words were asked for. Move the slider to Suggest for others.";
  if (codes.includes("not-english")) return "Suggestions are only made for English texts.";
  if (codes.includes("unlike-collection")) return "None for a text unlike the collection.";
  return "No similar documents suggest other phrases.";
}
