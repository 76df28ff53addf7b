// What was accepted and rejected, for each text and vocabulary; kept by the browser, without the text.

import { hash } from "./text.js";

const KEY = "erukg-verdicts";
const MOST_TEXTS = 200;

export const ACCEPTED = "accepted";
export const REJECTED = "rejected";

// The verdicts on concepts for one text: their URIs with verdict and label, in the order in which they were given.
export class Verdicts {
  constructor(text, vocabulary) {
    this.key = `${vocabulary} ${hash(text)}`;
    this.all = new Map(Object.entries(load()[this.key] ?? {}));
  }

  of(uri) {
    return this.all.get(uri)?.[0] ?? null;
  }

  // The same verdict again takes it back.
  give(uri, verdict, label) {
    const before = this.of(uri);
    this.all.delete(uri);
    if (before !== verdict) this.all.set(uri, [verdict, label]);
    this.save();
    return this.of(uri);
  }

  // [uri, label] of all that is accepted, also of what the list no longer shows.
  accepted() {
    return [...this.all].filter(([, [verdict]]) => verdict === ACCEPTED).map(([uri, [, label]]) => [uri, label]);
  }

  save() {
    const { [this.key]: _, ...others } = load();
    const kept = Object.entries(others).slice(1 - MOST_TEXTS);
    if (this.all.size > 0) kept.push([this.key, Object.fromEntries(this.all)]);
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
    } catch {
      // Until the page is loaded again, then.
    }
  }
}

function load() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY));
    return found !== null && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}
