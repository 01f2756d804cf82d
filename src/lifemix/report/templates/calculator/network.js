// From the values of a subject to one mixture for each member of the ensemble and each event type.

// How far a number has come through each bin between the knots, from -1/2 to 1/2.
function throughBins(x, knots) {
  return knots.slice(1).map((right, i) => {
    const left = knots[i], inside = Math.min(Math.max(x, left), right);
    return (inside / 2 - left / 2) / (right / 2 - left / 2) - 0.5;
  });
}

// The numbers that the preprocessor makes of the values, one per field; null is unknown.
function inputsOf(fields, values) {
  const inputs = [];
  fields.forEach((field, i) => {
    const value = values[i];
    if (value === null && !field.unknown) throw new RangeError(`${field.name} must be known`);
    if (field.kind === "numeric") {
      const x = value === null ? field.fill : value;
      if (typeof x !== "number" || !Number.isFinite(x)) throw new RangeError(`${field.name} must be a number`);
      if (field.knots) inputs.push(...throughBins(x, field.knots));
      else inputs.push((x - field.mean) / field.scale);
    } else if (field.kind === "categorical") {
      const at = field.levels.indexOf(value === null ? field.fill : value);
      if (at < 0) throw new RangeError(`${field.name} has no category ${value}`);
      field.levels.forEach((_, j) => inputs.push(j === at ? 1 : 0));
    }
    if (field.indicator) inputs.push(value === null ? 1 : 0);
  });
  return Float64Array.from(inputs, Math.fround); // the network of Python takes single precision
}

// Weights come as base64 of little-endian float32, member after member, in the order of the layout.
function readWeights(network) {
  const text = atob(network.weights);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const members = [];
  let place = 0;
  for (let m = 0; m < network.members; m++) {
    const member = new Map();
    for (const [name, shape] of network.layout) {
      const part = new Float64Array(shape.reduce((a, b) => a * b, 1));
      for (let i = 0; i < part.length; i++, place += 4) part[i] = view.getFloat32(place, true);
      member.set(name, part);
    }
    members.push(member);
  }
  return members;
}

function encode(member, x, activation) {
  for (let layer = 0; member.has(`encoder.${layer}.weight`); layer++) {
    const weight = member.get(`encoder.${layer}.weight`), bias = member.get(`encoder.${layer}.bias`);
    const width = weight.length / x.length;
    const out = bias ? Float64Array.from(bias) : new Float64Array(width);
    for (let i = 0; i < x.length; i++) {
      const xi = x[i];
      if (xi !== 0) for (let j = 0, at = i * width; j < width; j++) out[j] += xi * weight[at + j];
    }
    x = out.map(activation);
  }
  return x;
}

// The mixtures of one member: for each event a list of components {weight, survival, density}, the last two functions
// of the log time in the user's unit.
function mixturesOf(network, member, x) {
  const { events, k, signs, family } = network, logUnit = Math.log(network.timeUnit), heads = 1 + signs.length;
  const shiftActivation = ACTIVATIONS[network.shiftActivation];
  const features = encode(member, x, ACTIVATIONS[network.activation]);
  const weights = member.get("heads"), gateBias = member.get("gate_bias"), base = member.get("base");
  const fixed = member.get("fixed") ?? [], nFixed = fixed.length / (events * k); // parameters that all subjects share
  const head = (row) => {
    let sum = 0;
    for (let i = 0, at = row * features.length; i < features.length; i++) sum += weights[at + i] * features[i];
    return sum;
  };
  const mixtures = [];
  for (let e = 0; e < events; e++) {
    const logits = [], components = [];
    for (let j = 0; j < k; j++) {
      logits.push(head(e * heads * k + j) + (gateBias ? gateBias[e * k + j] : 0));
      const parameters = signs.map((sign, p) => (
        base[(e * signs.length + p) * k + j] + sign * shiftActivation(head((e * heads + 1 + p) * k + j))));
      if (!parameters.every((value) => Math.abs(value) < LARGEST_LOG)) {
        throw new RangeError("the values are too far from those of training");
      }
      for (let p = 0; p < nFixed; p++) parameters.push(fixed[(e * nFixed + p) * k + j]);
      components.push({ weight: 0, ...componentOf(family, parameters, logUnit) });
    }
    const top = Math.max(...logits), total = logits.reduce((sum, l) => sum + Math.exp(l - top), 0);
    components.forEach((c, j) => { c.weight = Math.exp(logits[j] - top) / total; });
    mixtures.push(components);
  }
  return mixtures;
}
