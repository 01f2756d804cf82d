// Survival, cumulative incidences and median of the distribution that the members' mixtures describe.
// That of an ensemble is the mean of the members' joint distributions: S = mean of prod_j S_j, F_m = mean of F_m.

const TOLERANCE = 1e-9, MAX_DEPTH = 48, NEGLIGIBLE = 1.3e-14;
const FIRST = -745, LAST = 709.7; // log times: exp of them is the smallest and the largest number
const mirrored = (half, middle, sign = 1) => [...half.map((x) => sign * x), middle, ...[...half].reverse()];
const NODES = mirrored([0.9604912687080202, 0.7745966692414834, 0.4342437493468026], 0, -1);
const KRONROD = mirrored([0.1046562260264673, 0.2684880898683334, 0.4013974147759622], 0.4509165386584741);
const GAUSS = mirrored([0, 5 / 9, 0], 8 / 9);

function survivalAt(mixtures, logTime) {
  let product = 1;
  for (const components of mixtures) {
    let sum = 0;
    for (const c of components) sum += c.weight * c.survival(logTime);
    product *= sum;
  }
  return Math.min(product, 1);
}

function memberSurvival(mixtures, times) {
  return times.map((t) => (t > 0 ? survivalAt(mixtures, Math.log(t)) : 1));
}

// f_m prod_{j != m} S_j on the axis of log time, for every event m.
function subdensities(mixtures, x) {
  const survival = [], result = [];
  for (const components of mixtures) {
    let s = 0, f = 0;
    for (const c of components) {
      s += c.weight * c.survival(x);
      f += c.weight * c.density(x);
    }
    survival.push(s);
    result.push(f);
  }
  for (let m = 0; m < result.length; m++) {
    for (let j = 0; j < result.length; j++) if (j !== m) result[m] *= survival[j];
  }
  return result;
}

// Integrals over one panel by Gauss-Kronrod rules of 3 and 7 points, whose sum over events is known: S(a) - S(b).
function panel(mixtures, a, b, mass, depth) {
  const half = (b - a) / 2, middle = a + half;
  const fine = mixtures.map(() => 0), coarse = mixtures.map(() => 0);
  for (let i = 0; i < NODES.length; i++) {
    const values = subdensities(mixtures, middle + half * NODES[i]);
    for (let m = 0; m < values.length; m++) {
      fine[m] += KRONROD[i] * half * values[m];
      coarse[m] += GAUSS[i] * half * values[m];
    }
  }
  const scaled = (parts) => {
    const found = parts.reduce((x, y) => x + y, 0);
    return parts.map((part) => (found > 0 ? part * mass / found : mass / parts.length));
  };
  const best = scaled(fine), other = scaled(coarse);
  if (depth >= MAX_DEPTH || best.every((value, m) => Math.abs(value - other[m]) <= TOLERANCE)) return best;
  const between = survivalAt(mixtures, middle);
  const left = panel(mixtures, a, middle, survivalAt(mixtures, a) - between, depth + 1);
  const right = panel(mixtures, middle, b, between - survivalAt(mixtures, b), depth + 1);
  return left.map((value, m) => value + right[m]);
}

// The cumulative incidence of every event at the times, [event][time]; panels end at the times and at medians.
function memberIncidences(mixtures, times) {
  const all = mixtures.flat();
  const last = Math.log(Math.max(...times, Number.MIN_VALUE));
  const start = Math.min(last, ...all.map((c) => firstWhere((x) => 1 - c.survival(x) > NEGLIGIBLE)));
  const ends = times.map((t) => Math.max(Math.log(t), start));
  const medians = all.map((c) => firstWhere((x) => c.survival(x) <= 0.5)).filter((x) => x > start && x < last);
  const edges = [...new Set([start, ...medians, ...ends])].sort((x, y) => x - y);
  const reached = new Map([[start, mixtures.map(() => 0)]]);
  for (let i = 1; i < edges.length; i++) {
    const [a, b] = [edges[i - 1], edges[i]];
    const mass = survivalAt(mixtures, a) - survivalAt(mixtures, b);
    const part = panel(mixtures, a, b, mass, 0);
    reached.set(b, reached.get(a).map((value, m) => value + part[m]));
  }
  return mixtures.map((_, m) => ends.map((x) => reached.get(x)[m]));
}

function meanOf(members) {
  return members[0].map((_, i) => members.reduce((sum, member) => sum + member[i], 0) / members.length);
}

// The log time from which on a condition holds, by bisection.
function firstWhere(condition) {
  let low = FIRST, high = LAST;
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2;
    if (condition(middle)) high = middle; else low = middle;
  }
  return (low + high) / 2;
}

// The time at which S is one half; beyond the range of numbers it is infinite.
function medianOf(members) {
  const below = (x) => members.reduce((sum, m) => sum + survivalAt(m, x), 0) <= members.length / 2;
  return below(LAST) ? Math.exp(firstWhere(below)) : Infinity;
}

class Model {
  constructor(content) {
    this.fields = content.fields;
    this.network = content.network;
    this.weights = readWeights(content.network);
  }

  // values: one per field, null where unknown; risks: [event][time]. Lists "by member" have one more axis in front.
  predict(values, times) {
    if (!times.every((t) => Number.isFinite(t) && t >= 0)) throw new RangeError("times must be finite and >= 0");
    const x = inputsOf(this.fields, values);
    const members = this.weights.map((member) => mixturesOf(this.network, member, x));
    const survivalByMember = members.map((m) => memberSurvival(m, times));
    const riskByMember = this.network.events === 1
      ? survivalByMember.map((curve) => [curve.map((s) => 1 - s)])
      : members.map((m) => memberIncidences(m, times));
    const risks = riskByMember[0].map((_, e) => meanOf(riskByMember.map((member) => member[e])));
    const median = medianOf(members);
    return { survival: meanOf(survivalByMember), survivalByMember, risks, riskByMember, median };
  }
}
