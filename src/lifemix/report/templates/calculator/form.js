// The form: one field per column of the model. Each has a value (null: unknown) that can be set.

const shownFields = (fields) => fields.map((field, i) => [field, i]).filter(
  ([field]) => field.kind === "numeric" || field.kind === "categorical" || field.indicator);

// A number that is 0 or 1, and nothing else.
const isSwitch = (field) => field.kind === "numeric" && field.low === 0 && field.high === 1 && field.step === 1;

class Form {
  constructor(fields, changed) {
    this.fields = fields;
    this.values = fields.map((field) => field.typical);
    this.setters = new Map();
    const nodes = shownFields(fields).map(([field, i]) => {
      const set = (value) => { this.values[i] = value; changed(); };
      const build = field.kind === "numeric" && !isSwitch(field) ? numberField : choiceField;
      const [node, show] = build(field, i, set);
      this.setters.set(i, show);
      show(field.typical);
      return node;
    });
    byId("fields").replaceChildren(...nodes);
    const all = (value) => () => {
      for (const [i, show] of this.setters) show(this.values[i] = value(fields[i]));
      changed();
    };
    byId("all-typical").addEventListener("click", all((field) => field.typical));
    byId("all-unknown").addEventListener("click", all(() => null));
    byId("all-unknown").hidden = !fields.some((field) => field.unknown);
    byId("form").addEventListener("submit", (event) => event.preventDefault());
  }
}

function shownValue(field, value) {
  if (value === null) return "unknown";
  if (field.kind === "numeric") return `${short(value, 6)}${field.unit ? ` ${field.unit}` : ""}`;
  return field.kind === "constant" ? "known" : value;
}

function frame(field, i, labelFor, ...controls) {
  const label = make("label", { id: `name-${i}`, for: labelFor, text: labelOf(field) });
  const title = make("div", { class: "title" }, label);
  if (labelOf(field) !== field.name) title.append(make("span", { class: "column", text: field.name }));
  const note = make("p", { class: "note", id: `note-${i}`, "aria-live": "polite" });
  return [make("div", { class: "field", role: "group", "aria-labelledby": `name-${i}` }, title,
    make("div", { class: "controls" }, ...controls), note), note];
}

function choiceField(field, i, set) {
  const id = `value-${i}`;
  const select = make("select", { id, "aria-describedby": `hint-${i}` });
  const known = field.kind === "categorical" ? field.levels : isSwitch(field) ? [0, 1] : [field.fill];
  known.forEach((level, j) => select.append(make("option", { value: j, text: shownValue(field, level) })));
  if (field.unknown) select.append(make("option", { value: "", text: "unknown" }));
  select.addEventListener("change", () => set(select.value === "" ? null : known[Number(select.value)]));
  const hint = make("span", { class: "hint", id: `hint-${i}`, text: `typical: ${shownValue(field, field.typical)}` });
  const [node] = frame(field, i, id, select, hint);
  const show = (value) => { select.value = value === null ? "" : String(known.indexOf(value)); };
  return [node, show];
}

function numberField(field, i, set) {
  const id = `value-${i}`;
  const number = make("input", {
    type: "number", id, step: "any", inputmode: "decimal", "aria-describedby": `hint-${i} note-${i}`,
  });
  const slider = make("input", {
    type: "range", id: `slider-${i}`, min: field.low, max: field.high, step: field.step,
    "aria-label": `${labelOf(field)}, slider`,
  });
  const box = make("input", { type: "checkbox", id: `unknown-${i}`, "aria-label": `${labelOf(field)} unknown` });
  const tick = make("label", { class: "unknown" }, box, "unknown");
  const range = `${short(field.low, 6)} to ${short(field.high, 6)}`;
  const usual = `typical: ${shownValue(field, field.typical)}, usual ${range}`;
  const hint = make("span", { class: "hint", id: `hint-${i}`, text: usual });
  const controls = [slider, number];
  if (field.unit) controls.push(make("span", { class: "unit", text: field.unit }));
  if (field.unknown) controls.push(tick);
  const [node, note] = frame(field, i, id, ...controls, hint);
  let last = field.middle;

  const mark = (text, wrong = false) => {
    note.textContent = text;
    number.setAttribute("aria-invalid", String(wrong));
  };
  const place = (value) => {
    if (value !== null) last = value;
    box.checked = value === null;
    node.classList.toggle("is-unknown", value === null);
    slider.value = value === null ? last : value;
    slider.setAttribute("aria-valuetext", shownValue(field, value));
    const outside = value !== null && (value < field.low || value > field.high);
    mark(outside ? `Outside the usual range of the training data (${range}).` : "");
  };
  const show = (value) => { number.value = value === null ? "" : String(value); place(value); };

  number.addEventListener("input", () => {
    const value = number.valueAsNumber;
    if (Number.isFinite(value)) { place(value); set(value); }
    else if (number.validity.badInput) mark("Not a number: the last value is kept.", true);
    else if (field.unknown) { place(null); set(null); }
    else mark("A value is needed: the last one is kept.", true);
  });
  slider.addEventListener("input", () => {
    const value = Number(Number(slider.value).toFixed(field.digits));
    show(value);
    set(value);
  });
  box.addEventListener("change", () => { const value = box.checked ? null : last; show(value); set(value); });
  return [node, show];
}
