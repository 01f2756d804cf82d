"""The registry of measures: a metric declares itself once, and evaluation, report and comparison show it.

``standard_measures`` registers those of the package, in the order in which tables show them. Every module of
``lifemix.metrics`` is imported with it, so a new file there that defines a metric and registers it is all that a new
measure takes; a measure of your own may be registered from anywhere::

    register_measure(Measure("my_score", "my score", "lower", "horizon", my_score))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import SettingError

__all__ = ["Measure", "measure_named", "register_measure", "registered_measures"]


@dataclass(frozen=True)
class Measure:
    """A measure of predictions: one number for each event type, or one for each event type and horizon.

    Parameters
    ----------
    name : str
        The name in the tables of ``metrics.evaluate``.
    label : str
        The name that readers see.
    better : {"higher", "lower", None}
        Which values are better; None where neither is.
    kind : {"horizon", "curve", "own_time"}
        What the function takes.
    function : callable
        ``horizon``: ``(y_train, y_test, risk, horizons, event)`` with the risk of shape (n, h), to h values;
        ``curve``: the same on a grid from 0 to the last horizon, to one value;
        ``own_time``: ``(y_test, survival)`` with the predicted survival of every row at its own time, shape (n,), to
        one value; used only where there is one event type.
    standard : bool, default True
        Whether ``metrics.evaluate`` includes it by default, and report and comparison show it.
    percent : bool, default False
        Whether readers see it in percent.
    options : tuple of str, default ()
        Which of the options ``competing`` and ``compat`` of ``metrics.evaluate`` the function takes.

    Examples
    --------
    >>> from lifemix import metrics
    >>> def mean_risk(y_train, y_test, risk, horizons, event):
    ...     return risk.mean(axis=0)
    >>> metrics.Measure("mean_risk", "mean predicted risk", None, "horizon", mean_risk, percent=True).name
    'mean_risk'
    """

    name: str
    label: str
    better: Literal["higher", "lower"] | None
    kind: Literal["horizon", "curve", "own_time"]
    function: Callable[..., Any]
    standard: bool = True
    percent: bool = False
    options: tuple[str, ...] = ()


_MEASURES: dict[str, Measure] = {}


def register_measure(measure: Measure) -> Measure:
    """Add a measure to the registry, so that ``metrics.evaluate``, report and comparison show it.

    Parameters
    ----------
    measure : Measure
        The declaration; the name must not be taken by another function.

    Returns
    -------
    Measure
        The same.

    Raises
    ------
    SettingError
        Where another measure has the name, or the kind is none of the three.

    Examples
    --------
    >>> from lifemix import metrics
    >>> def mean_risk(y_train, y_test, risk, horizons, event):
    ...     return risk.mean(axis=0)
    >>> measure = metrics.register_measure(
    ...     metrics.Measure("mean_risk", "mean predicted risk", None, "horizon", mean_risk)
    ... )
    >>> metrics.measure_named("mean_risk") is measure
    True
    """
    if measure.kind not in ("horizon", "curve", "own_time"):
        raise SettingError(
            f"kind must be one of 'horizon', 'curve', 'own_time'; got {measure.kind!r}."
        )
    known = _MEASURES.get(measure.name)
    if known is not None and known.function.__qualname__ != measure.function.__qualname__:
        raise SettingError(
            f"a measure called {measure.name!r} exists already; choose another name."
        )
    _MEASURES[measure.name] = measure
    return measure


def registered_measures() -> tuple[Measure, ...]:
    """Return all measures in the order of their registration.

    Returns
    -------
    tuple of Measure
        The measures of the package, then those that were registered later.

    Examples
    --------
    >>> from lifemix import metrics
    >>> [measure.name for measure in metrics.registered_measures()][:3]
    ['concordance', 'brier', 'auc']
    """
    return tuple(_MEASURES.values())


def measure_named(name: str) -> Measure:
    """Return a measure by its name.

    Parameters
    ----------
    name : str
        The name that it was registered by.

    Returns
    -------
    Measure
        The declaration.

    Raises
    ------
    SettingError
        Where there is none.

    Examples
    --------
    >>> from lifemix import metrics
    >>> metrics.measure_named("brier").better
    'lower'
    """
    if name not in _MEASURES:
        raise SettingError(f"unknown measure; got {name!r}, expected one of {sorted(_MEASURES)}.")
    return _MEASURES[name]
