// What a page puts together its text and tables with.

const place = (id) => document.getElementById(id);
const words = (name) => name.replace(/_/g, " ");
const color = (edge) => `var(--${edge})`;
const sum = (values) => values.reduce((total, value) => total + value, 0);
const known = (value) => value ?? NaN;

function plural(count, noun) { return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`; }

function table(head, rows) {
  const line = (tag, cells) => cells.map((cell) => element(tag, {}, ...[cell].flat()));
  return element("table", {}, element("thead", {}, element("tr", {}, ...line("th", head))),
    element("tbody", {}, ...rows.map(({cells, total}) => element("tr", total ? {class: "total"} : {}, ...line("td", cells)))));
}
