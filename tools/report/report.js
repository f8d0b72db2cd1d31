// The page: what the data says, put into tiles, tables and charts. Everything from files becomes text nodes, never markup.

const {result, times, course, codecs, guard, teacher, config} = JSON.parse(document.getElementById("data").textContent);
const perSample = (bytes) => result.samples ? bytes / result.samples : NaN;

// How far the model is from the teacher, which nothing can beat but by luck.
function besideTeacher(value, best, relative) {
  if (value === null || !best) return "";
  const text = relative ? ((value / best - 1) * 100).toFixed(2) + " %" : (value - best).toFixed(4);
  return `${value >= best ? "+" : ""}${text} to the teacher`.replace("-", "−");
}

function header() {
  document.title = `${result.job} · Weir`;
  place("job").textContent = result.job;
  place("summary").textContent = [plural(result.workers, "worker"), plural(result.servers, "server"), plural(result.samples, "sample"),
    plural(result.steps, "step"), secondsText(result.seconds), `job ${result.job_hash}`].join(" · ");
}

function tiles() {
  const bytes = sum(result.edges.map((edge) => edge.training));
  const held = result.evaluation_samples ? `${countText(result.evaluation_samples)} held-out rows` : "no held-out rows";
  const wait = result.seconds && result.workers ? result.wait_seconds / (result.seconds * result.workers) : NaN;
  const list = [
    ["log-loss", fourDigits(known(result.logloss)), besideTeacher(result.logloss, teacher?.logloss, true) || held],
    ["AUC", fourDigits(known(result.auc)), besideTeacher(result.auc, teacher?.auc, false) || held],
    ["bytes per sample", bytesText(perSample(bytes)), `${bytesText(bytes)} in all`],
    ["samples per second", countText(result.samples_per_second), `${percentText(wait)} waiting`],
    ["wall time", secondsText(result.seconds), `${plural(result.steps, "step")}`],
    ["rows held", countText(result.rows_held), `${plural(result.bad_rows, "bad row")} skipped`],
  ];
  for (const [name, value, beside] of list) {
    place("tiles").append(element("div", {class: "card tile"}, element("div", {class: "name"}, name),
      element("div", {class: "value"}, value), element("div", {class: "beside"}, beside)));
  }
}

function qualityTable() {
  const best = teacher || {};
  const row = (name, value, limit) => ({cells: [name, fourDigits(known(value)), ...(teacher ? [limit ? fourDigits(limit) : ""] : [])]});
  place("quality").append(table(["", "model", ...(teacher ? ["teacher"] : [])], [
    row("log-loss", result.logloss, best.logloss),
    row("AUC", result.auc, best.auc),
    row("normalised entropy", result.ne),
    row("calibration", result.calibration),
    {cells: ["click rate", percentText(known(result.ctr)), ...(teacher ? [""] : [])]},
    {cells: ["held-out rows", countText(result.evaluation_samples), ...(teacher ? [""] : [])]},
  ]));
}

function bytesTable() {
  const total = sum(result.edges.map((edge) => edge.training));
  const evaluation = sum(result.edges.map((edge) => edge.evaluation));
  const share = (part, paint) => [
    element("span", {class: "share"}, element("i", {style: `width:${total ? part / total * 100 : 0}%;background:${paint}`})),
    element("span", {}, percentText(total ? part / total : NaN))];
  const rows = result.edges.map((edge) => ({cells: [
    [element("span", {class: "swatch", style: `background:${color(edge.name)}`}), words(edge.name)],
    bytesText(edge.training), bytesText(perSample(edge.training)), share(edge.training, color(edge.name)), bytesText(edge.evaluation)]}));
  rows.push({total: true, cells: ["all edges", bytesText(total), bytesText(perSample(total)), "", bytesText(evaluation)]});
  place("bytes").append(table(["edge", "training", "per sample", "share", "evaluation"], rows));
}

// Phases in which the thread may wait for others are painted as what it waits for.
const WAITED_FOR = {lookup_wait: "lookup_reply", push_wait: "push", reduce: "dense"};

function timesTable() {
  const steps = result.steps * result.workers;
  if (!times.length || !steps) return void (place("times").hidden = true);
  const all = sum(times.map((time) => time.seconds));
  const share = (seconds, paint) => [
    element("span", {class: "share"}, element("i", {style: `width:${all ? seconds / all * 100 : 0}%;background:${paint}`})),
    element("span", {}, percentText(all ? seconds / all : NaN))];
  const milliseconds = (seconds) => `${(1000 * seconds / steps).toFixed(2)} ms`;
  const rows = times.map(({phase, seconds, waits}) => ({cells: [words(phase), milliseconds(seconds),
    share(seconds, WAITED_FOR[phase] ? color(WAITED_FOR[phase]) : "var(--accent)"), waits === null ? "" : percentText(waits / steps)]}));
  rows.push({total: true, cells: ["a step", milliseconds(all), "", ""]});
  place("phases").append(table(["phase", "time", "share", "steps that waited"], rows));
}

// A moving average over about a twelfth of the run, centred: it neither lags nor leads.
function smooth(values) {
  const half = Math.round(values.length / 24);
  return values.map((_, i) => {
    const reach = Math.min(half, i, values.length - 1 - i);
    const near = values.slice(i - reach, i + reach + 1).filter(isKnown);
    return near.length ? sum(near) / near.length : null;
  });
}

const totalBytes = course.samples.map((_, i) => sum(Object.values(course.wire_bytes).map((column) => column[i])));
const AXES = {
  samples: {x: course.samples, xUnit: "count", xTitle: "samples", xWord: "samples"},
  bytes: {x: totalBytes, xUnit: "bytes", xTitle: "bytes on the wire", xWord: "on the wire"},
  time: {x: course.seconds, xUnit: "seconds", xTitle: "time", xWord: ""},
};

function learningCharts() {
  const parent = place("learning").querySelector(".charts");
  const quality = (title, column, best, paint, axis, subtitle) => new Chart(parent, {
    title, subtitle, ...AXES[axis], unit: "plain", clip: true,
    series: [{name: title, color: paint, values: smooth(course[column]), raw: course[column]}],
    references: best ? [{name: "teacher", value: best}] : undefined,
  });
  for (const axis of ["samples", "bytes"]) {
    quality("log-loss", "logloss", teacher?.logloss, "var(--accent)", axis, axis === "samples" ? "by samples" : "by bytes on the wire");
    quality("AUC", "auc", teacher?.auc, "var(--push)", axis, axis === "samples" ? "by samples" : "by bytes on the wire");
  }
}

// Change of a counter from point to point, over the change of another.
function rates(counter, over) {
  return counter.map((value, i) => {
    const length = over[i] - (i ? over[i - 1] : 0);
    return length > 0 ? Math.max(0, value - (i ? counter[i - 1] : 0)) / length : null;
  });
}

function speedCharts() {
  const parent = place("speed").querySelector(".charts");
  const edges = Object.keys(course.wire_bytes);
  new Chart(parent, {title: "samples per second", subtitle: "over time", ...AXES.time, unit: "count", zero: true,
    series: [{name: "samples/s", color: "var(--accent)", values: smooth(course.samples_per_second), raw: course.samples_per_second}]});
  const waits = rates(course.wait_seconds, course.seconds).map((value) => value === null ? null : value / (result.workers || 1));
  new Chart(parent, {title: "waiting", subtitle: "share of the workers' time spent on lookups, pushes and reductions", ...AXES.time, unit: "share", zero: true,
    series: [{name: "waiting", color: "var(--dense)", values: smooth(waits), raw: waits}]});
  new Chart(parent, {title: "bytes by edge", subtitle: "stacked, since the start", ...AXES.samples, unit: "bytes", stacked: true,
    series: edges.map((edge) => ({name: words(edge), color: color(edge), values: course.wire_bytes[edge]}))});
  new Chart(parent, {title: "bytes per sample", subtitle: "by edge, over the run", ...AXES.samples, unit: "bytes", zero: true,
    series: edges.map((edge) => ({name: words(edge), color: color(edge), values: smooth(rates(course.wire_bytes[edge], course.samples))}))});
}

// Colours of many lines of one kind: neighbours in order are neighbours in hue.
function ramp(index, count) {
  const hue = 200 + (count > 1 ? index / count : 0) * 330;
  return `hsl(${Math.round(hue % 360)} 62% var(--series-lightness))`;
}

function codecCharts() {
  const parent = place("codecs").querySelector(".charts");
  const quantities = [
    {field: "density", title: "density", unit: "share"},
    {field: "threshold", title: "threshold", unit: "magnitude"},
    {field: "residual_ratio", title: "residual / gradient", unit: "magnitude"},
  ];
  for (const edge of new Set(codecs.map((codec) => codec.edge))) {
    const group = codecs.filter((codec) => codec.edge === edge);
    for (const {field, title, unit} of quantities) {
      // A quantity that the edge's codec does not have is all zero: a lookup keeps no residual.
      const values = group.flatMap((codec) => codec[field]).filter((value) => isKnown(value) && value > 0);
      if (!values.length) continue;
      // Layers differ by powers of ten: one that travels whole must not flatten the others.
      const log = field === "threshold" || (field === "density" && Math.max(...values) > 8 * Math.min(...values));
      new Chart(parent, {title: `${words(edge)}: ${title}`, subtitle: "over time", ...AXES.time, unit, log, zero: !log,
        series: group.map((codec, i) => ({name: codec.name, color: ramp(i, group.length), values: codec[field]}))});
    }
  }
  if (!codecs.length) place("codecs").hidden = true;
}

const DECISIONS_SHOWN = 40;

function guardSection() {
  if (!guard.length) return void (place("guard").hidden = true);
  const parent = place("guard").querySelector(".charts");
  const own = guard.filter((finding) => finding.worker === 0);
  const edges = [...new Set(own.map((finding) => finding.edge))];
  const steps = [...new Set(own.map((finding) => finding.step))].sort((a, b) => a - b);
  const axis = {x: steps, xUnit: "count", xTitle: "steps", xWord: "steps"};
  const series = (value) => edges.map((edge) => {
    const at = new Map(own.filter((finding) => finding.edge === edge).map((finding) => [finding.step, value(finding)]));
    return {name: edge, color: color(edge === "lookup" ? "lookup_reply" : edge), values: steps.map((step) => at.get(step) ?? null)};
  });
  new Chart(parent, {title: "cost of compression", subtitle: "share of the log-loss, by edge", ...axis, unit: "share", series: series((finding) => finding.cost)});
  new Chart(parent, {title: "density let through", subtitle: "1 − sparsity, by edge", ...axis, unit: "share", log: true, series: series((finding) => 1 - finding.after)});
  const changes = guard.filter((finding) => finding.before !== finding.after);
  const rows = changes.slice(0, DECISIONS_SHOWN).map((finding) => ({cells: [countText(finding.step), String(finding.worker), finding.edge,
    finding.cost === null ? "–" : (100 * finding.cost).toFixed(3) + " %", percentText(1 - finding.before), percentText(1 - finding.after)]}));
  place("decisions").append(table(["step", "worker", "edge", "cost", "density before", "density after"], rows));
  if (changes.length > DECISIONS_SHOWN) {
    place("decisions").append(element("p", {class: "note"}, `and ${changes.length - DECISIONS_SHOWN} more, in metrics.jsonl`));
  }
}

function details() {
  place("config").textContent = config;
  const rows = Object.entries(result).filter(([name]) => name !== "edges")
    .map(([name, value]) => ({cells: [words(name), value === null ? "–" : String(value)]}));
  place("figures").append(table(["", ""], rows));
}

header();
tiles();
qualityTable();
bytesTable();
timesTable();
if (course.samples.length) {
  learningCharts();
  speedCharts();
  codecCharts();
} else {
  for (const id of ["speed", "codecs"]) place(id).hidden = true;
  place("learning").querySelector(".note").textContent = "The run was over before its first line of metrics: there is nothing to plot.";
}
guardSection();
details();
