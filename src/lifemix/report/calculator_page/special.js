// Functions that JavaScript lacks, for the primitive and the activations that the page declares after this.

// (x + 3) exp(x^2) erfc(x) for x >= 0 as a Chebyshev series in (x - 3) / (x + 3); exact to the last digits of a double.
const ERFCX = [
  2.82687644796174392, -1.13147684907469738, 0.354108100342486363, -0.0850870400990854545, 0.0146152732728166392,
  -0.00137955716362963284, -0.0000642906671431594556, 0.0000390434210977240468, -2.64278507485605385e-6,
  -8.23944014391085131e-7, 1.32479756976713704e-7, 1.9195225156726499e-8, -5.03050716374543949e-9,
  -5.84200641026835734e-10, 1.87423239103880492e-10, 2.43736726564995673e-11, -6.99094383989558356e-12,
  -1.25731156195182547e-12, 2.45800057954090919e-13, 7.00574163053257389e-14, -6.73277561873902381e-15,
  -3.84343043195526142e-15, 3.31658733731346726e-18, 1.93374086048509879e-16, 1.95757409064642817e-17,
];

function erfcx(x) {
  const u = 2 * (x - 3) / (x + 3);
  let one = 0, two = 0;
  for (let j = ERFCX.length - 1; j > 0; j--) {
    const next = u * one - two + ERFCX[j];
    two = one;
    one = next;
  }
  return (u / 2 * one - two + ERFCX[0] / 2) / (x + 3);
}

function normalSurvival(z) {
  const tail = 0.5 * Math.exp(-z * z / 2) * erfcx(Math.abs(z) * Math.SQRT1_2);
  return z > 0 ? tail : 1 - tail;
}

function softplus(z) {
  return Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
}

// log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2 for a > 0: Stirling's series, from 10 on.
function stirlingError(a) {
  let sum = 0;
  for (; a < 10; a++) sum += (a + 0.5) * Math.log1p(1 / a) - 1;
  const s = 1 / (a * a);
  return sum + (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / a;
}

// (exp(y) - 1) / y and (exp(y) - 1 - y) / y^2
function growths(y) {
  if (Math.abs(y) >= 0.3) {
    const one = Math.expm1(y) / y;
    return [one, (one - 1) / y];
  }
  let two = 0;
  for (let n = 13; n >= 0; n--) two = (1 + y * two) / (n + 2); // sum of y^n / (n + 2)!, without the leading 1
  return [1 + y * two, two];
}

// The standardised log-gamma distribution as lifemix.primitives.gamma_tail has it: log density at w, and the log tail
// beyond w >= 0 by the double exponential rule.
function logGammaDensity(w, q) {
  const error = q === 0 ? 0 : stirlingError(1 / (q * q));
  return -Math.log(2 * Math.PI) / 2 - error - w * w * growths(q * w)[1];
}

function logGammaTail(w, q) {
  const a = w * growths(q * w)[0], b = a - Math.max(-q, 0) / 2, root = Math.hypot(b, Math.SQRT2);
  const scale = b > 0 ? 2 / (b + root) : root - b, step = 0.165;
  let sum = 0;
  for (let i = 0; i < 56; i++) {
    const x = -3.4 + i * step, v = Math.exp(x - Math.exp(-x)), at = scale * v, r = Math.abs(q) * at;
    let exponent;
    if (q >= 0) {
      let bend = 0;
      if (r < 0.08) for (let n = 13; n >= 0; n--) bend = 1 / (n + 2) - r * bend;
      else bend = (r - Math.log1p(r)) / (r * r);
      exponent = a * at + at * at * bend + Math.log1p(r);
    } else {
      const [one, two] = growths(-r);
      exponent = a * at * one + at * at * two;
    }
    sum += Math.exp(-exponent) * v * (1 + Math.exp(-x));
  }
  return logGammaDensity(w, q) + Math.log(scale * step * sum);
}

function logGamma(location, precision, q) {
  const standardised = (x) => {
    const w = precision * (x - location);
    return q * w > 50 ? 50 / q : w;
  };
  const survival = (x) => {
    const w = standardised(x);
    return w >= 0 ? Math.exp(logGammaTail(w, q)) : -Math.expm1(logGammaTail(-w, -q));
  };
  return { survival, density: (x) => precision * Math.exp(logGammaDensity(standardised(x), q)) };
}
