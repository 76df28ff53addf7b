// The map of a corpus: its phrases as words of the size of their weight, joined by the documents they share. The closer
// one looks, the more of them have room for their words; the others are dots.

import { el, plural, svgEl } from "./dom.js";
import { layOut } from "./layout.js";
import { Zoom } from "./zoom.js";

const SMALLEST = 12;
const LARGEST = 25;
const LARGEST_NARROW = 19;
const NARROW = 520;
const PADDING = 8;
const AREA_EACH = 10_500;
const FURTHER = 3;
const CLOSER = 1.3;
const BEND = 0.12;

// How many phrases have room for their words on the whole map, and how many there are in all.
export function roomFor(width, height) {
  const main = Math.round(Math.min(Math.max((width * height) / AREA_EACH, 14), 80));
  return { main, all: FURTHER * main };
}

export class CorpusMap {
  constructor(place, graph, { width, height, choose }) {
    this.graph = graph;
    this.choose = choose;
    this.chosen = null;
    this.sought = null;
    this.size(place, width < NARROW ? LARGEST_NARROW : LARGEST);
    layOut(graph, width - 2 * PADDING, height - 2 * PADDING);
    this.paths = graph.links.map(({ strength }) => svgEl("path", { vars: { "--strength": strength } }));
    this.nodes = graph.nodes.map((node, i) => this.node(node, i));
    this.svg = svgEl(
      "svg",
      {
        viewBox: `${-PADDING} ${-PADDING} ${width} ${height}`,
        width,
        height,
        role: "group",
        "aria-label": "Network of keyphrases; the arrow keys go from one to the next, + and - zoom",
        on: { keydown: (event) => this.zoom.key(event) || this.move(event) },
      },
      svgEl("g", { class: "links", "aria-hidden": "true" }, ...this.paths),
      svgEl("g", {}, ...this.nodes),
    );
    this.zoom = new Zoom(this.svg, width, height, () => this.place());
    const button = (label, sign, action) =>
      el("button", { type: "button", "aria-label": label, title: label, on: { click: action } }, sign);
    place.replaceChildren(
      this.svg,
      el(
        "div",
        { class: "zoom", role: "group", "aria-label": "Zoom" },
        el("p", {}, "The closer, the more phrases: Ctrl and the wheel, or two fingers"),
        button("Zoom in", "+", this.zoom.larger),
        button("Zoom out", "−", this.zoom.smaller),
        button("Whole map", "⤢", this.zoom.whole),
      ),
    );
    this.place();
  }

  size(place, largest) {
    const { nodes } = this.graph;
    const context = document.createElement("canvas").getContext("2d");
    const family = getComputedStyle(place).fontFamily;
    const most = Math.max(...nodes.map((node) => node.weight), 1e-9);
    for (const node of nodes) {
      node.font = SMALLEST + (largest - SMALLEST) * Math.sqrt(node.weight / most) ** 1.5;
      context.font = `500 ${node.font}px ${family}`;
      node.width = context.measureText(node.label).width + 14;
      node.height = node.font * 1.35 + 9;
    }
  }

  node(node, i) {
    return svgEl(
      "g",
      {
        class: `node group-${node.group}`,
        role: "button",
        tabindex: i === 0 ? "0" : "-1",
        "aria-pressed": "false",
        "aria-label": `${node.label}, ${plural(node.documents.length, "document")}`,
        "data-index": i,
        on: { click: () => this.choose(i), focus: () => this.rove(i) },
      },
      svgEl("title", {}, node.label),
      svgEl("circle", { r: 3 }),
      svgEl("rect", { x: -node.width / 2 + 1, y: -node.height / 2 + 2, width: node.width - 2, height: node.height - 4, rx: 6 }),
      svgEl("text", { "text-anchor": "middle", "dominant-baseline": "central", "font-size": node.font }, node.label),
    );
  }

  // Where everything is at this zoom: places spread, words keep their size. Words that would lie over those of heavier
  // phrases become dots, and dots under words are left out; what is chosen or sought always has its words.
  place() {
    const { nodes, links } = this.graph;
    const { k, x, y } = this.zoom;
    const at = nodes.map((node) => [k * node.x + x, k * node.y + y]);
    const first = (i) => (i === this.chosen ? 2 : this.sought?.has(i) ? 1 : 0);
    const taken = [];
    for (const i of nodes.map((_, number) => number).sort((a, b) => first(b) - first(a) || a - b)) {
      const { width, height } = nodes[i];
      const [cx, cy] = at[i];
      const clear = (w, h) => taken.every(([x0, y0, w0, h0]) => Math.abs(x0 - cx) >= (w0 + w) / 2 || Math.abs(y0 - cy) >= (h0 + h) / 2);
      const words = (nodes[i].main || k > CLOSER || first(i) > 0) && clear(width, height);
      const dot = !words && clear(10, 10);
      if (words || dot) taken.push(words ? [cx, cy, width, height] : [cx, cy, 10, 10]);
      this.nodes[i].setAttribute("transform", `translate(${cx.toFixed(1)} ${cy.toFixed(1)})`);
      this.nodes[i].classList.toggle("dotted", dot);
      this.nodes[i].classList.toggle("off", !words && !dot);
    }
    links.forEach(({ a, b }, i) => {
      const [[ax, ay], [bx, by]] = [at[a], at[b]];
      const middle = [(ax + bx) / 2 - (by - ay) * BEND, (ay + by) / 2 + (bx - ax) * BEND];
      this.paths[i].classList.toggle("off", k <= CLOSER && !nodes[b].main);
      const [from, over, to] = [at[a], middle, at[b]].map((point) => point.map((value) => value.toFixed(1)).join(" "));
      this.paths[i].setAttribute("d", `M${from}Q${over} ${to}`);
    });
  }

  rove(index) {
    this.nodes.forEach((node, i) => node.setAttribute("tabindex", i === index ? "0" : "-1"));
    this.zoom.reveal(this.graph.nodes[index]);
  }

  // To the nearest phrase in the direction of the key; it is chosen with Enter or the space bar.
  move(event) {
    const from = Number(document.activeElement?.dataset?.index ?? -1);
    if (from < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(from);
      return;
    }
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    const { nodes } = this.graph;
    let best = -1;
    let least = Infinity;
    nodes.forEach((node, i) => {
      const x = node.x - nodes[from].x;
      const y = node.y - nodes[from].y;
      const along = x * way[0] + y * way[1];
      const across = Math.abs(x * way[1]) + Math.abs(y * way[0]);
      const cost = along + 2.5 * across;
      if (i !== from && !this.nodes[i].classList.contains("off") && along > 1 && cost < least) [best, least] = [i, cost];
    });
    if (best >= 0) this.nodes[best].focus();
  }

  // Show what is chosen, which phrases are sought (a set, or null), and how many of the documents now looked at each has.
  update(chosen, sought, counts) {
    const again = chosen !== this.chosen || sought !== this.sought;
    [this.chosen, this.sought] = [chosen, sought];
    const near = new Set();
    this.graph.links.forEach(({ a, b }, i) => {
      const here = chosen === a || chosen === b;
      if (here) near.add(a).add(b);
      this.paths[i].classList.toggle("near", here);
      this.paths[i].classList.toggle("far", !here && (chosen !== null || sought !== null));
    });
    this.nodes.forEach((node, i) => {
      node.setAttribute("aria-pressed", String(i === chosen));
      const far = sought ? !sought.has(i) : chosen !== null && !near.has(i);
      node.classList.toggle("near", chosen !== null && near.has(i) && i !== chosen);
      node.classList.toggle("far", far && i !== chosen);
      node.classList.toggle("empty", counts[i] === 0);
      node.setAttribute("aria-label", `${this.graph.nodes[i].label}, ${plural(counts[i], "document")}`);
    });
    if (again) this.place();
    if (chosen !== null) this.zoom.reveal(this.graph.nodes[chosen]);
  }
}
