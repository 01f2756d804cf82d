"""Features: their means in each component, and their importance over time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.preprocessing import StandardScaler

from ..checks import as_array, as_pandas
from ..errors import CovariateError, InputError
from ..preprocessing import TableLike
from ._axes import (
    GREY,
    check_curves,
    check_grid,
    check_labels,
    check_spread,
    draw_spread,
    empty_axes,
    legend_beside,
    line_format,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["coefficients", "importance_over_time", "phenotype_means", "phenotypes"]


def coefficients(summary: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw hazard ratios with their confidence intervals on a logarithmic axis (a forest plot).

    Parameters
    ----------
    summary : DataFrame
        The ``summary`` of a model, or some of its rows; one colour per event type. Rows without a
        hazard ratio are left out, limits of reference levels are not drawn.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    See Also
    --------
    lifemix.baselines.CoxPH.summary : what is drawn.

    Examples
    --------
    >>> from lifemix import datasets, plots
    >>> from lifemix.baselines import CoxPH
    >>> data = datasets.load_support()
    >>> model = CoxPH().fit(data.X[["age", "sex"]], data.y)
    >>> ax = plots.coefficients(model.summary)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'sex = female (reference)', 'sex = male']
    """
    needed = {"column", "level", "hazard_ratio", "standard_error", "lower", "upper"}
    absent = sorted(needed - set(getattr(summary, "columns", [])))
    if absent:
        raise InputError(f"summary must be what model.summary returns; missing columns {absent}.")
    labels = summary["column"] + (" = " + summary["level"]).where(summary["level"] != "", "")
    labels = labels.mask(summary["standard_error"] == 0, labels + " (reference)")
    has_ratio = labels.isin(labels[summary["hazard_ratio"].notna()])
    if not has_ratio.any():
        raise InputError("summary must have a row with a hazard ratio; got none.")
    table = summary[has_ratio]
    row, names = pd.factorize(labels[has_ratio])
    is_reference = table["standard_error"] == 0
    events = table["event"] if "event" in table else pd.Series(1, index=table.index)
    axes = empty_axes(ax, 7.0, 1.2 + 0.3 * len(names))
    for number, event in enumerate(events.unique()):
        height = row + 0.25 * (number - (events.nunique() - 1) / 2)
        colour = line_format(number)["color"]
        for is_drawn, face in ((~is_reference, colour), (is_reference, "white")):
            drawn = (is_drawn & (events == event)).to_numpy()
            ratio, y = table["hazard_ratio"][drawn], height[drawn]
            label = f"event {event}" if face == colour and events.nunique() > 1 else None
            axes.plot(ratio, y, "o", color=colour, markerfacecolor=face, markersize=5, label=label)
            axes.hlines(y, table["lower"][drawn], table["upper"][drawn], color=colour)
    axes.axvline(1, color=GREY, linewidth=1, zorder=1)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set(xscale="log", ylim=(len(names) - 0.5, -0.5), xlabel="hazard ratio (95 % interval)")
    low, high = axes.get_xlim()
    if high < 5 * low:  # a logarithmic axis would have one tick or none
        axes.xaxis.set_major_locator(import_module("matplotlib.ticker").AutoLocator())
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:g}")
    legend_beside(axes)
    return axes


def phenotypes(
    X: TableLike,
    weights: ArrayLike,
    *,
    features: int = 15,
    labels: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of each feature in each component, relative to the overall mean.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
        The covariates, as the model took them.
    weights : array-like of shape (n, k)
        The gate: ``model.predict_distribution(X).net(event).weights``.
    features : int, default 15
        How many features are drawn, those that differ most between components.
    labels : sequence of k names, optional
        One name per component.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    See Also
    --------
    phenotype_means : what is drawn, in standard deviations.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix import plots
    >>> X = pd.DataFrame({"age": [40.0, 50.0, 60.0, 70.0], "sex": ["f", "m", "m", "f"]})
    >>> gate = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]
    >>> ax = plots.phenotypes(X, gate)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'sex = f', 'sex = m']
    """
    table = phenotype_means(X, weights)
    shares = np.asarray(weights, dtype=np.float64).mean(axis=0)
    names = check_labels(labels, [str(number) for number in range(1, len(shares) + 1)])
    spread = table.max(axis=1) - table.min(axis=1)
    table = table.loc[spread.sort_values(ascending=False, kind="stable").index[:features]]
    means = table.to_numpy()
    axes = empty_axes(ax, 2.6 + 0.85 * len(shares), 1.4 + 0.3 * len(table))
    limit = max(float(np.abs(means).max()), 0.1)
    image = axes.imshow(means, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_yticks(range(len(table)), [str(name) for name in table.index])
    tick_labels = [f"{name}\n{share:.0%}" for name, share in zip(names, shares, strict=True)]
    axes.set_xticks(range(len(shares)), tick_labels)
    axes.set_xlabel("component, with its mean weight")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), mean in np.ndenumerate(means):
        colour = "white" if abs(mean) > 0.6 * limit else "black"
        text = f"{mean:+.1f}" if abs(mean) >= 0.05 else "0"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)
    label = "standard deviations\nfrom the overall mean"
    axes.figure.colorbar(image, cax=axes.inset_axes((1.03, 0.1, 0.03, 0.8)), label=label)
    return axes


def phenotype_means(X: TableLike, weights: ArrayLike) -> pd.DataFrame:
    """Return the weighted mean of each standardised feature in each component.

    ``m_jk = sum_i w_ik z_ij / sum_i w_ik`` with ``z`` the feature minus its mean, over its standard
    deviation. Categories become one 0/1 column per level, missing values are left out of all sums,
    and features that do not vary are 0.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
        The covariates, as the model took them.
    weights : array-like of shape (n, k)
        The gate: ``model.predict_distribution(X).net(event).weights``.

    Returns
    -------
    DataFrame
        One row per feature, one column per component 1..k.

    Examples
    --------
    >>> from lifemix import plots
    >>> print(plots.phenotype_means([[1.0], [3.0]], [[1.0, 0.0], [0.0, 1.0]]))
          1    2
    x0 -1.0  1.0
    """
    table = _numeric_table(X)
    gate = np.asarray(weights, dtype=np.float64)
    if gate.ndim != 2 or len(gate) != len(table) or not np.allclose(gate.sum(axis=1), 1, atol=1e-5):
        raise InputError(
            f"weights must have one row per subject, ({len(table)}, k), each adding up to 1; "
            f"got shape {gate.shape}."
        )
    z = np.asarray(StandardScaler().fit_transform(table))
    weight_sums = gate.T @ ~np.isnan(z)  # [k, n_features]
    means = np.divide(
        gate.T @ np.nan_to_num(z),
        weight_sums,
        out=np.zeros_like(weight_sums),
        where=weight_sums > 0,
    )
    return pd.DataFrame(means.T, index=table.columns, columns=range(1, gate.shape[1] + 1))


def importance_over_time(
    times: ArrayLike,
    importance: ArrayLike,
    std: ArrayLike | None = None,
    *,
    features: Sequence[Any],
    show: int = 7,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much the Brier score rises at each time when a feature is shuffled.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    importance : array-like of shape (d, m)
        The ``mean`` of ``metrics.permutation_importance``.
    std : array-like of shape (d, m), optional
        Its ``std``; drawn as a band to each side.
    features : sequence of d names
        One name per row.
    show : int, default 7
        How many features, those of largest mean importance, have a line.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    See Also
    --------
    lifemix.metrics.permutation_importance : what is drawn.

    Examples
    --------
    >>> from lifemix import plots
    >>> importance = [[0.00, 0.01], [0.03, 0.05]]
    >>> ax = plots.importance_over_time([1.0, 2.0], importance, features=["sex", "age"])
    >>> ax.lines[0].get_label()
    'age'
    """
    grid = check_grid(times)
    curves = check_curves(importance, len(grid), "importance")
    spread = check_spread(std, curves.shape)
    names = check_labels(features, [None] * len(curves), "features")
    axes = empty_axes(ax)
    by_importance = np.argsort(-np.nanmean(curves, axis=1), kind="stable")
    for number, row in enumerate(by_importance[:show]):
        style = line_format(number)
        axes.plot(grid, curves[row], label=names[row], **style)
        if spread is not None:
            draw_spread(axes, grid, curves[row], spread[row], style["color"])
    axes.axhline(0, color=GREY, linewidth=1, zorder=1)
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel("rise of the Brier score when shuffled")
    legend_beside(axes)
    return axes


def _numeric_table(X: TableLike) -> pd.DataFrame:
    """Return the table with one column per number and one 0/1 column per level of a category."""
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(as_array(X))
        if array.ndim != 2:
            raise CovariateError(f"X must be a table of two dimensions; got shape {array.shape}.")
        X = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])]).infer_objects()
    columns: list[pd.DataFrame | pd.Series[float]] = []
    for name, column in X.items():
        if pd.api.types.is_numeric_dtype(column):
            columns.append(column.astype(np.float64).rename(str(name)))
        else:
            categories = column.astype("object")
            levels = pd.get_dummies(categories, prefix=str(name), prefix_sep=" = ", dtype=float)
            levels[column.isna().to_numpy()] = np.nan
            columns.append(levels)
    return pd.concat(columns, axis=1)
