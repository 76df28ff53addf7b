// The controls beside the text. Every setting that the service names can be turned; those of the paper come first.

import { debounce, el, show } from "./dom.js";

// Names, and ranges in which turning a setting still changes something; the number beside it takes the whole range.
const FIRST = [
  { name: "top_k", symbol: "k", label: "results of each kind", low: 1, high: 30, step: 1 },
  { name: "alpha", symbol: "α", label: "this text's share of word weights", step: 0.05, others: true },
  { name: "beta", symbol: "β", label: "this text's share of phraseness", step: 0.05, others: true },
  { name: "phraseness", symbol: "λ", label: "weight of phraseness", low: 0, high: 4, step: 0.02 },
  { name: "length_penalty", symbol: "γ", label: "lower favours longer phrases", low: -8, high: 0.9, step: 0.05 },
  { name: "neighbours", symbol: "N", label: "similar documents", low: 0, high: 300, step: 5, others: true },
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
const WAIT_MS = 90;

// Fill the form. `changed` is called, a moment after the last change, when something was turned.
export function buildControls(form, info, baselines, changed) {
  const soon = debounce(changed, WAIT_MS);
  const settings = {
    top_k: { value: 10, low: 1, high: info.limits?.top_k ?? 100, kind: "whole", help: "how many phrases of each kind" },
    ...info.settings,
  };
  const knobs = new Map();
  const add = (name, hint = {}) => {
    if (!(name in settings)) return null;
    const knob = makeKnob(name, settings[name], hint, soon);
    knobs.set(name, knob);
    return knob.node;
  };
  const first = FIRST.map((hint) => add(hint.name, hint));
  const more = Object.keys(settings)
    .filter((name) => !knobs.has(name))
    .map((name) => add(name, MORE[name]));
  const withCollection = info.collection !== null && info.collection !== undefined;
  const mode = modeSwitch(() => {
    grey();
    soon();
  });
  const compare = baselines.length > 0 ? baselineChoice(baselines, soon) : null;
  const grey = () => {
    const alone = mode.value() === "extract" || !withCollection;
    for (const knob of knobs.values()) if (knob.others) knob.enable(!alone);
  };
  const style = info.styles ? styleChoice(info.styles, (chosen) => {
    for (const [name, knob] of knobs) if (name in chosen) knob.put(chosen[name]);
    soon();
  }) : null;
  const reset = () => {
    for (const knob of knobs.values()) knob.reset();
    style?.reset();
    soon();
  };
  const further = el(
    "details",
    { class: "more" },
    el("summary", {}, "More settings"),
    el("div", { class: "knobs" }, ...more.filter(Boolean)),
  );
  form.replaceChildren(
    mode.node,
    ...(style ? [style.node] : []),
    el("div", { class: "knobs" }, ...first.filter(Boolean)),
    further,
    ...(compare ? [compare.node] : []),
    el("button", { type: "button", class: "quiet reset", on: { click: reset } }, "Back to defaults"),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  grey();
  return {
    mode: () => mode.value(),
    // For concepts there is only how many of them; everything else is for keyphrases.
    onlyTopK: (on) => {
      for (const [name, knob] of knobs) show(knob.node, !on || name === "top_k");
      for (const node of [mode.node, style?.node, further, compare?.node]) if (node) show(node, !on);
    },
    baseline: () => compare?.value() ?? "",
    topK: () => knobs.get("top_k").value(),
    value: (name) => knobs.get(name)?.value(),
    // Only what differs from the defaults: a request says what was turned.
    changes: () =>
      Object.fromEntries(
        [...knobs].filter(([name, knob]) => name !== "top_k" && knob.turned()).map(([name, knob]) => [name, knob.value()]),
      ),
  };
}

function makeKnob(name, setting, hint, soon) {
  const symbol = hint.symbol && el("i", { class: "symbol", "aria-hidden": "true" }, hint.symbol);
  const label = hint.label ?? setting.help ?? name.replaceAll("_", " ");
  const spoken = hint.symbol ? `${hint.symbol}, ${label}` : label;
  if (setting.kind === "switch") {
    const box = el("input", { type: "checkbox", name, on: { change: soon } });
    box.checked = setting.value;
    return {
      node: el("label", { class: "knob switch", title: setting.help }, box, el("span", {}, label)),
      others: hint.others,
      value: () => box.checked,
      turned: () => box.checked !== setting.value,
      reset: () => (box.checked = setting.value),
      put: (value) => (box.checked = value),
      enable: (on) => (box.disabled = !on),
    };
  }
  const low = Math.max(hint.low ?? setting.low, setting.low);
  const high = Math.min(hint.high ?? setting.high, setting.high);
  const step = hint.step ?? (setting.kind === "whole" ? 1 : (high - low) / 100);
  const range = el("input", { type: "range", name, min: low, max: high, step, "aria-label": spoken });
  const number = el("input", {
    type: "number",
    min: setting.low,
    max: setting.high,
    step: setting.kind === "whole" ? 1 : "any",
    "aria-label": `${spoken}, as a number`,
  });
  let current = setting.value;
  const put = (value, from) => {
    current = value;
    if (from !== range) range.value = value;
    if (from !== number) number.value = value;
  };
  put(setting.value);
  range.addEventListener("input", () => {
    put(Number(range.value), range);
    soon();
  });
  number.addEventListener("input", () => {
    const value = number.valueAsNumber;
    const whole = setting.kind !== "whole" || Number.isInteger(value);
    const good = Number.isFinite(value) && value >= setting.low && value <= setting.high && whole;
    number.setAttribute("aria-invalid", String(!good));
    if (!good) return;
    put(value, number);
    soon();
  });
  number.addEventListener("blur", () => {
    number.setAttribute("aria-invalid", "false");
    put(current);
  });
  return {
    node: el(
      "div",
      { class: "knob", title: setting.help },
      el("span", { class: "knob-label" }, symbol, el("span", {}, label)),
      number,
      range,
    ),
    others: hint.others,
    value: () => current,
    turned: () => current !== setting.value,
    reset: () => put(setting.value),
    put: (value) => put(value),
    enable: (on) => {
      range.disabled = !on;
      number.disabled = !on;
    },
  };
}

function modeSwitch(changed) {
  const choice = (value, label, checked) => {
    const input = el("input", { type: "radio", name: "mode", value, on: { change: changed } });
    input.checked = checked;
    return el("label", {}, input, el("span", {}, label));
  };
  const node = el(
    "fieldset",
    { class: "mode" },
    el("legend", { class: "sr-only" }, "What to find"),
    choice("generate", "Generate", true),
    choice("extract", "Extract", false),
  );
  return { node, value: () => node.querySelector("input:checked").value };
}

// A style sets all knobs at once; what is turned afterwards starts from there.
function styleChoice(styles, chosen) {
  const first = Object.keys(styles)[0];
  const select = el(
    "select",
    { id: "style", on: { change: () => chosen(styles[select.value]) } },
    ...Object.keys(styles).map((name) => el("option", { value: name }, name)),
  );
  return {
    node: el("div", { class: "compare" }, el("label", { for: "style" }, "Style of the list"), select),
    reset: () => (select.value = first),
  };
}

function baselineChoice(baselines, changed) {
  const select = el(
    "select",
    { id: "baseline", on: { change: changed } },
    el("option", { value: "" }, "nothing"),
    ...baselines.map(({ name, label }) => el("option", { value: name }, label ?? name)),
  );
  return {
    node: el("div", { class: "compare" }, el("label", { for: "baseline" }, "Compare with"), select),
    value: () => select.value,
  };
}
