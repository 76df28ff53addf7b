// How phrases come and go over the years of a corpus.

import { svgEl } from "./dom.js";

// For each node: {shares, change}, its share of the documents of each year, and how much larger its share is in the
// later half of the documents than in the earlier; null without at least two years.
export function trendsOf(nodes, documents, inside) {
  const looked = documents.map((document_, i) => (inside[i] ? document_.year : null));
  const years = looked.filter((year) => year !== null);
  const [first, last] = [years.reduce((a, b) => Math.min(a, b), Infinity), years.reduce((a, b) => Math.max(a, b), -Infinity)];
  if (first >= last) return null;
  const middle = [...years].sort((a, b) => a - b)[Math.floor(years.length / 2)];
  const all = new Array(last - first + 1).fill(0);
  for (const year of years) all[year - first] += 1;
  const early = years.filter((year) => year < middle).length;
  return nodes.map((node) => {
    const some = new Array(all.length).fill(0);
    let before = 0;
    let after = 0;
    for (const number of node.documents) {
      const year = looked[number];
      if (year === null) continue;
      some[year - first] += 1;
      if (year < middle) before += 1;
      else after += 1;
    }
    return {
      shares: some.map((count, i) => (all[i] > 0 ? count / all[i] : 0)),
      change: after / Math.max(years.length - early, 1) - before / Math.max(early, 1),
    };
  });
}

export const trendWord = ({ change }) => (change > 0.02 ? "rising" : change < -0.02 ? "falling" : "steady");

// The shares as a small line.
export function spark({ shares, change }) {
  const [width, height] = [56, 16];
  const most = Math.max(...shares, 1e-9);
  const x = (i) => (i * width) / Math.max(shares.length - 1, 1);
  const points = shares.map((share, i) => `${x(i).toFixed(1)},${(height - 1 - (share / most) * (height - 2)).toFixed(1)}`);
  return svgEl(
    "svg",
    { class: `spark ${trendWord({ change })}`, viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svgEl("polyline", { points: points.join(" ") }),
  );
}
