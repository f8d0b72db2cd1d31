// Numbers as people read them, and where an axis puts its ticks.

const threeDigits = (value) => value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);

function withPrefix(value, unit, prefixes) {
  if (!Number.isFinite(value)) return "–";
  if (value < 0) return "−" + withPrefix(-value, unit, prefixes);
  if (value < 999.5) {
    return (Number.isInteger(value) || value >= 99.95 ? value.toFixed(0) : threeDigits(value)) + (unit && " " + unit);
  }
  let prefix = 0;
  for (value /= 1000; value >= 999.5 && prefix + 1 < prefixes.length; ++prefix) value /= 1000;
  return threeDigits(value) + (unit && " ") + prefixes[prefix] + unit;
}

const bytesText = (value) => withPrefix(value, "B", "kMGTP");
const countText = (value) => withPrefix(value, "", "kMGT");
const fourDigits = (value) => Number.isFinite(value) ? value.toFixed(4) : "–";

function percentText(value) {
  if (!Number.isFinite(value)) return "–";
  const percent = value * 100;
  if (percent === 0 || percent >= 99.95) return percent.toFixed(0) + " %";
  return percent >= 10 ? percent.toFixed(1) + " %" : Number(percent.toPrecision(2)) + " %";
}

function secondsText(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 59.95) return threeDigits(value) + " s";
  const whole = Math.round(value);
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

function scientificText(value) {
  if (!Number.isFinite(value)) return "–";
  return value !== 0 && (value < 0.01 || value >= 1e4) ? value.toExponential(2).replace("e-", "e−").replace("e+", "e") : value.toPrecision(3);
}

// A tick is round, so its text drops the zeros that a read-out keeps.
const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

const UNITS = {
  bytes: {text: bytesText, tick: (value) => short(bytesText(value))},
  count: {text: countText, tick: (value) => short(countText(value))},
  plain: {text: fourDigits, tick: (value) => short(value.toFixed(6))},
  share: {text: percentText, tick: (value) => short(percentText(value))},
  magnitude: {text: scientificText, tick: (value) => value === 0 || (value >= 0.01 && value < 1e4) ? String(Number(value.toPrecision(3))) : powerText(value)},
  seconds: {text: secondsText, tick: timeTick, steps: [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]},
};

function timeTick(value) {
  if (value === 0) return "0";
  if (value % 3600 === 0) return value / 3600 + " h";
  if (value >= 60 && value % 60 === 0) return value / 60 + " min";
  if (value > 60) return `${Math.floor(value / 60)}:${String(Math.round(value % 60)).padStart(2, "0")}`;
  return short(value.toFixed(3)) + " s";
}

function powerText(value) {
  const digits = {"-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"};
  const exponent = Math.floor(Math.log10(value) + 1e-9);
  const factor = Number((value / 10 ** exponent).toPrecision(2));
  return (factor === 1 ? "" : factor + "·") + "10" + [...String(exponent)].map((digit) => digits[digit]).join("");
}

// About `count` round values that cover [low, high].
function linearTicks(low, high, count, steps) {
  const rough = (high - low) / count || 1;
  let step = steps && steps.find((candidate) => candidate >= rough);
  if (!step || rough < 1) {
    const power = 10 ** Math.floor(Math.log10(rough));
    step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * (1 - 1e-9));
  }
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  const factors = decades < 1.2 ? [1, 2, 3, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    if (power % stride !== 0) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
    }
  }
  return ticks;
}
