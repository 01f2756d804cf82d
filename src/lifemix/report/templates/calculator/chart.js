// The curves as a drawing of lines and bands.

const COLOURS = 6; // classes line-0 .. line-5 of the style, told apart by colour-blind readers

function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Round numbers from 0 to the end, about so many.
function ticks(end, about) {
  const raw = end / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x >= raw * 0.999);
  const found = [];
  for (let i = 0; i * step <= end * 1.0001; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function linePath(xs, ys) {
  return ys.map((y, i) => `${i ? "L" : "M"}${xs[i].toFixed(1)} ${y.toFixed(1)}`).join("");
}

function bandPath(xs, low, high) {
  return `${linePath(xs, high)}L${linePath([...xs].reverse(), [...low].reverse()).slice(1)}Z`;
}

class Chart {
  // read: called with a time when the pointer asks for one.
  constructor(holder, end, unit, read) {
    Object.assign(this, { holder, end, unit });
    this.svg = draw("svg", { role: "img", "aria-labelledby": "chart-words" });
    this.title = draw("title", { id: "chart-words" });
    holder.replaceChildren(this.svg);
    const follow = (event) => {
      const x = event.clientX - this.svg.getBoundingClientRect().left;
      const share = (x - this.left) / (this.width - this.left - this.right);
      read(Math.min(Math.max(share, 0), 1) * end);
    };
    this.svg.addEventListener("pointerdown", follow);
    this.svg.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse" || event.buttons) follow(event);
    });
  }

  // series: [{curve, low, high, typical, colour}], all over the times; top: the largest share shown.
  draw({ times, series, top, reading, words }) {
    this.width = Math.max(this.holder.clientWidth, 240);
    const height = Math.max(this.holder.clientHeight, 150);
    this.left = 44; this.right = 14;
    const upper = 10, lower = height - 40;
    const x = (t) => this.left + (this.width - this.left - this.right) * t / this.end;
    const y = (share) => lower - (lower - upper) * share / top;
    const xs = times.map(x), path = (values) => linePath(xs, values.map(y));
    this.title.textContent = words;
    const parts = [this.title, ...this.axes(x, y, lower, height, top)];
    const add = (className, d) => parts.push(draw("path", { class: className, d }));
    for (const { colour, low, high } of series) {
      if (low) add(`band fill-${colour % COLOURS}`, bandPath(xs, low.map(y), high.map(y)));
    }
    for (const { colour, typical } of series) add(`typical line-${colour % COLOURS}`, path(typical));
    for (const { colour, curve } of series) add(`curve line-${colour % COLOURS}`, path(curve));
    parts.push(draw("line", { class: "cross", x1: x(reading.time), x2: x(reading.time), y1: upper, y2: lower }));
    reading.shares.forEach((share, i) => parts.push(
      draw("circle", { class: `dot fill-${series[i].colour % COLOURS}`, cx: x(reading.time), cy: y(share), r: 4.5 })));
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.replaceChildren(...parts);
  }

  axes(x, y, lower, height, top) {
    const parts = [];
    const write = (at, base, anchor, text) => parts.push(
      draw("text", { class: "tick", x: at, y: base, "text-anchor": anchor }, text));
    for (const share of ticks(top, 4)) {
      parts.push(draw("line", { class: "grid", x1: x(0), x2: x(this.end), y1: y(share), y2: y(share) }));
      write(this.left - 7, y(share) + 4, "end", `${short(100 * share, 4)} %`);
    }
    for (const t of ticks(this.end, this.width < 450 ? 4 : 6)) {
      parts.push(draw("line", { class: "grid", x1: x(t), x2: x(t), y1: lower, y2: lower + 5 }));
      write(x(t), lower + 18, "middle", short(t, 6));
    }
    write((x(0) + x(this.end)) / 2, height - 6, "middle", this.unit ? `time in ${this.unit}` : "time");
    return parts;
  }
}
