// The years of a corpus: documents a year as bars, and two sliders that choose a span of years.

import { el, plural } from "./dom.js";

export class Timeline {
  // `changed()` when another span is chosen; `span` is the one to begin with, where there is one.
  constructor(place, documents, changed, span = []) {
    this.documents = documents;
    const years = documents.map((document_) => document_.year).filter((year) => year !== null);
    this.first = years.reduce((a, b) => Math.min(a, b), Infinity);
    this.last = years.reduce((a, b) => Math.max(a, b), -Infinity);
    this.useful = this.first < this.last;
    place.hidden = !this.useful;
    if (!this.useful) {
      place.replaceChildren();
      return;
    }
    const year = (given, other) => Math.min(Math.max(Number(given ?? other) || other, this.first), this.last);
    this.from = year(span[0], this.first);
    this.to = Math.max(year(span[1], this.last), this.from);
    this.changed = changed;
    this.bars = el("div", { class: "years", "aria-hidden": "true" });
    this.low = this.slider("From year", this.from, () => this.turn(this.low));
    this.high = this.slider("To year", this.to, () => this.turn(this.high));
    this.label = el("p", { class: "span" });
    const all = el("button", { type: "button", class: "quiet", on: { click: () => this.reset() } }, "All years");
    place.replaceChildren(
      el("div", { class: "timeline-head" }, this.label, all),
      this.bars,
      el("div", { class: "brush", vars: { "--count": this.last - this.first + 1 } }, this.low, this.high),
      el("div", { class: "ends", "aria-hidden": "true" }, el("span", {}, String(this.first)), el("span", {}, String(this.last))),
    );
    this.draw(null);
  }

  slider(label, value, input) {
    const range = el("input", { type: "range", min: this.first, max: this.last, step: 1, "aria-label": label });
    range.value = value;
    range.addEventListener("input", input);
    return range;
  }

  turn(which) {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    // The sliders push each other rather than cross.
    if (low > high) (which === this.low ? this.high : this.low).value = which.value;
    this.from = Number(this.low.value);
    this.to = Number(this.high.value);
    this.changed();
  }

  reset() {
    this.low.value = this.first;
    this.high.value = this.last;
    this.from = this.first;
    this.to = this.last;
    this.changed();
  }

  whole = () => this.from === this.first && this.to === this.last;

  // Documents without a year belong to the whole, and to no part of it.
  holds(document_) {
    if (!this.useful || this.whole()) return true;
    return document_.year !== null && document_.year >= this.from && document_.year <= this.to;
  }

  // The bars, with the chosen phrase's documents (numbers, or null) before those of all.
  draw(chosen) {
    if (!this.useful) return;
    const count = this.last - this.first + 1;
    const all = new Array(count).fill(0);
    const some = new Array(count).fill(0);
    for (const { year } of this.documents) if (year !== null) all[year - this.first] += 1;
    for (const number of chosen ?? []) {
      const { year } = this.documents[number];
      if (year !== null) some[year - this.first] += 1;
    }
    const most = Math.max(...all);
    this.bars.replaceChildren(
      ...all.map((height, i) => {
        const inside = this.first + i >= this.from && this.first + i <= this.to;
        return el(
          "span",
          {
            class: inside ? "year in" : "year",
            title: `${this.first + i}: ${plural(height, "document")}`,
            vars: { "--all": height / most, "--some": some[i] / most },
          },
        );
      }),
    );
    this.label.textContent = this.from === this.to ? `${this.from}` : `${this.from} to ${this.to}`;
  }
}
