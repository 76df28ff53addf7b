// The lists beside the map: the phrases of the corpus, its documents, and the documents of one phrase.

import { button, el, plural } from "./dom.js";
import { spark, trendWord } from "./trends.js";

const SORTS = {
  most: ["most documents", (a, b, counts) => counts[b] - counts[a] || a - b],
  rising: ["rising", (a, b, _, trends) => trends[b].change - trends[a].change || a - b],
  falling: ["falling", (a, b, _, trends) => trends[a].change - trends[b].change || a - b],
  name: ["A to Z", (a, b, _, __, nodes) => nodes[a].label.localeCompare(nodes[b].label, "en")],
};

// `look` has nodes, counts and trends (or null) of the phrases, `sought` (a set or null) and `sort`.
export function phraseView({ nodes, counts, trends, sought, sort }, { choose, sortBy }) {
  const sorts = Object.entries(SORTS).filter(([name]) => trends || !["rising", "falling"].includes(name));
  const by = sorts.some(([name]) => name === sort) ? sort : "most";
  const order = nodes.map((_, i) => i).filter((i) => counts[i] > 0 && (sought === null || sought.has(i)));
  order.sort((a, b) => SORTS[by][1](a, b, counts, trends, nodes));
  const select = el(
    "select",
    { id: "corpus-sort", on: { change: () => sortBy(select.value) } },
    ...sorts.map(([name, [label]]) => el("option", { value: name }, label)),
  );
  select.value = by;
  return [
    el("div", { class: "list-head" }, el("label", { for: "corpus-sort" }, "Sort by"), select),
    order.length === 0 && el("p", { class: "none" }, "No phrase has these letters."),
    el(
      "ol",
      { class: "phrase-list tally" },
      ...order.map((i) => phraseLine(nodes[i], counts[i], trends?.[i], () => choose(i))),
    ),
  ].filter(Boolean);
}

function phraseLine(node, count, trend, choose) {
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: `phrase group-${node.group}`, on: { click: choose } },
      el("span", { class: "dot", "aria-hidden": "true" }),
      el("span", { class: "name", dir: "auto" }, node.label),
      el(
        "span",
        { class: "score" },
        trend && spark(trend),
        trend && el("span", { class: "sr-only" }, `${trendWord(trend)}, `),
        String(count),
      ),
    ),
    node.also.length > 0 && el("p", { class: "also", dir: "auto" }, `also: ${node.also.join(", ")}`),
  );
}

// One phrase: its other forms, its trend, what it occurs with, and its documents.
export function onePhraseView({ node, near, trend }, documentList, { choose, back }) {
  return [
    button("All phrases", back, "quiet back"),
    el("h2", { class: "chosen-phrase", dir: "auto" }, node.label),
    node.also.length > 0 && el("p", { class: "where" }, `Also: ${node.also.join(", ")}`),
    trend && el("p", { class: "where trend" }, spark(trend), ` ${trendWord(trend)} over the years`),
    near.length > 0 &&
      el("p", { class: "others" }, "Together with ", ...near.map(({ i, label }) => button(label, () => choose(i), "chip"))),
    ...documentList,
  ].filter(Boolean);
}

// The documents of these numbers, each to be opened or selected; `most` of them at once.
export function documentList({ documents, numbers, selected, alone, most }, actions) {
  const { selectAll, clearAll, only, more } = actions;
  const chosen = numbers.filter((number) => selected.has(number)).length;
  return [
    el(
      "div",
      { class: "list-head" },
      el("h2", { class: "small" }, plural(numbers.length, "document")),
      numbers.length > 0 && chosen < numbers.length && button("Select all", () => selectAll(numbers)),
      selected.size > 0 && button("Select none", clearAll),
      alone && button("Map of all documents", only),
      !alone && selected.size > 0 && button(`Map of ${plural(selected.size, "document")}`, only),
    ),
    numbers.length === 0 && el("p", { class: "none" }, "No document has these letters."),
    el(
      "ul",
      { class: "document-list" },
      ...numbers.slice(0, most).map((number) => documentLine(documents[number], number, selected, actions)),
    ),
    numbers.length > most && button("Show more", more, ""),
  ].filter(Boolean);
}

function documentLine(document_, number, selected, { open, select }) {
  const best = document_.result.present.slice(0, 3).map((found) => found.phrase);
  const title = document_.title || document_.id;
  const change = () => select(number, box.checked);
  const box = el("input", { type: "checkbox", "data-number": number, "aria-label": `Select ${title}`, on: { change } });
  box.checked = selected.has(number);
  return el(
    "li",
    {},
    box,
    el(
      "button",
      { type: "button", on: { click: () => open(document_) } },
      el("span", { class: "title", dir: "auto" }, title),
      el("span", { class: "about" }, [document_.year, ...best].filter(Boolean).join(" · ")),
    ),
  );
}
