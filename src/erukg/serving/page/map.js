// The map of a corpus: its phrases as words of the size of their weight, joined by the documents they share.

import { plural, svgEl } from "./dom.js";
import { layOut } from "./graph.js";

const SMALLEST = 12;
const LARGEST = 25;
const LARGEST_NARROW = 19;
const NARROW = 520;
const PADDING = 8;
const AREA_EACH = 10_500;

// How many phrases there is room for.
export const roomFor = (width, height) => Math.round(Math.min(Math.max((width * height) / AREA_EACH, 14), 80));

export class CorpusMap {
  constructor(place, graph, { width, height, choose }) {
    this.graph = graph;
    this.choose = choose;
    this.size(place, width < NARROW ? LARGEST_NARROW : LARGEST);
    layOut(graph, width - 2 * PADDING, height - 2 * PADDING);
    this.links = graph.links.map(({ a, b, strength }) => this.link(graph.nodes[a], graph.nodes[b], strength));
    this.nodes = graph.nodes.map((node, i) => this.node(node, i));
    const svg = svgEl(
      "svg",
      {
        viewBox: `${-PADDING} ${-PADDING} ${width} ${height}`,
        width,
        height,
        role: "group",
        "aria-label": "Network of keyphrases; the arrow keys go from one to the next",
        on: { keydown: (event) => this.move(event) },
      },
      svgEl("g", { class: "links", "aria-hidden": "true" }, ...this.links),
      svgEl("g", {}, ...this.nodes),
    );
    place.replaceChildren(svg);
  }

  size(place, largest) {
    const { nodes } = this.graph;
    const context = document.createElement("canvas").getContext("2d");
    const family = getComputedStyle(place).fontFamily;
    const most = Math.max(...nodes.map((node) => node.weight), 1e-9);
    for (const node of nodes) {
      node.font = SMALLEST + (largest - SMALLEST) * Math.sqrt(node.weight / most) ** 1.5;
      context.font = `${node.font}px ${family}`;
      node.width = context.measureText(node.label).width + 14;
      node.height = node.font * 1.35 + 9;
    }
  }

  link(a, b, strength) {
    const bend = 0.12;
    const x = (a.x + b.x) / 2 - (b.y - a.y) * bend;
    const y = (a.y + b.y) / 2 + (b.x - a.x) * bend;
    return svgEl("path", { d: `M${a.x} ${a.y}Q${x} ${y} ${b.x} ${b.y}`, vars: { "--strength": strength } });
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
        transform: `translate(${node.x} ${node.y})`,
        on: { click: () => this.choose(i), focus: () => this.rove(i) },
      },
      svgEl("rect", { x: -node.width / 2 + 1, y: -node.height / 2 + 2, width: node.width - 2, height: node.height - 4, rx: 6 }),
      svgEl("text", { "text-anchor": "middle", "dominant-baseline": "central", "font-size": node.font }, node.label),
    );
  }

  rove(index) {
    this.nodes.forEach((node, i) => node.setAttribute("tabindex", i === index ? "0" : "-1"));
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
      if (i !== from && along > 1 && cost < least) [best, least] = [i, cost];
    });
    if (best >= 0) this.nodes[best].focus();
  }

  // Show what is chosen, and how many of the documents now looked at each phrase has.
  update(chosen, counts) {
    const near = new Set();
    this.graph.links.forEach(({ a, b }, i) => {
      const here = chosen === a || chosen === b;
      if (here) near.add(a).add(b);
      this.links[i].setAttribute("class", chosen === null ? "" : here ? "near" : "far");
    });
    this.nodes.forEach((node, i) => {
      node.setAttribute("aria-pressed", String(i === chosen));
      node.classList.toggle("near", chosen !== null && near.has(i) && i !== chosen);
      node.classList.toggle("far", chosen !== null && !near.has(i) && i !== chosen);
      node.classList.toggle("empty", counts[i] === 0);
      node.setAttribute("aria-label", `${this.graph.nodes[i].label}, ${plural(counts[i], "document")}`);
    });
  }
}
