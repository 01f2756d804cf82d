"""The work of ``lifemix evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.markup import escape

from ..errors import SettingError
from .baselines import floor_for
from .doctor import examine_model, examine_table, show_findings
from .opening import SavedModel, open_model, open_table
from .quality import event_horizons, measure
from .roles import Roles
from .screen import Screen
from .showing import show_quality
from .study import read_target
from .understanding import Source

__all__ = ["open_outcomes", "run_evaluate"]


def run_evaluate(screen: Screen, model: Path, source: Source, times: list[float], seed: int) -> None:
    """Measure a model on the rows of a table, beside the curve without covariates of its training rows."""
    saved, X, y = open_outcomes(screen, model, source)
    findings = examine_table(X, y) + examine_model(saved.model, X, y)
    training = saved.model.training_target_.to_array()
    models = {"this model": saved.model}
    empty = pd.DataFrame({"none": np.zeros(len(training))})
    floor = {name: _Without(curve.fit(empty, training)) for name, curve in floor_for(training).items()}
    at = times or event_horizons(training)
    measured = measure(models | floor, training, X, y, at, seed)
    show_quality(screen, measured, saved.events, saved.roles.time_unit, "")
    show_findings(screen, findings)
    screen.result({"quality": [quality.to_state() for quality in measured], "findings": findings})


def open_outcomes(screen: Screen, model: Path, source: Source) -> tuple[SavedModel, pd.DataFrame, Any]:
    """Return a model, and the covariates and the target of a table; roles that are given replace the model's."""
    saved, given = open_model(model), source.roles
    roles = saved.roles.override(
        time=given.time, event=given.event, entry=given.entry, upper=given.upper, missing=given.missing
    )
    if roles.time is None or roles.event is None:
        raise SettingError(
            "the model's file does not say which columns hold the outcome (it was made in Python). Add --time, --event."
        )
    table = open_table(source.path, roles, source.encoding)
    Roles(roles.time, roles.event, roles.entry, roles.upper).resolve(list(table.frame.columns))
    anew = source.censored or (given.event and given.event != saved.roles.event)
    rows, y, _ = read_target(table, roles, None if anew else saved.codes, source.censored, source.skip_incomplete)
    X = saved.take(table, screen)
    screen.say(f"[bold]{escape(str(table))}[/]")
    if np.array_equal(np.sort(y["time"]), np.sort(saved.model.training_target_.time)):
        screen.warn("these look like the rows that the model was fitted to: it will look better than it is on others.")
    return saved, (X if rows.all() else X[rows]).reset_index(drop=True), y


class _Without:
    """A curve without covariates, for any table."""

    def __init__(self, curve: Any) -> None:
        self._curve = curve

    def predict_survival_function(self, X: Any, times: Any) -> Any:
        return self._curve.predict_survival_function(np.zeros((len(X), 1)), times)

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> Any:
        return self._curve.predict_cumulative_incidence(np.zeros((len(X), 1)), times, event)
