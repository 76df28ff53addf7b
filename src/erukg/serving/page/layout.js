// Where each phrase goes on the map. The same corpus always gives the same map.

const STEPS = 260;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

// Give every node x and y within the box. The main nodes have a width and height that must not overlap; the others lie
// around those they are linked to.
export function layOut({ nodes: all, links }, width, height) {
  const nodes = all.filter((node) => node.main);
  if (nodes.length === 0) return;
  const clusters = 1 + Math.max(...nodes.map((node) => node.cluster));
  nodes.forEach((node, i) => {
    const around = (2 * Math.PI * node.cluster) / clusters;
    const spiral = i * GOLDEN;
    node.x = Math.cos(around) + 0.3 * Math.sqrt(i / nodes.length) * Math.cos(spiral);
    node.y = Math.sin(around) + 0.3 * Math.sqrt(i / nodes.length) * Math.sin(spiral);
  });
  const k = 1.6 / Math.sqrt(nodes.length);
  const between = links.filter(({ b }) => b < nodes.length);
  for (let step = 0; step < STEPS; step += 1) pushAndPull(nodes, between, k, 0.12 * (1 - step / STEPS) + 0.002);
  fitBox(nodes, width, height);
  for (let step = 0; step < 80 && spread(nodes, width, height); step += 1);
  settle(nodes, width, height);
  scatter(all, nodes.length, links, width, height);
}

function scatter(nodes, main, links, width, height) {
  for (let i = main; i < nodes.length; i += 1) {
    const near = links.filter(({ b }) => b === i);
    const sum = near.reduce((total, { strength }) => total + strength, 0);
    const mean = (axis) => near.reduce((total, { a, strength }) => total + (strength / sum) * nodes[a][axis], 0);
    const radius = 24 + 22 * Math.sqrt((i - main) / (nodes.length - main));
    nodes[i].x = Math.min(Math.max(mean("x") + 1.6 * radius * Math.cos(i * GOLDEN), 10), width - 10);
    nodes[i].y = Math.min(Math.max(mean("y") + radius * Math.sin(i * GOLDEN), 10), height - 10);
  }
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
      const [tryX, tryY] = [x + 1.6 * radius * Math.cos(turn * GOLDEN), y + radius * Math.sin(turn * GOLDEN)];
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
