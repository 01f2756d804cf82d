"""The worst errors of the rules for incidences, by random search: what their limits were chosen by.

python -m benchmarks.rules [--draws 100000]

Of two Weibull components, one of the event and one of another, the integral of the density of the first times the
survival of the second is compared with a rule of many nodes. Errors are linear in the weights of mixtures, so no
mixture of such components has a larger one.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix.distribution.gauss_nodes import OWN_NODES, gauss, integrals, lobatto
from lifemix.distribution.incidence_gauss import LEVELS, WIDTHS
from lifemix.distribution.own_incidence import OWN_WIDTH
from lifemix.distribution.weibull_rates import LOWEST_POWER

from .tables import Table

__all__ = ["early_error", "error_between", "error_of_own"]

Floats = NDArray[np.float64]
_EXACT = 60  # nodes of the rule that counts as exact


def _shapes(
    largest: float, rng: np.random.Generator, draws: int, smallest: float = 0.0
) -> tuple[Floats, Floats]:
    """Draw two shapes of each pair, a quarter of them at the limit."""
    own, other = smallest + (largest - smallest) * np.sqrt(rng.random((2, draws)))
    own[: draws // 4] = largest
    other[draws // 8 : 3 * draws // 8] = largest
    return own, other


def _rate(x: Floats, own: Floats, other: Floats, own_end: Floats, other_end: Floats) -> Floats:
    """Return the rate of the first event at places x of [0, 1]; ``*_end``: log cumulative hazards at 1."""
    hazard = np.exp(np.minimum(own[:, None] * (x - 1) + own_end[:, None], 60.0))
    rival = np.exp(np.minimum(other[:, None] * (x - 1) + other_end[:, None], 60.0))
    return own[:, None] * hazard * np.exp(-hazard - rival)


def _pairs(width: float, draws: int, seed: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    own, other = _shapes(width, rng, draws)
    near = rng.random((2, draws)) < 0.5
    own_end = np.where(near[0], rng.uniform(-4, 3, draws), rng.random(draws) * (own + 3))
    other_end = np.where(near[1], rng.uniform(-4, 3, draws), rng.random(draws) * (other + 3))
    other_end[: draws // 10] = own_end[: draws // 10]
    other_end[draws // 10 : draws // 5] = -50.0  # nothing else happens
    return [own, other, own_end, other_end]


def error_between(inner: int, width: float, draws: int, seed: int = 0) -> float:
    """Return the largest error between two times whose distance is so many times 1 / the largest shape."""
    pairs = _pairs(width, draws, seed)
    found, exact = (_rate(x, *pairs) @ w for x, w in (lobatto(inner), gauss(_EXACT)))
    return float(np.abs(found - exact).max())


def error_of_own(width: float, draws: int, seed: int = 0) -> float:
    """Return the largest error of integrals to ends inside a panel of such a width."""
    pairs, worst = _pairs(width, draws, seed), 0.0
    found = _rate(gauss(OWN_NODES)[0], *pairs)
    x, w = gauss(_EXACT)
    for end in np.linspace(0.1, 1, 10):
        exact = _rate(x * end, *pairs) @ w * end
        worst = max(worst, float(np.abs(found @ integrals(np.array([end]))[0] - exact).max()))
    return worst


def early_error(nodes: int, hazard: float, ratio: float, draws: int, seed: int = 0) -> float:
    """Return the largest error up to the first time, with a cumulative hazard and a ratio of shapes up to these."""
    rng = np.random.default_rng(seed)
    own, other = _shapes(LOWEST_POWER * ratio, rng, draws, LOWEST_POWER)
    total = hazard * np.exp(-rng.exponential(size=draws))
    total[: draws // 3] = hazard
    share = rng.beta(0.5, 0.5, draws)

    def integral(count: int) -> Any:
        u, weights = gauss(count)
        first = share[:, None] * total[:, None] * u ** own[:, None]
        second = (1 - share)[:, None] * total[:, None] * u ** other[:, None]
        return (own[:, None] * first / u * np.exp(-first - second)) @ weights

    return float(np.abs(integral(nodes) - integral(2 * _EXACT)).max())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--draws", type=int, default=100_000, help="pairs of components for each line"
    )
    draws = parser.parse_args().draws
    rows: list[list[Any]] = [
        [f"{n} between", width, None, error_between(n, width, draws)] for n, width in WIDTHS.items()
    ]
    rows += [[f"{OWN_NODES}, own times", OWN_WIDTH, None, error_of_own(OWN_WIDTH, draws)]]
    for level in LEVELS:
        rows += [
            [f"{level.nodes} early", a, r, early_error(level.nodes, a, r, draws)]
            for a, r in level.limits
        ]
    columns = ["nodes", "shape x distance, or hazard", "ratio of shapes", "largest error"]
    print(Table(f"Worst of {draws:,} pairs of components", columns, rows).text())


if __name__ == "__main__":
    main()
