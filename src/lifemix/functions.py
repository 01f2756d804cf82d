"""Predicted curves as functions of time, one per row: the form in which scikit-survival returns and accepts them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import FloatArray
from .checks import check_times

__all__ = ["SurvivalFunction", "survival_functions"]


class _Curves:
    """The curves of all rows; the last times asked for are cached, as every row is usually asked for the same."""

    def __init__(self, evaluate: Callable[[FloatArray], FloatArray]) -> None:
        self.evaluate = evaluate
        self.last: tuple[FloatArray, FloatArray] | None = None

    def at(self, times: FloatArray) -> FloatArray:
        if self.last is None or not np.array_equal(self.last[0], times):
            self.last = times.copy(), self.evaluate(times)
        return self.last[1]


class SurvivalFunction:
    """The survival curve of one row, or its cumulative hazard: called with times it returns ``S(t)``, or ``H(t)``.

    Attributes
    ----------
    x : float array of shape (n_event_times,)
        The distinct event times of the training data, for programs that draw step functions.
    y : float array of shape (n_event_times,)
        The curve at ``x``.
    domain : tuple of float
        The curve may be evaluated at any time from 0 on.
    """

    domain = (0.0, np.inf)

    def __init__(self, curves: _Curves, row: int, x: FloatArray, what: str = "survival") -> None:
        self._curves, self._row, self.x, self._what = curves, row, x, what

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the curve at the times ``x``, in their shape."""
        times = np.asarray(x, dtype=np.float64)
        values = self._curves.at(check_times(times.ravel(), "x"))[self._row].reshape(times.shape)
        return values if times.ndim else values[()]

    @property
    def y(self) -> FloatArray:
        """The curve at ``x``."""
        return self(self.x)

    def __repr__(self) -> str:
        return f"<{self._what} function of row {self._row}>"


def survival_functions(
    evaluate: Callable[[FloatArray], FloatArray],
    n_rows: int,
    event_times: FloatArray,
    what: str = "survival",
) -> NDArray[np.object_]:
    """Return one ``SurvivalFunction`` per row.

    Parameters
    ----------
    evaluate : callable
        A function of times, (n_times,), that returns the curves of all rows, (n_rows, n_times).
    n_rows : int
        The number of rows.
    event_times : float array of shape (n_event_times,)
        The distinct event times of the training data.
    what : str, default "survival"
        What the curves are, for their ``repr``.

    Returns
    -------
    object array of shape (n_rows,)
        One function of time per row.
    """
    curves = _Curves(evaluate)
    functions = np.empty(n_rows, dtype=object)
    functions[:] = [SurvivalFunction(curves, row, event_times, what) for row in range(n_rows)]
    return functions
