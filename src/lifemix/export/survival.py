"""Survival, or an incidence, at fixed times as a program of PyTorch (``torch.export``)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

import torch
from numpy.typing import ArrayLike
from torch import nn

import lifemix

from ..checks import check_event, check_times
from ..errors import SettingError
from ..estimators import DeepSurvivalMachines
from ..files import atomic_write
from .inputs import preparation
from .programs import IncidenceProgram, SurvivalProgram

__all__ = ["export_survival"]


def export_survival(
    model: DeepSurvivalMachines,
    times: ArrayLike,
    path: str | os.PathLike[str] | None = None,
    *,
    event: int | None = None,
    inputs: Literal["auto", "table", "matrix"] = "auto",
) -> torch.export.ExportedProgram:
    """Return a program from rows of numbers to ``S(t | x)`` at the times, ``[rows, times]``; with ``path``, a file too.

    The file runs where lifemix is not installed: ``torch.export.load(path).module()(rows)``, rows in float64.

    event: the cumulative incidence of this kind of event in place of survival.
    inputs: ``"table"``: the columns of X, NaN where a value is unknown, all of the preprocessor inside the program;
    categories are not possible then. ``"matrix"``: what ``model.preprocessor_.transform(X)`` gives. ``"auto"``: the
    table where that is possible. The file's extra file ``lifemix.json`` says which, and the names of the inputs.

    Rows so far from training that ``predict`` refuses them become NaN. An encoder of the user's goes into the program
    if ``torch.export`` can take it.
    """
    if not isinstance(model, DeepSurvivalMachines) or not hasattr(model, "n_events_"):
        raise SettingError(
            f"export needs a fitted DeepSurvivalMachines; got {type(model).__name__}. Call fit first; of a search, "
            "give its best_estimator_."
        )
    at = check_times(times)
    event = None if event is None else check_event(event, model.n_events_)
    network = model.network_
    prepare, kind, names = preparation(model.preprocessor_, inputs, network.architectures[0].n_inputs)
    program: nn.Module
    if event is None or model.n_events_ == 1:
        program = SurvivalProgram(network, at, prepare, risk=event is not None)
    else:
        program = IncidenceProgram(network, at, prepare, event)
    example = torch.zeros(3, len(names), dtype=torch.float64)
    with torch.no_grad():
        exported = torch.export.export(
            program.eval(), (example,), dynamic_shapes=({0: torch.export.Dim("rows", min=1)},)
        )
    if path is not None:
        about = {"lifemix": lifemix.__version__, "inputs": kind, "names": names, "times": at.tolist(), "event": event}
        with atomic_write(Path(path)) as partial, open(partial, "wb") as file:
            torch.export.save(exported, file, extra_files={"lifemix.json": json.dumps(about)})
    return exported
