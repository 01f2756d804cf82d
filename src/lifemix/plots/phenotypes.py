"""Phenotypes: the features that characterise the subjects of each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..checks import as_array, as_pandas
from ..errors import CovariateError, InputError
from ..preprocessing import TableLike
from .inputs import check_labels
from .style import empty_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["phenotype_means", "phenotypes"]


def phenotypes(
    X: TableLike,
    weights: ArrayLike,
    *,
    features: int = 15,
    labels: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw, for each component, how far the mean of each feature among its subjects is from the overall mean.

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
    names = check_labels(labels, len(shares)) or [
        str(number) for number in range(1, len(shares) + 1)
    ]
    spread = table.max(axis=1) - table.min(axis=1)
    shown = table.loc[spread.sort_values(ascending=False, kind="stable").index[:features]]
    axes = empty_axes(ax, 2.6 + 0.85 * len(shares), 1.4 + 0.3 * len(shown))
    limit = max(float(np.abs(shown.to_numpy()).max()), 0.1)
    image = axes.imshow(shown.to_numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_yticks(range(len(shown)), [str(name) for name in shown.index])
    axes.set_xticks(
        range(len(shares)),
        [f"{name}\n{share:.0%}" for name, share in zip(names, shares, strict=True)],
    )
    axes.set_xlabel("component, with its mean weight")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), value in np.ndenumerate(shown.to_numpy()):
        dark = abs(value) > 0.6 * limit
        text = f"{value:+.1f}" if abs(value) >= 0.05 else "0"
        axes.text(
            j, i, text, ha="center", va="center", fontsize=8, color="white" if dark else "black"
        )
    axes.figure.colorbar(
        image, ax=axes, shrink=0.7, label="mean, in standard deviations from everyone's"
    )
    return axes


def phenotype_means(X: TableLike, weights: ArrayLike) -> pd.DataFrame:
    """Return the weighted mean of each standardised feature in each component.

    ``m_jk = sum_i w_ik z_ij / sum_i w_ik`` with ``z`` the feature minus its mean, over its standard deviation.
    Categories become one 0/1 column per level, missing values are left out of all sums, and features that do not vary
    are 0.

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
    table = _numbers(X)
    gate = np.asarray(weights, dtype=np.float64)
    if gate.ndim != 2 or len(gate) != len(table) or not np.allclose(gate.sum(axis=1), 1, atol=1e-5):
        raise InputError(
            f"weights must have one row per subject, ({len(table)}, k), each adding up to 1; got shape {gate.shape}."
        )
    values = table.to_numpy(dtype=np.float64)
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    mean = filled.sum(axis=0) / np.maximum(count, 1)
    distance = np.where(known, values - mean, 0.0)
    deviation = np.sqrt((distance**2).sum(axis=0) / np.maximum(count, 1))
    varies = deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    z = np.divide(distance, deviation, out=np.zeros_like(distance), where=varies)
    mass = gate.T @ known  # (k, d)
    means = np.divide(gate.T @ z, mass, out=np.zeros_like(mass), where=mass > 0)
    return pd.DataFrame(means.T, index=table.columns, columns=range(1, gate.shape[1] + 1))


def _numbers(X: TableLike) -> pd.DataFrame:
    """Return the table with one column per number and one per level of each category."""
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(as_array(X))
        if array.ndim != 2:
            raise CovariateError(f"X must be a table of two dimensions; got shape {array.shape}.")
        X = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])]).infer_objects()
    parts: list[pd.DataFrame | pd.Series[float]] = []
    for name in X.columns:
        column = X[name]
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            parts.append(column.astype(np.float64).rename(str(name)))
            continue
        levels = pd.get_dummies(column.astype("object"), prefix=str(name), prefix_sep=" = ").astype(
            np.float64
        )
        levels[column.isna().to_numpy()] = np.nan
        parts.append(levels)
    return pd.concat(parts, axis=1)
