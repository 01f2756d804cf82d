"""Predictions that are updated: quality by landmark, and the curve of one subject from visit to visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import check_times
from ..errors import InputError
from .inputs import check_grid, named
from .style import colour, empty_axes, legend_beside, line_style, probability_axis, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["landmark_quality", "updated_curves"]

_GREY = "#767676"
_NAMES = {
    "concordance": "concordance Cᵗᵈ (higher is better)",
    "auc": "AUC (higher is better)",
    "brier": "Brier score (lower is better)",
    "calibration": "calibration index (lower is better)",
}


class _Distributions(Protocol):
    """What ``predict_distribution`` returns, as far as it is used here."""

    def __len__(self) -> int: ...

    def given(self, s: ArrayLike) -> Self: ...

    def survival(self, t: ArrayLike) -> FloatArray: ...


def landmark_quality(
    table: pd.DataFrame | Mapping[str, pd.DataFrame],
    metric: str = "auc",
    *,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a measure of one or more models by landmark, with confidence intervals where the table has them.

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
    >>> table = pd.DataFrame({"landmark": [1.0, 3.0], "window": 2.0, "metric": "auc", "value": [0.8, 0.85]})
    >>> ax = plots.landmark_quality({"Cox": table, "DSM": table}, time_unit="years")
    >>> ax.get_xlabel()
    'landmark s (years), window of 2 years'
    """
    tables = {name: _rows(frame, metric) for name, frame in named(table, "model").items()}
    axes = empty_axes(ax)
    width = max(float(np.ptp(rows["landmark"])) for rows in tables.values()) or 1.0
    for number, (name, rows) in enumerate(tables.items()):
        aside = (
            (number - (len(tables) - 1) / 2) * width * 0.012
        )  # so that intervals do not hide each other
        at, value = rows["landmark"].to_numpy() + aside, rows["value"].to_numpy()
        style: dict[str, Any] = {
            "color": colour(number),
            "linestyle": line_style(number),
            "linewidth": 1.8,
        }
        axes.plot(
            at, value, marker="o", markersize=5, label=name if len(tables) > 1 else None, **style
        )
        if {"lower", "upper"} <= set(rows.columns):
            axes.vlines(at, rows["lower"], rows["upper"], color=colour(number), linewidth=1.2)
    if metric in ("auc", "concordance"):
        axes.axhline(0.5, color=_GREY, linestyle="--", linewidth=1.2, zorder=1, label="by chance")
    windows = sorted({float(value) for rows in tables.values() for value in rows["window"]})
    unit = f" {time_unit}" if time_unit else ""
    window = f", window of {windows[0]:g}{unit}" if len(windows) == 1 else ""
    axes.set_xlabel(f"landmark s ({time_unit}){window}" if time_unit else f"landmark s{window}")
    axes.set_ylabel(_NAMES.get(metric, metric))
    legend_beside(axes)
    return axes


def updated_curves(
    distributions: Sequence[_Distributions],
    visits: ArrayLike,
    times: ArrayLike,
    *,
    values: Sequence[Any] | None = None,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the survival curve of one subject is updated: from each visit on, given survival to it.

    A curve is drawn strongly until the next visit replaces it, and faintly beyond.

    Parameters
    ----------
    distributions : sequence of distributions
        What the model predicts from what is known at each visit: ``model.predict_distribution(rows[[i]])`` for the i-th
        row, each of one subject.
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
    at, grid = check_times(visits, "visits"), check_grid(times)
    _check_visits(distributions, at, values)
    axes = empty_axes(ax)
    for number, (one, start) in enumerate(zip(distributions, at.tolist(), strict=True)):
        shown = np.concatenate([[start], grid[grid > start]])
        curve = one.given(start).survival(shown)[0]
        end = at[number + 1] if number + 1 < len(at) else np.inf
        style: dict[str, Any] = {"color": colour(number), "linestyle": line_style(number)}
        label = f"{start:g}" if values is None else f"{start:g}: {values[number]}"
        axes.plot(shown, curve, linewidth=1.0, alpha=0.45, **style)
        valid = np.unique(np.append(shown[shown <= end], min(end, grid[-1])))
        axes.plot(valid, one.given(start).survival(valid)[0], linewidth=2.4, label=label, **style)
        axes.plot(start, 1.0, marker="o", markersize=6, color=colour(number), clip_on=False)
        if number:
            axes.axvline(start, color=_GREY, linewidth=0.8, linestyle=":", zorder=1)
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, "survival given survival to the visit")
    legend_beside(axes, "from the visit at")
    return axes


def _rows(table: Any, metric: str) -> pd.DataFrame:
    if not isinstance(table, pd.DataFrame) or not {"landmark", "window", "metric", "value"} <= set(
        table.columns
    ):
        got = list(table.columns) if isinstance(table, pd.DataFrame) else type(table).__name__
        raise InputError(f"a table must be what metrics.evaluate_landmarks returns; got {got}.")
    rows = table[table["metric"] == metric].sort_values("landmark")
    if not len(rows):
        raise InputError(
            f"metric must be one of {sorted(table['metric'].unique())}; got {metric!r}."
        )
    return rows


def _check_visits(
    distributions: Sequence[_Distributions], visits: FloatArray, values: Sequence[Any] | None
) -> None:
    if len(distributions) != len(visits) or (values is not None and len(values) != len(visits)):
        counts = f"{len(distributions)} distributions" + (
            f", {len(values)} values" if values is not None else ""
        )
        raise InputError(
            f"each visit needs one distribution (and one value); got {len(visits)} visits, {counts}."
        )
    if (np.diff(visits) <= 0).any():
        raise InputError(
            f"visits must ascend; got {visits.tolist()}. Sort them with their distributions."
        )
    sizes = [len(one) for one in distributions]
    if set(sizes) != {1}:
        raise InputError(
            f"each distribution must be of one subject; got {sizes} rows. Take one row: distribution[i]."
        )
