"""Nodes and weights of Gauss's and of Lobatto's rule, and of integrals of polynomials through Gauss's nodes."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import legendre

from .._types import FloatArray

__all__ = ["OWN_NODES", "gauss", "integrals", "lobatto"]

OWN_NODES = 12  # of a polynomial that is integrated to any end


@cache
def gauss(count: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of Gauss's rule on (0, 1)."""
    nodes, weights = legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cache
def lobatto(inner: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of Lobatto's rule on [0, 1], which are the two ends and ``inner`` between them."""
    highest = np.r_[np.zeros(inner + 1), 1.0]
    nodes = np.r_[-1.0, np.sort(legendre.legroots(legendre.legder(highest)).real), 1.0]
    weights = np.asarray(2 / ((inner + 2) * (inner + 1) * legendre.legval(nodes, highest) ** 2))
    return (nodes + 1) / 2, weights / 2


def integrals(ends: FloatArray) -> FloatArray:
    """Return weights of integrals from 0 to ends, which count as 0 or 1 outside, of polynomials through the nodes."""
    places = gauss(OWN_NODES)[0]
    basis = np.linalg.inv(
        legendre.legvander(2 * places - 1, OWN_NODES - 1)
    )  # coefficients of each node's polynomial
    at = 2 * ends.clip(0, 1) - 1
    sums = [
        legendre.legval(at, legendre.legint(np.eye(OWN_NODES)[n], lbnd=-1))
        for n in range(OWN_NODES)
    ]
    return np.stack(sums, axis=-1) @ basis / 2
