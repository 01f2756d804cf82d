"""Partial likelihoods of Cox and of Fine and Gray, and Newton's method, in time linear in the rows.

With ``r_i = w_i exp(x_i'b)`` and, at the k-th distinct event time, ``S_k`` the sum of r over the
rows at risk and ``D_k`` over the events, the logarithm is a sum of terms l, each at one event time
k(l)::

    sum over events of w_i x_i'b  -  sum over l of c_l log(S_k(l) - f_l D_k(l))

Breslow: one term per time, c = the sum of the events' weights, f = 0. Efron: one term per event,
c = the mean weight of the d events at that time, f = 0/d, 1/d, ..., (d-1)/d.

Second moments over risk sets are never computed: the first part of the information is
``X' diag(r_i a_i) X`` with a_i the sum of c / (S - f D) over the terms at which row i is at risk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ._types import BoolArray, FloatArray, IndexArray
from .checks import warn_user
from .errors import InputError

__all__ = [
    "Covariance",
    "LinearFit",
    "Optimum",
    "RiskSets",
    "Terms",
    "fit_linear",
    "hazard_increments",
    "linear_predictor",
    "log_likelihood",
    "make_terms",
    "maximise",
    "prefix_sums",
    "pseudo_inverse",
    "suffix_sums",
]

_LARGEST_PREDICTOR = 600.0  # exp of a larger one, and sums of it, overflow
_DIVERGING_STEP = 1e-3  # in standard deviations, if it gains nothing: the maximum is at infinity
_EMPTY_AXIS = 1e-10  # relative to the longest axis
_N_SHOWN = 5  # names of columns in a message
_LEAST_GAIN = 1e-12  # Newton's method stops after a step that promised less
_ROUNDING = 1e-13  # of a value that is a sum over many rows
_SINGULAR = 1e-12
_MAX_HALVINGS = 40


def prefix_sums(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, ..., n values along the first axis."""
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=sums[1:])
    return sums


def suffix_sums(values: FloatArray) -> FloatArray:
    """Return the sums of all values but the first 0, 1, ..., n along the first axis."""
    return prefix_sums(values[::-1])[::-1]


class RiskSets:
    """Sums over the rows at risk at each event time, and over the event times of each row.

    A row is at risk over ``(entry, time]``, from time 0 on if its entry is 0. With ``censoring``,
    as Fine and Gray define it, a row with another event at T stays at risk after T with the weight
    G(t-) / G(T-), where G is the distribution of the censoring times.

    Parameters
    ----------
    event_times : float array of shape (K,)
        The distinct times of the event, ascending.
    time, entry : float arrays of shape (n,)
        Observed time and delayed entry of each row.
    has_other_event : bool array of shape (n,), optional
        The rows that had an event of another type.
    censoring : callable, optional
        From times to ``G(t-)``.
    """

    def __init__(
        self,
        event_times: FloatArray,
        time: FloatArray,
        entry: FloatArray,
        has_other_event: BoolArray | None = None,
        censoring: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        # A row is at risk at the event times first, ..., last - 1.
        self.last = np.searchsorted(event_times, time, side="right")
        self.first = np.where(entry > 0, np.searchsorted(event_times, entry, side="right"), 0)
        self._leaving = _descending(self.last, len(event_times))
        self._entering = _descending(self.first, len(event_times)) if self.first.any() else None
        self.other_rows: IndexArray = np.empty(0, dtype=np.intp)  # rows with another event, by time
        if has_other_event is not None and censoring is not None:
            rows = np.flatnonzero(has_other_event)
            self.other_rows = rows[np.argsort(time[rows], kind="stable")]
            other_time = time[self.other_rows]
            self.n_other_before = np.searchsorted(other_time, event_times, side="left")
            self.censoring = censoring(event_times)
            self.other_censoring = censoring(other_time)

    def over_rows(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` [n, ...] over the rows at risk at each time, [K, ...]."""
        order, count = self._leaving
        sums = prefix_sums(values[order])[count]
        if self._entering is not None:
            order, count = self._entering
            sums = sums - prefix_sums(values[order])[count]
        if len(self.other_rows):
            weighted = (values[self.other_rows].T / self.other_censoring).T
            earlier = prefix_sums(weighted)[self.n_other_before]
            sums = sums + (earlier.T * self.censoring).T
        return np.asarray(sums)

    def over_times(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` [K, ...] over the times at risk of each row, [n, ...]."""
        running = prefix_sums(values)
        sums = running[self.last] - running[self.first]
        if len(self.other_rows):
            weighted = (values.T * self.censoring).T
            later = suffix_sums(weighted)[self.last[self.other_rows]]
            sums[self.other_rows] += (later.T / self.other_censoring).T
        return np.asarray(sums)


def _descending(index: IndexArray, n_times: int) -> tuple[IndexArray, IndexArray]:
    """Return the rows by descending index, and how many have an index above 0, ..., n_times - 1."""
    order = np.argsort(-index, kind="stable")
    return order, np.searchsorted(-index[order], -np.arange(n_times), side="left")


@dataclass(frozen=True)
class Terms:
    """The terms of a partial likelihood.

    ``rows`` and ``row_time``: the rows with the event, by time, and the numbers of their times.
    ``time``, ``weight`` and ``fraction``: the number k of the time, c and f of each term.
    """

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
        """Return the sums of values [n, ...] of rows over the events at each event time."""
        starts = np.searchsorted(self.row_time, np.arange(self.n_times))
        return np.add.reduceat(values[self.rows], starts, axis=0)


def make_terms(
    event_times: FloatArray, time: FloatArray, has_event: BoolArray, weight: FloatArray, ties: str
) -> Terms:
    """Return the terms of the likelihood with ``ties`` after "breslow" or "efron"."""
    rows = np.flatnonzero(has_event)
    rows = rows[np.argsort(time[rows], kind="stable")]
    row_time = np.searchsorted(event_times, time[rows])
    n_times = len(event_times)
    total = np.bincount(row_time, weight[rows], n_times).astype(np.float64)
    if ties == "breslow":
        return Terms(rows, row_time, np.arange(n_times), total, np.zeros(n_times), n_times)
    count = np.bincount(row_time, minlength=n_times)
    first_in_tie = np.cumsum(count) - count
    number_in_tie = np.arange(len(rows)) - first_in_tie[row_time]
    fraction = number_in_tie / count[row_time]
    mean_weight = total / count
    return Terms(rows, row_time, row_time, mean_weight[row_time], fraction, n_times)


def log_likelihood(
    beta: FloatArray, x: FloatArray, weight: FloatArray, sets: RiskSets, terms: Terms
) -> tuple[float, FloatArray, FloatArray]:
    """Return the partial log-likelihood at ``beta``, its gradient and its information matrix."""
    eta = x @ beta
    shift = eta.max()
    r = weight * np.exp(eta - shift)
    remaining = _remaining(r, sets, terms)
    if shift > _LARGEST_PREDICTOR or not (remaining > 0).all():  # Newton's step will be halved
        return -np.inf, np.zeros_like(beta), np.eye(len(beta))
    rows = terms.rows
    value = weight[rows] @ (eta[rows] - shift) - terms.weight @ np.log(remaining)
    hazard = terms.weight / remaining
    exposure = sets.over_times(terms.at_times(hazard))
    exposure[rows] -= terms.at_times(hazard * terms.fraction)[terms.row_time]
    rx = r[:, None] * x
    gradient = weight[rows] @ x[rows] - exposure @ rx
    means = _remaining(rx, sets, terms) / remaining[:, None]
    second_moments = (rx * exposure[:, None]).T @ x
    squared_means = (means * terms.weight[:, None]).T @ means
    return float(value), gradient, second_moments - squared_means


def _remaining(values: FloatArray, sets: RiskSets, terms: Terms) -> FloatArray:
    """Return ``S - f D`` of each term, for values [n, ...] of rows."""
    at_risk = sets.over_rows(values)[terms.time]
    of_events = terms.of_events(values)[terms.time]
    return np.asarray(at_risk - (terms.fraction * of_events.T).T)


def hazard_increments(
    eta: FloatArray, weight: FloatArray, sets: RiskSets, terms: Terms
) -> FloatArray:
    """Return the baseline hazard (of eta = 0) at each event time, the sum of c / (S - f D)."""
    remaining = _remaining(weight * np.exp(eta), sets, terms)
    return terms.at_times(terms.weight / remaining)


@dataclass(frozen=True)
class Optimum:
    """The maximum, its value, and the information (minus the second derivatives) there."""

    parameters: FloatArray
    value: float
    information: FloatArray
    start_value: float
    last_step: FloatArray
    n_iter: int
    converged: bool


def maximise(
    objective: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]],
    start: FloatArray,
    max_iter: int,
) -> Optimum:
    """Maximise a concave ``objective`` that returns value, gradient and information.

    Directions without information (collinear columns) get no step, which gives the maximum of least
    norm. A step is halved until the value does not fall. If no step is long enough to exceed the
    rounding errors, as with columns that separate the events, the last point is returned.
    """
    parameters, step = start, np.zeros_like(start)
    converged, n_iter = False, 0
    value, gradient, information = objective(parameters)
    start_value = value
    while not converged and n_iter < max_iter:
        n_iter += 1
        step = pseudo_inverse(information) @ gradient
        slack = _ROUNDING * abs(value)
        converged = float(gradient @ step) / 2 < _LEAST_GAIN + slack
        for halving in range(_MAX_HALVINGS):
            with np.errstate(all="ignore"):  # a step that is far too long overflows
                trial = objective(parameters + step / 2**halving)
            is_finite = all(np.isfinite(term).all() for term in trial)
            if is_finite and trial[0] >= value - slack:
                break
        else:
            break
        step = step / 2**halving
        parameters = parameters + step
        value, gradient, information = trial
    return Optimum(parameters, value, information, start_value, step, n_iter, converged)


def pseudo_inverse(information: FloatArray) -> FloatArray:
    """Return the inverse on the directions that have information, zero on the others."""
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    largest = max(values.max(initial=0.0), np.finfo(np.float64).tiny)
    is_positive = values > _SINGULAR * largest
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=is_positive)
    return np.asarray((vectors * inverse) @ vectors.T)


@dataclass(frozen=True)
class Covariance:
    """The covariance matrix of the coefficients, one row and column for each column of the table.

    For a table with more columns than rows it is not formed. In the space that the rows span it is
    ``inner`` in the coordinates ``axes``; outside of it, it is ``outer`` times the unit matrix.
    """

    inner: FloatArray  # [n_axes, n_axes]
    spread: FloatArray  # [n_columns]: standard deviations of the columns
    axes: FloatArray | None  # [n_columns, n_axes], orthonormal; None: the columns themselves
    outer: float

    def diagonal(self) -> FloatArray:
        """Return the variances."""
        if self.axes is None:
            return np.diag(self.inner / np.outer(self.spread, self.spread))
        inside = ((self.axes @ self.inner) * self.axes).sum(1)
        share_inside = (self.axes**2).sum(1)
        outside = self.outer * np.maximum(1 - share_inside, 0)
        return np.asarray((inside + outside) / self.spread**2)

    def after(self, vectors: FloatArray) -> FloatArray:
        """Return ``vectors @ covariance``."""
        if self.axes is None:
            covariance = self.inner / np.outer(self.spread, self.spread)
            return np.asarray(vectors @ covariance)
        vectors = vectors / self.spread
        along = vectors @ self.axes
        outside = vectors - along @ self.axes.T
        product = along @ self.inner @ self.axes.T + self.outer * outside
        return np.asarray(product / self.spread)


@dataclass(frozen=True)
class LinearFit:
    """The maximum of a partial likelihood, in the columns of the table."""

    coef: FloatArray
    center: FloatArray
    covariance: Covariance
    information: FloatArray  # in the axes of the covariance, with the penalty
    log_likelihood: float
    log_likelihood_null: float
    n_iter: int
    degrees_of_freedom: float  # number of columns, less what the penalty takes away


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
    """Fit a proportional hazards regression with a ridge penalty.

    ``penalty / 2`` times the squared coefficients of the standardised columns is subtracted from
    the log-likelihood. Messages use ``owner`` and the ``names`` of the columns (None: numbers).
    """
    center = np.average(x, axis=0, weights=weight)
    variance = np.average((x - center) ** 2, axis=0, weights=weight)
    spread = np.sqrt(variance)
    spread[spread <= 1e-12 * np.abs(center)] = 1.0  # constant columns get the coefficient 0
    z, axes = (x - center) / spread, None
    if z.shape[1] > z.shape[0]:
        # Neither a ridge penalty nor the least norm lets coefficients leave the span of the rows.
        scores, lengths, transposed_axes = np.linalg.svd(z, full_matrices=False)
        longest = max(lengths.max(initial=0.0), np.finfo(np.float64).tiny)
        is_axis = lengths > _EMPTY_AXIS * longest
        z, axes = scores[:, is_axis] * lengths[is_axis], transposed_axes[is_axis].T

    def objective(beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, information = log_likelihood(beta, z, weight, sets, terms)
        ridge = penalty * np.eye(len(beta))
        return value - float(beta @ ridge @ beta) / 2, gradient - ridge @ beta, information + ridge

    optimum = maximise(objective, np.zeros(z.shape[1]), max_iter)
    inner = pseudo_inverse(optimum.information)
    if not np.isfinite(optimum.value):
        raise InputError(
            f"{owner}: the weights differ too much to add them up; got from {weight.min()} to "
            f"{weight.max()}. Leave out the rows with the smallest weights."
        )
    last_step = optimum.last_step if axes is None else axes @ optimum.last_step
    _warn_if_not_converged(optimum, last_step, max_iter, owner, names)
    beta = optimum.parameters if axes is None else axes @ optimum.parameters
    return LinearFit(
        coef=beta / spread,
        center=center,
        covariance=Covariance(inner, spread, axes, 1 / penalty if penalty > 0 else 0.0),
        information=optimum.information,
        log_likelihood=float(optimum.value + penalty / 2 * float(beta @ beta)),
        log_likelihood_null=optimum.start_value,
        n_iter=optimum.n_iter,
        degrees_of_freedom=float(len(inner) - penalty * np.trace(inner)),
    )


def _warn_if_not_converged(
    optimum: Optimum,
    last_step: FloatArray,
    max_iter: int,
    owner: str,
    names: Sequence[str] | None,
) -> None:
    diverging = np.flatnonzero(np.abs(last_step) > _DIVERGING_STEP)
    if len(diverging) and (optimum.converged or optimum.n_iter < max_iter):
        columns = [str(i) if names is None else repr(names[i]) for i in diverging[:_N_SHOWN]]
        n_more = len(diverging) - len(columns)
        shown_columns = ", ".join(columns) + (f" and {n_more} more" if n_more else "")
        warn_user(
            f"{owner}: the coefficients of columns {shown_columns} diverge "
            f"({optimum.n_iter} iterations); the columns may separate the events perfectly. The "
            "predictions are usable, these coefficients are not. Give a penalty, for instance 1, "
            "or drop the columns."
        )
    elif not optimum.converged:
        warn_user(
            f"{owner}: no convergence after {optimum.n_iter} of max_iter={max_iter} iterations. "
            "Increase max_iter, or give a penalty, for instance 1."
        )
