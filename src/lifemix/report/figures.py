"""The figures of a report, as data URIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._html import figure_uri, new_figure
from .._types import BoolArray
from ..metrics import predicted_risk, survival_at_own_time
from ..metrics.importance import PermutationImportance
from ..plots import (
    brier_over_time,
    calibration,
    component_curves,
    d_calibration,
    importance_over_time,
    incidence_curves,
    mixture_components,
    phenotypes,
    risk_groups,
    survival_curves,
    training_history,
)

if TYPE_CHECKING:
    from ..estimators import DeepSurvivalMachines
    from .page import Report

__all__ = [
    "brier",
    "calibration_at",
    "groups",
    "importance",
    "mixture",
    "training",
    "typical_curves",
    "uniformity",
]

_ROWS_PER_BIN = 40
_N_LINES = 6


def groups(report: Report, event: int) -> str:
    """Draw observed and mean predicted curves of groups by risk, with the numbers at risk."""
    n_groups = int(np.clip(len(report.y) // (2 * _ROWS_PER_BIN), 2, 4))
    is_single = report.n_events == 1
    curves = report.curves[event - 1]
    figure = new_figure(6.2, 3.6 + 0.2 * n_groups)
    risk_groups(
        report.y,
        report.risks[event - 1][:, report.middle],
        n_groups,
        event=None if is_single else event,
        predicted=(report.grid, 1 - curves if is_single else curves),
        last=float(report.horizons[-1]),
        time_unit=report.time_unit or None,
        ax=figure.subplots(),
    )
    return figure_uri(figure)


def calibration_at(report: Report, event: int, index: int) -> str:
    """Draw observed against predicted risk at one horizon."""
    figure = new_figure(4.2, 4.2)
    calibration(
        report.y,
        report.risks[event - 1][:, index],
        float(report.horizons[index]),
        event,
        bins=int(np.clip(len(report.y) // _ROWS_PER_BIN, 2, 10)),
        time_unit=report.time_unit or None,
        ax=figure.subplots(),
    )
    return figure_uri(figure)


def uniformity(report: Report) -> str:
    """Draw the histogram of predicted survival at the subjects' own times."""
    own_survival = survival_at_own_time(report.model, report.inputs, report.y)
    figure = new_figure(6.5, 3.4)
    d_calibration(report.y, own_survival, ax=figure.subplots())
    return figure_uri(figure)


def brier(report: Report, event: int) -> str:
    """Draw the Brier score at each time, and that of the marginal curve."""
    figure = new_figure(6.5, 3.4)
    brier_over_time(
        report.reference,
        report.y,
        {"this model": 1 - report.curves[event - 1]},
        report.grid,
        event,
        time_unit=report.time_unit or None,
        ax=figure.subplots(),
    )
    return figure_uri(figure)


def typical_curves(report: Report, rows: list[int], labels: list[str], event: int) -> str:
    """Draw the curves of some rows, with the spread of the members of an ensemble."""
    times, inputs = np.linspace(0, report.horizons[-1], 101), report.as_input(report.X.iloc[rows])
    if report.mixture is None:
        members = predicted_risk(report.model, inputs, times, event, report.n_events)[None]
    else:
        x = report.mixture.preprocess(inputs)
        members = np.stack(
            [
                member.distribution(x).cumulative_incidence(times, event)
                for member in report.mixture.network_.members()
            ]
        )
    mean, spread = members.mean(axis=0), members.std(axis=0) if len(members) > 1 else None
    is_single = report.n_events == 1
    figure = new_figure(7.5, 3.8)
    axes = (survival_curves if is_single else incidence_curves)(
        times,
        1 - mean if is_single else mean,
        spread,
        labels=labels,
        time_unit=report.time_unit or None,
        title="risk",
        ax=figure.subplots(),
    )
    if not is_single:  # incidences may be small
        top = np.ceil(10 * mean.max()) / 10
        axes.set(yticks=np.linspace(0, top, 5), ylim=(0, 1.05 * top))
    return figure_uri(figure)


def importance(report: Report, result: PermutationImportance, is_defined: BoolArray) -> str:
    """Draw the importance of the most important columns over time."""
    figure = new_figure(7.8, 3.8)
    importance_over_time(
        result.times[is_defined],
        result.mean[:, is_defined],
        result.std[:, is_defined],
        features=result.features,
        show=_N_LINES,
        time_unit=report.time_unit or None,
        ax=figure.subplots(),
    )
    return figure_uri(figure)


def training(model: DeepSurvivalMachines) -> str:
    """Draw the losses by epoch."""
    figure = new_figure(7.5, 3.4)
    training_history(model.history_, model.best_epoch_, ax=figure.subplots())
    return figure_uri(figure)


def mixture(report: Report, model: DeepSurvivalMachines, event: int, row: int) -> tuple[str, str]:
    """Draw the components of one row, and the mean covariates of each component."""
    net = model.network_.members()[0].distribution(model.preprocess(report.inputs)).net(event)
    times = np.linspace(0, report.horizons[-1], 201)[1:]
    densities, means = new_figure(7.5, 3.6), new_figure(6.5, 5.0)
    weights, curves = component_curves(net, times, row)
    unit = report.time_unit or None
    mixture_components(times, weights, curves, time_unit=unit, ax=densities.subplots())
    phenotypes(report.X, net.weights, ax=means.subplots())
    return figure_uri(densities), figure_uri(means)
