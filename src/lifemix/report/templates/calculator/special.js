// Functions that JavaScript lacks, for the families and the activations, which come after this.

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
