// One setting of the service as a slider with a number beside it, or as a switch.

import { el } from "./dom.js";

// Its value is what the service has as default until it is turned; `turned` is told.
export function makeKnob(name, setting, hint, turned) {
  const label = hint.label ?? setting.help ?? name.replaceAll("_", " ");
  return (setting.kind === "switch" ? makeSwitch : makeNumber)(name, setting, hint, label, turned);
}

function makeSwitch(name, setting, hint, label, turned) {
  const box = el("input", { type: "checkbox", name, on: { change: turned } });
  box.checked = setting.value;
  const put = (value) => (box.checked = value);
  return {
    node: el("label", { class: "knob switch", title: setting.help }, box, el("span", {}, label)),
    others: hint.others,
    value: () => box.checked,
    turned: () => box.checked !== setting.value,
    reset: () => put(setting.value),
    put,
    read: (text) => {
      if (text !== "true" && text !== "false") return false;
      put(text === "true");
      return true;
    },
    enable: (on) => (box.disabled = !on),
  };
}

function makeNumber(name, setting, hint, label, turned) {
  const symbol = hint.symbol && el("i", { class: "symbol", "aria-hidden": "true" }, hint.symbol);
  const spoken = hint.symbol ? `${hint.symbol}, ${label}` : label;
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
  const allowed = (value) => {
    const whole = setting.kind !== "whole" || Number.isInteger(value);
    return Number.isFinite(value) && value >= setting.low && value <= setting.high && whole;
  };
  put(setting.value);
  range.addEventListener("input", () => {
    put(Number(range.value), range);
    turned();
  });
  number.addEventListener("input", () => {
    const value = number.valueAsNumber;
    number.setAttribute("aria-invalid", String(!allowed(value)));
    if (!allowed(value)) return;
    put(value, number);
    turned();
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
    read: (text) => {
      const value = Number(text);
      if (text.trim() === "" || !allowed(value)) return false;
      put(value);
      return true;
    },
    enable: (on) => {
      range.disabled = !on;
      number.disabled = !on;
    },
  };
}
