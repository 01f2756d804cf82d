"""The quality of a fitted model in one table: predictions, registered measures, ``evaluate``.

A metric registers a ``Measure`` once, and ``evaluate``, the report and comparisons show it::

    register_measure(Measure("my_score", "my score", "lower", "horizon", my_score))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import FittedSurvivalModel, FloatArray, IndexArray
from ..checks import Choice, Whole, check_times, take_rows
from ..errors import InputError, SettingError
from ..pipeline import final_model
from ..splits import horizons as event_quantiles
from ..target import Target, TargetLike, as_target
from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .calibration import d_calibration, integrated_calibration_index
from .concordance import concordance, concordance_td
from .curves import aalen_johansen
from .inputs import observed, refuse_paths
from .resampling import limits_of_values

if TYPE_CHECKING:
    from ..preprocessing import TableLike  # imports scikit-learn

__all__ = [
    "Measure",
    "evaluate",
    "marginal_risk",
    "mean_concordance",
    "measure_named",
    "predicted_risk",
    "predicted_risks",
    "register_measure",
    "registered_measures",
    "survival_at_own_time",
]

_N_GRID = 101
_BLOCK = 256


# Predictions.


def predicted_risk(
    model: FittedSurvivalModel, X: TableLike, times: ArrayLike, event: int, n_events: int
) -> FloatArray:
    """Return the predicted probability of an event by each time.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``; also a pipeline or search that ends
        with it.
    X : DataFrame or array of n rows
        Covariates.
    times : array-like of shape (n_times,)
        Ascending times.
    event : int
        The event type.
    n_events : int
        Number of event types: with one, the risk is one minus survival, with more the cumulative
        incidence.

    Returns
    -------
    array of shape (n, n_times)
        Probabilities.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X = [[0.0], [1.0]]
    >>> model = KaplanMeier().fit(X, make_target([1.0, 2.0], [1, 1]))
    >>> print(metrics.predicted_risk(model, X, [0.5, 1.5], event=1, n_events=1))
    [[0.  0.5]
     [0.  0.5]]
    """
    model, X = final_model(model, X)
    if n_events == 1:
        return 1 - _checked_shape(model.predict_survival_function(X, times), X, times)
    incidence = model.predict_cumulative_incidence(X, times, event=event)
    return _checked_shape(incidence, X, times)


def predicted_risks(
    model: FittedSurvivalModel, X: TableLike, times: ArrayLike, n_events: int
) -> FloatArray:
    """Return the predicted probability of every event type by each time.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``; also a pipeline or search that ends
        with it.
    X : DataFrame or array of n rows
        Covariates.
    times : array-like of shape (n_times,)
        Ascending times.
    n_events : int
        Number of event types.

    Returns
    -------
    array of shape (n_events, n, n_times)
        Probabilities.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import AalenJohansen
    >>> X = [[0.0], [1.0]]
    >>> model = AalenJohansen().fit(X, make_target([1.0, 2.0], [1, 2]))
    >>> print(metrics.predicted_risks(model, X, [1.5, 2.5], n_events=2)[:, 0])
    [[0.5 0.5]
     [0.  0.5]]
    """
    model, X = final_model(model, X)
    if n_events > 1 and hasattr(model, "predict_cumulative_incidences"):  # one integration for all
        incidences = model.predict_cumulative_incidences(X, times)
        return np.stack([_checked_shape(incidence, X, times) for incidence in incidences])
    events = range(1, n_events + 1)
    return np.stack([predicted_risk(model, X, times, event, n_events) for event in events])


def survival_at_own_time(
    model: FittedSurvivalModel, X: TableLike, target: TargetLike
) -> FloatArray:
    """Return the predicted survival of every row at its own time, given survival to its entry.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)``; also a pipeline or search that ends
        with it.
    X : DataFrame or array of n rows
        Covariates.
    target : target
        The observed times of the same rows, see ``lifemix.make_target``.

    Returns
    -------
    array of shape (n,)
        Probabilities; uniformly distributed if the model is right and nothing is censored. Of
        the intervals of paths, one per subject in order of first appearance: the product along its
        rows.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X, y = [[0.0], [1.0]], make_target([1.0, 2.0], [1, 1])
    >>> print(metrics.survival_at_own_time(KaplanMeier().fit(X, y), X, y))
    [0.5 0. ]
    """
    (model, X), target = final_model(model, X), as_target(target)
    values = np.empty(len(target))
    # In order of time, the rows of a block have few distinct times.
    order = np.argsort(target.time, kind="stable")
    for first in range(0, len(target), _BLOCK):
        rows = order[first : first + _BLOCK]
        block, row_index = take_rows(X, rows), np.arange(len(rows))
        times, time_index = np.unique(
            np.stack([target.time[rows], target.entry[rows]]), return_inverse=True
        )
        survival = _checked_shape(model.predict_survival_function(block, times), block, times)
        at_time, at_entry = survival[row_index, time_index.reshape(2, -1)]
        values[rows] = np.divide(at_time, at_entry, out=np.zeros(len(rows)), where=at_entry > 0)
    if target.path is None:
        return values
    along_path = np.ones(len(target.joined()))
    np.multiply.at(along_path, target.path_numbers, values)
    return along_path


def _checked_shape(prediction: Any, X: Any, times: ArrayLike) -> FloatArray:
    values = np.asarray(prediction, dtype=np.float64)
    shape = (np.shape(X)[0], np.size(times))
    if values.shape != shape:
        raise InputError(f"the model's prediction must have shape {shape}; got {values.shape}.")
    return values


# Measures.


@dataclass(frozen=True)
class Measure:
    """A measure of predictions: one number per event type, or per event type and horizon.

    Parameters
    ----------
    name : str
        The name in the tables of ``metrics.evaluate``.
    label : str
        The name that readers see.
    better : {"higher", "lower", None}
        Which values are better; None if neither is.
    kind : {"horizon", "curve", "own_time"}
        What the function takes.
    function : callable
        ``horizon``: ``(y_train, y_test, risk, horizons, event)`` with the risk of shape (n, h), to
        h values; ``curve``: the same on a grid from 0 to the last horizon, to one value;
        ``own_time``: ``(y_test, survival)`` with the predicted survival of every row at its own
        time, shape (n,), to one value; used only if there is one event type.
    standard : bool, default True
        Whether ``metrics.evaluate`` includes it by default, and report and comparison show it.
    percent : bool, default False
        Whether readers see it in percent.
    has_interval : bool, default True
        Whether ``n_bootstrap`` gives limits; a test statistic and its p-value have none.
    options : tuple of str, default ()
        Which of the options ``competing`` and ``compat`` of ``metrics.evaluate`` the function
        takes.

    Examples
    --------
    >>> from lifemix import metrics
    >>> def mean_risk(y_train, y_test, risk, horizons, event):
    ...     return risk.mean(axis=0)
    >>> metrics.Measure("mean_risk", "mean predicted risk", None, "horizon", mean_risk).name
    'mean_risk'
    """

    name: str
    label: str
    better: Literal["higher", "lower"] | None
    kind: Literal["horizon", "curve", "own_time"]
    function: Callable[..., Any]
    standard: bool = True
    percent: bool = False
    has_interval: bool = True
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
        If another measure has the name, or the kind is none of the three.

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
    Choice("horizon", "curve", "own_time")("kind", measure.kind)
    registered = _MEASURES.get(measure.name, measure)
    if registered.function.__qualname__ != measure.function.__qualname__:
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
    ['concordance_td', 'brier', 'auc']
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
        If there is none.

    Examples
    --------
    >>> from lifemix import metrics
    >>> metrics.measure_named("brier").better
    'lower'
    """
    if name not in _MEASURES:
        raise SettingError(f"unknown measure; got {name!r}, expected one of {sorted(_MEASURES)}.")
    return _MEASURES[name]


def marginal_risk(y_train: Target, times: FloatArray, event: int | None) -> FloatArray:
    """Return the risk without covariates by each time, constant after the last training time."""
    curve = aalen_johansen(y_train, event)
    return curve.at(np.minimum(times, curve.time[-1]))


def _at_each_horizon(metric: Callable[..., float]) -> Callable[..., FloatArray]:
    """Return the measure that evaluates a metric at one horizon after the other."""
    return lambda y_train, y_test, risk, horizons, event, **options: np.array(
        [
            metric(y_train, y_test, risk_at_time, time, event, **options)
            for risk_at_time, time in zip(risk.T, horizons.tolist(), strict=True)
        ]
    )


def _of_survival(score: Callable[..., Any], reference: str | None = None) -> Callable[..., Any]:
    """Return the measure of a risk by a score of survival.

    With the reference ``"marginal"`` it is the score of the marginal curve, with ``"scaled"`` the
    index of prediction accuracy, 1 - score / score of the marginal curve: 1 is perfect, 0 is no
    better than the marginal curve (Kattan and Gerds, 2018, doi:10.1186/s41512-018-0029-2).
    """

    def measure(
        y_train: Target,
        y_test: Target,
        risk: FloatArray,
        times: FloatArray,
        event: int,
        **options: Any,
    ) -> Any:
        if reference is None:
            return score(y_train, y_test, 1 - risk, times, event, **options)
        marginal = 1 - np.broadcast_to(marginal_risk(y_train, times, event), risk.shape)
        marginal_score = score(y_train, y_test, marginal, times, event)
        if reference == "marginal":
            return marginal_score
        return 1 - score(y_train, y_test, 1 - risk, times, event) / marginal_score

    return measure


def _observed_expected(
    y_train: Target, y_test: Target, risk: FloatArray, horizons: FloatArray, event: int
) -> FloatArray:
    """Return the Aalen-Johansen risk over the mean predicted risk; NaN beyond the follow-up."""
    is_reached = horizons <= y_test.time.max()
    observed_risk = np.where(is_reached, marginal_risk(y_test, horizons, event), np.nan)
    mean = risk.mean(axis=0)
    return np.divide(observed_risk, mean, out=np.full(len(mean), np.nan), where=mean > 0)


for _measure in (
    Measure(
        "concordance_td",
        "C^td",
        "higher",
        "horizon",
        _at_each_horizon(concordance_td),
        options=("competing", "compat"),
    ),
    Measure(
        "brier", "Brier score", "lower", "horizon", _of_survival(brier_score), options=("compat",)
    ),
    Measure("auc", "AUC", "higher", "horizon", auc_td, options=("compat",)),
    Measure(
        "integrated_brier",
        "integrated Brier score",
        "lower",
        "curve",
        _of_survival(integrated_brier_score),
        options=("compat",),
    ),
    Measure(
        "d_calibration",
        "D-calibration statistic",
        None,
        "own_time",
        lambda y_test, survival: d_calibration(y_test, survival).statistic,
        has_interval=False,
    ),
    Measure(
        "d_calibration_p",
        "D-calibration p-value",
        None,
        "own_time",
        lambda y_test, survival: d_calibration(y_test, survival).p_value,
        has_interval=False,
    ),
    Measure(
        "observed_expected",
        "observed / expected risk",
        None,
        "horizon",
        _observed_expected,
        standard=False,
    ),
    Measure(
        "ici",
        "ICI",
        "lower",
        "horizon",
        _at_each_horizon(lambda y_train, *arguments: integrated_calibration_index(*arguments)),
        standard=False,
    ),
    Measure(
        "marginal_brier",
        "Brier score, marginal curve",
        None,
        "horizon",
        _of_survival(brier_score, "marginal"),
        standard=False,
    ),
    Measure(
        "scaled_brier",
        "scaled Brier score",
        "higher",
        "horizon",
        _of_survival(brier_score, "scaled"),
        standard=False,
        percent=True,
    ),
    Measure(
        "integrated_marginal_brier",
        "integrated Brier score, marginal curve",
        None,
        "curve",
        _of_survival(integrated_brier_score, "marginal"),
        standard=False,
    ),
    Measure(
        "integrated_scaled_brier",
        "integrated scaled Brier score",
        "higher",
        "curve",
        _of_survival(integrated_brier_score, "scaled"),
        standard=False,
        percent=True,
    ),
):
    register_measure(_measure)


# Evaluation.


def evaluate(
    model: FittedSurvivalModel,
    y_train: TargetLike,
    X_test: TableLike,
    y_test: TargetLike,
    horizons: ArrayLike,
    *,
    measures: Sequence[str] | None = None,
    n_bootstrap: int = 0,
    random_state: int | np.random.Generator | None = 0,
    competing: Literal["censored", "wolbers"] = "censored",
    compat: Literal["sksurv"] | None = None,
) -> pd.DataFrame:
    """Measure a fitted model on test data: C^td, Brier score, AUC and summary measures.

    The standard measures are ``concordance_td``, ``brier`` and ``auc``, one value for each event
    type and horizon; ``integrated_brier``, one for each event type, from 0 to the last horizon
    (trapezoidal rule on 101 points); and, for one event type, ``d_calibration`` and
    ``d_calibration_p``, statistic and p-value, with the horizon NaN. ``measures`` may also name

    - ``observed_expected``: the observed risk by the horizon (Aalen-Johansen) over the mean
      predicted risk. 1 is right on average; above 1 the model predicts too few events.
    - ``ici``: the integrated calibration index, the mean absolute difference between the predicted
      risk and the observed risk of subjects with that prediction (a smooth calibration curve). 0
      is perfect.
    - ``scaled_brier``: 1 - Brier score / Brier score of the marginal curve, ``marginal_brier``;
      both also integrated, as ``integrated_scaled_brier`` and ``integrated_marginal_brier``.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``, both of shape (n, n_times); also a
        pipeline or search that ends with it.
    y_train : target
        Training data of the model; the censoring distribution is estimated from it.
    X_test : DataFrame or array of n rows
        Covariates of rows that the model was not fitted to.
    y_test : target
        n subjects, the target of the same rows.
    horizons : array-like of shape (h,)
        The risk at a horizon is one minus survival, or for competing risks the cumulative incidence
        of the event.
    measures : sequence of str, optional
        Names of registered measures; by default all standard ones (see ``registered_measures``).
    n_bootstrap : int, default 0
        With 2 or more, 95 % intervals (``metrics.bootstrap``) over that many resamples of the test
        subjects, with the model fixed.
    random_state : int, Generator or None, default 0
        Random seed of the resamples; every measure uses the same ones.
    competing : {"censored", "wolbers"}, default "censored"
        As in ``concordance_td``.
    compat : {"sksurv"}, optional
        The definitions of scikit-survival, for every measure that has them.

    Returns
    -------
    DataFrame
        Columns ``metric``, ``event``, ``horizon``, ``value``, with ``n_bootstrap`` also ``lower``
        and ``upper``, NaN for test statistics and p-values; one row per value. What the data cannot
        determine is NaN, with a warning.

    See Also
    --------
    register_measure : add a measure of your own to the table.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import CoxPH
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = make_target(rng.exponential(np.exp(-X[:, 0])), np.ones(200, int))
    >>> model = CoxPH().fit(X[:100], y[:100])
    >>> table = metrics.evaluate(model, y[:100], X[100:], y[100:], [0.5, 1.0])
    >>> table.loc[table["metric"] == "concordance_td", "value"].round(1).tolist()
    [0.7, 0.7]
    """
    standard = [measure.name for measure in registered_measures() if measure.standard]
    measure_list = [measure_named(name) for name in (standard if measures is None else measures)]
    model, X_test = final_model(model, X_test)
    refuse_paths(y_test, "y_test")
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    times = np.sort(check_times(horizons, "horizons"))
    options = {"competing": competing, "compat": compat}
    Whole(0)("n_bootstrap", n_bootstrap)
    n_events = max(train.n_events, test.n_events, int(getattr(model, "n_events_", 1)))
    # The risk at 0 is 0; models are asked for distinct times in ascending order.
    grid = np.linspace(0, times[-1], _N_GRID)
    all_times, index = np.unique(np.concatenate([times, grid[1:]]), return_inverse=True)
    risks = predicted_risks(model, X_test, all_times, n_events)[:, :, index]
    at_horizons = risks[:, :, : len(times)]
    on_grid = np.insert(risks[:, :, len(times) :], 0, 0.0, axis=2)
    curve_measures = [measure for measure in measure_list if measure.kind != "own_time"]
    tasks = [(measure, event) for event in range(1, n_events + 1) for measure in curve_measures]
    own_survival = np.empty(0)
    if n_events == 1 and len(curve_measures) < len(measure_list):
        tasks += [(measure, 1) for measure in measure_list if measure.kind == "own_time"]
        own_survival = survival_at_own_time(model, X_test, test)

    def values(tasks: list[tuple[Measure, int]], y: Target, rows: IndexArray) -> FloatArray:
        results: list[Any] = []
        for measure, event in tasks:
            settings = {name: options[name] for name in measure.options}
            if measure.kind == "own_time":
                result = measure.function(y, own_survival[rows])
            else:
                risk, at = (at_horizons, times) if measure.kind == "horizon" else (on_grid, grid)
                risk = risk[event - 1, rows]
                result = measure.function(train, y, risk, at, event, **settings)
            results.append(np.atleast_1d(result))
        return np.concatenate([np.empty(0), *results]).astype(np.float64)

    labels = {"horizon": times, "curve": times[-1:], "own_time": np.full(1, np.nan)}
    keys = [(m.name, event, float(t)) for m, event in tasks for t in labels[m.kind]]
    table = pd.DataFrame(keys, columns=["metric", "event", "horizon"])
    rows = np.arange(len(test))
    table["value"] = values(tasks, test, rows)
    if n_bootstrap:
        metric = partial(values, [task for task in tasks if task[0].has_interval])
        has_interval = [measure_named(name).has_interval for name in table["metric"]]
        limits = limits_of_values(
            metric, test, rows, n_resamples=n_bootstrap, random_state=random_state
        )
        table.loc[has_interval, "lower"], table.loc[has_interval, "upper"] = limits
    return table


def mean_concordance(
    risk: Callable[[FloatArray, int], ArrayLike], y_train: TargetLike, y: TargetLike
) -> float:
    """Return the mean C^td over event types and the quartiles of their training times.

    It is the ``score`` of every model.

    The intervals of paths are compared as ``concordance`` does it: at the time of each event up to
    the quartile, those at risk by the covariates that hold then, without weights.

    Parameters
    ----------
    risk : callable
        From times and an event type to the predicted risk of every row of ``y``, of shape (n,
        n_times).
    y_train : target
        Training data; it gives the horizons and the censoring distribution.
    y : target
        n subjects, the target of the rows that are predicted.

    Returns
    -------
    float
        Between 0 and 1, 0.5 by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1])
    >>> risk = np.array([[4], [3], [2], [1]])
    >>> metrics.mean_concordance(lambda times, event: np.tile(risk, len(times)), y, y)
    1.0
    """
    train, test = as_target(y_train), as_target(y)
    values = []
    for event in range(1, train.n_events + 1):
        times = event_quantiles(train, event=event)
        predicted = np.asarray(risk(times, event))
        for t, column in zip(times.tolist(), predicted.T, strict=True):
            if test.path is None:
                values.append(concordance_td(train, test, column, t, event))
            else:
                values.append(concordance(test, column, event, horizon=t))
    return float(np.mean(values))
