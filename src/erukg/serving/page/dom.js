// The only way this page makes elements. Text goes in as text nodes, so nothing from a document is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function finish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    else if (name === "vars") for (const [key, number] of Object.entries(value)) node.style.setProperty(key, number);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return finish(document.createElement(tag), attributes, children);
}

export function svgEl(tag, attributes = {}, ...children) {
  return finish(document.createElementNS(SVG, tag), attributes, children);
}

export function button(label, click, kind = "quiet") {
  return el("button", { type: "button", class: kind, on: { click } }, label);
}

export function show(node, visible = true) {
  node.hidden = !visible;
}

// For those who listen to the page instead of looking at it.
export function announce(message) {
  byId("status").textContent = message;
}

export function formatNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size >= 100) return value.toFixed(0);
  if (size >= 0.001) return String(Number(value.toPrecision(3)));
  return size >= 1e-6 ? String(Number(value.toPrecision(2))) : value.toExponential(1);
}

export function plural(count, one, many = one + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function debounce(action, delay) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), delay);
  };
}

// One designed way to say that something went wrong: what, and what can be done about it.
export function notice(place, message, actions = []) {
  const buttons = actions.map(([label, action]) => button(label, action));
  place.replaceChildren(el("div", { class: "notice", role: "alert" }, el("p", {}, message), ...buttons));
}
