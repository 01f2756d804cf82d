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
from ..preprocessing import SequencePreprocessor
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
    """Return a program of PyTorch from rows of numbers to ``S(t | x)`` at fixed times; with ``path``, a file too.

    The file runs where lifemix is not installed: ``torch.export.load(path).module()(rows)``, rows in float64. Rows so
    far from training that ``predict`` refuses them become NaN. An encoder of the user's goes into the program if
    ``torch.export`` can take it, a primitive of the user's if its functions do not branch on values.

    Parameters
    ----------
    model : DeepSurvivalMachines
        A fitted model.
    times : float or array-like of shape (n_times,)
        The times, in the unit of the training data.
    path : str or path, optional
        Where to write the program, by custom with the ending ``.pt2``.
    event : int, optional
        The cumulative incidence of this event type in place of survival.
    inputs : {"auto", "table", "matrix"}, default "auto"
        ``"table"``: the program takes the columns of X, NaN where a value is unknown, and holds all of the
        preprocessor; categories are not possible then. ``"matrix"``: it takes what
        ``model.preprocessor_.transform(X)`` returns. ``"auto"``: the table where that is possible. The file's extra
        file ``lifemix.json`` says which, and the names of the inputs.

    Returns
    -------
    torch.export.ExportedProgram
        The program; its module maps ``[rows, columns]`` to ``[rows, n_times]``.

    Raises
    ------
    SettingError
        If the model is not a fitted ``DeepSurvivalMachines``, or the table cannot go into a program.
    InputError
        If times or event cannot be used.

    Examples
    --------
    >>> import torch
    >>> from lifemix import DeepSurvivalMachines
    >>> from lifemix.datasets import load_metabric
    >>> from lifemix.export import export_survival
    >>> data = load_metabric()
    >>> model = DeepSurvivalMachines(max_epochs=1).fit(data.X, data.y)
    >>> program = export_survival(model, times=[60, 120])
    >>> survival = program.module()(torch.as_tensor(data.X[:3].to_numpy(dtype=float)))
    >>> bool(abs(survival.numpy() - model.predict_survival_function(data.X[:3], [60, 120])).max() < 1e-6)
    True
    """
    if not isinstance(model, DeepSurvivalMachines) or not hasattr(model, "n_events_"):
        raise SettingError(
            f"export needs a fitted DeepSurvivalMachines; got {type(model).__name__}. Call fit first; of a search, "
            "give its best_estimator_; for an average of several kinds of models fit a DeepSurvivalMachines instead."
        )
    if isinstance(model.preprocessor_, SequencePreprocessor):
        raise SettingError(
            "a program takes rows of a table; got a model of "
            f"{', '.join(repr(block.name) + ' (' + block.kind + ')' for block in model.preprocessor_.blocks_)}, whose "
            "rows have shapes of their own. Save it with lifemix.save, or fit a model to histories.last()."
        )
    at = check_times(times)
    event = None if event is None else check_event(event, model.n_events_)
    network = model.network_
    prepare, kind, names = preparation(
        model.preprocessor_, inputs, network.architectures[0].n_inputs
    )
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
        about = {
            "lifemix": lifemix.__version__,
            "inputs": kind,
            "names": names,
            "times": at.tolist(),
            "event": event,
        }
        with atomic_write(Path(path)) as partial, open(partial, "wb") as file:
            torch.export.save(exported, file, extra_files={"lifemix.json": json.dumps(about)})
    return exported
