"""One call, one table: a fitted model measured on test data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import FittedSurvivalModel, FloatArray
from ..checks import Choice, Whole, check_times
from ..errors import LifemixWarning
from ..splits import horizons as event_quantiles
from ..target import Target, TargetLike, as_target
from .concordance import concordance, concordance_td
from .inputs import observed, refuse_paths
from .measures import Measure, measure_named, registered_measures
from .predictions import predicted_risks, survival_at_own_time
from .resampling import bootstrap

if TYPE_CHECKING:
    from ..preprocessing import TableLike  # imports scikit-learn

__all__ = ["evaluate", "mean_concordance"]

_GRID = 101


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
    """Measure a fitted model on test data: concordance, Brier score and AUC at each horizon, and summary measures.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``, both of shape (n, n_times).
    y_train : target
        Training data of the model; the censoring distribution is estimated from it.
    X_test : DataFrame or array of n rows
        Covariates of rows that the model was not fitted to.
    y_test : target
        n subjects, the target of the same rows.
    horizons : array-like of shape (h,)
        The risk at a horizon is one minus survival, or for competing risks the cumulative incidence of the event.
    measures : sequence of str, optional
        Names of registered measures; by default all standard ones (see ``registered_measures``).
    n_bootstrap : int, default 0
        With 2 or more, 95 % intervals (``metrics.bootstrap``) over that many resamples of the test subjects, with the
        model fixed.
    random_state : int, Generator or None, default 0
        Random seed of the resamples; every measure uses the same ones.
    competing : {"censored", "wolbers"}, default "censored"
        As in ``concordance_td``.
    compat : {"sksurv"}, optional
        The definitions of scikit-survival, for every measure that has them.

    Returns
    -------
    DataFrame
        Columns ``metric``, ``event``, ``horizon``, ``value``, with ``n_bootstrap`` also ``lower`` and ``upper``; one
        row per value. ``concordance``, ``brier`` and ``auc`` have one for each event type and horizon;
        ``integrated_brier`` one for each event type, from 0 to the last horizon (trapezoidal rule on 101 points);
        ``d_calibration`` and ``d_calibration_p`` (statistic and p-value, horizon NaN) are there for one event type.
        What the data cannot determine is NaN, with a warning.

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
    >>> table.loc[table["metric"] == "concordance", "value"].round(1).tolist()
    [0.7, 0.7]
    """
    chosen = (
        [m for m in registered_measures() if m.standard]
        if measures is None
        else list(map(measure_named, measures))
    )
    refuse_paths(y_test, "y_test")
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    times = np.sort(check_times(horizons, "horizons"))
    Choice("censored", "wolbers")("competing", competing)
    Choice(None, "sksurv")("compat", compat)
    Whole(0)("n_bootstrap", n_bootstrap)
    material = _Material(
        model, train, X_test, test, times, {"competing": competing, "compat": compat}
    )
    seed = (
        random_state
        if isinstance(random_state, int)
        else int(np.random.default_rng(random_state).integers(2**63))
    )
    rows: list[tuple[Any, ...]] = []
    for event in range(1, material.n_events + 1):
        for measure in chosen:
            if measure.kind != "own_time":
                rows += _rows(measure, event, *material.measured(measure, event), n_bootstrap, seed)
    for measure in chosen:
        if measure.kind == "own_time" and material.n_events == 1:
            rows += _rows(measure, 1, *material.measured(measure, 1), n_bootstrap, seed)
    columns = ["metric", "event", "horizon", "value"] + (["lower", "upper"] if n_bootstrap else [])
    return pd.DataFrame(rows, columns=columns)


def mean_concordance(
    risk: Callable[[FloatArray, int], ArrayLike], y_train: TargetLike, y: TargetLike
) -> float:
    """Return the mean C^td over event types and the quartiles of their training times: the ``score`` of every model.

    The intervals of paths are compared as ``concordance`` does it: at the time of each event up to the quartile, those
    at risk by the covariates that hold then, without weights.

    Parameters
    ----------
    risk : callable
        From times and an event type to the predicted risk of every row of ``y``, of shape (n, n_times).
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
    >>> metrics.mean_concordance(lambda times, event: np.tile([[4], [3], [2], [1]], len(times)), y, y)
    1.0
    """
    train, test = as_target(y_train), as_target(y)
    values = []
    for event in range(1, train.n_events + 1):
        times = event_quantiles(train, event=event)
        predicted = np.asarray(risk(times, event))
        for i, t in enumerate(times.tolist()):
            if test.path is None:
                values.append(concordance_td(train, test, predicted[:, i], t, event))
            else:
                values.append(concordance(test, predicted[:, i], event, horizon=t))
    return float(np.mean(values))


@dataclass(eq=False)
class _Material:
    """What the measures are functions of; the model is asked once for each event type's curve."""

    model: FittedSurvivalModel
    train: Target
    X: TableLike
    test: Target
    times: FloatArray
    options: dict[str, Any]

    def __post_init__(self) -> None:
        self.n_events = max(
            self.train.n_events, self.test.n_events, int(getattr(self.model, "n_events_", 1))
        )
        self.grid = np.linspace(0, self.times[-1], _GRID)
        # At 0 the risk is 0, whatever the model; models are asked for times in order.
        wanted, place = np.unique(np.concatenate([self.times, self.grid[1:]]), return_inverse=True)
        self.risks = predicted_risks(self.model, self.X, wanted, self.n_events)[:, :, place]
        self._own: FloatArray | None = None

    def measured(
        self, measure: Measure, event: int
    ) -> tuple[Callable[..., Any], Target, FloatArray, FloatArray]:
        """Return the measure as a function of test rows and predictions, both of these, and its horizons."""
        if measure.kind == "own_time":
            if self._own is None:
                self._own = survival_at_own_time(self.model, self.X, self.test)
            return (
                lambda y, own: [measure.function(y, own)],
                self.test,
                self._own,
                np.array([np.nan]),
            )
        options = {name: self.options[name] for name in measure.options}
        risk = self.risks[event - 1]
        if measure.kind == "horizon":
            at = self.times

            def at_horizons(y: Target, risk: FloatArray) -> Any:
                return measure.function(self.train, y, risk, at, event, **options)

            return at_horizons, self.test, risk[:, : len(at)], at
        on_grid = np.hstack([np.zeros((len(risk), 1)), risk[:, len(self.times) :]])

        def on_the_grid(y: Target, risk: FloatArray) -> Any:
            return [measure.function(self.train, y, risk, self.grid, event, **options)]

        return on_the_grid, self.test, on_grid, self.times[-1:]


def _rows(
    measure: Measure,
    event: int,
    function: Callable[..., Any],
    test: Target,
    prediction: FloatArray,
    horizons: FloatArray,
    n_bootstrap: int,
    seed: int,
) -> Iterator[tuple[Any, ...]]:
    values = np.asarray(function(test, prediction), dtype=np.float64)
    limits: list[FloatArray] = []
    if n_bootstrap:
        limits = list(_limits(function, test, prediction, values, n_bootstrap, seed))
    for place, horizon in enumerate(horizons):
        yield (
            measure.name,
            event,
            float(horizon),
            float(values[place]),
            *(float(limit[place]) for limit in limits),
        )


def _limits(
    function: Callable[..., Any],
    test: Target,
    prediction: FloatArray,
    values: FloatArray,
    n_bootstrap: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the bootstrap interval; NaN where the measure itself has no value."""
    known = np.isfinite(values)
    lower, upper = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    if known.any() and n_bootstrap >= 2:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LifemixWarning
            )  # the measure itself has said what it cannot give
            found = bootstrap(
                lambda y, drawn: np.asarray(function(y, drawn), dtype=np.float64)[known],
                test,
                prediction,
                n_resamples=n_bootstrap,
                random_state=seed,
            )
        lower[known], upper[known] = found.lower, found.upper
    return lower, upper
