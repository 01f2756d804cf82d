"""Integrals of functions that take many times at once, by rules of the tests' own."""

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def integral_of_survival(survival, end, breaks=()):
    """Integrate ``survival(times)``, ``[rows, times]``, from 0 to the end, over log time in panels.

    breaks: times at which a curve has a corner. The result must be that of panels of half the width, to 2e-8.
    """
    coarse, fine = (_by_panels(survival, end, breaks, n) for n in (1, 2))
    np.testing.assert_allclose(coarse, fine, rtol=2e-8)
    return fine


def _by_panels(survival, end, breaks, n):
    """Take panels of about ``1 / (10 n)`` where curves fall, wide ones before and behind."""
    places = np.concatenate(
        [
            np.linspace(-30, -6, 12 * n + 1),
            np.linspace(-6, 6, 120 * n + 1),
            np.linspace(6, 60, 27 * n + 1),
        ]
    )
    edges = np.unique(np.concatenate([places, np.log(breaks)]).clip(max=np.log(end)))
    x = edges[:-1, None] + np.diff(edges)[:, None] * (_NODES + 1) / 2
    weights = np.exp(x) * _WEIGHTS * np.diff(edges)[:, None] / 2
    return np.exp(edges[0]) + survival(np.exp(x).ravel()) @ weights.ravel()
