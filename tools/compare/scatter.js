// One chart of points that stand for arms: marks, spread, labels that keep out of each other's way, the Pareto front as a line, and a read-out
// of the nearest point. Redrawn at every width. Axes and read-out are those of chart.js.
//
// options: {title, subtitle, x: {unit, title, log?}, yTitle, yUnit, points: [{name, kind, x, y, spread, dots: [[x, y]..], rows: [[name, text]..]}],
// front?: [[x, y]..]}
// kind: "yardstick", "front" or "other". spread: half the length of the error bar, or null. dots: single runs. rows: of the read-out.

const SCATTER_HEIGHT = 380;
const LABEL_CHARACTERS_MAX = 34;
const REACH = 60;  // pixels from the pointer to a point that it means

class ScatterChart {
  constructor(parent, options) {
    this.options = options;
    this.index = -1;
    this.card = element("div", {class: "card chart scatter"});
    this.svg = element("svg", {tabindex: 0, role: "img", "aria-label": `${options.title} ${options.subtitle}`});
    this.readout = element("div", {class: "readout", hidden: ""});
    this.card.append(element("h3", {}, options.title, " ", element("small", {}, options.subtitle)), this.svg, this.readout);
    parent.append(this.card);
    this.svg.addEventListener("pointermove", (event) => this.pointAt(event));
    this.svg.addEventListener("pointerleave", () => this.show(-1));
    this.svg.addEventListener("blur", () => this.show(-1));
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // What an axis shows of `values`, with room around.
  static range(values, log) {
    const known = values.filter((value) => isKnown(value) && !(log && value <= 0));
    if (!known.length) return log ? [1, 10] : [0, 1];
    const low = Math.min(...known), high = Math.max(...known);
    if (log) {
      const room = Math.max((high / low) ** 0.08, 1.08);
      return [low / room, high * room];
    }
    const room = (high - low) * 0.08 || Math.abs(high) * 0.02 || 1;
    return [low - room, high + room];
  }

  draw() {
    const {points, x, front} = this.options;
    const width = this.svg.clientWidth;
    if (width < 120) return;
    const inner = {width: width - MARGIN.left - MARGIN.right, height: SCATTER_HEIGHT - MARGIN.top - MARGIN.bottom};
    const xRange = ScatterChart.range(points.flatMap((point) => [point.x, ...point.dots.map((dot) => dot[0])]), x.log);
    const yRange = ScatterChart.range(points.flatMap((point) => [point.y - (point.spread || 0), point.y + (point.spread || 0), ...point.dots.map((dot) => dot[1])]), false);
    const right = makeScale(xRange[0], xRange[1], inner.width, x.log);
    const up = makeScale(yRange[0], yRange[1], inner.height, false);
    const at = (value) => inner.height - up(value);
    this.places = points.map((point) => ({x: right(point.x), y: at(point.y)}));
    this.inner = inner;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${SCATTER_HEIGHT}`);
    this.plot = element("g", {transform: `translate(${MARGIN.left} ${MARGIN.top})`});
    this.svg.replaceChildren(this.plot);
    this.drawAxes(xRange, yRange, right, at);
    if (front && front.length) this.plot.append(element("path", {class: "front-line", d: ScatterChart.stairs(front, right, at, inner.width)}));
    points.forEach((point, i) => this.drawPoint(point, this.places[i], right, at));
    this.drawLabels();
    this.cursor = element("g", {});
    this.plot.append(this.cursor);
    this.show(-1);
  }

  drawAxes(xRange, yRange, right, at) {
    const {inner, options: {x, yTitle, yUnit}} = this;
    for (const value of linearTicks(yRange[0], yRange[1], 6)) {
      const y = at(value);
      this.plot.append(element("line", {class: "grid", x1: 0, x2: inner.width, y1: y, y2: y}),
        element("text", {x: -8, y: y + 4, "text-anchor": "end"}, UNITS[yUnit].tick(value)));
    }
    const unit = UNITS[x.unit];
    const count = Math.max(2, Math.floor(inner.width / 85));
    for (const value of x.log ? logTicks(xRange[0], xRange[1], count) : linearTicks(xRange[0], xRange[1], count, unit.steps)) {
      const place = right(value);
      this.plot.append(element("line", {class: "grid", x1: place, x2: place, y1: 0, y2: inner.height + 5}),
        element("text", {x: place, y: inner.height + 19, "text-anchor": place > inner.width - 12 ? "end" : "middle"}, unit.tick(value)));
    }
    this.plot.append(element("text", {class: "title", x: inner.width / 2, y: inner.height + 35, "text-anchor": "middle"}, x.title),
      element("text", {class: "title", x: 6, y: 12}, yTitle));
  }

  // From point to point the front is what one has with the better of both costs: steps, which go on to the right at the best loss.
  static stairs(front, right, at, width) {
    const [first, ...rest] = front;
    const steps = rest.map(([x, y]) => `H${right(x).toFixed(1)}V${at(y).toFixed(1)}`);
    return `M${right(first[0]).toFixed(1)} ${at(first[1]).toFixed(1)}${steps.join("")}H${width}`;
  }

  drawPoint(point, {x, y}, right, at) {
    const group = element("g", {class: `point ${point.kind}`});
    for (const dot of point.dots) group.append(element("circle", {class: "dot", r: 2, cx: right(dot[0]), cy: at(dot[1])}));
    if (point.spread) {
      const low = at(point.y - point.spread), high = at(point.y + point.spread);
      group.append(element("path", {class: "spread", d: `M${x - 4} ${low}h8M${x - 4} ${high}h8M${x} ${low}V${high}`}));
    }
    const mark = point.kind === "yardstick" ? element("path", {class: "mark-of", d: `M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z`})
      : element("circle", {class: "mark-of", r: 5.5, cx: x, cy: y});
    group.append(mark);
    this.plot.append(group);
  }

  // Each label takes the first free place around its mark; where none is free, the read-out tells the name.
  drawLabels() {
    const {points} = this.options;
    const taken = this.places.map(({x, y}) => ({left: x - 8, right: x + 8, top: y - 8, bottom: y + 8}));
    const free = (box) => box.left >= 0 && box.right <= this.inner.width && box.top >= 0 && box.bottom <= this.inner.height &&
      !taken.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
    const order = points.map((_, i) => i).sort((a, b) => (points[a].kind === "other") - (points[b].kind === "other"));
    for (const i of order) {
      const {x, y} = this.places[i];
      const name = points[i].name;
      const text = element("text", {class: "label"}, name.length > LABEL_CHARACTERS_MAX ? name.slice(0, LABEL_CHARACTERS_MAX - 1) + "…" : name);
      this.plot.append(text);
      const long = text.getComputedTextLength();
      const spots = [[x + 11, y + 4], [x - 11 - long, y + 4], [x - long / 2, y - 12], [x - long / 2, y + 20], [x + 8, y - 9], [x + 8, y + 17],
        [x - 8 - long, y - 9], [x - 8 - long, y + 17]];
      const boxOf = ([left, base]) => ({left, right: left + long, top: base - 11, bottom: base + 3});
      const spot = spots.find((candidate) => free(boxOf(candidate)));
      if (!spot) { text.remove(); continue; }
      taken.push(boxOf(spot));
      text.setAttribute("x", spot[0]);
      text.setAttribute("y", spot[1]);
    }
  }

  pointAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = event.clientX - box.left - MARGIN.left, y = event.clientY - box.top - MARGIN.top;
    const distances = this.places.map((place) => Math.hypot(place.x - x, place.y - y));
    const nearest = distances.indexOf(Math.min(...distances));
    this.show(distances[nearest] <= REACH ? nearest : -1);
  }

  // The arrow keys go along the horizontal axis.
  onKey(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !this.places.length) return;
    event.preventDefault();
    const order = this.places.map((_, i) => i).sort((a, b) => this.places[a].x - this.places[b].x);
    const now = order.indexOf(this.index);
    this.show(order[now < 0 ? (step > 0 ? 0 : order.length - 1) : Math.min(order.length - 1, Math.max(0, now + step))]);
  }

  show(index) {
    this.index = index;
    this.cursor.replaceChildren();
    this.readout.hidden = index < 0;
    if (index < 0) return;
    const {x, y} = this.places[index];
    const point = this.options.points[index];
    this.cursor.append(element("circle", {class: "cursor", r: 11, cx: x, cy: y, fill: "none"}));
    this.readout.replaceChildren(element("div", {}, element("b", {}, point.name)),
      ...point.rows.map(([name, text]) => element("div", {}, element("span", {}, name), element("b", {}, text))));
    const left = MARGIN.left + x + 30;
    const flips = left + this.readout.offsetWidth > this.svg.clientWidth;
    this.readout.style.left = `${flips ? Math.max(0, left - 44 - this.readout.offsetWidth) : left}px`;
    const top = this.svg.getBoundingClientRect().top - this.card.getBoundingClientRect().top + MARGIN.top;
    this.readout.style.top = `${top + Math.max(0, Math.min(y - 20, this.inner.height - this.readout.offsetHeight))}px`;
  }
}
