"""Calibration curves: observed against predicted risk of groups of held-out subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._html import Html, figure
from ..cells import Cell
from .figures import legend, panel
from .names import look, rank
from .records import RecordLike

__all__ = ["calibration"]

CALIBRATED = ("lifemix", "dsm", "cph", "cs-cph", "rsf", "cs-rsf", "deephit")


def calibration(records: Sequence[RecordLike], titles: Sequence[Sequence[str]]) -> Html | None:
    """Show observed against predicted risk, one panel a kind of event and horizon; None where nothing was recorded.

    Groups of the folds are put together in the order of their predicted risk. titles: for each kind of event and
    horizon one.
    """
    usable = [r for r in records if r.calibration and r.censoring == 0 and r.model in CALIBRATED]
    if not usable:
        return None
    drawings = []
    models = sorted({record.model for record in usable}, key=rank)
    for event, at_horizons in enumerate(usable[0].calibration):
        for number in range(len(at_horizons)):
            drawing, axes = panel(titles[event][number])
            end = 0.0
            for model in models:
                curves = [record.calibration[event][number] for record in usable if record.model == model]
                predicted, observed = _pooled(curves)
                end = max([end, *predicted, *observed])
                own = look(model)
                wide = 2.0 if model == "lifemix" else 1.0
                axes.plot(predicted, observed, color=own.colour, marker=own.marker, ms=4, lw=wide)
            end = min(1.0, 1.05 * end) or 1.0
            axes.plot([0, end], [0, end], color="#9ca3af", lw=0.8, zorder=1)
            axes.set(xlim=(0, end), ylim=(0, end))
            axes.set_xlabel("predicted risk", fontsize=9)
            axes.set_ylabel("observed risk", fontsize=9)
            drawings.append(drawing)
    shown = [Cell(usable[0].data, model, "ctd", 1, 1.0, 0.0, "fixed", 0.0, 0.0) for model in models]
    return figure(
        drawings,
        "observed against predicted risk of groups of held-out subjects, near the diagonal where a model is calibrated",
        "Held-out subjects in groups by predicted risk, all folds together; on the line, predictions hold on average.",
        legend=legend(shown, {}),
    )


def _pooled(curves: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Return the means of as many groups as the largest fold has, over all folds."""
    points = np.concatenate([np.asarray(curve, dtype=float).T for curve in curves])
    points = points[np.isfinite(points).all(axis=1)]
    points = points[np.argsort(points[:, 0], kind="stable")]
    groups = min(max(len(curve[0]) for curve in curves), len(points))
    means = [part.mean(axis=0) for part in np.array_split(points, groups)] if groups else []
    return [float(mean[0]) for mean in means], [float(mean[1]) for mean in means]
