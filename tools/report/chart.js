// One chart: axes, lines or stacked areas, legend and a read-out that follows the pointer or the arrow keys. Redrawn at every width,
// so that text keeps its size.
//
// options: {title, unit, xUnit, xTitle, x: [..], series: [{name, color, values, raw?}], references?: [{name, value}], log?, stacked?, zero?, clip?}
// values hold null where nothing is known. raw: the unsmoothed values, drawn faint behind. zero: the axis begins at 0. clip: the axis
// leaves out the first values, which are far from all others.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = {top: 8, right: 14, bottom: 40, left: 58};
const HEIGHT = 260;
const READOUT_SERIES_MAX = 6;

function element(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "circle", "clipPath", "rect"].includes(name);
  const node = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") node.style.cssText = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const isKnown = (value) => value !== null && value !== undefined && Number.isFinite(value);

// Where values go on an axis of `length` pixels.
function makeScale(low, high, length, log) {
  const map = log ? Math.log : (value) => value;
  const span = map(high) - map(low) || 1;
  return (value) => (map(value) - map(low)) / span * length;
}

// Smallest and largest value that the axis shows.
function yRange(options, shown) {
  const skipped = options.clip ? Math.floor(options.x.length * 0.04) : 0;
  let low = Infinity, high = -Infinity;
  const take = (value) => {
    if (!isKnown(value) || (options.log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const series of shown) {
    const top = options.stacked ? series.top : series.raw || series.values;
    top.forEach((value, i) => i >= skipped && take(value));
  }
  for (const reference of options.references || []) take(reference.value);
  if (low > high) return options.log ? [0.1, 1] : [0, 1];
  if (options.zero || options.stacked) low = Math.min(0, low);
  if (options.log) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
  const pad = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [options.zero || options.stacked ? low : low - pad, high + pad];
}

// The lower and upper border of each stacked area.
function stack(series, length) {
  const base = new Array(length).fill(0);
  for (const one of series) {
    one.bottom = base.slice();
    one.values.forEach((value, i) => { base[i] += isKnown(value) ? value : 0; });
    one.top = base.slice();
  }
}

function linePath(xs, ys) {
  let path = "", pen = "M";
  for (let i = 0; i < xs.length; ++i) {
    if (!Number.isFinite(ys[i])) { pen = "M"; continue; }
    path += `${pen}${xs[i].toFixed(1)} ${ys[i].toFixed(1)}`;
    pen = "L";
  }
  return path;
}

class Chart {
  constructor(parent, options) {
    this.options = options;
    this.hidden = new Set();
    this.pointed = null;
    this.index = -1;
    this.card = element("div", {class: "card chart"});
    const title = element("h3", {}, options.title, " ", element("small", {}, options.subtitle || ""));
    this.svg = element("svg", {tabindex: 0, role: "img", "aria-label": `${options.title} ${options.subtitle || ""}`});
    this.readout = element("div", {class: "readout", hidden: ""});
    this.card.append(title, this.legend(), this.svg, this.readout);
    parent.append(this.card);
    this.svg.addEventListener("pointermove", (event) => this.pointAt(event));
    this.svg.addEventListener("pointerleave", () => this.show(-1));
    this.svg.addEventListener("blur", () => this.show(-1));
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  get many() { return this.options.series.length > READOUT_SERIES_MAX; }
  get shown() { return this.options.series.filter((series) => !this.hidden.has(series)); }

  legend() {
    const legend = element("div", {class: "legend"});
    if (this.options.series.length < 2) return legend;
    for (const series of this.options.series) {
      const button = element("button", {"aria-pressed": "true", title: "show or hide"},
        element("span", {class: "swatch", style: `background:${series.color}`}), series.name);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(series)) this.hidden.add(series);
        button.setAttribute("aria-pressed", String(!this.hidden.has(series)));
        this.draw();
      });
      button.addEventListener("pointerenter", () => this.emphasise(series));
      button.addEventListener("pointerleave", () => this.emphasise(null));
      legend.append(button);
    }
    return legend;
  }

  emphasise(series) {
    this.pointed = series;
    this.plot.classList.toggle("pointed", series !== null);
    for (const [one, path] of this.paths) path.classList.toggle("on", one === series);
  }

  draw() {
    const {options} = this;
    const width = this.svg.clientWidth;
    if (width < 120) return;
    const inner = {width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom};
    const shown = this.shown;
    if (options.stacked) stack(shown, options.x.length);
    const [low, high] = yRange(options, shown);
    const x0 = Math.min(0, options.x[0] ?? 0), x1 = options.x[options.x.length - 1] || 1;
    const xScale = makeScale(x0, x1, inner.width, false);
    const yUp = makeScale(low, high, inner.height, options.log);
    const yScale = (value) => isKnown(value) && !(options.log && value <= 0) ? inner.height - yUp(value) : NaN;
    this.frame = {inner, yScale, low, high, xs: options.x.map(xScale)};
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.plot = element("g", {transform: `translate(${MARGIN.left} ${MARGIN.top})`, class: this.many ? "thin" : ""});
    this.drawAxes([x0, x1], xScale);
    const id = `clip-${Chart.next = (Chart.next || 0) + 1}`;
    const body = element("g", {"clip-path": `url(#${id})`});
    this.plot.append(element("clipPath", {id}, element("rect", {x: 0, y: -2, width: inner.width, height: inner.height + 4})), body);
    this.drawSeries(body, shown);
    this.cursor = element("g", {});
    this.plot.append(this.cursor);
    this.svg.append(this.plot);
    this.show(-1);
  }

  drawAxes([x0, x1], xScale) {
    const {options, frame: {inner, yScale, low, high}} = this;
    const yTicks = options.log ? logTicks(low, high, 6) : linearTicks(low, high, 5);
    for (const value of yTicks) {
      const y = yScale(value);
      this.plot.append(element("line", {class: "grid", x1: 0, x2: inner.width, y1: y, y2: y}),
        element("text", {x: -8, y: y + 4, "text-anchor": "end"}, UNITS[options.unit].tick(value)));
    }
    const unit = UNITS[options.xUnit];
    for (const value of linearTicks(x0, x1, Math.max(2, Math.floor(inner.width / 85)), unit.steps)) {
      const x = xScale(value);
      this.plot.append(element("line", {class: "grid", x1: x, x2: x, y1: inner.height, y2: inner.height + 5}),
        element("text", {x, y: inner.height + 19, "text-anchor": x > inner.width - 12 ? "end" : "middle"}, unit.tick(value)));
    }
    this.plot.append(element("text", {class: "title", x: inner.width / 2, y: inner.height + 35, "text-anchor": "middle"}, options.xTitle));
  }

  drawSeries(body, shown) {
    const {options, frame: {inner, yScale, xs}} = this;
    this.paths = new Map();
    for (const series of shown) {
      if (options.stacked) {
        const there = linePath(xs, series.top.map(yScale));
        const back = linePath([...xs].reverse(), series.bottom.map(yScale).reverse()).replace("M", "L");
        body.append(element("path", {d: there + back + "Z", style: `fill:${series.color};opacity:.85`}));
        continue;
      }
      const paint = `stroke:${series.color}`;
      if (series.raw) body.append(element("path", {class: "series raw", d: linePath(xs, series.raw.map(yScale)), style: paint}));
      const path = element("path", {class: "series", d: linePath(xs, series.values.map(yScale)), style: paint});
      this.paths.set(series, path);
      body.append(path);
      // A line of one point has no length.
      if (xs.length === 1) body.append(element("circle", {r: 3.5, cx: xs[0], cy: yScale(series.values[0]) || 0, style: `fill:${series.color}`}));
    }
    for (const {name, value} of options.references || []) {
      const y = yScale(value);
      body.append(element("line", {class: "reference", x1: 0, x2: inner.width, y1: y, y2: y}),
        element("text", {class: "reference-name", x: 6, y: y < 16 ? y + 15 : y - 6}, `${name} ${UNITS[options.unit].text(value)}`));
    }
  }

  pointAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = event.clientX - box.left - MARGIN.left;
    const {xs} = this.frame;
    let nearest = 0;
    for (let i = 1; i < xs.length; ++i) if (Math.abs(xs[i] - x) < Math.abs(xs[nearest] - x)) nearest = i;
    this.show(nearest, event.clientY - box.top - MARGIN.top);
  }

  onKey(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !this.options.x.length) return;
    event.preventDefault();
    this.show(Math.min(this.options.x.length - 1, Math.max(0, (this.index < 0 ? this.options.x.length - 1 : this.index) + step)));
  }

  // The read-out of point `index`; of the nearest line to `y` alone where there are many.
  show(index, y) {
    this.index = index;
    this.cursor.replaceChildren();
    this.readout.hidden = index < 0 || !this.options.x.length;
    if (this.many) this.emphasise(null);
    if (this.readout.hidden) return;
    const {options, frame: {inner, yScale, xs}} = this;
    const heightOf = (series) => yScale(options.stacked ? series.top[index] : series.values[index]);
    let listed = this.shown.filter((series) => isKnown(series.values[index]));
    if (this.many && listed.length) {
      const distance = (series) => Math.abs(heightOf(series) - (y ?? 0)) || 0;
      listed = [listed.reduce((best, series) => distance(series) < distance(best) ? series : best)];
      this.emphasise(listed[0]);
    }
    this.cursor.append(element("line", {class: "cursor", x1: xs[index], x2: xs[index], y1: 0, y2: inner.height}));
    const rows = (options.stacked ? [...listed].reverse() : listed).map((series) => {
      const top = heightOf(series);
      if (top >= 0 && top <= inner.height) {
        this.cursor.append(element("circle", {r: 4, cx: xs[index], cy: top, style: `fill:${series.color};stroke:var(--card);stroke-width:1.5`}));
      }
      return element("div", {}, element("span", {}, element("span", {class: "swatch", style: `background:${series.color}`}), series.name),
        element("b", {}, UNITS[options.unit].text(series.values[index])));
    });
    const unit = UNITS[options.xUnit];
    this.readout.replaceChildren(element("div", {}, `${unit.text(options.x[index])} ${options.xWord || ""}`), ...rows);
    const left = MARGIN.left + xs[index] + 16;
    const flips = left + 12 + this.readout.offsetWidth > this.svg.clientWidth;
    this.readout.style.left = `${flips ? Math.max(0, left - 14 - this.readout.offsetWidth) : left + 12}px`;
    this.readout.style.top = `${this.svg.getBoundingClientRect().top - this.card.getBoundingClientRect().top + MARGIN.top + 6}px`;
  }
}
