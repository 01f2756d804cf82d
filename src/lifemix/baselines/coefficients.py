"""The coefficients of proportional hazards models, per unit of each column and by reference levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from .._types import BoolArray, FloatArray
from ..partial_likelihood import LinearFit
from ..preprocessing import TabularPreprocessor

__all__ = ["drop_separating_indicators", "estimates", "of_all_events", "summary_table"]

_DEPENDENT = 1e-10  # information besides that of earlier columns, relative to the largest


def estimates(preprocessor: Any, fit: LinearFit, influence: FloatArray | None = None) -> FloatArray:
    """Return coefficient and standard error of each preprocessed column, ``[n_inputs, 2]``.

    Without a penalty they are those of the model without the first level of each category (whose
    row is 0) and without columns that depend on earlier ones (NaN); its information is a block of
    that of the fit. With the ``influence`` of the rows on the score, errors are robust.
    """
    covariance, n_inputs = fit.covariance, len(fit.coef)
    unit, is_reference = np.ones(n_inputs), np.zeros(n_inputs, dtype=bool)
    if isinstance(preprocessor, TabularPreprocessor):
        stop = 0
        for column in preprocessor.columns_:
            start, stop = stop, stop + len(column.outputs)
            if column.kind == "categorical":
                is_reference[start] = True
            elif column.kind == "numeric" and column.knots is None:
                unit[start] = column.scale
    rows = np.full((n_inputs, 2), np.nan)
    if covariance.outer > 0:  # a penalty: every level has a coefficient
        rows[:, 0], rows[:, 1] = fit.coef, np.sqrt(covariance.diagonal())
        if influence is not None:
            rows[:, 1] = np.linalg.norm(covariance.after(influence), axis=0)
    elif covariance.axes is None:  # no more columns than rows
        rows[is_reference] = 0.0
        columns = _independent(fit.information, ~is_reference)
        inverse = np.linalg.inv(fit.information[np.ix_(columns, columns)])
        spread = covariance.spread[columns]
        beta = inverse @ fit.information[columns] @ (fit.coef * covariance.spread)
        errors = np.sqrt(inverse.diagonal())
        if influence is not None:
            errors = np.linalg.norm(influence[:, columns] / spread @ inverse, axis=0)
        rows[columns] = np.column_stack([beta, errors]) / spread[:, None]
    return np.asarray(rows / unit[:, None])


def _independent(information: FloatArray, is_candidate: BoolArray) -> list[int]:
    """Return the candidates that are no linear combination of earlier ones, by elimination."""
    conditional, columns = information.copy(), []  # given the columns so far
    least = _DEPENDENT * max(1.0, information.diagonal().max())  # 1: about one event
    for column in np.flatnonzero(is_candidate).tolist():
        if conditional[column, column] > least:
            columns.append(column)
            share = conditional[column] / conditional[column, column]
            conditional -= np.outer(conditional[:, column], share)
    return columns


def summary_table(preprocessor: Any, names: list[str] | None, rows: FloatArray) -> pd.DataFrame:
    """Return the summary of a model, with hazard ratios and tests, from its ``estimates``."""
    labels = [(name, "") for name in names or [f"x{i}" for i in range(len(rows))]]
    if isinstance(preprocessor, TabularPreprocessor):
        labels = [
            (
                column.name,
                "missing"
                if output == f"missing_{column.name}"
                else output[len(column.name) :].removeprefix("="),
            )
            for column in preprocessor.columns_
            for output in column.outputs
        ]
    coefficient, error = rows.T
    z = np.divide(coefficient, error, out=np.full(len(rows), np.nan), where=error > 0)
    half_width = ndtri(0.975) * error
    table = pd.DataFrame(labels, columns=["column", "level"])
    with np.errstate(over="ignore"):  # the limits of a coefficient that diverges
        return table.assign(
            coefficient=coefficient,
            hazard_ratio=np.exp(coefficient),
            standard_error=error,
            lower=np.exp(coefficient - half_width),
            upper=np.exp(coefficient + half_width),
            z=z,
            p=2 * ndtr(-np.abs(z)),
        )


def of_all_events(summaries: dict[int, pd.DataFrame]) -> pd.DataFrame:
    """Return the summaries of the event types as one table, with the column ``event`` first."""
    table = pd.concat(summaries, names=["event", "row"])
    return table.reset_index("event").reset_index(drop=True)


def drop_separating_indicators(
    preprocessor: Any, x: FloatArray, has_event: BoolArray
) -> FloatArray:
    """Return ``x`` with 0 for the indicators of missing values that no row with the event has.

    Their coefficients would be minus infinity: no risk for rows of which less is known.
    """
    if not isinstance(preprocessor, TabularPreprocessor):
        return x
    last = np.cumsum([len(column.outputs) for column in preprocessor.columns_]) - 1
    indicators = last[[column.indicator for column in preprocessor.columns_]]
    separating = indicators[~x[np.ix_(has_event, indicators)].any(axis=0)]
    if len(separating):
        x = x.copy()
        x[:, separating] = 0.0
    return x
