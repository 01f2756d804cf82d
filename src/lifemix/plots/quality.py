"""Quality over time and by landmark, and the curve of one subject from visit to visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..errors import InputError
from ..metrics import brier_score, concordance_td
from ..metrics.evaluation import marginal_risk
from ..target import TargetLike, as_target
from ._axes import (
    GREY,
    check_curves,
    check_grid,
    empty_axes,
    legend_beside,
    line_format,
    named,
    probability_axis,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["brier_over_time", "concordance_over_time", "landmark_quality", "updated_curves"]

_LABELS = {
    "concordance_td": "concordance Cᵗᵈ (higher is better)",
    "auc": "AUC (higher is better)",
    "brier": "Brier score (lower is better)",
    "ici": "calibration index (lower is better)",
}
_REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "zorder": 1}


def brier_over_time(
    y_train: TargetLike,
    y_test: TargetLike,
    survival: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    event: int | None = None,
    *,
    reference: bool = True,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Brier score at each time; lower is better.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution and the reference are estimated from it.
    y_test : target
        n subjects, observed from the origin.
    survival : array-like of shape (n, m), or dict of name to such an array
        Predicted survival at the times, of one or of several models; with ``event=m`` one minus the
        cumulative incidence.
    times : array-like of shape (m,)
        Increasing times.
    event : int, optional
        The event type; None for events of any type.
    reference : bool, default True
        Also draw, in grey, a model without covariates: the Kaplan-Meier (Aalen-Johansen) curve of
        ``y_train`` as the prediction for everyone. A model above it has learned nothing.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into. Where the score is NaN there is a gap.

    See Also
    --------
    lifemix.metrics.brier_score : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> survival = [[0.5, 0.2], [0.8, 0.4], [0.9, 0.7], [0.9, 0.8]]
    >>> ax = plots.brier_over_time(y, y, {"DSM": survival}, [1.5, 2.5])
    >>> [line.get_label() for line in ax.lines]
    ['DSM', 'no covariates']
    """
    grid = check_grid(times)
    axes = empty_axes(ax)
    for number, (name, values) in enumerate(named(survival).items()):
        predicted = check_curves(values, len(grid), "survival")
        scores = brier_score(y_train, y_test, predicted, grid, event)
        axes.plot(grid, scores, label=name, **line_format(number))
    if reference:
        marginal = 1 - marginal_risk(as_target(y_train), grid, event)
        same_for_all = np.tile(marginal, (len(as_target(y_test).joined()), 1))
        scores = brier_score(y_train, y_test, same_for_all, grid, event)
        axes.plot(grid, scores, label="no covariates", **_REFERENCE)
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(_LABELS["brier"])
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return axes


def concordance_over_time(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    event: int = 1,
    *,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw C^td, the share of comparable pairs ranked correctly up to each time.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    risk : array-like of shape (n, m), or dict of name to such an array
        Risk of each subject at each time, such as one minus survival or the cumulative incidence; a
        risk score that is the same at all times may be (n, 1).
    times : array-like of shape (m,)
        Increasing times.
    event : int, default 1
        The event type.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into. Where the concordance is NaN there is a gap.

    See Also
    --------
    lifemix.metrics.concordance_td : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> ax = plots.concordance_over_time(y, y, [[3.0], [2.0], [1.0], [0.5]], [1.5, 2.5])
    >>> ax.lines[0].get_ydata()
    array([1., 1.])
    """
    grid = check_grid(times)
    axes = empty_axes(ax)
    for number, (name, values) in enumerate(named(risk).items()):
        risks = np.asarray(values)
        if risks.ndim == 2 and risks.shape[1] == 1:
            risks = np.repeat(risks, len(grid), axis=1)
        risks = check_curves(risks, len(grid), "risk")
        scores = [
            concordance_td(y_train, y_test, risk_at_time, time, event)
            for time, risk_at_time in zip(grid.tolist(), risks.T, strict=True)
        ]
        axes.plot(grid, scores, label=name, **line_format(number))
    axes.axhline(0.5, label="by chance", **_REFERENCE)
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(_LABELS["concordance_td"])
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.48), min(max(high, 0.52), 1.0))
    legend_beside(axes)
    return axes


def landmark_quality(
    table: pd.DataFrame | Mapping[str, pd.DataFrame],
    metric: str = "auc",
    *,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a measure of one or several models by landmark.

    Parameters
    ----------
    table : DataFrame or dict of DataFrame
        What ``metrics.evaluate_landmarks`` returns, or such tables by name of model.
    metric : str, default "auc"
        Which of its measures.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix import plots
    >>> table = pd.DataFrame({"landmark": [1.0, 3.0], "window": 2.0, "value": [0.8, 0.85]})
    >>> table["metric"] = "auc"
    >>> ax = plots.landmark_quality({"Cox": table, "DSM": table}, time_unit="years")
    >>> ax.get_xlabel()
    'landmark s (years), window of 2 years'
    """
    tables = {name: _landmark_rows(frame, metric) for name, frame in named(table).items()}
    axes = empty_axes(ax)
    width = max(float(np.ptp(rows["landmark"])) for rows in tables.values()) or 1.0
    for number, (name, rows) in enumerate(tables.items()):
        # Shifted a little, so that intervals do not hide each other.
        x = rows["landmark"] + (number - (len(tables) - 1) / 2) * width * 0.012
        style = line_format(number)
        label = name if len(tables) > 1 else None
        axes.plot(x, rows["value"], marker="o", markersize=5, label=label, **style)
        if {"lower", "upper"} <= set(rows.columns):
            axes.vlines(x, rows["lower"], rows["upper"], color=style["color"], linewidth=1.2)
    if metric in ("auc", "concordance_td"):
        axes.axhline(0.5, label="by chance", **_REFERENCE)
    windows = sorted({float(window) for rows in tables.values() for window in rows["window"]})
    xlabel = f"landmark s ({time_unit})" if time_unit else "landmark s"
    if len(windows) == 1:
        xlabel += f", window of {windows[0]:g}{f' {time_unit}' if time_unit else ''}"
    axes.set(xlabel=xlabel, ylabel=_LABELS.get(metric, metric))
    legend_beside(axes)
    return axes


def updated_curves(
    distributions: Sequence[Any],
    visits: ArrayLike,
    times: ArrayLike,
    *,
    values: Sequence[Any] | None = None,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the survival curves of one subject, each given survival to a visit.

    A curve is drawn strongly until the next visit replaces it, and faintly beyond.

    Parameters
    ----------
    distributions : sequence of distributions
        What the model predicts from what is known at each visit:
        ``model.predict_distribution(rows[[i]])`` for the i-th row, each of one subject.
    visits : array-like of shape (n_visits,)
        The times of the visits, ascending.
    times : array-like of shape (m,)
        Times at which curves are drawn; the last one is the end of the picture.
    values : sequence of n_visits, optional
        What was found at each visit, for the legend, such as a measurement.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets, plots
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(), max_epochs=1).fit(data.X[:300], data.y[:300])
    >>> predicted = [model.predict_distribution(data.X[i : i + 1]) for i in (300, 301)]
    >>> ax = plots.updated_curves(predicted, [0, 24], range(0, 120, 12), time_unit="months")
    >>> ax.get_legend().get_title().get_text()
    'from the visit at'
    """
    starts, grid = check_grid(visits, "visits"), check_grid(times)
    n_rows = [len(distribution) for distribution in distributions]
    if n_rows != [1] * len(starts) or (values is not None and len(values) != len(starts)):
        raise InputError(
            f"each of the {len(starts)} visits needs one distribution of one row, such as "
            f"distribution[i], and one value; got distributions of {n_rows} rows and {values}."
        )
    axes = empty_axes(ax)
    ends = [*starts[1:].tolist(), np.inf]
    visit_intervals = zip(distributions, starts.tolist(), ends, strict=True)
    for number, (distribution, start, end) in enumerate(visit_intervals):
        conditional = distribution.given(start)
        style = line_format(number)
        later = np.append(start, grid[grid > start])
        axes.plot(
            later, conditional.survival(later)[0], **style | {"linewidth": 1.0, "alpha": 0.45}
        )
        valid = np.unique(np.append(later[later <= end], min(end, grid[-1])))
        label = f"{start:g}" if values is None else f"{start:g}: {values[number]}"
        axes.plot(valid, conditional.survival(valid)[0], label=label, **style | {"linewidth": 2.4})
        axes.plot(start, 1.0, marker="o", markersize=6, color=style["color"], clip_on=False)
        if number:
            axes.axvline(start, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, "survival given survival to the visit")
    legend_beside(axes, "from the visit at")
    return axes


def _landmark_rows(table: Any, metric: str) -> pd.DataFrame:
    columns = list(table.columns) if isinstance(table, pd.DataFrame) else []
    if not {"landmark", "window", "metric", "value"} <= set(columns):
        raise InputError(
            "a table must be what metrics.evaluate_landmarks returns; "
            f"got {columns or type(table).__name__}."
        )
    rows: pd.DataFrame = table[table["metric"] == metric].sort_values("landmark")
    if rows.empty:
        raise InputError(
            f"metric must be one of {sorted(table['metric'].unique())}; got {metric!r}."
        )
    return rows
