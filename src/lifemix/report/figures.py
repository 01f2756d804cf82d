"""The figures of a report, as data URIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import plots
from .._html import figure_uri, new_figure
from .._types import BoolArray
from ..metrics import predicted_risk, survival_at_own_time
from ..metrics.importance import PermutationImportance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators import DeepSurvivalMachines
    from .page import Report

__all__ = [
    "brier",
    "calibration",
    "d_calibration",
    "importance",
    "mixture",
    "risk_groups",
    "training",
    "typical_curves",
]

_ROWS_PER_BIN = 40
_N_LINES = 6


def _axes(width: float, height: float) -> Axes:
    return new_figure(width, height).subplots()


def _uri(axes: Axes) -> str:
    return figure_uri(axes.figure)  # type: ignore[arg-type]


def risk_groups(report: Report, event: int) -> str:
    """Draw observed and mean predicted curves of groups by risk, with the numbers at risk."""
    n_groups = int(np.clip(len(report.y) // (2 * _ROWS_PER_BIN), 2, 4))
    is_single, curves = report.n_events == 1, report.curves[event - 1]
    axes = plots.risk_groups(
        report.y,
        report.risks[event - 1][:, report.middle],
        n_groups,
        event=None if is_single else event,
        predicted=(report.grid, 1 - curves if is_single else curves),
        last=float(report.horizons[-1]),
        time_unit=report.time_unit,
        ax=_axes(6.2, 3.6 + 0.2 * n_groups),
    )
    return _uri(axes)


def calibration(report: Report, event: int, index: int) -> str:
    """Draw observed against predicted risk at one horizon."""
    axes = plots.calibration(
        report.y,
        report.risks[event - 1][:, index],
        float(report.horizons[index]),
        event,
        bins=int(np.clip(len(report.y) // _ROWS_PER_BIN, 2, 10)),
        time_unit=report.time_unit,
        ax=_axes(4.2, 4.2),
    )
    return _uri(axes)


def d_calibration(report: Report) -> str:
    """Draw the histogram of predicted survival at the subjects' own times."""
    survival = np.clip(survival_at_own_time(report.model, report.inputs, report.y), 0, 1)
    return _uri(plots.d_calibration(report.y, survival, ax=_axes(6.5, 3.4)))


def brier(report: Report, event: int) -> str:
    """Draw the Brier score at each time, and that of the marginal curve."""
    curves = {"this model": 1 - report.curves[event - 1]}
    axes = plots.brier_over_time(
        report.reference,
        report.y,
        curves,
        report.grid,
        event,
        time_unit=report.time_unit,
        ax=_axes(6.5, 3.4),
    )
    return _uri(axes)


def typical_curves(report: Report, rows: list[int], labels: list[str], event: int) -> str:
    """Draw the curves of some rows, with the spread of the members of an ensemble."""
    times, inputs = np.linspace(0, report.horizons[-1], 101), report.as_input(report.X.iloc[rows])
    if report.mixture is None:
        members = predicted_risk(report.model, inputs, times, event, report.n_events)[None]
    else:
        x, network = report.mixture.preprocess(inputs), report.mixture.network_
        distributions = [member.distribution(x) for member in network.members()]
        members = np.stack([d.cumulative_incidence(times, event) for d in distributions])
    mean, spread = members.mean(axis=0), members.std(axis=0) if len(members) > 1 else None
    is_single = report.n_events == 1
    draw = plots.survival_curves if is_single else plots.incidence_curves
    axes = draw(
        times,
        1 - mean if is_single else mean,
        spread,
        labels=labels,
        time_unit=report.time_unit,
        title="risk",
        ax=_axes(7.5, 3.8),
    )
    if not is_single:  # incidences may be small
        top = np.ceil(10 * mean.max()) / 10
        axes.set(yticks=np.linspace(0, top, 5), ylim=(0, 1.05 * top))
    return _uri(axes)


def importance(report: Report, result: PermutationImportance, is_defined: BoolArray) -> str:
    """Draw the importance of the most important columns over time."""
    axes = plots.importance_over_time(
        result.times[is_defined],
        result.mean[:, is_defined],
        result.std[:, is_defined],
        features=result.features,
        show=_N_LINES,
        time_unit=report.time_unit,
        ax=_axes(7.8, 3.8),
    )
    return _uri(axes)


def training(model: DeepSurvivalMachines) -> str:
    """Draw the losses by epoch."""
    return _uri(plots.training_history(model.history_, model.best_epoch_, ax=_axes(7.5, 3.4)))


def mixture(report: Report, model: DeepSurvivalMachines, event: int, row: int) -> tuple[str, str]:
    """Draw the components of one row, and the mean covariates of each component."""
    net = model.network_.members()[0].distribution(model.preprocess(report.inputs)).net(event)
    times = np.linspace(0, report.horizons[-1], 201)[1:]
    components = plots.component_curves(net, times, row)
    densities = plots.mixture_components(
        times, *components, time_unit=report.time_unit, ax=_axes(7.5, 3.6)
    )
    means = plots.phenotypes(report.X, net.weights, ax=_axes(6.5, 5.0))
    return _uri(densities), _uri(means)
