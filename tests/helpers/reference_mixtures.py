"""Random mixtures and their curves in plain numpy: what the distribution object is compared with."""

import numpy as np
import torch
from scipy import special

from lifemix.distribution import CompetingDistribution, MixtureDistribution
from lifemix.primitives import LogLogistic, LogNormal, Mixture, Weibull

FAMILIES = {"weibull": Weibull, "lognormal": LogNormal, "loglogistic": LogLogistic}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


class Reference:
    """One row: weights, locations and precisions ``[members, events, k]`` of log times.

    Integrals are taken by rules of 24 points between all points that are one standardised unit of a component apart.
    """

    def __init__(self, family, weights, location, precision):
        self.family, self.weights, self.location, self.precision = (
            family,
            weights,
            location,
            precision,
        )

    def z(self, x):
        return self.precision[..., None] * (x - self.location[..., None])

    def log_survival(self, x):
        """Of every member and event, ``[members, events, x]``."""
        z = self.z(x)
        if self.family == "weibull":
            components = -np.exp(np.minimum(z, 80.0))
        elif self.family == "lognormal":
            components = special.log_ndtr(-z)
        else:
            components = special.log_expit(-z)
        return special.logsumexp(components, axis=2, b=self.weights[..., None])

    def survival(self, x):
        return np.exp(self.log_survival(x).sum(1)).mean(0)

    def density(self, x):
        """Of the log time of every member and event, ``[members, events, x]``."""
        z = self.z(x)
        if self.family == "weibull":
            components = np.exp(np.minimum(z, 80.0) - np.exp(np.minimum(z, 80.0)))
        elif self.family == "lognormal":
            components = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        else:
            components = special.expit(z) * special.expit(-z)
        return ((self.weights * self.precision)[..., None] * components).sum(2)

    def nodes(self, low, high):
        steps = np.r_[np.arange(-45.0, 12.0), np.arange(12.0, 60.0, 4)]
        own = (self.location[..., None] + steps / self.precision[..., None]).ravel()
        edges = np.unique(np.r_[low, own[(own > low) & (own < high)], high])
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (NODES + 1)).ravel(), (half * WEIGHTS).ravel()

    def incidences(self, t):
        x, width = self.nodes(-300.0, np.log(t))
        log_survival = self.log_survival(x)
        others = np.exp(log_survival.sum(1, keepdims=True) - log_survival)
        return (self.density(x) * others * width).sum(-1).mean(0)

    def rmst(self, t):
        x, width = self.nodes(
            min(np.log(t), 10.0) - 45.0, np.log(t)
        )  # S is at most 1: what is before adds nothing
        return (self.survival(x) * np.exp(x) * width).sum()


def random_mixtures(family, seed, rows, shapes=(0.2, 20.0), k=8, members=3, events=4):
    """Return a distribution of some rows, and the rows as references; sizes up to those given, drawn by the seed."""
    rng = np.random.default_rng(seed)
    size = (rng.integers(1, members + 1), rows, rng.integers(1, events + 1), rng.integers(1, k + 1))
    weights = rng.dirichlet(np.full(size[-1], 0.7), size[:-1]) + 1e-12
    weights /= weights.sum(-1, keepdims=True)
    location = rng.uniform(-3, 3, size) * np.log(10)
    log_precision = rng.uniform(*np.log(shapes), size)
    other = -log_precision if family == "lognormal" else log_precision
    parts = (location, other) if family == "lognormal" else (other, location)
    mixtures = Mixture(
        torch.from_numpy(np.log(weights)), FAMILIES[family](*map(torch.from_numpy, parts))
    )
    references = [
        Reference(family, weights[:, row], location[:, row], np.exp(log_precision[:, row]))
        for row in range(rows)
    ]
    if size[2] == 1 and size[0] == 1:
        return MixtureDistribution(mixtures.map(lambda values: values[0, :, 0])), references
    return CompetingDistribution(mixtures), references
