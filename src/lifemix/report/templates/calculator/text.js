// Numbers as text, and small helpers for the page.

const labelOf = (field) => field.description || field.name;

function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  if (value < 100 && value > 99.95) return "> 99.9 %";
  return `${value.toFixed(value < 9.95 || value > 90.05 ? 1 : 0).replace(/\.0$/, "")} %`;
}

// A number with up to so many significant digits, without noise.
function short(value, digits = 3) {
  return String(Number(value.toPrecision(digits)));
}

function points(difference) {
  const value = Math.abs(100 * difference);
  const size = value < 0.05 ? "0" : value.toFixed(value < 9.95 ? 1 : 0);
  return size === "0" ? "0" : `${difference > 0 ? "+" : "−"}${size}`;
}

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const byId = (id) => document.getElementById(id);

// A row of a table: text or nodes; a single cell is the heading of the rows that follow.
function row(cells, width) {
  if (cells.length === 1) {
    return make("tr", { class: "group" }, make("th", { colspan: width, scope: "rowgroup" }, ...cells));
  }
  return make("tr", {}, ...cells.map((cell, i) => make(i ? "td" : "th", { scope: i ? null : "row" }, cell)));
}

function fillTable(table, head, rows) {
  const top = make("tr", {}, ...head.map((text) => make("th", { text, scope: "col" })));
  table.replaceChildren(make("thead", {}, top), make("tbody", {}, ...rows.map((cells) => row(cells, head.length))));
}
