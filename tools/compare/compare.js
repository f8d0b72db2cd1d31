// The page of a comparison: what the data says, put into tiles, charts and tables. Everything from files becomes text nodes, never markup.

const comparison = JSON.parse(document.getElementById("data").textContent);
const finished = comparison.arms.filter((arm) => arm.finished > 0);
const armOf = (name) => comparison.arms.find((arm) => arm.name === name);
const base = armOf(comparison.base);
const references = comparison.references.map(armOf);
const EDGES = ["lookup_request", "lookup_reply", "push", "dense", "control"];
const NO_LOSS = 0.001;  // of log-loss: the least that matters in practice

const fiveDigits = (value) => isKnown(value) ? value.toFixed(5) : "–";
const signed = (text) => text.replace("-", "−");
const changeText = (value) => isKnown(value) ? signed(`${value >= 0 ? "+" : ""}${(value * 100).toFixed(3)} %`) : "–";
const meanText = ({mean, spread}) => isKnown(mean) ? fiveDigits(mean) + (isKnown(spread) ? ` ± ${fiveDigits(spread)}` : "") : "–";
const chanceText = (p) => !isKnown(p) ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3);
const bytesOf = (arm) => known(arm.bytes_per_sample.all);

// How many times fewer bytes than another arm.
function fewer(arm, other) {
  const ratio = bytesOf(other) / bytesOf(arm);
  if (!Number.isFinite(ratio)) return "–";
  return ratio >= 1 ? `${ratio < 9.95 ? ratio.toFixed(1) : ratio.toFixed(0)}×` : `${(1 / ratio).toFixed(1)}× more`;
}

function header() {
  document.title = `${comparison.job}: comparison · Weir`;
  place("job").textContent = `${comparison.job}: comparison`;
  const runs = sum(comparison.arms.map((arm) => arm.finished)), all = sum(comparison.arms.map((arm) => arm.runs.length));
  place("summary").textContent = [plural(finished.length, "arm"), `seeds ${comparison.seeds.join(", ")}`,
    runs === all ? plural(runs, "run") : `${runs} of ${plural(all, "run")} done`, `varied: ${comparison.varied.join(", ") || "nothing"}`].join(" · ");
}

const least = (arms, figure) => arms.filter((arm) => isKnown(figure(arm))).reduce((best, arm) => !best || figure(arm) < figure(best) ? arm : best, null);

function tiles() {
  const add = (name, value, beside) => place("tiles").append(element("div", {class: "card tile"}, element("div", {class: "name"}, name),
    element("div", {class: "value"}, value), element("div", {class: "beside"}, beside)));
  for (const arm of references) {
    if (arm.finished) add(arm.name, bytesText(bytesOf(arm)), `a sample · log-loss ${fiveDigits(arm.logloss.mean)}`);
  }
  const lossless = least(finished.filter((arm) => known(arm.logloss.relative) <= NO_LOSS), bytesOf);
  if (lossless) {
    add(`fewest bytes within ${NO_LOSS * 100} % of ${base.name}'s log-loss`, bytesText(bytesOf(lossless)),
      lossless === base ? `${base.name} itself: no arm with fewer` : `${shortName(lossless)} · ${fewer(lossless, base)} fewer than ${base.name}`);
  }
  const best = least(finished, (arm) => arm.logloss.mean);
  if (best) add("lowest log-loss", fiveDigits(best.logloss.mean), best === base ? best.name : `${shortName(best)} · ${changeText(best.logloss.relative)}`);
  const fastest = least(finished, (arm) => arm.seconds.mean);
  if (fastest) add("shortest wall time", secondsText(fastest.seconds.mean), shortName(fastest));
}

// What tells an arm from the others: its values alone. The keys are the same for all, and stand above the charts.
const shortName = (arm) => arm.yardstick || !arm.sets.length ? arm.name : arm.sets.map((set) => set.slice(set.indexOf("=") + 1)).join(", ");

// Arms as points. `x`, `y`, `spread` read an arm, `xOfRun` and `yOfRun` a run of it.
function pointsOf({x, y, spread, xOfRun, yOfRun}) {
  return finished.filter((arm) => isKnown(y(arm)) && isKnown(x(arm))).map((arm) => ({
    name: shortName(arm), kind: arm.yardstick ? "yardstick" : arm.pareto ? "front" : "other", x: x(arm), y: y(arm), spread: spread(arm),
    dots: arm.finished > 1 ? arm.runs.filter((run) => run.state === "done").map((run) => [xOfRun(run), yOfRun(run)]).filter(([, value]) => isKnown(value)) : [],
    rows: [["log-loss", meanText(arm.logloss)], [`against ${base.name}`, arm === base ? "–" : changeText(arm.logloss.relative)],
      ["p", chanceText(arm.logloss.p)], ["AUC", meanText(arm.auc)], ["bytes per sample", bytesText(bytesOf(arm))],
      ...references.filter((other) => other !== arm).map((other) => [`fewer than ${other.name}`, fewer(arm, other)]),
      ["wall time", secondsText(arm.seconds.mean)]],
  }));
}

// Log-loss of a run over that of the base arm's run with its seed.
function changeOfRun(run) {
  const other = base.runs.find((candidate) => candidate.seed === run.seed && candidate.state === "done");
  return other && isKnown(other.logloss) && isKnown(run.logloss) ? run.logloss / other.logloss - 1 : null;
}

function charts() {
  const parent = place("charts").querySelector(".charts");
  if (comparison.varied.length) place("labels").textContent = `Labels: values of ${comparison.varied.join(", ")}.`;
  const front = finished.filter((arm) => arm.pareto).sort((a, b) => bytesOf(a) - bytesOf(b));
  const bytes = {x: bytesOf, xOfRun: (run) => run.bytes_per_sample};
  const bytesAxis = {unit: "bytes", title: "bytes per trained sample", log: true};
  const loss = {y: (arm) => arm.logloss.mean, spread: (arm) => arm.logloss.spread, yOfRun: (run) => run.logloss};
  // One standard deviation of the differences, on the scale of the change.
  const change = {y: (arm) => arm.logloss.relative, yOfRun: changeOfRun,
    spread: (arm) => arm.logloss.difference ? Math.abs(known(arm.logloss.difference_spread) * arm.logloss.relative / arm.logloss.difference) : null};
  new ScatterChart(parent, {title: "log-loss", subtitle: "against bytes per sample", yTitle: "log-loss on held-out rows", yUnit: "plain", x: bytesAxis,
    points: pointsOf({...bytes, ...loss}), front: front.map((arm) => [bytesOf(arm), arm.logloss.mean])});
  new ScatterChart(parent, {title: "log-loss", subtitle: "against wall time", yTitle: "log-loss on held-out rows", yUnit: "plain",
    x: {unit: "seconds", title: "wall time of training"}, points: pointsOf({x: (arm) => arm.seconds.mean, xOfRun: (run) => run.seconds, ...loss})});
  new ScatterChart(parent, {title: "change of log-loss", subtitle: `against ${base.name}, seed by seed`,
    yTitle: "less is better", yUnit: "share", x: bytesAxis, points: pointsOf({...bytes, ...change})});
  new ScatterChart(parent, {title: "AUC", subtitle: "against bytes per sample", yTitle: "AUC on held-out rows", yUnit: "plain", x: bytesAxis,
    points: pointsOf({...bytes, y: (arm) => arm.auc.mean, spread: (arm) => arm.auc.spread, yOfRun: (run) => run.auc})});
}

// A long name breaks between its settings, and nowhere else.
const broken = (name) => name.split("_").flatMap((part, i, parts) =>
  [element("span", {class: "part"}, i + 1 < parts.length ? part + "_" : part), element("wbr")]);

function nameCell(arm) {
  return [...broken(arm.name), ...(arm.pareto ? [element("span", {class: "badge", title: "on the Pareto front"}, "front")] : []),
    ...(arm.yardstick ? [element("span", {class: "badge yardstick"}, "yardstick")] : [])];
}

// Each run's seed, which leads to its own report.
function seedLinks(arm) {
  return arm.runs.flatMap((run, i) => [i ? " " : "", run.state === "done" ?
    element("a", {href: `${encodeURIComponent(run.folder)}/report.html`, title: `report of ${run.folder}`}, String(run.seed)) :
    element("span", {class: "quiet", title: run.state}, `(${run.seed})`)]);
}

function qualityTable() {
  const test = finished.some((arm) => arm.logloss.test === "Welch t") ? "a paired t-test over shared seeds, or Welch's where too few are shared" : "a paired t-test over shared seeds";
  place("quality-note").textContent = `On held-out rows; mean and standard deviation over seeds. Against ${base.name}: mean difference seed by seed. p: ${test}, ` +
    "two-sided, for one arm by itself; the more arms, the more of them come out below 0.05 by luck. A large p with few seeds says little: it is no proof of no loss.";
  const rows = finished.map((arm) => ({cells: [nameCell(arm), seedLinks(arm), meanText(arm.logloss), arm === base ? "" : changeText(arm.logloss.relative),
    arm === base ? "" : chanceText(arm.logloss.p), meanText(arm.ne), meanText(arm.auc), arm === base ? "" : chanceText(arm.auc.p),
    secondsText(arm.seconds.mean)]}));
  place("quality").append(table(["arm", "seeds", "log-loss", `against ${base.name}`, "p", "normalised entropy", "AUC", "p", "wall time"], rows));
}

function bytesTable() {
  const most = Math.max(...finished.map(bytesOf).filter(Number.isFinite), 0);
  const bar = (arm) => element("span", {class: "stack"}, ...EDGES.map((edge) =>
    element("i", {title: words(edge), style: `width:${most ? known(arm.bytes_per_sample[edge]) / most * 100 : 0}%;background:${color(edge)}`})));
  const rows = finished.map((arm) => ({cells: [nameCell(arm), ...EDGES.map((edge) => bytesText(known(arm.bytes_per_sample[edge]))), bytesText(bytesOf(arm)),
    ...references.map((other) => other === arm ? "" : fewer(arm, other)), bar(arm)]}));
  const swatch = (edge) => [element("span", {class: "swatch", style: `background:${color(edge)}`}), words(edge)];
  place("bytes").append(table(["arm", ...EDGES.map(swatch), "all edges", ...references.map((arm) => `fewer than ${arm.name}`), ""], rows));
}

// Who failed, and the last word of its log.
function oneLine(reason) {
  const lines = reason.trim().split("\n");
  return lines.length > 1 ? `${lines[0]} ${lines[lines.length - 1]}` : lines[0];
}

function missingTable() {
  const rows = [];
  for (const arm of comparison.arms) {
    if (arm.refused) rows.push([arm.name, element("span", {class: "bad"}, "refused"), arm.refused]);
    for (const run of arm.runs) {
      if (run.state === "failed") rows.push([run.folder, element("span", {class: "bad"}, "failed"), oneLine(run.reason)]);
      if (run.state === "to run") rows.push([run.folder, "still to run", ""]);
    }
  }
  place("missing").hidden = !rows.length;
  place("missing").querySelector(".card").append(textTable(["", "", ""], rows));
}

// A table of text: every column to the left, and as many lines as it takes.
function textTable(head, rows) {
  const made = table(head, rows.map((cells) => ({cells})));
  made.querySelectorAll("td, th").forEach((cell) => cell.classList.add("text"));
  return made;
}

function armsTable() {
  const code = (lines) => lines.flatMap((line, i) => [...(i ? [element("br")] : []), element("code", {}, line)]);
  const rows = comparison.arms.map((arm) => [nameCell(arm), code(arm.sets.length ? arm.sets : ["the job as it is"]), code(arm.same)]);
  rows.push([element("span", {class: "quiet"}, "all arms"), code([comparison.job_file, ...comparison.sets]), ""]);
  place("arms").append(textTable(["arm", "sets", "is also what these give"], rows));
}

header();
tiles();
// Without held-out rows there are bytes and time, and no quality to plot them against.
if (finished.some((arm) => isKnown(arm.logloss.mean))) charts(); else place("charts").hidden = true;
qualityTable();
bytesTable();
missingTable();
armsTable();
