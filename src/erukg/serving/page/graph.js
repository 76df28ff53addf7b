// Which phrases of a corpus belong together, and where each goes on the map. The same corpus always gives the same map.

import { phraseKey, strengths } from "./text.js";

const LINKS_EACH = 3;
// What a collection suggests for nearly every document says little about any: only the best of it counts.
const ABSENT_EACH = 3;
const ABSENT_WEIGHT = 0.5;
const STEPS = 260;
const GROUPS = 8;

// Nodes {label, documents, weight, group} and links {a, b, strength} of the phrases that describe most documents.
export function buildGraph(documents, most) {
  const all = new Map();
  documents.forEach((document_, number) => {
    for (const kind of ["present", "absent"]) {
      const found = document_.result[kind];
      const strong = strengths(found);
      found.forEach((one, i) => {
        const key = phraseKey(one.phrase);
        if (!key || (kind === "absent" && (i >= ABSENT_EACH || strong[i] < ABSENT_WEIGHT))) return;
        const node = all.get(key) ?? { key, forms: new Map(), documents: [], weight: 0 };
        all.set(key, node);
        if (node.documents.at(-1) === number) return;
        node.documents.push(number);
        node.weight += (kind === "present" ? 1 : ABSENT_WEIGHT) * (0.3 + 0.7 * strong[i]);
        node.forms.set(one.phrase, (node.forms.get(one.phrase) ?? 0) + 1);
      });
    }
  });
  const ranked = [...all.values()].sort((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1));
  const often = ranked.filter((node) => node.documents.length > 1);
  const nodes = (often.length >= Math.min(12, ranked.length) ? often : ranked).slice(0, most);
  for (const node of nodes) node.label = usualForm(node.forms);
  const links = linkNodes(nodes);
  groupNodes(nodes, links);
  return { nodes, links };
}

// The form used most; of two as usual, the one that is not written as in a title.
function usualForm(forms) {
  const usual = ([form, count]) => count + (form === form.toLowerCase() ? 0.5 : 0);
  return [...forms].reduce((a, b) => (usual(b) > usual(a) ? b : a))[0];
}

// Two phrases are linked by the documents they share; each keeps its strongest links.
function linkNodes(nodes) {
  const sets = nodes.map((node) => new Set(node.documents));
  const between = [];
  for (let a = 0; a < nodes.length; a += 1)
    for (let b = a + 1; b < nodes.length; b += 1) {
      const shared = nodes[a].documents.reduce((count, number) => count + sets[b].has(number), 0);
      if (shared > 0) between.push({ a, b, shared, strength: shared / Math.sqrt(sets[a].size * sets[b].size) });
    }
  between.sort((x, y) => y.strength - x.strength || x.a - y.a || x.b - y.b);
  const degree = new Array(nodes.length).fill(0);
  return between.filter(({ a, b }) => {
    if (degree[a] >= LINKS_EACH && degree[b] >= LINKS_EACH) return false;
    degree[a] += 1;
    degree[b] += 1;
    return true;
  });
}

// Each phrase joins the group that most of its links lead to, in a fixed order until nothing changes.
function groupNodes(nodes, links) {
  const group = nodes.map((_, i) => i);
  const near = nodes.map(() => []);
  for (const { a, b, strength } of links) {
    near[a].push([b, strength]);
    near[b].push([a, strength]);
  }
  for (let round = 0, moved = true; moved && round < 30; round += 1) {
    moved = false;
    for (let i = nodes.length - 1; i >= 0; i -= 1) {
      const pull = new Map();
      for (const [other, strength] of near[i]) pull.set(group[other], (pull.get(group[other]) ?? 0) + strength);
      const best = [...pull].sort((x, y) => y[1] - x[1] || x[0] - y[0])[0];
      if (best && best[0] !== group[i] && best[1] > (pull.get(group[i]) ?? 0)) {
        group[i] = best[0];
        moved = true;
      }
    }
  }
  const sizes = new Map();
  for (const g of group) sizes.set(g, (sizes.get(g) ?? 0) + 1);
  const order = [...sizes.keys()].sort((x, y) => sizes.get(y) - sizes.get(x) || x - y);
  nodes.forEach((node, i) => {
    node.cluster = order.indexOf(group[i]);
    // Beyond the colours there are, groups share the last one.
    node.group = Math.min(node.cluster, GROUPS - 1);
  });
}

// Give every node x and y within the box. Nodes have a width and height that must not overlap.
export function layOut({ nodes, links }, width, height) {
  if (nodes.length === 0) return;
  const clusters = 1 + Math.max(...nodes.map((node) => node.cluster));
  nodes.forEach((node, i) => {
    const around = (2 * Math.PI * node.cluster) / clusters;
    const spiral = i * 2.399963;
    node.x = Math.cos(around) + 0.3 * Math.sqrt(i / nodes.length) * Math.cos(spiral);
    node.y = Math.sin(around) + 0.3 * Math.sqrt(i / nodes.length) * Math.sin(spiral);
  });
  const k = 1.6 / Math.sqrt(nodes.length);
  for (let step = 0; step < STEPS; step += 1) pushAndPull(nodes, links, k, 0.12 * (1 - step / STEPS) + 0.002);
  fitBox(nodes, width, height);
  for (let step = 0; step < 80 && spread(nodes, width, height); step += 1);
  settle(nodes, width, height);
}

function pushAndPull(nodes, links, k, most) {
  const dx = new Float64Array(nodes.length);
  const dy = new Float64Array(nodes.length);
  for (let a = 0; a < nodes.length; a += 1)
    for (let b = a + 1; b < nodes.length; b += 1) {
      const x = nodes[a].x - nodes[b].x;
      const y = nodes[a].y - nodes[b].y;
      const push = (k * k) / (x * x + y * y + 1e-4);
      dx[a] += x * push;
      dy[a] += y * push;
      dx[b] -= x * push;
      dy[b] -= y * push;
    }
  for (const { a, b, strength } of links) {
    const x = nodes[a].x - nodes[b].x;
    const y = nodes[a].y - nodes[b].y;
    const pull = ((0.4 + strength) * Math.hypot(x, y)) / k / 4;
    dx[a] -= x * pull;
    dy[a] -= y * pull;
    dx[b] += x * pull;
    dy[b] += y * pull;
  }
  nodes.forEach((node, i) => {
    const x = dx[i] - 0.08 * node.x;
    const y = dy[i] - 0.08 * node.y;
    const length = Math.hypot(x, y) || 1;
    const move = Math.min(length, most) / length;
    node.x += x * move;
    node.y += y * move;
  });
}

// By rank in each direction rather than by distance, so that a far-off phrase does not squeeze all others together.
function fitBox(nodes, width, height) {
  for (const [axis, size, extent] of [["x", "width", width], ["y", "height", height]]) {
    const order = [...nodes].sort((a, b) => a[axis] - b[axis]);
    const low = order[0][axis];
    const range = order.at(-1)[axis] - low || 1;
    const last = Math.max(order.length - 1, 1);
    const place = new Map(order.map((node, i) => [node, 0.5 * (i / last) + (0.5 * (node[axis] - low)) / range]));
    for (const node of nodes) {
      const room = extent - node[size];
      node[axis] = node[size] / 2 + (order.length === 1 ? 0.5 : place.get(node)) * room;
    }
  }
}

// What still overlaps goes to the nearest free place, the heavier phrases first.
function settle(nodes, width, height) {
  const placed = [];
  const free = (node, x, y) =>
    x >= node.width / 2 && x <= width - node.width / 2 && y >= node.height / 2 && y <= height - node.height / 2 &&
    placed.every((p) => Math.abs(p.x - x) >= (p.width + node.width) / 2 || Math.abs(p.y - y) >= (p.height + node.height) / 2);
  for (const node of [...nodes].sort((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1))) {
    const { x, y } = node;
    for (let turn = 0; turn < 16_000; turn += 1) {
      const radius = 2.2 * Math.sqrt(turn);
      const [tryX, tryY] = [x + 1.6 * radius * Math.cos(turn * 2.399963), y + radius * Math.sin(turn * 2.399963)];
      if (!free(node, tryX, tryY)) continue;
      [node.x, node.y] = [tryX, tryY];
      break;
    }
    placed.push(node);
  }
}

// Move overlapping labels apart, the shorter way; says whether any did.
function spread(nodes, width, height) {
  let any = false;
  for (let a = 0; a < nodes.length; a += 1)
    for (let b = a + 1; b < nodes.length; b += 1) {
      const [p, q] = [nodes[a], nodes[b]];
      const x = (p.width + q.width) / 2 - Math.abs(p.x - q.x);
      const y = (p.height + q.height) / 2 - Math.abs(p.y - q.y);
      if (x <= 0.5 || y <= 0.5) continue;
      any = true;
      if (y < x) {
        const by = ((p.y - q.y || a - b) > 0 ? y : -y) / 2;
        p.y += by;
        q.y -= by;
      } else {
        const by = ((p.x - q.x || a - b) > 0 ? x : -x) / 2;
        p.x += by;
        q.x -= by;
      }
    }
  for (const node of nodes) {
    node.x = Math.min(Math.max(node.x, node.width / 2), width - node.width / 2);
    node.y = Math.min(Math.max(node.y, node.height / 2), height - node.height / 2);
  }
  return any;
}
