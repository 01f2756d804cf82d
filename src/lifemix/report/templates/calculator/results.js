// Results for a subject: headline, curves, tables and sentences.

const POINTS = 100; // of a curve
const APART = 6; // listed features

class Results {
  constructor(content, model) {
    Object.assign(this, { content, model });
    this.typical = content.fields.map((field) => field.typical);
    this.horizons = content.horizons;
    this.end = Math.max(content.lastEventTime, ...this.horizons);
    this.times = Array.from({ length: POINTS + 1 }, (_, i) => this.end * (i / POINTS) ** 1.5);
    this.known = new Map();
    this.single = content.events.length === 1;
    this.reading = this.horizons[Math.floor(this.horizons.length / 2)];
    this.members = content.network.members;
    this.chart = new Chart(byId("chart"), this.end, content.timeUnit, (t) => this.readAt(t));
    this.prepareReading();
    this.prepareHorizons();
    this.prepareEvents();
    this.legend();
  }

  plain(event) { return this.content.events[event].replace(/^the /, ""); }

  capital(event) { const name = this.plain(event); return name.charAt(0).toUpperCase() + name.slice(1); }

  time(t) { return `${short(t, 4)}${this.content.timeUnit ? ` ${this.content.timeUnit}` : ""}`; }

  prepareReading() {
    const slider = byId("reading"), step = 10 ** Math.floor(Math.log10(this.end / 100));
    Object.assign(slider, { min: 0, max: this.end, step });
    this.readingStep = step;
    slider.addEventListener("input", () => this.readAt(Number(slider.value)));
    this.placeReading();
  }

  placeReading() {
    byId("reading").value = this.reading;
    byId("reading").setAttribute("aria-valuetext", this.time(this.reading));
    byId("reading-time").textContent = this.time(this.reading);
  }

  readAt(t) {
    this.reading = Number((Math.round(t / this.readingStep) * this.readingStep).toPrecision(6));
    this.placeReading();
    this.changed();
  }

  prepareHorizons() {
    const box = byId("horizons"), hint = byId("horizons-hint");
    box.value = this.horizons.map((t) => short(t, 6)).join(", ");
    const usual = `numbers with commas between them${this.content.timeUnit ? `, in ${this.content.timeUnit}` : ""}`;
    hint.textContent = usual;
    box.addEventListener("input", () => {
      const given = box.value.split(/[,;\s]+/).filter(Boolean).map(Number);
      const right = given.length > 0 && given.every((t) => Number.isFinite(t) && t > 0);
      box.setAttribute("aria-invalid", String(!right));
      hint.textContent = right ? usual : "Not a list of positive numbers: the last one is kept.";
      if (!right) return;
      this.horizons = [...new Set(given)].sort((a, b) => a - b);
      this.changed();
    });
  }

  prepareEvents() {
    const select = byId("apart-event");
    select.append(...this.content.events.map((name, e) => make("option", { value: e, text: name })));
    select.parentElement.hidden = this.single;
    select.addEventListener("change", () => this.showApart());
  }

  legend() {
    const entry = (className, text) => make("span", {}, make("i", { class: className }), text);
    const parts = [entry("key solid", "this subject"), entry("key dashed", "typical subject")];
    if (this.members > 1) parts.push(entry("key shade", `range of ${this.members} models`));
    byId("legend").replaceChildren(...parts);
  }

  // Draw at once; tell screen readers after they settle.
  show(values) {
    this.values = values;
    this.failure = "";
    try {
      this.drawCurves();
      this.showNumbers();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.failure = `No result: ${error.message}.`;
      byId("headline").replaceChildren(make("p", { text: this.failure }));
    }
    document.body.classList.toggle("failed", this.failure !== "");
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.settle(), 350);
  }

  changed() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show(this.values));
  }

  drawCurves() {
    const times = [...this.times, this.reading];
    const here = this.model.predict(this.values, times), usual = this.typicalAt(times);
    const pick = (result, e) => this.curve(result, e);
    const pickMember = (result, m, e) => (this.single ? result.survivalByMember[m] : result.riskByMember[m][e]);
    const series = this.content.events.map((_, e) => {
      const members = Array.from({ length: this.members }, (_, m) => pickMember(here, m, e));
      const over = (choose) => this.times.map((_, i) => choose(...members.map((member) => member[i])));
      const [low, high] = this.members > 1 ? [over(Math.min), over(Math.max)] : [null, null];
      return { colour: e, curve: pick(here, e).slice(0, -1), typical: pick(usual, e).slice(0, -1), low, high };
    });
    const largest = Math.max(...series.flatMap((s) => [...s.curve, ...s.typical, ...(s.high || [])]));
    const top = this.single ? 1 : [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1].find((limit) => limit >= largest) || 1;
    const reading = { time: this.reading, shares: this.content.events.map((_, e) => pick(here, e).at(-1)) };
    this.last = { here, usual };
    this.chart.draw({ times: this.times, series, top, reading, words: this.chartWords(here, usual) });
    this.showHeadline(here, usual);
  }

  // Survival for one event type, otherwise the cumulative incidence of each.
  curve(result, e) { return this.single ? result.survival : result.risks[e]; }

  chartWords(here, usual) {
    const quarter = this.times.length - 1;
    const places = [0.25, 0.5, 1].map((share) => Math.round(quarter * share ** (1 / 1.5)));
    const values = (result, e) => places.map(
      (i) => `${percent(this.curve(result, e)[i])} at ${this.time(this.times[i])}`).join(", ");
    return this.content.events.map((name, e) => {
      const kind = this.single ? "Survival curve" : `Cumulative incidence of ${name}`;
      return `${kind}. This subject: ${values(here, e)}. Typical subject: ${values(usual, e)}.`;
    }).join(" ");
  }

  showHeadline(here, usual) {
    byId("picture-title").textContent = this.single ? `Probability of no ${this.plain(0)} up to each time`
      : `Probability of each event by ${this.time(this.reading)}`;
    const lines = this.content.events.map((_, e) => {
      const share = here.risks[e].at(-1), other = usual.risks[e].at(-1);
      return make("p", {}, make("i", { class: `key line-${e % COLOURS}`, "aria-hidden": "true" }),
        make("span", { class: "what", text: this.capital(e) + (this.single ? ` by ${this.time(this.reading)}` : "") }),
        make("strong", { text: percent(share) }), make("span", { class: "hint", text: `typical ${percent(other)}` }));
    });
    byId("headline").replaceChildren(...lines);
  }

  // Predictions of the typical subject, cached for the curves and the table.
  typicalAt(times) {
    const key = times.join();
    if (!this.known.has(key)) {
      if (this.known.size > 1) this.known.delete(this.known.keys().next().value);
      this.known.set(key, this.model.predict(this.typical, times));
    }
    return this.known.get(key);
  }

  range(result, e, i) {
    const values = result.riskByMember.map((member) => member[e][i]);
    return `${percent(Math.min(...values))} to ${percent(Math.max(...values))}`;
  }

  median(value) {
    const { lastEventTime } = this.content;
    return value > lastEventTime ? `over ${this.time(lastEventTime)}` : this.time(Number(value.toPrecision(3)));
  }

  // The observed risk among all training subjects (Aalen-Johansen).
  observed(e, t) {
    const { observed } = this.content;
    const place = t / observed.end * (observed.risks[e].length - 1), before = Math.floor(place);
    if (t > observed.end) return "–";
    const [a, b] = [observed.risks[e][before], observed.risks[e][Math.min(before + 1, observed.risks[e].length - 1)]];
    return percent(a + (place - before) * (b - a));
  }

  showNumbers() {
    const here = this.model.predict(this.values, this.horizons), usual = this.typicalAt(this.horizons);
    const many = this.members > 1, all = this.content.observed !== null;
    const last = all ? ["all in training"] : [];
    const head = ["by", "risk", ...(many ? [`${this.members} models`] : []), "typical", ...last];
    const rows = this.content.events.flatMap((name, e) => [
      ...(this.single ? [] : [[make("span", {}, make("i", { class: `key line-${e % COLOURS}` }), this.capital(e))]]),
      ...this.horizons.map((t, i) => [this.time(t), make("strong", { text: percent(here.risks[e][i]) }),
        ...(many ? [this.range(here, e, i)] : []), percent(usual.risks[e][i]), ...(all ? [this.observed(e, t)] : [])]),
    ]);
    if (!this.single) rows.push(["The first of these events"]);
    const medians = [this.median(here.median), ...(many ? [""] : []), this.median(usual.median)];
    rows.push(["median", ...medians, ...(all ? [""] : [])]);
    fillTable(byId("numbers"), head, rows);
    this.horizonResult = here;
    this.usualResult = usual;
  }

  settle() {
    if (this.failure) {
      byId("words").textContent = this.failure;
      return;
    }
    this.showWords();
    this.showApart();
    this.showPoints();
  }

  showWords() {
    const here = this.horizonResult, usual = this.usualResult, i = this.horizons.length - 1;
    const t = this.time(this.horizons[i]);
    const of100 = (share) => Math.round(100 * share);
    const end = this.content.lastEventTime;
    const sentences = this.content.events.map((_, e) => `${this.capital(e)} by ${t}: about `
      + `${of100(here.risks[e][i])} of 100 such subjects, ${of100(usual.risks[e][i])} of 100 typical ones.`);
    const what = this.single ? "it" : "the first of these events";
    const rest = here.median > end ? "" : ` For half of them ${what} comes by ${this.median(here.median)}.`;
    const beyond = this.horizons.some((h) => h > end)
      ? ` Times beyond ${this.time(end)}, the last event in the training data, are extrapolated.` : "";
    byId("words").textContent = sentences.join(" ") + rest + beyond;
  }

  // One value at a time is set to the typical one: how much of the risk goes with it.
  showApart() {
    const event = Number(byId("apart-event").value), at = [this.reading];
    const risk = (values) => this.model.predict(values, at).risks[event][0];
    const now = risk(this.values);
    const different = shownFields(this.content.fields).filter(([, i]) => this.values[i] !== this.typical[i]);
    const effects = different.map(([field, i]) => {
      const changed = [...this.values];
      changed[i] = this.typical[i];
      return { field, value: this.values[i], effect: now - risk(changed) };
    });
    effects.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
    const shown = effects.slice(0, APART), largest = Math.max(...shown.map((e) => Math.abs(e.effect)), 1e-9);
    byId("apart-note").textContent = shown.length === 0 ? "No difference yet: all values are the typical ones."
      : `Percentage points of the risk of ${this.plain(event)} by ${this.time(this.reading)} that go with each value in `
        + "place of the typical one, the other values as they are. They are not causal effects.";
    const rows = shown.map(({ field, value, effect }) => {
      const bar = make("i", { class: effect > 0 ? "bar up" : "bar down" });
      bar.style.width = `${Math.max(2, 60 * Math.abs(effect) / largest)}px`;
      const amount = make("span", { class: "amount", text: points(effect) });
      const shownEffect = make("span", { class: "effect" }, amount, bar);
      return [labelOf(field), shownValue(field, value), shownValue(field, field.typical), shownEffect];
    });
    byId("apart").hidden = shown.length === 0;
    fillTable(byId("apart"), ["feature", "value", "typical", "points"], rows);
  }

  showPoints() {
    const { here, usual } = this.last;
    const places = Array.from({ length: 11 }, (_, i) => Math.round(POINTS * (i / 10) ** (1 / 1.5)));
    const names = this.single ? [`no ${this.plain(0)}`] : this.content.events;
    const head = ["time", ...names.flatMap((name) => [name, `${name}, typical`])];
    const rows = places.map((i) => [this.time(this.times[i]), ...names.flatMap(
      (_, e) => [here, usual].map((result) => percent(this.curve(result, e)[i])))]);
    fillTable(byId("points"), head, rows);
  }
}
