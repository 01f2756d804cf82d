// Put the page together, and give programs the same model under window.lifemix.

function about(content) {
  const { network, training, fields } = content, whole = (n) => n.toLocaleString("en");
  const events = content.events.map((name, e) => `${whole(training.events[e])} with ${name}`).join(", ");
  const unused = fields.filter((field) => field.kind !== "numeric" && field.kind !== "categorical" && !field.indicator);
  const several = content.events.length > 1, many = network.members > 1;
  const kind = `a mixture of ${network.k - network.cure} ${network.label} distributions${several ? " for each event" : ""}`
    + (network.cure ? ", and of those who never have it" : "");
  const mean = many ? `, the mean of ${network.members} such networks` : "";
  const last = `${short(content.lastEventTime, 4)} ${content.timeUnit}`.trim();
  const lines = [
    `The model is a Deep Survival Machine: a neural network that gives each subject ${kind}${mean}.`,
    `It was trained on ${whole(training.rows)} subjects, ${events}; the last event was at ${last}.`,
    "The typical subject has the median of every number and the most frequent category, or unknown if most training "
    + "subjects had no value.",
  ];
  const add = (condition, text) => { if (condition) lines.push(text); };
  add(fields.some((field) => field.unknown), "An unknown number counts as the training mean (or a fixed normal value), "
    + "an unknown category as the most frequent one.");
  add(fields.some((field) => field.indicator), "The model also uses whether a value is missing.");
  add(content.observed, "The last column of the table shows the risk observed in all training subjects.");
  add(several, "The probability of an event is that of its coming first (cumulative incidence).");
  add(many, "The shaded range is the spread of the ensemble members; it is too narrow for a confidence interval.");
  const names = unused.map((field) => field.name).join(", ");
  add(names, `Columns without effect, constant in training: ${names}.`);
  byId("about").append(...lines.map((text) => make("p", { text })));
  byId("made-by").textContent = `Made with lifemix ${content.version}.`;
  const n = shownFields(fields).length;
  byId("lead").textContent = `Change any of the ${n} values; the curve follows.`;
}

function start() {
  const content = JSON.parse(byId("content").textContent);
  const model = new Model(content);
  about(content);
  const results = new Results(content, model);
  const form = new Form(content.fields, () => { results.values = form.values; results.changed(); });
  results.show(form.values);
  new ResizeObserver(() => results.changed()).observe(byId("chart"));

  const valuesOf = (subject) => content.fields.map((field) => {
    if (!Object.hasOwn(subject, field.name)) return field.unknown ? null : field.typical;
    const value = subject[field.name];
    return value === undefined ? null : value;
  });
  const entries = (values) => content.fields.map((field, i) => [field.name, values[i]]);
  // predict(subject, times): an object {name: value or null} and times to survival, risks, median; left out is unknown.
  window.lifemix = Object.freeze({
    predict: (subject, times) => model.predict(valuesOf(subject), times),
    current: () => Object.fromEntries(entries(form.values)),
    typical: () => Object.fromEntries(entries(content.fields.map((field) => field.typical))),
    normalSurvival,
  });
}

try {
  start();
  byId("failed").remove();
} catch (error) {
  byId("failed").textContent = `The calculator could not start: ${error.message}. Ask its author to write it again.`;
  throw error;
}
