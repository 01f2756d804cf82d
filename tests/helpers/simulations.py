"""Data whose true survival curves are known: mixtures of three Weibull components of five covariates; two causes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lifemix import make_target

__all__ = ["MixtureTruth", "covariates", "two_causes"]

COVARIATES, COMPONENTS = 5, 3


def covariates(n, seed):
    """Return independent standard normal covariates, ``(n, 5)``."""
    return np.random.default_rng([seed, 1]).standard_normal((n, COVARIATES))


@dataclass(frozen=True)
class MixtureTruth:
    """Gate, log scales and log shapes are smooth functions of x, not all linear; coefficients drawn by ``seed``."""

    seed: int = 0
    centre: float = 0.0
    separation: float = 1.2

    @cached_property
    def coefficients(self):
        drawn = np.random.default_rng([self.seed, 2]).standard_normal((3, COMPONENTS, COVARIATES))
        return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)

    def parameters(self, x):
        """Return weights, scales and shapes, each ``(n, 3)``."""
        gate, scale, shape = (x @ part.T for part in self.coefficients)
        logits = 2.5 * gate + 0.3 * np.sin(2 * x[:, :1] + np.arange(COMPONENTS))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        steps = np.arange(COMPONENTS) - 1.0
        log_scale = (
            self.centre + self.separation * steps + scale + 0.25 * np.tanh(x[:, 1:2] * x[:, 2:3])
        )
        return (
            weights / weights.sum(1, keepdims=True),
            np.exp(log_scale),
            2.0 * np.exp(0.3 * np.tanh(shape)),
        )

    def survival(self, x, times):
        """``S(t | x)``, ``(n, n_times)``."""
        w, scale, shape = (part[:, None] for part in self.parameters(x))
        return (w * np.exp(-((np.asarray(times)[:, None] / scale) ** shape))).sum(-1)

    def draw(self, x, rng):
        """Draw one time for each row."""
        w, scale, shape = self.parameters(x)
        k = (rng.random(len(x))[:, None] > w.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows = np.arange(len(x))
        return scale[rows, k] * rng.standard_exponential(len(x)) ** (1 / shape[rows, k])


def two_causes(n, seed):
    """Draw rows of two competing risks: one falls and rises with the first covariate, one follows the second."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    times = rng.exponential(np.exp(-np.column_stack([np.abs(x[:, 0]) * 1.5, x[:, 1]])))
    censoring = rng.uniform(0, 3, n)
    time = np.minimum(times.min(axis=1), censoring)
    return x, make_target(time, np.where(time == censoring, 0, times.argmin(axis=1) + 1))
