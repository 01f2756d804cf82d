"""Fit families by formulas of their own, to 25 digits, and two of them by lifelines: families.json.

Run: python make_families.py. The formulas are written out with mpmath and share no code with lifemix. The likelihood is
maximised in floating point first (Nelder-Mead), then as the root of the gradient with 40 digits.
"""

import json
from itertools import pairwise
from pathlib import Path

import lifelines
import mpmath
import numpy as np
from scipy import optimize

FOLDER = Path(__file__).parent
SAMPLES = json.loads((FOLDER / "data.json").read_text())
SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)  # of the events before each knot of the spline


def exponential(c, p, t):
    rate = c.exp(-p[0])
    return rate * t, rate


def gompertz(c, p, t):
    rate = c.exp(p[0])
    return rate * c.expm1(p[1] * t) / p[1], rate * c.exp(p[1] * t)


def burr(c, p, t):
    shape, scale, tail = (c.exp(value) for value in p)
    odds = (t / scale) ** shape / tail
    return tail * c.log(1 + odds), tail * shape / t * odds / (1 + odds)


def power_generalised_weibull(c, p, t):
    shape, scale, power = (c.exp(value) for value in p)
    base = 1 + (t / scale) ** shape
    return base**power - 1, power * base ** (power - 1) * shape / t * (t / scale) ** shape


def gamma(c, p, t):
    shape, u = c.exp(p[0]), t * c.exp(-p[1])
    survival = c.gammainc(shape, u) / c.gamma(shape)
    density = c.exp(shape * c.log(u) - u - c.loggamma(shape)) / t
    return -c.log(survival), density / survival


def generalised_gamma(c, p, t):
    mu, sigma, q = p[0], c.exp(p[1]), p[2]  # q is above 0 here
    shape, y = 1 / q**2, q * (c.log(t) - mu) / sigma
    u = shape * c.exp(y)
    survival = c.gammainc(shape, u) / c.gamma(shape)
    density = q / sigma / t * c.exp(shape * c.log(u) - u - c.loggamma(shape))
    return -c.log(survival), density / survival


def spline(knots):
    """Return the formula for some knots: the slope of log H is a line between them, so trapezia are exact."""

    def formula(c, p, t):
        slopes, x, middle = [c.exp(value) for value in p[1:]], c.log(t), knots[2]

        def slope(at):
            if at <= knots[0]:
                return slopes[0]
            for (start, end), (first, last) in zip(pairwise(knots), pairwise(slopes), strict=True):
                if at <= end:
                    return first + (last - first) * (at - start) / (end - start)
            return slopes[-1]

        ends = sorted(
            [x, middle, *(knot for knot in knots if min(x, middle) < knot < max(x, middle))]
        )
        area = sum((b - a) * (slope(a) + slope(b)) / 2 for a, b in pairwise(ends))
        hazard = c.exp(p[0] + (area if x > middle else -area))
        return hazard, hazard * slope(x) / t

    return formula


def log_likelihood(c, formula, p, sample):
    """Add up the rows: exact, right-censored or in an interval, given survival to the entry."""
    total = 0
    times = sample["time"] if "time" in sample else sample["lower"]
    for row, time in enumerate(times):
        upper = sample["upper"][row] if "upper" in sample else time
        hazard, rate = formula(c, p, c.mpf(time)) if time > 0 else (c.mpf(0), c.mpf(0))
        if upper > time:
            beyond = formula(c, p, c.mpf(upper))[0]
            total += -hazard + c.log(-c.expm1(hazard - beyond))
        else:  # an upper end of -1 is none
            total += -hazard + (c.log(rate) if upper == time and sample["event"][row] else 0)
        if "entry" in sample and sample["entry"][row] > 0:
            total += formula(c, p, c.mpf(sample["entry"][row]))[0]
    return total


def maximum(formula, start, sample):
    """Return the best parameters and their log-likelihood."""
    best = np.array(start, dtype=float)

    def loss(p):
        try:
            return -float(log_likelihood(mpmath.fp, formula, list(map(float, p)), sample))
        except (OverflowError, ValueError, ZeroDivisionError, TypeError):
            return 1e10

    for _ in range(3):
        best = optimize.minimize(
            loss, best, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-9}
        ).x
    with mpmath.workdps(40):
        n_parameters = len(best)

        def value(*p):
            return log_likelihood(mpmath.mp, formula, p, sample)

        def gradient(*p):
            orders = np.eye(n_parameters, dtype=int).tolist()
            return [mpmath.diff(value, p, order) for order in map(tuple, orders)]

        point = list(mpmath.findroot(gradient, best.tolist(), solver="mdnewton", tol=1e-30))
        return [float(parameter) for parameter in point], float(value(*point))


def knots_of(sample):
    return np.log(np.quantile([t for t, e in zip(sample["time"], sample["event"], strict=True) if e], SHARES,
                              method="inverted_cdf")).tolist()  # fmt: skip


right = SAMPLES["right"]
FORMULAS = {
    "exponential": (exponential, [2.2]),
    "gompertz": (gompertz, [-2.5, 0.07]),
    "burr": (burr, [0.4, 2.0, 1.0]),
    "power-generalised-weibull": (power_generalised_weibull, [0.5, 1.5, -0.6]),
    "gamma": (gamma, [0.5, 1.5]),
    "generalised-gamma": (generalised_gamma, [2.0, -0.2, 0.7]),
}
KINDS = {"gompertz": ("right", "truncated", "interval"), "burr": ("right", "truncated", "interval")}

families = {"optimum": {}, "lifelines": {}}
for name, (formula, start) in FORMULAS.items():
    for kind in KINDS.get(name, ("right",)):
        parameters, best = maximum(formula, start, SAMPLES[kind])
        families["optimum"].setdefault(name, {})[kind] = {
            "parameters": parameters,
            "log_likelihood": best,
        }
        print(name, kind, parameters, best, flush=True)
for kind in ("right", "truncated"):
    knots = knots_of(SAMPLES[kind])
    parameters, best = maximum(spline(knots), [0.0] + [0.3] * 5, SAMPLES[kind])
    families["optimum"].setdefault("spline", {})[kind] = {
        "parameters": [*parameters, *knots],
        "log_likelihood": best,
    }
    print("spline", kind, parameters, best, flush=True)
time, event = np.array(right["time"]), np.array(right["event"])
fit = lifelines.ExponentialFitter().fit(time, event)
families["lifelines"]["exponential"] = {
    "parameters": [np.log(fit.lambda_)],
    "log_likelihood": fit.log_likelihood_,
}
fit = lifelines.GeneralizedGammaFitter().fit(time, event)
families["lifelines"]["generalised-gamma"] = {
    "parameters": [fit.mu_, fit.ln_sigma_, fit.lambda_],
    "log_likelihood": fit.log_likelihood_,
}
(FOLDER / "families.json").write_text(json.dumps(families, indent=1, default=float) + "\n")
