// The texts looked at before, each with the settings tried on it, kept by the browser.

import { inWords } from "./controls.js";
import { button, byId, el, show } from "./dom.js";
import { clear, load, loadAll, remove, save } from "./storage.js";
import { firstLine, hash } from "./text.js";

const MOST_TEXTS = 40;
const MOST_CHARACTERS = 8_000_000;
const MOST_TRIED = 8;
const SHOWN = 6;

let info = null;
let reopen = null;

// `opener(text kept, params)` opens one again.
export function startHistory(service, opener) {
  info = service;
  reopen = opener;
}

export const keptText = (key) => load("texts", key);

// Keep a text, the settings (a query string) it is looked at with and its best phrases; then show what is kept.
export async function remember(text, name, query, phrases) {
  const key = hash(text);
  const before = await keptText(key);
  const tried = [query, ...(before?.tried ?? []).filter((one) => one !== query)].slice(0, MOST_TRIED);
  await save("texts", key, { key, name, text, tried, phrases, at: Date.now() });
  await drawHistory(key);
}

// The texts kept, the latest first; of the one shown, the settings tried on it.
export async function drawHistory(current, most = SHOWN) {
  const all = (await loadAll("texts")).sort((a, b) => b.at - a.at);
  let room = MOST_CHARACTERS;
  const kept = all.filter(({ text }, i) => (room -= text.length) > 0 && i < MOST_TEXTS);
  for (const { key } of all.filter((one) => !kept.includes(one))) remove("texts", key);
  const own = kept.find(({ key }) => key === current);
  const others = kept.filter((one) => one !== own);
  show(byId("history"), others.length > 0 || own?.tried.length > 1);
  byId("history-count").textContent = String(kept.length);
  const part = (title, lines) => (lines.length > 0 ? [el("h2", { class: "small" }, title), el("ul", {}, ...lines)] : []);
  byId("history-list").replaceChildren(
    ...part("This text, as seen before", own?.tried.slice(1).map((query) => tryLine(own, query)) ?? []),
    ...part(own ? "Other texts" : "Texts", others.slice(0, most).map((one) => textLine(one, current))),
    ...(others.length > most ? [button(`Show all ${others.length}`, () => drawHistory(current, MOST_TEXTS))] : []),
    button("Forget all", forget),
  );

  async function forget() {
    await clear("texts");
    await drawHistory(current);
  }
}

function tryLine(kept, query) {
  const params = new URLSearchParams(query);
  return el("li", {}, button(inWords(params, info), () => reopen(kept, params), "kept"));
}

function textLine(kept, current) {
  const title = kept.name || firstLine(kept.text);
  const params = new URLSearchParams(kept.tried[0]);
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "kept", on: { click: () => reopen(kept, params) } },
      el("span", { class: "kept-title", dir: "auto" }, title),
      el("span", { class: "about" }, [ago(kept.at), ...(kept.phrases ?? [])].join(" · ")),
    ),
    el(
      "button",
      {
        type: "button",
        class: "quiet icon",
        "aria-label": `Forget ${title}`,
        on: { click: () => remove("texts", kept.key).then(() => drawHistory(current)) },
      },
      "×",
    ),
  );
}

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]];

function ago(at) {
  const seconds = (Date.now() - at) / 1000;
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? [];
  return unit ? new Intl.RelativeTimeFormat("en").format(-Math.floor(seconds / size), unit) : "just now";
}
