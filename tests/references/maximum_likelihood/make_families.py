"""Fit families to the right-censored sample by lifelines and, where it has none, SciPy: families.json.

Run: python make_families.py. The likelihoods of SciPy's distributions are maximised with their own log densities and
survival functions; the power generalised Weibull distribution is written out here.
"""

import json
from pathlib import Path

import lifelines
import numpy as np
from scipy import optimize, stats

FOLDER = Path(__file__).parent
sample = json.loads((FOLDER / "data.json").read_text())["right"]
time, event = np.array(sample["time"]), np.array(sample["event"])


def power_generalised_weibull(shape, scale, power):
    base = 1 + (time / scale) ** shape
    log_survival = 1 - base**power
    log_hazard = np.log(power * shape / scale) + (power - 1) * np.log(base) + (shape - 1) * np.log(time / scale)
    return log_hazard + log_survival, log_survival


def of_scipy(distribution):
    return distribution.logpdf(time), distribution.logsf(time)


FORMULAS = {
    "gompertz": lambda p: of_scipy(stats.gompertz(np.exp(p[0] - p[1]), scale=np.exp(-p[1]))),
    "gamma": lambda p: of_scipy(stats.gamma(np.exp(p[0]), scale=np.exp(p[1]))),
    "power-generalised-weibull": lambda p: power_generalised_weibull(*np.exp(p)),
}
STARTS = {"gompertz": [-2.5, -3.0], "gamma": [0.3, 1.5], "power-generalised-weibull": [0.3, 2.0, 0.1]}

found = {}
for name, formula in FORMULAS.items():

    def loss(p, formula=formula):
        log_pdf, log_survival = formula(p)
        return -np.where(event > 0, log_pdf, log_survival).sum()

    best = np.array(STARTS[name])
    for _ in range(5):
        best = optimize.minimize(loss, best, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}).x
    parameters = [best[0], np.exp(best[1])] if name == "gompertz" else best.tolist()
    found[name] = {"parameters": [float(value) for value in parameters], "log_likelihood": float(-loss(best))}
exponential = lifelines.ExponentialFitter().fit(time, event)
found["exponential"] = {
    "parameters": [float(np.log(exponential.lambda_))],
    "log_likelihood": exponential.log_likelihood_,
}
gamma = lifelines.GeneralizedGammaFitter().fit(time, event)
found["generalised-gamma"] = {
    "parameters": [float(gamma.mu_), float(gamma.ln_sigma_), float(gamma.lambda_)],
    "log_likelihood": gamma.log_likelihood_,
}
(FOLDER / "families.json").write_text(json.dumps(found, indent=1) + "\n")
