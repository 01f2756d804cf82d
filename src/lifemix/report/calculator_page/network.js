// From the values of a subject to one mixture for each member of the ensemble and each kind of event.

const SELU_SCALE = 1.0507009873554805, SELU_ALPHA = 1.6732632423543772;
const ACTIVATIONS = {
  relu6: (x) => Math.min(Math.max(x, 0), 6),
  relu: (x) => Math.max(x, 0),
  selu: (x) => SELU_SCALE * (x > 0 ? x : SELU_ALPHA * Math.expm1(x)),
  elu: (x) => (x > 0 ? x : Math.expm1(x)),
  gelu: (x) => x * normalSurvival(-x),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  identity: (x) => x,
};
const LARGEST_LOG = 600; // beyond it a component has left the range of numbers; Python refuses such rows too

// How far a number has come through each bin between the knots, from -1/2 to 1/2.
function throughBins(x, knots) {
  return knots.slice(1).map((right, i) => {
    const left = knots[i], inside = Math.min(Math.max(x, left), right);
    return (inside / 2 - left / 2) / (right / 2 - left / 2) - 0.5;
  });
}

// The numbers that the preprocessor makes of the values, one a field; null is unknown.
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

function encode(member, activation, x) {
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

// The mixtures of one member: for each event a list of components {weight, location, precision}, in the user's unit.
function mixturesOf(network, member, x) {
  const { events, k } = network, law = LAWS[network.primitive], act = ACTIVATIONS[network.shift];
  const features = encode(member, ACTIVATIONS[network.activation], x);
  const heads = member.get("heads"), gateBias = member.get("gate_bias"), base = member.get("base");
  const head = (row) => {
    let sum = 0;
    for (let i = 0, at = row * features.length; i < features.length; i++) sum += heads[at + i] * features[i];
    return sum;
  };
  const mixtures = [];
  for (let e = 0; e < events; e++) {
    const logits = [], components = [];
    for (let j = 0; j < k; j++) {
      logits.push(head(e * 3 * k + j) + (gateBias ? gateBias[e * k + j] : 0));
      const shifted = [0, 1].map((p) => base[(e * 2 + p) * k + j] + network.signs[p] * act(head((e * 3 + 1 + p) * k + j)));
      const [location, logPrecision] = law.parts(...shifted);
      if (!(Math.abs(location) < LARGEST_LOG && Math.abs(logPrecision) < LARGEST_LOG)) {
        throw new RangeError("the values are too far from those of training");
      }
      const precision = Math.exp(Math.min(logPrecision, LOG_LIMIT));
      components.push({ weight: 0, location: location + Math.log(network.timeUnit), precision });
    }
    const top = Math.max(...logits), total = logits.reduce((sum, l) => sum + Math.exp(l - top), 0);
    components.forEach((c, j) => { c.weight = Math.exp(logits[j] - top) / total; });
    mixtures.push(components);
  }
  return mixtures;
}
