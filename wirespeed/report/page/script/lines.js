// A chart of curves over message size: bands of confidence, limit lines, labels, a cursor, zoom by dragging.

const MARKERS = [
  (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  (x, y, r) => `M${x},${y - 1.3 * r}L${x + 1.3 * r},${y + r}H${x - 1.3 * r}Z`,
  (x, y, r) => `M${x},${y - 1.4 * r}L${x + 1.4 * r},${y}L${x},${y + 1.4 * r}L${x - 1.4 * r},${y}Z`,
];
const WIDE = { apart: 13, letter: 6.6, gap: 14, share: 0.34 };
const SLIM = { apart: 11.5, letter: 5.9, gap: 8, share: 0.45 };
const SLIM_WIDTH = 470;
const MAX_LABELS = 32;
const EDGES = 78;
const MAX_MARKS = 80;
const MAX_IN_TIP = 16;
let clips = 0;

class Lines {
  // spec: title, unit, axis (a name in AXES), series, limits, shown(series). link: {range, charts} of charts that zoom together.
  constructor(box, spec, link) {
    Object.assign(this, { box, spec, link, axis: AXES[spec.axis], clip: `clip-${clips++}` });
    link.charts.push(this);
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    box.append(this.tip);
  }

  get shown() {
    return this.spec.series.filter((one) => this.spec.shown(one));
  }

  render() {
    const width = Math.max(280, this.box.clientWidth);
    if (this.svg) this.svg.remove();
    this.tip.hidden = true;
    this.spaced = width < SLIM_WIDTH ? SLIM : WIDE;
    const labels = Math.min(this.shown.length, MAX_LABELS) * this.spaced.apart + EDGES + 4;
    this.size = { width, height: Math.round(Math.max(Math.min(440, Math.max(290, width * 0.74)), labels)) };
    this.measure();
    const { width: w, height: h } = this.size, { left, right, top, bottom } = this.edge;
    this.svg = draw("svg", {
      viewBox: `0 0 ${w} ${h}`, class: this.spaced === SLIM ? "chart slim" : "chart", role: "img", tabindex: 0, "aria-label": this.summary(),
    });
    this.svg.append(draw("clipPath", { id: this.clip },
      draw("rect", { x: left - 3, y: top - 3, width: w - left - right + 6, height: h - top - bottom + 6 })));
    this.grid();
    const inside = draw("g", { "clip-path": `url(#${this.clip})` });
    this.shown.forEach((one) => inside.append(this.band(one)));
    this.shown.forEach((one) => inside.append(this.curve(one)));
    this.svg.append(inside);
    this.limitLines();
    this.labels();
    this.cursor = draw("g", { class: "cursor" });
    this.svg.append(this.cursor);
    this.listen();
    this.box.prepend(this.svg);
  }

  summary() {
    return `${this.spec.title} against ${this.spec.sizes || "message size"}, ${this.shown.length} curves: ${this.shown.map((one) => one.label).join(", ")}`;
  }

  // What is shown decides the axes.
  measure() {
    const { width: w, height: h } = this.size, all = this.shown;
    const sizes = all.flatMap((one) => one.x.filter((_, i) => one.y[i] > 0));
    const positive = sizes.filter((size) => size > 0);
    this.zero = (positive.length ? Math.min(...spread(positive)) : 1) / 4;
    this.x0 = sizes.includes(0) ? this.zero : this.zero * 4;
    this.x1 = positive.length ? spread(positive)[1] : 1;
    const [a, b] = this.link.range || [this.x0, this.x1];
    this.range = b > a ? [a, b] : [a / 2, b * 2];
    const inside = (size) => this.at(size) >= this.range[0] * 0.999 && this.at(size) <= this.range[1] * 1.001;
    let values = all.flatMap((one) => one.y.filter((value, i) => value > 0 && inside(one.x[i])));
    this.limits = this.spec.limits.map((limit) => ({ ...limit, start: this.limitStart(limit) })).filter(({ start }) => start < this.range[1]);
    values = values.concat(this.limits.map((limit) => limit.y), this.spec.include || []);
    let [low, high] = values.length ? spread(values) : [1, 10];
    if (high / low < 1.2) [low, high] = [low / 1.2, high * 1.2];
    this.named = all.length > 0 && all.length <= MAX_LABELS;
    const longest = Math.max(0, ...all.map((one) => one.label.length));
    const { letter, gap, share } = this.spaced;
    this.edge = {
      left: this.spaced === SLIM ? 48 : 58, right: this.named ? Math.min(share * w, gap + 16 + letter * longest) : 20, top: 34, bottom: 44,
    };
    const { left, right, top, bottom } = this.edge;
    this.sx = logScale(this.range[0], this.range[1], left, w - right);
    this.sy = logScale(low / 1.12, high * 1.12, h - bottom, top);
    this.ends = [low / 1.12, high * 1.12];
  }

  xText(size) {
    return (this.spec.xText || sizeText)(size);
  }

  at(size) {
    return size > 0 ? size : this.zero;
  }

  grid() {
    const { width: w, height: h } = this.size, { left, right, top, bottom } = this.edge, g = draw("g", { class: "grid" });
    for (const { value, label, main } of decadeTicks(...this.ends, this.sy)) {
      const y = this.sy(value);
      g.append(draw("line", { x1: left, x2: w - right, y1: y, y2: y, class: main ? "main" : "fine" }));
      if (label) g.append(draw("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, this.axis.tick(value)));
    }
    const ticks = sizeTicks(this.range[0], this.range[1], this.sx, 58).filter((size) => size > this.zero || this.x0 > this.zero);
    if (this.x0 === this.zero && this.range[0] <= this.zero) ticks.unshift(0);
    for (const size of ticks) {
      const x = this.sx(this.at(size));
      g.append(draw("line", { x1: x, x2: x, y1: top, y2: h - bottom, class: "fine" }));
      g.append(draw("text", { x, y: h - bottom + 17, "text-anchor": "middle" }, this.xText(size)));
    }
    g.append(draw("text", { x: left, y: 16, class: "name" }, `${this.spec.title}, ${this.spec.unit}`));
    g.append(draw("text", { x: w - right, y: h - 8, "text-anchor": "end", class: "axis" }, this.spec.sizes || "message size"));
    this.svg.append(g);
  }

  // No limit applies to messages that caches can hold: its line begins behind them.
  limitStart(limit) {
    const starts = limit.of.filter((one) => this.shown.includes(one))
      .map(({ x, cached }) => (!cached ? this.range[0] : x.some((size) => size > cached) ? Math.max(cached, this.range[0]) : Infinity));
    return Math.min(...starts);
  }

  limitLines() {
    const { width: w } = this.size, { left, right } = this.edge;
    let above = -Infinity;
    for (const limit of [...this.limits].sort((a, b) => b.y - a.y)) {
      const y = this.sy(limit.y);
      const start = this.sx(limit.start), late = start > (left + w - right) / 2;
      this.svg.append(draw("line", { x1: start, x2: w - right, y1: y, y2: y, class: "limit" }));
      // Beneath its line where another name or line is in the way above, but never over the curves; no name where no place is free.
      const free = (one) => one - above >= 13 && !this.limits.some((other) => other !== limit && Math.abs(this.sy(other.y) - one + 4) < 7);
      const place = (late ? [y - 5] : [y - 5, y + 13]).find(free);
      if (place === undefined) continue;
      above = place;
      const label = late ? { x: w - right - 2, "text-anchor": "end" } : { x: start + 6 };
      this.svg.append(draw("text", { ...label, y: place, class: "limit" }, limit.label));
    }
  }

  points(one) {
    const found = [];
    one.x.forEach((size, i) => { if (one.y[i] > 0) found.push([this.sx(this.at(size)), this.sy(one.y[i]), i]); });
    return found;
  }

  band(one) {
    const ends = one.x.map((size, i) => [this.sx(this.at(size)), one.low[i], one.high[i]])
      .filter(([, low, high]) => low > 0 && high > 0);
    const upper = ends.map(([x, , high]) => `${x.toFixed(1)},${this.sy(high).toFixed(1)}`);
    const lower = ends.map(([x, low]) => `${x.toFixed(1)},${this.sy(low).toFixed(1)}`).reverse();
    return draw("path", { d: ends.length > 1 ? `M${upper.concat(lower).join("L")}Z` : "", class: "band", style: `fill:${one.colour}` });
  }

  curve(one) {
    const places = this.points(one);
    const line = places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");
    const marks = places.length > MAX_MARKS ? "" : places.map(([x, y]) => MARKERS[one.marker % MARKERS.length](+x.toFixed(1), +y.toFixed(1), 2.3)).join("");
    const g = draw("g", { class: one.published ? "curve published" : "curve", style: `--c:${one.colour}`, "data-series": one.label },
      draw("path", { d: line ? `M${line}` : "", class: "line", "stroke-dasharray": one.dash || null }));
    if (!one.published && marks) g.append(draw("path", { d: marks, class: one.marker >= MARKERS.length ? "mark open" : "mark" }));
    one.element = one.element || new Map();
    one.element.set(this, g);
    return g;
  }

  // Names at the right ends, pushed apart.
  labels() {
    if (!this.named) return;
    const { width: w, height: h } = this.size, { right, top, bottom } = this.edge;
    const ends = this.shown.map((one) => {
      const inside = this.points(one).filter(([x]) => x <= w - right + 1);
      return inside.length ? { one, x: inside.at(-1)[0], y: inside.at(-1)[1] } : null;
    }).filter(Boolean).sort((a, b) => a.y - b.y);
    let least = top - 4;
    for (const end of ends) least = (end.place = Math.max(end.y, least)) + this.spaced.apart;
    let most = h - bottom + 4;
    for (const end of [...ends].reverse()) most = (end.place = Math.min(end.place, most)) - this.spaced.apart;
    for (const { one, x, y, place } of ends) {
      const start = w - right + this.spaced.gap;
      this.svg.append(draw("g", { class: "label", style: `--c:${one.colour}` },
        draw("path", { d: `M${x + 4},${y}L${start - 3},${place}`, class: "lead" }),
        draw("line", { x1: start - 3, x2: start + 6, y1: place, y2: place, class: "tag" }),
        draw("text", { x: start + 9, y: place + 4 }, shortened(one.label, Math.floor((right - this.spaced.gap - 12) / this.spaced.letter)))));
    }
  }

  listen() {
    let start = null;
    const place = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [(event.clientX - box.left) * this.size.width / box.width, (event.clientY - box.top) * this.size.height / box.height];
    };
    const inside = (x) => Math.min(Math.max(x, this.edge.left), this.size.width - this.edge.right);
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch" && event.button === 0) start = place(event)[0];
    });
    this.svg.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (start === null || Math.abs(x - start) < 6) return this.point(x, y);
      const [a, b] = [inside(Math.min(x, start)), inside(Math.max(x, start))];
      this.tip.hidden = true;
      this.cursor.replaceChildren(draw("rect", {
        x: a, y: this.edge.top, width: b - a, height: this.size.height - this.edge.top - this.edge.bottom, class: "chosen",
      }));
    });
    this.svg.addEventListener("pointerup", (event) => {
      const x = place(event)[0];
      if (start !== null && Math.abs(x - start) >= 6) {
        const ends = [inside(start), inside(x)].sort((a, b) => a - b).map((one) => this.sx.invert(one));
        if (ends[1] > 1.5 * ends[0]) zoom(this.link, ends);
        else this.cursor.replaceChildren();
      }
      start = null;
    });
    this.svg.addEventListener("pointerleave", () => { start = null; this.leave(); });
    this.svg.addEventListener("click", (event) => this.point(...place(event)));
    this.svg.addEventListener("dblclick", () => zoom(this.link, null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") return this.leave();
    if (!step) return;
    event.preventDefault();
    const sizes = this.sizes();
    const now = sizes.indexOf(this.pointed);
    const next = sizes[Math.min(sizes.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : sizes.length - 1) : now + step))];
    if (next !== undefined) this.point(this.sx(this.at(next)), this.edge.top);
  }

  sizes() {
    const inside = (size) => this.at(size) >= this.range[0] * 0.999 && this.at(size) <= this.range[1] * 1.001;
    return [...new Set(this.shown.flatMap((one) => one.x.filter((_, i) => one.y[i] > 0)))].filter(inside).sort((a, b) => a - b);
  }

  leave() {
    this.tip.hidden = true;
    this.pointed = undefined;
    this.cursor.replaceChildren();
    this.light(null);
  }

  light(chosen) {
    for (const one of this.spec.series) one.element?.get(this)?.classList.toggle("hot", one === chosen);
    this.svg.classList.toggle("lit", chosen !== null);
  }

  // The size nearest to the pointer: every curve's figure there, the best first.
  point(x, y) {
    const sizes = this.sizes();
    if (!sizes.length) return;
    const far = (size) => Math.abs(this.sx(this.at(size)) - x);
    const size = this.pointed = sizes.reduce((best, one) => (far(one) < far(best) ? one : best));
    const rows = [];
    for (const one of this.shown) {
      const i = one.x.indexOf(size);
      if (i >= 0 && one.y[i] > 0) rows.push({ one, i, y: this.sy(one.y[i]) });
    }
    if (!rows.length) return this.leave();
    rows.sort((a, b) => (this.axis.better === "low" ? b.y - a.y : a.y - b.y));
    const near = rows.reduce((best, row) => (Math.abs(row.y - y) < Math.abs(best.y - y) ? row : best));
    const nearby = Math.abs(near.y - y) < 40 ? near : null;
    const place = this.sx(this.at(size));
    this.cursor.replaceChildren(
      draw("line", { x1: place, x2: place, y1: this.edge.top, y2: this.size.height - this.edge.bottom }),
      ...rows.map((row) => draw("circle", { cx: place, cy: row.y, r: row === near ? 5 : 3.5, style: `--c:${row.one.colour}` })),
    );
    this.light(nearby ? nearby.one : null);
    this.fillTip(size, rows, nearby);
    this.tip.hidden = false;
    this.placeTip(place);
  }

  // Beside the cursor, to the right if the window has room there, over the neighbouring chart if need be.
  placeTip(place) {
    const box = this.box.getBoundingClientRect();
    const at = place * box.width / this.size.width, wide = this.tip.offsetWidth, room = document.documentElement.clientWidth;
    const right = box.left + at + 14 + wide <= room - 4;
    const left = right ? at + 14 : at - 14 - wide;
    this.tip.style.left = `${Math.max(4 - box.left, left)}px`;
    // A narrow window has no room beside it: then below the chart.
    const beside = room >= 560;
    this.tip.style.top = `${beside ? this.edge.top : this.svg.getBoundingClientRect().height}px`;
  }

  fillTip(size, rows, near) {
    const body = rows.slice(0, MAX_IN_TIP).map(({ one, i }) => make("tr", { class: near && one === near.one ? "near" : null },
      make("td", null, make("i", { style: `--c:${one.colour}` }), one.label),
      make("td", null, this.axis.text(one.y[i])),
      make("td", null, spreadText(one.low[i], one.y[i], one.high[i])),
      make("td", null, one.note ? one.note(i) : "")));
    const more = rows.length - body.length;
    const parts = rows.some(({ one }) => one.limit) ? "of limit" : "";
    const heads = [this.xText(size), "", "95 %", parts].map((head) => make("th", null, head));
    this.tip.replaceChildren(make("table", null, make("thead", null, make("tr", null, ...heads)), make("tbody", null, ...body)));
    if (more > 0) this.tip.append(`and ${more} more`);
  }
}

// At most so many letters; what is left out is in the middle, because paths differ in their ends.
function shortened(label, letters) {
  const head = Math.ceil((letters - 1) / 2);
  return label.length <= letters ? label : `${label.slice(0, head)}…${label.slice(label.length - (letters - 1 - head))}`;
}

function spread(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high];
}

function zoom(link, range) {
  link.range = range;
  link.charts.forEach((chart) => chart.render());
  if (link.changed) link.changed();
}
