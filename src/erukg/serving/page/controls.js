// What can be turned: three sliders in words, and under "Expert" every setting that the service names.

import { button, debounce, el, plural, show } from "./dom.js";
import { makeKnob } from "./knobs.js";

// Names, and ranges in which turning a setting still changes something; the number beside it takes the whole range.
const FIRST = [
  { name: "top_k", symbol: "k", label: "results of each kind", low: 1, high: 30, step: 1 },
  { name: "alpha", symbol: "α", label: "this text's share of word weights", step: 0.05, others: true },
  { name: "beta", symbol: "β", label: "this text's share of phraseness", step: 0.05, others: true },
  { name: "phraseness", symbol: "λ", label: "weight of phraseness", low: 0, high: 4, step: 0.02 },
  { name: "length_penalty", symbol: "γ", label: "lower favours longer phrases", low: -8, high: 0.9, step: 0.05 },
  { name: "neighbours", symbol: "N", label: "similar documents", low: 0, high: 600, step: 5, others: true },
  { name: "diversity", symbol: "δ", label: "diversity", step: 0.05 },
];
const MORE = {
  position: { label: "weight of position", low: 0, high: 6, step: 0.1 },
  single_word: { label: "factor for single words", step: 0.05 },
  absent_phraseness: { symbol: "λ", label: "for phrases not in the text", low: 0, high: 4, step: 0.05, others: true },
  absent_length_penalty: { symbol: "γ", label: "for phrases not in the text", low: -8, high: 0.9, step: 0.05, others: true },
  neighbour_candidates: { label: "phrases from similar documents", low: 0, high: 1000, step: 10, others: true },
  max_words: { label: "longest phrase, in words", low: 1, high: 10, step: 1 },
  frequency: { label: "favour frequent phrases" },
  drop_contained: { label: "drop words contained in better phrases" },
};
const COUNTS = [3, 5, 7, 10, 15, 20, 30];
const USUAL_COUNT = 10;
const LENGTHS = ["much shorter", "shorter", "as they come", "longer", "much longer"];
const WAIT_MS = 90;

// Fill the form. `changed` is called, a moment after the last change, when something was turned.
export function buildControls(form, info, { changed, baselines = [] }) {
  const soon = debounce(changed, WAIT_MS);
  const turned = () => {
    reflect();
    soon();
  };
  const count = { value: USUAL_COUNT, low: 1, high: info.limits?.top_k ?? 100, kind: "whole", help: "how many of each kind" };
  const settings = { top_k: count, ...info.settings };
  const knobs = new Map();
  const add = (name, hint = {}) => {
    if (!(name in settings)) return null;
    knobs.set(name, makeKnob(name, settings[name], hint, turned));
    return knobs.get(name).node;
  };
  const first = FIRST.map((hint) => add(hint.name, hint));
  const more = Object.keys(settings).filter((name) => !knobs.has(name)).map((name) => add(name, MORE[name]));
  const put = (values) => {
    for (const [name, value] of Object.entries(values)) knobs.get(name)?.put(value);
  };
  const sources = sourceStops(info, settings);
  const lengths = lengthStops(info.styles ?? {}, settings);
  let own = !info.collection; // no suggestions: the text's own words only

  const plain = {
    count: wordSlider("Fewer", "More", COUNTS.map((count) => `${count} of each kind`), (at) => {
      put({ top_k: COUNTS[at] });
      turned();
    }),
    length: wordSlider("Shorter", "Longer", LENGTHS, (at) => {
      put(lengths[at]);
      turned();
    }),
    source: wordSlider("Own words", "Suggest", sources.map((stop) => stop.label), (at) => {
      own = sources[at].own;
      put(sources[at].settings);
      turned();
    }),
  };
  const others = baselines.map(({ name, label }) => [name, label ?? name]);
  const compare = others.length > 0 ? choice(`${form.id}-compare`, "Compare with", [["", "nothing"], ...others], soon) : null;
  const styles = Object.entries(info.styles ?? {});
  const named = styles.map(([name]) => [name, name]);
  const style = choice(`${form.id}-style`, "Start from a style", [["", "as set"], ...named], (name) => {
    if (name) put(info.styles[name]);
    turned();
  });
  const reset = button("Back to defaults", () => {
    restore(new URLSearchParams());
    soon();
  }, "quiet reset");
  const expert = el(
    "details",
    { class: "more expert" },
    el("summary", {}, "Expert"),
    el("div", { class: "knobs" }, compare?.node, style.node, ...first.filter(Boolean), ...more.filter(Boolean)),
  );
  form.replaceChildren(
    el("div", { class: "plain" }, ...Object.values(plain).map((slider) => slider.node)),
    expert,
    reset,
  );
  form.addEventListener("submit", (event) => event.preventDefault());

  // The sliders in words say what the settings come to, however they were turned.
  function reflect() {
    const most = knobs.get("top_k").value();
    plain.count.put(nearest(COUNTS, most), `${most} of each kind`);
    const same = (values) => Object.entries(values).every(([name, value]) => knobs.get(name).value() === value);
    const length = lengths.findIndex(same);
    plain.length.put(length < 0 ? 2 : length, length < 0 ? "as set under Expert" : LENGTHS[length]);
    const source = own ? 0 : sources.findIndex((stop) => !stop.own && same(stop.settings));
    plain.source.put(source < 0 ? 2 : source, source < 0 ? "as set under Expert" : sources[source].label);
    plain.source.enable(Boolean(info.collection));
    for (const knob of knobs.values()) if (knob.others) knob.enable(Boolean(info.collection));
    show(reset, Object.keys(state()).length > 0);
    style.put(styles.find(([, values]) => same(values))?.[0] ?? "");
  }

  // Only what differs from the defaults, by name.
  function state() {
    const out = {};
    for (const [name, knob] of knobs) if (knob.turned()) out[name] = knob.value();
    if (own && info.collection) out.own = 1;
    if (compare?.value()) out.compare = compare.value();
    return out;
  }

  // From the params of an address or of a text that was kept; what is not named there has its default.
  function restore(params) {
    own = params.get("own") === "1" || !info.collection;
    for (const [name, knob] of knobs) if (!params.has(name) || !knob.read(params.get(name))) knob.reset();
    compare?.put(params.get("compare") ?? "");
    reflect();
  }

  reflect();
  return {
    state,
    restore,
    body: () => {
      const { own: _, compare: __, top_k, ...others } = state();
      return { top_k: knobs.get("top_k").value(), settings: others };
    },
    ownWords: () => own,
    baseline: () => compare?.value() ?? "",
    baselineLabel: () => compare?.label() ?? "",
    value: (name) => knobs.get(name)?.value(),
    // For concepts there is only how many of them; everything else is for keyphrases.
    onlyTopK: (on) => {
      for (const node of [plain.length.node, plain.source.node, expert]) show(node, !on);
    },
  };
}

const IN_WORDS = "top_k length_penalty single_word own min_confidence abstain compare view vocabulary".split(" ");

// What was turned, in words, from the params that are kept of it.
export function inWords(params, info) {
  const out = [];
  if (params.has("top_k")) out.push(`${params.get("top_k")} of each kind`);
  const penalty = Number(params.get("length_penalty") ?? NaN);
  const usual = info.settings.length_penalty?.value;
  const much = penalty <= info.styles?.long?.length_penalty || penalty >= info.styles?.short?.length_penalty;
  if (!Number.isNaN(penalty)) out.push(`${much ? "much " : ""}${penalty < usual ? "longer" : "shorter"}`);
  if (params.has("own")) out.push("own words only");
  else if (params.has("min_confidence")) {
    const surest = Number(params.get("min_confidence")) > info.settings.min_confidence?.value;
    out.push(surest ? "surest suggestions" : "every suggestion");
  }
  if (params.get("view") === "concepts") out.push(`concepts of ${params.get("vocabulary")}`);
  if (params.has("compare")) out.push(`beside ${params.get("compare")}`);
  const others = [...params.keys()].filter((name) => !IN_WORDS.includes(name));
  if (others.length > 0) out.push(plural(others.length, "expert setting"));
  return out.join(", ") || "as it comes";
}

// Settings between those of the styles "short" and "long", the defaults in the middle.
function lengthStops({ short = {}, long = {} }, settings) {
  const names = Object.keys(settings).filter((name) =>
    [short, long].some((style) => name in style && style[name] !== settings[name].value && typeof style[name] === "number"),
  );
  const between = (style, part) =>
    Object.fromEntries(
      names.map((name) => {
        const usual = settings[name].value;
        return [name, Number((usual + part * ((style[name] ?? usual) - usual)).toFixed(3))];
      }),
    );
  return [between(short, 1), between(short, 0.5), between(short, 0), between(long, 0.5), between(long, 1)];
}

// From the text's own words to everything that similar documents suggest.
function sourceStops(info, settings) {
  const least = settings.min_confidence?.value;
  const fair = info.bands?.absent?.fair ?? least;
  const stop = (label, min_confidence, abstain, own = false) => ({
    label,
    own,
    settings: "min_confidence" in settings && "abstain" in settings ? { min_confidence, abstain } : {},
  });
  return [
    stop("own words only", least, true, true),
    stop("surest suggestions", fair, true),
    stop("with suggestions", least, true),
    stop("every suggestion", 0, false),
  ];
}

function wordSlider(low, high, words, turn) {
  const output = el("output", { class: "said" });
  const label = `${low} or ${high.toLowerCase()}`;
  const range = el("input", { type: "range", min: 0, max: words.length - 1, step: 1, "aria-label": label });
  const put = (at, said = words[at]) => {
    range.value = at;
    range.setAttribute("aria-valuetext", said);
    output.textContent = said;
  };
  range.addEventListener("input", () => turn(Number(range.value)));
  return {
    node: el(
      "div",
      { class: "word-slider", "data-slider": low.toLowerCase() },
      el("span", { class: "ends-in-words", "aria-hidden": "true" }, el("span", {}, low), el("span", {}, high)),
      range,
      output,
    ),
    put,
    enable: (on) => (range.disabled = !on),
  };
}

function nearest(stops, value) {
  const distances = stops.map((stop) => Math.abs(stop - value));
  return distances.indexOf(Math.min(...distances));
}

function choice(id, label, options, chosen) {
  const select = el(
    "select",
    { id, on: { change: () => chosen(select.value) } },
    ...options.map(([value, name]) => el("option", { value }, name)),
  );
  return {
    node: el("div", { class: "compare" }, el("label", { for: id }, label), select),
    value: () => select.value,
    label: () => select.selectedOptions[0]?.textContent ?? "",
    put: (value) => {
      select.value = options.some(([name]) => name === value) ? value : "";
    },
  };
}
