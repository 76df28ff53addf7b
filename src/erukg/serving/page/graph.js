// Which phrases of a corpus belong together.

import { keyOf, sameThings } from "./variants.js";

const LINKS_EACH = 3;
// What a collection suggests for nearly every document says little about any: only the best of it counts.
const ABSENT_EACH = 3;
const FEWEST = 12;
const FURTHER_LINKS = 2;
const ABSENT_WEIGHT = 0.5;
const GROUPS = 8;

// Nodes {label, also, documents, weight, group} and links {a, b, strength} of the phrases that describe most of the
// documents whose numbers are given, `most.all` of them; `main` is on those that the whole map has room for. Phrases of
// one document come last.
export function buildGraph(documents, numbers, most) {
  const all = new Map();
  const same = sameThings(documents);
  for (const number of numbers)
    for (const kind of ["present", "absent"]) {
      const found = documents[number].result[kind];
      const best = Math.max(...found.map((one) => one.score), 1e-9);
      found.forEach((one, i) => {
        const key = same(one.phrase);
        const strong = Math.max(one.score, 0) / best;
        if (!key || (kind === "absent" && (i >= ABSENT_EACH || strong < ABSENT_WEIGHT))) return;
        const node = all.get(key) ?? { key, forms: new Map(), documents: [], weight: 0 };
        all.set(key, node);
        node.forms.set(one.phrase, (node.forms.get(one.phrase) ?? 0) + 1);
        if (node.documents.at(-1) === number) return;
        node.documents.push(number);
        node.weight += (kind === "present" ? 1 : ABSENT_WEIGHT) * (0.3 + 0.7 * strong);
      });
    }
  const ranked = [...all.values()].sort((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1));
  const often = ranked.filter((node) => node.documents.length > 1);
  const first = often.length >= Math.min(FEWEST, ranked.length) ? often : ranked;
  const nodes = [...first, ...ranked.filter((node) => !first.includes(node))].slice(0, most.all);
  nodes.forEach((node, i) => {
    node.main = i < Math.min(most.main, first.length);
    node.label = usualForm(node.forms);
    // Forms that are more than another number or spelling.
    const others = new Map([...node.forms.keys()].map((form) => [keyOf(form), form]));
    others.delete(keyOf(node.label));
    node.also = [...others.values()];
  });
  const main = nodes.filter((node) => node.main);
  const links = linkNodes(main);
  groupNodes(main, links);
  return withFurther(main, links, nodes.slice(main.length));
}

// The main phrases with those that have no room on the whole map, linked to the main phrases whose documents they share
// and of the group of the strongest; what shares no document with them is left out.
function withFurther(main, links, others) {
  const nodes = [...main];
  const further = [];
  for (const node of others) {
    const own = new Set(node.documents);
    const shared = ({ documents }) => documents.filter((number) => own.has(number)).length;
    const near = main
      .map((one, a) => ({ a, b: nodes.length, strength: shared(one) / Math.sqrt(one.documents.length * own.size) }))
      .filter(({ strength }) => strength > 0)
      .sort((x, y) => y.strength - x.strength || x.a - y.a)
      .slice(0, FURTHER_LINKS);
    if (near.length === 0) continue;
    node.group = main[near[0].a].group;
    nodes.push(node);
    further.push(...near);
  }
  return { nodes, links: [...links, ...further] };
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
