"""A fitted model as a program of PyTorch alone, for places where lifemix is not installed."""

from __future__ import annotations

import json
import math
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

import lifemix

from ._types import FloatArray
from .checks import check_event, check_times
from .errors import SettingError
from .estimators import DeepSurvivalMachines
from .estimators.fitted_network import FittedNetwork
from .files import atomic_write
from .pipeline import without_steps
from .preprocessing import Passthrough, SequencePreprocessor, TabularPreprocessor
from .preprocessing.columns import Column
from .primitives import Primitive
from .primitives.numeric import LARGEST_LOG

__all__ = ["export_survival"]

# log S at the ends of the panels over which a program integrates.
_PANEL_LOG_SURVIVAL = (
    *(-1.3e-14, -1e-9, -1e-6, -1e-4, -3e-3, -0.03, -0.15, -0.4),
    *(-0.8, -1.5, -3.0, -6.0, -12.0, -24.0, -64.0),
)
_LOG_TIME_RANGE, _N_BISECTIONS = 128.0, 20  # to find the ends, back from the last time
_N_NODES = 6  # per panel
_TINY = 1e-300


def export_survival(
    model: DeepSurvivalMachines,
    times: ArrayLike,
    path: str | os.PathLike[str] | None = None,
    *,
    event: int | None = None,
) -> torch.export.ExportedProgram:
    """Return a program of PyTorch that computes ``S(t | x)`` at fixed times; optionally write it.

    The file runs where lifemix is not installed: ``torch.export.load(path).module()(rows)``, rows
    in float64. If all columns of X hold numbers, the program takes these columns, NaN where a value
    is missing, and includes the preprocessor; otherwise it takes the output of
    ``model.preprocessor_.transform(X)``. The extra file ``lifemix.json`` in the file says which
    (``inputs`` is ``"table"`` or ``"matrix"``) and names the inputs. Rows so far from training that
    ``predict`` refuses them become NaN. An encoder of the user is included if ``torch.export``
    supports it, a primitive of the user if its functions do not branch on values.

    Parameters
    ----------
    model : DeepSurvivalMachines
        A fitted model, or a fitted search for one.
    times : float or array-like of shape (n_times,)
        The times, in the unit of the training data.
    path : str or path, optional
        Where to write the program, usually with the suffix ``.pt2``.
    event : int, optional
        The cumulative incidence of this event type instead of survival.

    Returns
    -------
    torch.export.ExportedProgram
        The program; its module maps ``[rows, columns]`` to ``[rows, n_times]``.

    Raises
    ------
    SettingError
        If the model is not a fitted ``DeepSurvivalMachines`` for tables.
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
    model = without_steps(model, "a program")
    if not isinstance(model, DeepSurvivalMachines) or not hasattr(model, "n_events_"):
        raise SettingError(
            f"export needs a fitted DeepSurvivalMachines; got {type(model).__name__}. Call fit "
            "first, or fit a DeepSurvivalMachines instead of another model."
        )
    preprocessor = model.preprocessor_
    if isinstance(preprocessor, SequencePreprocessor):
        sources = ", ".join(f"{block.name!r} ({block.kind})" for block in preprocessor.blocks_)
        raise SettingError(
            f"a program takes rows of a table; got a model of {sources}, whose rows have shapes of "
            "their own. Save it with lifemix.save, or fit a model to histories.last()."
        )
    checked_times = check_times(times)
    event = None if event is None else check_event(event, model.n_events_)
    kind = "table" if type(preprocessor) is Passthrough else "matrix"
    prepare: nn.Module = nn.Identity()
    columns = preprocessor.columns_ if type(preprocessor) is TabularPreprocessor else ()
    if columns and all(column.levels is None for column in columns):
        kind = "table"
        prepare = _TablePreparation(columns)
        names = [column.name for column in columns]
    elif hasattr(preprocessor, "get_feature_names_out"):
        names = [str(name) for name in preprocessor.get_feature_names_out()]
    else:
        names = [f"input {i + 1}" for i in range(model.network_.architectures[0].n_inputs)]
    program = _Program(model.network_, checked_times, prepare, event)
    example = torch.zeros(3, len(names), dtype=torch.float64)
    with torch.no_grad():
        exported = torch.export.export(
            program.eval(), (example,), dynamic_shapes=({0: torch.export.Dim("rows", min=1)},)
        )
    if path is not None:
        description = {
            "lifemix": lifemix.__version__,
            "inputs": kind,
            "names": names,
            "times": checked_times.tolist(),
            "event": event,
        }
        with atomic_write(Path(path)) as partial, open(partial, "wb") as file:
            torch.export.save(exported, file, extra_files={"lifemix.json": json.dumps(description)})
    return exported


class _TablePreparation(nn.Module):
    """Fill, scale (or encode by bins) and mark missing values, as ``TabularPreprocessor`` does.

    Every output is ``(clip(x, low, high) - start) / width - shift`` of a filled column, or of a
    column's indicator of missing values, which follow the columns.
    """

    fills: Tensor
    sources: Tensor
    pieces: Tensor  # low, high, start, width and shift of each output

    def __init__(self, columns: tuple[Column, ...]) -> None:
        super().__init__()
        outputs: list[tuple[float, ...]] = []  # number of the source, then its piece
        for number, column in enumerate(columns):
            if column.knots is not None:
                for low, high in pairwise(column.knots):
                    outputs.append((number, low, high, low, high - low, 0.5))
            elif column.kind == "numeric":
                outputs.append((number, -math.inf, math.inf, column.mean, column.scale, 0.0))
            if column.indicator:
                outputs.append((len(columns) + number, -math.inf, math.inf, 0.0, 1.0, 0.0))
        sources, *pieces = zip(*outputs, strict=True)
        fills = [column.fill if column.kind == "numeric" else 0.0 for column in columns]
        self.register_buffer("fills", torch.tensor(fills, dtype=torch.float64))
        self.register_buffer("sources", torch.tensor(sources))
        self.register_buffer("pieces", torch.tensor(pieces, dtype=torch.float64))

    def forward(self, table: Tensor) -> Tensor:
        """Return the inputs of the network, ``[rows, inputs]``."""
        missing = torch.isnan(table)
        filled = torch.where(missing, self.fills, table)
        x = torch.cat([filled, missing.to(filled)], dim=1).index_select(1, self.sources)
        low, high, start, width, shift = self.pieces.unbind()
        return (torch.clamp(x, low, high) - start) / width - shift


class _Program(nn.Module):
    """Inputs ``[rows, columns]`` to probabilities ``[rows, times]``.

    The network is computed in single precision, as in ``predict``, its mixtures in double
    precision. Rows are the first axis of all large tensors: then strides are known numbers, and
    tracing is fast.
    """

    network_parameters: Tensor
    log_times: Tensor

    def __init__(
        self, network: FittedNetwork, times: FloatArray, prepare: nn.Module, event: int | None
    ) -> None:
        super().__init__()
        self.prepare, self.event = prepare, event
        self.architectures = network.architectures
        modules = [architecture.module for architecture in network.architectures]
        self.encoders = nn.ModuleList([module for module in modules if module is not None])
        self.log_unit = math.log(network.scale.unit)
        self.register_buffer("network_parameters", network.parameters.clone())
        self.register_buffer("log_times", torch.log(torch.as_tensor(times)))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities."""
        x = self.prepare(inputs).float()
        outputs = []
        parameters_of_members = self.network_parameters.chunk(len(self.architectures))
        for index, architecture in enumerate(self.architectures):
            parameters = architecture.layout.views(parameters_of_members[index])
            if len(self.encoders):
                features = self.encoders[index](x)[None]
            else:
                n_members = len(parameters_of_members[index])
                features = architecture.represent(parameters, x.expand(n_members, -1, -1))
            outputs.append(torch.stack(architecture.gate_and_parameters(parameters, features)))
        output = torch.cat(outputs, dim=1).transpose(1, 2).double().contiguous()
        log_weights, *values = output.unbind(0)  # [rows, members, events, k]
        is_usable = (output[1:].abs() < LARGEST_LOG).permute(1, 0, 2, 3, 4).flatten(1).all(1)
        is_usable = is_usable[:, None]
        values = [torch.where(is_usable[..., None, None], value, 0.0) for value in values]
        components = self.architectures[0].family(*(value[..., None] for value in values))
        components = components.rescaled(self.log_unit)
        weights = log_weights.exp()[..., None, :]
        if self.event is None:
            probability = _joint_survival(weights, components, self.log_times).mean(1)
        else:
            probability = _incidence(weights, components, self.log_times, self.event - 1)
        return torch.where(is_usable, probability, torch.nan)


def _joint_survival(weights: Tensor, components: Primitive, log_t: Tensor) -> Tensor:
    """Return ``prod_j S_j(t)``, ``[rows, members, times]``, for log times ``[..., times]``."""
    net_survival = (weights @ components.survival_curve(log_t))[..., 0, :]
    return net_survival.clamp(max=1.0).prod(2)


def _incidence(
    weights: Tensor, components: Primitive, log_times: Tensor, event_index: int
) -> Tensor:
    """Return the cumulative incidence, the integral of ``f_m prod_{j != m} S_j``, ``[rows, times]``.

    Gauss-Legendre rules on fixed panels in log time give the shares of the events in the fall of
    the joint survival over a panel, which is known.
    """
    nodes, rule = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(_N_NODES))
    last = log_times.amax()
    inner_ends = _panel_ends(components, last.clamp(min=-_LOG_TIME_RANGE))
    start = inner_ends.amin(-1, keepdim=True)
    times = torch.maximum(log_times, start)  # [rows, members, times]
    inner_ends = torch.minimum(inner_ends, torch.maximum(last, start))
    ends, _ = torch.cat([start, inner_ends, times], dim=-1).sort(dim=-1)
    width = ends.diff(dim=-1)  # [rows, members, panels]
    points = ends[..., :-1, None] + width[..., None] * (nodes + 1) / 2
    points = points.flatten(2)[:, :, None, None]
    survival, density = components.survival_and_density_curve(points)
    survival = (weights @ survival)[..., 0, :].clamp(max=1.0)
    density = (weights @ density)[..., 0, :]  # [rows, members, events, points]
    rate = density * survival.prod(2, keepdim=True) / survival.clamp(min=_TINY)
    areas = rate.unflatten(-1, (-1, _N_NODES)) @ (rule / 2)
    areas = areas * width[:, :, None]  # [rows, members, events, panels]
    total = areas.sum(2)
    share = areas[:, :, event_index] / torch.where(total > 0, total, 1.0)
    share = torch.where(total > 0, share, 1 / areas.shape[2])
    fall = -_joint_survival(weights, components, ends[:, :, None, None]).diff(dim=-1)
    is_before = ends[..., 1:, None] <= times[:, :, None]  # [rows, members, panels, times]
    incidence = (fall * share)[..., None, :] @ is_before.to(fall)
    return incidence[:, :, 0].mean(1)


def _panel_ends(components: Primitive, last: Tensor) -> Tensor:
    """Return the log times at which components reach the levels, and their kinks.

    components: ``[rows, members, events, k, 1]``; the result is ``[rows, members, ends]``.
    """
    levels = torch.exp(torch.tensor(_PANEL_LOG_SURVIVAL, dtype=torch.float64))
    high = last.expand(*components.parameters[0].shape[:-1], len(levels))
    low = high - _LOG_TIME_RANGE
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        is_before = components.survival_curve(middle) > levels
        low, high = torch.where(is_before, middle, low), torch.where(is_before, high, middle)
    kinks = components.kinks()
    return low.flatten(2) if kinks is None else torch.cat([low.flatten(2), kinks.flatten(2)], -1)
