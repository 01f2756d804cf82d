// Families of components, and activations, by their names in Python. Both use the functions of special.js.

const LOG_LIMIT = 80, LARGEST_LOG = 600; // as in lifemix.primitives.numeric

const ACTIVATIONS = {
  relu6: (x) => Math.min(Math.max(x, 0), 6),
  relu: (x) => Math.max(x, 0),
  selu: (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
  elu: (x) => (x > 0 ? x : Math.expm1(x)),
  gelu: (x) => x * normalSurvival(-x),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  identity: (x) => x,
};

// Survival and density of a standardised log time z.
const STANDARD = {
  weibull: {
    survival: (z) => Math.exp(-Math.exp(Math.min(z, LOG_LIMIT))),
    density: (z) => { z = Math.min(z, LOG_LIMIT); return Math.exp(z - Math.exp(z)); },
  },
  lognormal: { survival: normalSurvival, density: (z) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) },
  loglogistic: {
    survival: (z) => 1 / (1 + Math.exp(z)),
    density: (z) => { const e = Math.exp(-Math.abs(z)); return e / ((1 + e) * (1 + e)); },
  },
};

// From the parameters and the log of the unit of time to survival and density of log time x.
const FAMILIES = {
  never: () => ({ survival: () => 1, density: () => 0 }),
  exponential: ([logScale], logUnit) => {
    const hazard = (x) => Math.exp(Math.min(x - logUnit - logScale, LOG_LIMIT));
    return { survival: (x) => Math.exp(-hazard(x)), density: (x) => hazard(x) * Math.exp(-hazard(x)) };
  },
  gompertz: ([logRate, aging], logUnit) => {
    const rate = Math.exp(logRate);
    const grown = (y) => (Math.abs(y) < 1e-8 ? 1 + y / 2 : Math.expm1(y) / y);
    const survival = (x) => { const t = Math.exp(x - logUnit); return Math.exp(-rate * t * grown(aging * t)); };
    const density = (x) => {
      const t = Math.exp(x - logUnit), hazard = Math.min(rate * t * grown(aging * t), 1e30);
      return Math.exp(logRate + x - logUnit + aging * t - hazard);
    };
    return { survival, density };
  },
  burr: ([logShape, logScale, logTail], logUnit) => {
    const shape = Math.exp(Math.min(logShape, LOG_LIMIT)), tail = Math.exp(logTail);
    const z = (x) => shape * (x - logUnit - logScale) - logTail;
    const survival = (x) => Math.exp(-tail * softplus(z(x)));
    return { survival, density: (x) => shape * tail / (1 + Math.exp(-z(x))) * survival(x) };
  },
  powergeneralisedweibull: ([logShape, logScale, logPower], logUnit) => {
    const shape = Math.exp(Math.min(logShape, LOG_LIMIT)), power = Math.exp(logPower);
    const z = (x) => shape * (x - logUnit - logScale);
    const growth = (x) => Math.min(power * softplus(z(x)), LOG_LIMIT);
    const survival = (x) => Math.exp(-Math.expm1(growth(x)));
    return {
      survival,
      density: (x) => shape * power / (1 + Math.exp(-z(x))) * Math.exp(growth(x) - Math.expm1(growth(x))),
    };
  },
  spline: ([level, ...rest], logUnit) => {
    const n = rest.length / 2, slopes = rest.slice(0, n).map((l) => Math.exp(Math.min(l, LOG_LIMIT)));
    const knots = rest.slice(n).map((knot) => knot + logUnit);
    const through = (x, j) => Math.min(Math.max((x - knots[j]) / (knots[j + 1] - knots[j]), 0), 1);
    const risen = (x) => {
      let sum = slopes[0] * Math.min(x - knots[0], 0) + slopes[n - 1] * Math.max(x - knots[n - 1], 0);
      for (let j = 0; j + 1 < n; j++) {
        const u = through(x, j);
        sum += (knots[j + 1] - knots[j]) * (slopes[j] * (u - u * u / 2) + slopes[j + 1] * u * u / 2);
      }
      return sum;
    };
    const start = level - risen(knots[(n - 1) / 2]);
    const hazard = (x) => Math.exp(Math.min(start + risen(x), LOG_LIMIT));
    const slope = (x) => {
      let sum = slopes[0];
      for (let j = 0; j + 1 < n; j++) sum += (slopes[j + 1] - slopes[j]) * through(x, j);
      return sum;
    };
    const survival = (x) => Math.exp(-hazard(x));
    return { survival, density: (x) => slope(x) * hazard(x) * survival(x) };
  },
};

// family: {name}, of a log-location-scale family also {location, precisionSign}; or {families, kind}: then the parameter
// with index kind is the index of the family, and each family has the indices of its parameters.
function componentOf(family, parameters, logUnit) {
  if (family.families) {
    const member = family.families[parameters[family.kind]];
    return componentOf(member, member.parameters.map((i) => parameters[i]), logUnit);
  }
  if (!(family.name in STANDARD)) return FAMILIES[family.name](parameters, logUnit);
  const { survival, density } = STANDARD[family.name];
  const location = parameters[family.location] + logUnit;
  const precision = Math.exp(Math.min(family.precisionSign * parameters[1 - family.location], LOG_LIMIT));
  return {
    survival: (x) => survival(precision * (x - location)),
    density: (x) => precision * density(precision * (x - location)),
  };
}
