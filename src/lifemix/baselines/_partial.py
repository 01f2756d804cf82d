"""The partial likelihood over risk sets, its derivatives and its maximum, in time and memory linear in the rows.

With ``r_i = w_i exp(x_i'b)`` and, at the k-th distinct event time, ``S_k`` the sum of r over the risk set and ``D_k``
over the events, the logarithm is a sum of terms l, each at one event time k(l):

    sum over events of w_i x_i'b  -  sum over l of c_l log(S_k(l) - f_l D_k(l))

Breslow: one term a time, c = the sum of the events' weights, f = 0. Efron: one term an event, c = the mean weight of
the d events at that time, f = 0/d, 1/d, ..., (d-1)/d. Second moments over risk sets are never formed: the first part
of the information is ``X' diag(r_i a_i) X``, a_i the sum of c / (S - f D) over the terms at which row i is at risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray
from ..checks import warn_user
from ..errors import InputError
from ._newton import Optimum, maximise, pseudo_inverse
from ._risk_sets import RiskSets

__all__ = [
    "Covariance",
    "LinearFit",
    "Terms",
    "fit_linear",
    "hazard_increments",
    "linear_predictor",
    "log_likelihood",
    "make_terms",
]

_FAR = 600.0  # of a linear predictor: its exponential, and sums of it, are numbers still
_INFINITE = (
    1e-3  # a last step so large, in standard deviations, with no gain: the maximum is at infinity
)
_SPANNED = 1e-10  # an axis along which the rows differ by less, of the longest, is none
_SHOWN = 5  # names of columns in one message


@dataclass(frozen=True)
class Terms:
    """The events, in order of time, and the terms they make: for each term its time k, c and f."""

    rows: IndexArray
    row_time: IndexArray
    time: IndexArray
    weight: FloatArray
    fraction: FloatArray
    n_times: int

    def at_times(self, values: FloatArray) -> FloatArray:
        """Return the sums of values of terms at each event time."""
        return np.bincount(self.time, values, self.n_times).astype(np.float64)

    def of_events(self, values: FloatArray) -> FloatArray:
        """Return the sums of values (n, ...) of rows over the events at each event time."""
        starts = np.searchsorted(self.row_time, np.arange(self.n_times))
        return np.add.reduceat(values[self.rows], starts, axis=0)


def make_terms(
    event_times: FloatArray, time: FloatArray, happened: BoolArray, weight: FloatArray, ties: str
) -> Terms:
    """Return the terms of Breslow's or Efron's likelihood."""
    rows = np.flatnonzero(happened)
    rows = rows[np.argsort(time[rows], kind="stable")]
    at = np.searchsorted(event_times, time[rows])
    n_times = len(event_times)
    total = np.bincount(at, weight[rows], n_times).astype(np.float64)
    if ties == "breslow":
        return Terms(rows, at, np.arange(n_times), total, np.zeros(n_times), n_times)
    count = np.bincount(at, minlength=n_times)
    place = np.arange(len(at)) - (np.cumsum(count) - count)[at]
    return Terms(rows, at, at, (total / count)[at], place / count[at], n_times)


def log_likelihood(
    beta: FloatArray, x: FloatArray, weight: FloatArray, sets: RiskSets, terms: Terms
) -> tuple[float, FloatArray, FloatArray]:
    """Return the partial log-likelihood at ``beta``, its gradient and its information matrix."""
    eta = x @ beta
    shift = eta.max()
    r = weight * np.exp(eta - shift)
    rx = r[:, None] * x
    remaining = sets.over_rows(r)[terms.time] - terms.fraction * terms.of_events(r)[terms.time]
    if (
        shift > _FAR or not (remaining > 0).all()
    ):  # too far out to compute with: Newton's step is halved
        return -np.inf, np.zeros_like(beta), np.eye(len(beta))
    rows = terms.rows
    value = weight[rows] @ (eta[rows] - shift) - terms.weight @ np.log(remaining)
    hazard = terms.weight / remaining
    exposure = sets.over_times(terms.at_times(hazard))
    exposure[rows] -= terms.at_times(hazard * terms.fraction)[terms.row_time]
    gradient = weight[rows] @ x[rows] - exposure @ rx
    means = (
        sets.over_rows(rx)[terms.time] - terms.fraction[:, None] * terms.of_events(rx)[terms.time]
    )
    means /= remaining[:, None]
    information = (rx * exposure[:, None]).T @ x - (means * terms.weight[:, None]).T @ means
    return float(value), gradient, information


def hazard_increments(
    eta: FloatArray, weight: FloatArray, sets: RiskSets, terms: Terms
) -> FloatArray:
    """Return the hazard of a subject with eta = 0 at each event time, the sum of c / (S - f D) over its terms."""
    r = weight * np.exp(eta)
    remaining = sets.over_rows(r)[terms.time] - terms.fraction * terms.of_events(r)[terms.time]
    return terms.at_times(terms.weight / remaining)


@dataclass(frozen=True)
class Covariance:
    """The covariance matrix of the coefficients, one row and column for each column of the table.

    Of a table with more columns than rows it is not formed: inside the space that the rows span it is ``inner`` in
    the coordinates ``axes``, and ``outer`` times the unit matrix outside of it.
    """

    inner: FloatArray  # [r, r]
    spread: FloatArray  # [columns]: of the columns
    axes: FloatArray | None  # [columns, r], orthonormal; None: the columns themselves
    outer: float

    def diagonal(self) -> FloatArray:
        """Return the variances."""
        if self.axes is None:
            return np.diag(self.inner / np.outer(self.spread, self.spread))
        inside = ((self.axes @ self.inner) * self.axes).sum(1)
        outside = self.outer * np.maximum(1 - (self.axes**2).sum(1), 0)
        return np.asarray((inside + outside) / self.spread**2)

    def after(self, left: FloatArray) -> FloatArray:
        """Return ``left @ covariance``."""
        if self.axes is None:
            return np.asarray(left @ (self.inner / np.outer(self.spread, self.spread)))
        left = left / self.spread
        along = left @ self.axes
        rest = left - along @ self.axes.T
        return np.asarray((along @ self.inner @ self.axes.T + self.outer * rest) / self.spread)


@dataclass(frozen=True)
class LinearFit:
    """The maximum of a partial likelihood, in the user's columns."""

    coef: FloatArray
    center: FloatArray
    covariance: Covariance
    log_likelihood: float
    log_likelihood_null: float
    n_iter: int
    degrees_of_freedom: float  # the number of columns, less what the penalty takes away

    def linear_predictor(self, x: FloatArray) -> FloatArray:
        """Return ``(x - center)'coef`` of shape (n,)."""
        return linear_predictor(x, self.center, self.coef)


def linear_predictor(x: FloatArray, center: FloatArray, coef: FloatArray) -> FloatArray:
    """Return ``(x - center)'coef`` of shape (n,)."""
    return np.asarray((x - center) @ coef)


def fit_linear(
    x: FloatArray,
    weight: FloatArray,
    sets: RiskSets,
    terms: Terms,
    penalty: float,
    max_iter: int,
    owner: str,
    names: Sequence[str] | None = None,
) -> LinearFit:
    """Maximise the partial likelihood less ``penalty / 2`` times the squared coefficients of standardised columns.

    ``owner`` and the ``names`` of the columns (their numbers where they have none) are for messages.
    """
    center = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - center) ** 2, axis=0, weights=weight))
    spread[spread <= 1e-12 * np.abs(center)] = (
        1.0  # a constant column, zero included: coefficient 0
    )
    z, axes = _coordinates((x - center) / spread)

    def objective(beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, information = log_likelihood(beta, z, weight, sets, terms)
        ridge = penalty * np.eye(len(beta))
        return value - float(beta @ ridge @ beta) / 2, gradient - ridge @ beta, information + ridge

    optimum = maximise(objective, np.zeros(z.shape[1]), max_iter)
    inner = pseudo_inverse(optimum.information)
    if not np.isfinite(optimum.value):
        raise InputError(
            f"{owner}: the weights differ too much to add them up; got from {weight.min()} to {weight.max()}. "
            "Leave out the rows that weigh next to nothing."
        )
    _warn_about(optimum, axes, max_iter, owner, names)
    beta = optimum.parameters if axes is None else axes @ optimum.parameters
    return LinearFit(
        coef=beta / spread,
        center=center,
        covariance=Covariance(inner, spread, axes, 1 / penalty if penalty > 0 else 0.0),
        log_likelihood=float(optimum.value + penalty / 2 * float(beta @ beta)),
        log_likelihood_null=optimum.start_value,
        n_iter=optimum.n_iter,
        degrees_of_freedom=float(len(inner) - penalty * np.trace(inner)),
    )


def _coordinates(z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return the rows of a table with more columns than rows in the axes of the space that they span, and the axes.

    Neither a ridge penalty nor the choice of least norm lets the coefficients leave that space.
    """
    if z.shape[1] <= z.shape[0]:
        return z, None
    left, lengths, axes = np.linalg.svd(z, full_matrices=False)
    kept = lengths > _SPANNED * max(lengths.max(initial=0.0), np.finfo(np.float64).tiny)
    return left[:, kept] * lengths[kept], axes[kept].T


def _warn_about(
    optimum: Optimum,
    axes: FloatArray | None,
    max_iter: int,
    owner: str,
    names: Sequence[str] | None,
) -> None:
    last_step = optimum.last_step if axes is None else axes @ optimum.last_step
    infinite = np.flatnonzero(np.abs(last_step) > _INFINITE)
    if optimum.converged and len(infinite) == 0:
        return
    which = _some(infinite, names)
    what = (
        f"the coefficients of columns {which} grow without end"
        if len(infinite)
        else "no convergence"
    )
    warn_user(
        f"{owner}: {what} after {optimum.n_iter} of max_iter={max_iter} steps. A column of which one level has no "
        "event does that: predictions are usable, those coefficients are not. Give a penalty, say 1, or drop it."
    )


def _some(columns: IndexArray, names: Sequence[str] | None) -> str:
    """Return the names of the first of some columns, their numbers where they have no names."""
    shown = [
        str(column) if names is None else repr(names[int(column)]) for column in columns[:_SHOWN]
    ]
    rest = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
