"""The fitted network: from inputs to representations, mixtures and predicted distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray
from ..distribution import CompetingDistribution, MixtureDistribution
from ..errors import CovariateError, ModelFileError
from ..likelihood import contributions
from ..network import Architecture
from ..primitives import Mixture, Primitive
from ..primitives.stable import LARGEST_LOG
from ..target import Target
from .inputs import single_precision
from .timescale import TimeScale

__all__ = ["FittedNetwork", "check_layout"]

_ROWS_AT_ONCE = 1 << 13  # rows of all members together that pass the network at once
_LIKELIHOOD_ROWS_AT_ONCE = (
    1 << 12
)  # an interval under competing risks takes a hundred numbers per row


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The trained members of an ensemble, or the one network of a single model: ``DeepSurvivalMachines.network_``.

    Inside, times are divided by a data-driven unit. The members share one architecture, unless each has its own copy
    of a user-supplied encoder.

    Attributes
    ----------
    architectures : tuple of Architecture
        One, or one per member.
    parameters : float32 tensor of shape (n_members, n_parameters)
        The parameters of each member.
    scale : TimeScale
        The unit of time.
    device : torch.device
        Where the network is computed; weights and results are kept in the memory of the host.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(8,), n_members=2, max_epochs=2).fit(data.X[:500], data.y[:500])
    >>> matrix = model.preprocess(data.X[500:503])
    >>> model.network_.represent(matrix).shape
    (3, 16)
    >>> model.network_.mixtures(matrix).log_weights.shape  # members, rows, events, components
    torch.Size([2, 3, 1, 4])
    """

    architectures: tuple[Architecture, ...]
    parameters: Tensor  # [members, parameters], float32
    scale: TimeScale
    device: torch.device = field(default=torch.device("cpu"), compare=False)

    def __post_init__(self) -> None:
        for architecture, rows in self._pairs():
            if architecture.module is not None:
                architecture.module.cpu().eval()
                architecture.fill_module(rows)

    def to_state(self) -> dict[str, Any]:
        """Return the numbers of the network for a model file.

        Returns
        -------
        dict
            Parameters, their shapes by name, the time scale, and for each module of a user its buffers and frozen
            parameters.
        """
        modules = [
            member.module_state() for member in self.architectures if member.module is not None
        ]
        return {
            "parameters": self.parameters,
            "layout": {
                name: list(shape) for name, shape in self.architectures[0].layout.shapes.items()
            },
            "scale": self.scale,
            "modules": modules,
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], make_architecture: Callable[[], Architecture]
    ) -> FittedNetwork:
        """Return the network of a model file; ``ValueError`` if its numbers do not fit the architecture.

        Parameters
        ----------
        state : mapping
            The result of ``to_state``.
        make_architecture : callable
            Returns the architecture that the options of the model ask for.

        Returns
        -------
        FittedNetwork
        """
        parameters, modules = state["parameters"], state["modules"]
        architecture = make_architecture()
        check_layout(state["layout"], architecture)
        n_parameters = architecture.layout.size
        if parameters.dtype != torch.float32 or parameters.shape != (len(parameters), n_parameters):
            raise ValueError(
                f"parameters must have shape [n_members, {n_parameters}]; got {tuple(parameters.shape)}"
            )
        if (
            not len(parameters)
            or not parameters.isfinite().all()
            or not isinstance(state["scale"], TimeScale)
        ):
            raise ValueError("finite parameters and a time scale expected")
        architectures = [architecture, *(make_architecture() for _ in modules[1:])]
        for member, tensors in zip(architectures, modules, strict=False):
            _fill_module(member, tensors)
        return cls(tuple(architectures), parameters, state["scale"])

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def width(self) -> int:
        """The number of features of the representation of one member."""
        return self.architectures[0].width

    def members(self) -> list[FittedNetwork]:
        """Return every member as a network of its own.

        Returns
        -------
        list of FittedNetwork
            One per member.
        """
        if len(self.architectures) == 1:
            return [replace(self, parameters=row) for row in self.parameters.split(1)]
        return [replace(self, architectures=(one,), parameters=row) for one, row in self._pairs()]

    def represent(self, matrix: FloatArray) -> FloatArray:
        """Return the representation; the members' are side by side.

        Parameters
        ----------
        matrix : float array of shape (n_rows, n_inputs)
            The output of ``model.preprocess(X)``.

        Returns
        -------
        float array of shape (n_rows, n_members * width)
            The output of the encoder.
        """
        parts = self._apply(
            matrix, lambda architecture, parameters, x: architecture.represent(parameters, x)
        )
        return parts.transpose(0, 1).flatten(1).double().numpy()

    def mixtures(self, matrix: FloatArray) -> Mixture:
        """Return the members' mixtures in the model's unit of time.

        Parameters
        ----------
        matrix : float array of shape (n_rows, n_inputs)
            The output of ``model.preprocess(X)``.

        Returns
        -------
        Mixture
            Log weights and parameters in float64, ``[members, rows, events, k]``.
        """

        def stacked(architecture: Architecture, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            mixture = architecture.mixtures(parameters, x)
            return torch.stack([mixture.log_weights, *mixture.components.parameters], dim=2)

        parts = self._apply(matrix, stacked).double()  # [members, rows, 1 + parameters, events, k]
        log_weights, *parameters = parts.unbind(2)
        components = self.architectures[0].family(*parameters)
        if not (parts[:, :, 1:].abs() < LARGEST_LOG).all():
            _refuse_degenerate(components)
        return Mixture(torch.log_softmax(log_weights, dim=-1), components)

    def distribution(self, matrix: FloatArray) -> MixtureDistribution | CompetingDistribution:
        """Return one distribution per row, in the user's unit of time.

        Parameters
        ----------
        matrix : float array of shape (n_rows, n_inputs)
            The output of ``model.preprocess(X)``.

        Returns
        -------
        MixtureDistribution or CompetingDistribution
            As ``model.predict_distribution``.
        """
        mixtures = self.mixtures(matrix)
        mixtures = Mixture(
            mixtures.log_weights, mixtures.components.rescaled(np.log(self.scale.unit))
        )
        if self.architectures[0].n_events > 1:
            return CompetingDistribution(mixtures)
        side_by_side = mixtures.map(lambda values: values[:, :, 0].transpose(0, 1).flatten(1))
        return MixtureDistribution(
            Mixture(side_by_side.log_weights - np.log(len(self)), side_by_side.components)
        )

    def log_likelihood(self, matrix: FloatArray, target: Target, weight: FloatArray) -> float:
        """Return the weighted sum over rows of the log-likelihood of the averaged joint distribution.

        Parameters
        ----------
        matrix : float array of shape (n_rows, n_inputs)
            The output of ``model.preprocess(X)``.
        target : Target
            The observations of the same rows.
        weight : float array of shape (n_rows,)
            Case weights.

        Returns
        -------
        float
            In the user's unit of time, undiscounted.
        """
        size = max(1, _LIKELIHOOD_ROWS_AT_ONCE // len(self))
        parts = [slice(start, start + size) for start in range(0, len(target), size)]
        return sum(
            self._log_likelihood(matrix[rows], target.take(rows), weight[rows]) for rows in parts
        )

    @torch.no_grad()
    def _log_likelihood(self, matrix: FloatArray, target: Target, weight: FloatArray) -> float:
        mixtures, observed = self.mixtures(matrix), self.scale.observe(target, weight)
        by_member = contributions(
            mixtures, observed.take(torch.arange(len(target)).expand(len(self), -1))
        ).total()
        share = torch.zeros_like(
            by_member
        )  # log S(entry): a member counts as far as it lets the row come under view
        if observed.entry is not None and observed.truncated is not None:
            entry = observed.entry[:, None].expand(mixtures.log_weights.shape[1:3])
            share = torch.where(observed.truncated, mixtures.log_survival(entry).sum(-1), 0.0)
        rows = torch.logsumexp(by_member + torch.log_softmax(share, dim=0), dim=0)
        return float((observed.weight * rows).sum())

    @torch.no_grad()
    def _apply(
        self,
        matrix: FloatArray,
        function: Callable[[Architecture, dict[str, Tensor], Tensor], Tensor],
    ) -> Tensor:
        """Apply a function of the network to all rows; return the results, ``[members, rows, ...]``."""
        x, device = single_precision(matrix), self._device()
        results = []
        for architecture, flat in self._pairs():
            parameters = self._views if flat is self.parameters and device.type == "cpu" else None
            parameters = parameters or architecture.layout.views(flat.to(device))
            size = max(1, _ROWS_AT_ONCE // len(flat))
            parts = [
                function(architecture, parameters, part.to(device).expand(len(flat), -1, -1)).cpu()
                for part in x.split(size)
            ]
            results.append(parts[0] if len(parts) == 1 else torch.cat(parts, dim=1))
        return results[0] if len(results) == 1 else torch.cat(results)

    @cached_property
    def _views(self) -> dict[str, Tensor]:
        """The parameters by name, of members that share an architecture; single rows would spend a while on it."""
        return self.architectures[0].layout.views(self.parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_views"}

    def _device(self) -> torch.device:
        """Return where to compute: a network that was pickled beside a GPU may come to a machine that has none."""
        lost = self.device.type == "cuda" and not torch.cuda.is_available()
        return torch.device("cpu") if lost else self.device

    def _pairs(self) -> list[tuple[Architecture, Tensor]]:
        """Return the architectures with the parameters ``[members, ...]`` that go with each."""
        parts = [self.parameters] if len(self.architectures) == 1 else self.parameters.split(1)
        return list(zip(self.architectures, parts, strict=True))


def _refuse_degenerate(components: Primitive) -> None:
    """Refuse rows so far away that a component has left the range of numbers; an unbounded shift has no end."""
    outside = [
        ~(parameter.abs() < LARGEST_LOG) for parameter in components.parameters
    ]  # true for NaN, too
    rows = torch.stack(outside).sum(dim=(0, 1, 3, 4)).nonzero()[:, 0]
    if len(rows):
        raise CovariateError(
            f"X must lie near the training rows; got {len(rows)} rows, the first is row {int(rows[0])}, so far away "
            f"that a component's location or shape is beyond exp({LARGEST_LOG:.0f}). Check the units of the columns."
        )


def check_layout(layout: Mapping[str, Any], architecture: Architecture) -> None:
    """Refuse an architecture whose parameters have other shapes than those of a model file."""
    shapes = {name: list(shape) for name, shape in architecture.layout.shapes.items()}
    for name in {**layout, **shapes}:
        if layout.get(name) != shapes.get(name):
            raise ModelFileError(
                f"the weights {name!r:.60} have shape {layout.get(name)!r:.60} in the file and {shapes.get(name)} in "
                "this model. Give a module of the shape that was saved."
            )


def _fill_module(architecture: Architecture, tensors: Mapping[str, Tensor]) -> None:
    """Copy buffers and frozen parameters of a model file to the module of an architecture."""
    buffers = architecture.module_state()
    if set(tensors) != set(buffers):
        raise ModelFileError(
            f"the encoder has {sorted(buffers)} besides its trained weights; the file has {sorted(tensors)!r:.100}. "
            "Give a module of the shape that was saved."
        )
    for name, buffer in buffers.items():
        values = tensors[name]
        if (
            values.dtype != buffer.dtype
            or values.shape != buffer.shape
            or not values.isfinite().all()
        ):
            raise ModelFileError(
                f"{name} of the encoder must be finite numbers of shape {tuple(buffer.shape)}; the file has "
                f"{tuple(values.shape)}. Give a module of the shape that was saved."
            )
        buffer.copy_(values)
