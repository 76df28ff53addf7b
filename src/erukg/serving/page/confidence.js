// How sure a phrase is, on one scale for all texts, so that the best of a bad list does not look good.

import { el } from "./dom.js";

// What the service says of a text for which the scale does not hold: it was made with English prose like the
// collection's. There, phrases have an order and no more.
const UNRATED = ["not-english", "unlike-collection", "mostly-numbers", "mostly-markup", "too-short"];
const UNRATED_MOST = 0.3;

export const isUnrated = (notices = []) => notices.some(({ code }) => UNRATED.includes(code));

// {fill, band} of each phrase of one kind. Fill is a third at the lowest fair confidence and two thirds at the lowest
// strong one; band is null, and fill small, where it is not known how sure a phrase is.
export function ratings(found, bands, notices) {
  const best = Math.max(...found.map((one) => one.score), 1e-9);
  const unrated = isUnrated(notices) || !bands;
  return found.map((one) => {
    const known = !unrated && typeof one.confidence === "number";
    if (!known) return { fill: (UNRATED_MOST * Math.max(one.score, 0)) / best, band: null };
    const { confidence } = one;
    const { fair } = bands;
    const strong = one.related ? bands.related : bands.strong;
    if (confidence < fair) return { fill: confidence / fair / 3, band: "weak" };
    if (confidence < strong) return { fill: (1 + (confidence - fair) / (strong - fair)) / 3, band: "fair" };
    // Few phrases are surer than twice the lowest strong confidence.
    return { fill: (2 + Math.min((confidence - strong) / strong, 1)) / 3, band: "strong" };
  });
}

export function bandMark({ band }) {
  return band && el("span", { class: `band ${band}` }, band);
}

export function bar({ fill, band }) {
  return el("span", { class: band ? "line whole" : "line whole unrated", vars: { "--strength": fill } });
}

// "about 1 in 4", "about 3 in 4", "fewer than 1 in 100".
export function inWords(share) {
  if (share < 0.01) return "fewer than 1 in 100";
  if (share > 0.95) return "nearly all";
  if (share > 0.5) return `about ${Math.round(share * 10)} in 10`;
  return `about 1 in ${Math.round(1 / share)}`;
}
