// The phrases in the text and in the lists, connected: what is chosen in one is shown in the other, with why.

import { conceptCard, conceptMarks } from "./concepts.js";
import { sheet } from "./current.js";
import { byId, el, show } from "./dom.js";
import { explanationCard, phraseCard } from "./explaining.js";
import { phraseKey, segments, toUnits } from "./text.js";

const LIST_BUTTONS = "#lists button.phrase, #concepts button.phrase";
const card = byId("explanation");
const home = card.parentElement;
const narrow = matchMedia("(max-width: 60rem)");
let changed = null;

// `told` hears when another phrase is chosen, or none.
export function startMarking(told) {
  changed = told;
  byId("reading").addEventListener("click", (event) => {
    const mark = event.target.closest("mark");
    if (mark) chooseAt(mark);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && sheet.chosen) close();
  });
}

export function drawMarks() {
  const { text, result, rated } = sheet;
  sheet.marks = result.concept
    ? conceptMarks(result)
    : result.present.map(({ spans }, index) => ({ kind: "present", index, spans, strength: rated.present[index].fill }));
  const pieces = segments(text, sheet.marks).map(({ start, end, phrases }) => {
    const piece = text.slice(start, end);
    if (phrases.length === 0) return document.createTextNode(piece);
    const { kind, strength } = sheet.marks[phrases[0]];
    const data = { "data-phrases": phrases.join(" "), "data-start": start };
    return el("mark", { class: kind, ...data, vars: { "--strength": strength } }, piece);
  });
  byId("reading").replaceChildren(...pieces);
}

// The marks that a piece of the text belongs to, the strongest first.
const marksAt = (mark) => mark.dataset.phrases.split(" ").map((number) => sheet.marks[number]);

// Light up in the text what is pointed at in a list; nothing with null.
export function point(kind, index) {
  for (const mark of byId("reading").querySelectorAll("mark"))
    mark.classList.toggle("lit", marksAt(mark).some((one) => one.kind === kind && one.index === index));
}

// From a list: the phrase is explained and its first occurrence shown; once more, the next occurrence.
export function choose(kind, index) {
  const { chosen } = sheet;
  if (chosen?.kind === kind && chosen.index === index) {
    if (chosen.found.spans?.length > 0) step(1);
    else close();
    return;
  }
  take({ kind, index, at: 0, others: [] });
  if (narrow.matches) card.scrollTop = 0;
  else scrollToOccurrence();
}

// From the text: the phrase at this place, and the others that share it.
function chooseAt(mark) {
  const [first, ...rest] = marksAt(mark);
  const start = Number(mark.dataset.start);
  const { spans } = sheet.result[first.kind][first.index];
  const units = toUnits(sheet.text, spans.flat());
  const at = Math.max(spans.findIndex(([from, to]) => units.get(from) <= start && start < units.get(to)), 0);
  take({ kind: first.kind, index: first.index, at, others: rest.map(({ kind, index }) => ({ kind, index })) });
  const button = chosenButton();
  button?.focus({ preventScroll: true });
  if (!narrow.matches) button?.parentElement.scrollIntoView({ block: "nearest" });
}

function take(chosen) {
  sheet.chosen = { ...chosen, found: sheet.result[chosen.kind][chosen.index] };
  drawCard();
  changed();
}

function step(by) {
  const { chosen } = sheet;
  const count = chosen.found.spans.length;
  chosen.at = (chosen.at + by + count) % count;
  const inside = card.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  drawCard();
  if (inside) card.querySelector(`[aria-label="${inside}"]`)?.focus({ preventScroll: true });
  scrollToOccurrence();
}

function scrollToOccurrence() {
  const mark = byId("reading").querySelector("mark.here");
  if (!mark) return;
  // On a phone the card covers the lower part. What is far off is reached at once.
  const way = mark.getBoundingClientRect().top - innerHeight * (narrow.matches ? 0.15 : 0.4);
  if (Math.abs(way) < innerHeight * 0.2) return;
  scrollBy({ top: way, behavior: Math.abs(way) > 2 * innerHeight ? "instant" : "auto" });
}

function drawCard() {
  const { alpha, beta, factors, chosen, rated, text, result } = sheet;
  const rating = rated[chosen.kind]?.[chosen.index];
  const open = card.querySelector(".formula")?.open;
  const body = result.concept ? conceptCard(chosen) : phraseCard({ ...chosen, rating, alpha, beta, factors });
  const others = chosen.others.map((other) => ({ ...other, found: result[other.kind][other.index] }));
  const swap = ({ kind, index }) => {
    const rest = chosen.others.filter((one) => one.kind !== kind || one.index !== index);
    take({ kind, index, at: 0, others: [{ kind: chosen.kind, index: chosen.index }, ...rest] });
  };
  card.replaceChildren(...explanationCard({ ...chosen, others }, text, body, { close, choose: swap, step }));
  if (open) card.querySelector(".formula").open = true;
  show(card, true);
  showChosen();
}

const chosenButton = () => {
  const { kind, index } = sheet.chosen;
  return home.querySelector(`button.phrase[data-kind="${kind}"][data-index="${index}"]`);
};

// Mark what is chosen, in the lists and in the text, and put the card under its phrase.
export function showChosen() {
  const { chosen, text } = sheet;
  for (const button of document.querySelectorAll(LIST_BUTTONS)) button.setAttribute("aria-expanded", "false");
  const span = chosen?.found.spans?.[chosen.at];
  const units = span && toUnits(text, span);
  for (const mark of byId("reading").querySelectorAll("mark")) {
    const here = chosen && marksAt(mark).some((one) => one.kind === chosen.kind && one.index === chosen.index);
    const start = Number(mark.dataset.start);
    mark.classList.toggle("chosen", Boolean(here));
    mark.classList.toggle("here", Boolean(here && span && start >= units.get(span[0]) && start < units.get(span[1])));
  }
  if (!chosen) return;
  const button = chosenButton();
  button?.setAttribute("aria-expanded", "true");
  const beside = button?.closest(".beside.two");
  if (beside) beside.before(card);
  else button?.parentElement.append(card);
}

// The lists are about to be drawn anew: the card waits outside, as the focus does.
export function saveCard() {
  const focused = card.contains(document.activeElement) ? document.activeElement : null;
  home.append(card);
  focused?.focus({ preventScroll: true });
}

// After a new answer the chosen phrase may have another place, or none.
export function keepChosen() {
  const wanted = sheet.chosen?.found.phrase ?? sheet.wanted;
  sheet.wanted = null;
  if (!wanted) return;
  const before = sheet.chosen;
  sheet.chosen = null;
  for (const kind of sheet.result.concept ? ["concept", "term"] : ["present", "absent"]) {
    const index = sheet.result[kind].findIndex((one) => phraseKey(one.phrase) === phraseKey(wanted));
    if (index < 0) continue;
    const found = sheet.result[kind][index];
    const last = Math.max((found.spans?.length ?? 1) - 1, 0);
    sheet.chosen = { kind, index, found, others: [], at: Math.min(before?.at ?? 0, last) };
    drawCard();
    return;
  }
  const away = card.contains(document.activeElement);
  show(card, false);
  if (away) byId("main").focus({ preventScroll: true });
  showChosen();
}

export function dropChosen() {
  sheet.chosen = null;
  show(card, false);
  home.append(card);
}

function close() {
  const button = chosenButton();
  const inside = card.contains(document.activeElement);
  dropChosen();
  showChosen();
  if (inside) button?.focus();
  changed();
}
