// Zooming and moving a map: by its buttons, the wheel with Ctrl, two fingers, dragging, a double click, or + - 0.

const MOST = 12;
const STEP = 1.6;
const DRAG = 4;

export class Zoom {
  // `changed()` when k (how much larger), x or y (how far moved) are others.
  constructor(svg, width, height, changed) {
    Object.assign(this, { svg, width, height, changed, k: 1, x: 0, y: 0, fingers: new Map(), dragged: false });
    const here = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = width / (box.width || width);
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    };
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      this.by(Math.exp(-event.deltaY * 0.01), ...here(event));
    }, { passive: false });
    svg.addEventListener("dblclick", (event) => this.by(STEP, ...here(event)));
    svg.addEventListener("pointerdown", (event) => {
      this.fingers.set(event.pointerId, here(event));
      this.dragged = false;
    });
    svg.addEventListener("pointermove", (event) => this.move(event, here(event)));
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      svg.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    // What ends a drag is no click on a phrase.
    svg.addEventListener("click", (event) => {
      if (!this.dragged) return;
      event.stopPropagation();
      this.dragged = false;
    }, { capture: true });
  }

  move(event, [x, y]) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [x - before[0], y - before[1]];
    if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      this.by(apart([x, y]) / apart(before), (x + other[0]) / 2, (y + other[1]) / 2);
    } else {
      if (this.k === 1 || (!this.dragged && Math.hypot(dx, dy) < DRAG)) return;
      if (!this.dragged) this.svg.setPointerCapture(event.pointerId);
      this.to(this.k, this.x + dx, this.y + dy);
    }
    this.dragged = true;
    this.fingers.set(event.pointerId, [x, y]);
  }

  larger = () => this.by(STEP);
  smaller = () => this.by(1 / STEP);
  whole = () => this.to(1, 0, 0);

  by(factor, cx = this.width / 2, cy = this.height / 2) {
    const k = Math.min(Math.max(this.k * factor, 1), MOST);
    this.to(k, cx - ((cx - this.x) * k) / this.k, cy - ((cy - this.y) * k) / this.k);
  }

  // Move so that a point of the map is in sight.
  reveal({ x, y }) {
    const [atX, atY] = [this.k * x + this.x, this.k * y + this.y];
    if (atX > 0 && atX < this.width && atY > 0 && atY < this.height) return;
    this.to(this.k, this.width / 2 - this.k * x, this.height / 2 - this.k * y);
  }

  to(k, x, y) {
    const inside = (value, extent) => Math.min(Math.max(value, extent * (1 - k)), 0);
    Object.assign(this, { k, x: inside(x, this.width), y: inside(y, this.height) });
    this.svg.classList.toggle("zoomed", k > 1);
    this.changed();
  }

  key(event) {
    const action = { "+": this.larger, "=": this.larger, "-": this.smaller, 0: this.whole }[event.key];
    if (!action || event.ctrlKey || event.metaKey) return false;
    event.preventDefault();
    action();
    return true;
  }
}
