"""The network of a fitted model: its unit of time, architecture and parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import refuse_rows
from ..distribution import CompetingDistribution, MixtureDistribution
from ..encoders import SequenceEncoder, Unpacked
from ..errors import CovariateError, ModelFileError, SettingError, TargetError
from ..histories import Block
from ..likelihood import Observations, contributions
from ..network import Architecture
from ..primitives import Mixture
from ..primitives.mixture import choose_families, n_components
from ..primitives.numeric import LARGEST_LOG
from ..registry import register_model
from ..target import Target

__all__ = ["FittedNetwork", "TimeScale", "architecture_of", "single_precision"]

_MAX_FLOAT32 = 1e30  # leaves room below the largest float32 for sums
_ROWS_PER_PASS = 1 << 13  # rows of all members together that pass the network at once
_LIKELIHOOD_ROWS = 1 << 12  # competing intervals need a hundred numbers per row


@register_model
@dataclass(frozen=True)
class TimeScale:
    """The model's unit of time, and the end of the interval of an event at time 0."""

    unit: float
    first_event: float

    def __post_init__(self) -> None:
        if not (0 < self.unit < np.inf and 0 < self.first_event < np.inf):
            raise ValueError(
                f"the unit of time and the first event time must be above 0; got {self}"
            )

    @classmethod
    def learn(cls, target: Target) -> TimeScale:
        """Return the median positive event time and the smallest exact event time."""
        middle = np.where(target.interval, (target.time + target.upper) / 2, target.time)
        positive = middle[(target.event > 0) & (middle > 0)]
        if len(positive) == 0:
            raise TargetError(
                "all events happened at time 0; got no positive event time. Measure time more "
                "finely."
            )
        exact = target.time[(target.event > 0) & (target.time > 0) & ~target.interval]
        first_event = exact.min() if len(exact) else positive.min()
        return cls(float(np.quantile(positive, 0.5, method="lower")), float(first_event))

    def check(self, target: Target) -> None:
        """Refuse times beyond single precision."""
        last_time = np.fmax(target.time, target.upper)
        refuse_rows(
            last_time / self.unit > _MAX_FLOAT32,
            last_time,
            f"time must be at most {_MAX_FLOAT32:g} times the median event time, {self.unit:g}",
            "Is it a code for unknown? Correct these rows",
            TargetError,
        )

    def observe(
        self, target: Target, weight: FloatArray | None = None, dtype: torch.dtype = torch.float64
    ) -> Observations:
        """Return the target as tensors in the model's unit."""
        return Observations.from_target(target, self.unit, self.first_event, weight, dtype)


# Architecture.


def architecture_of(
    estimator: Any, example: Tensor, n_events: int, preprocessor: Any = None
) -> Architecture:
    """Return the architecture that the options of an estimator describe.

    Parameters
    ----------
    estimator : DeepSurvivalMachines
        No automatic setting is None.
    example : tensor of shape (n_rows, n_inputs)
        Inputs; an encoder of the user is called with them.
    n_events : int
        Number of event types.
    preprocessor : transformer, optional
        The fitted preprocessor; that of histories knows the position of each source in a row.

    Returns
    -------
    Architecture
    """
    module, width = None, 0
    blocks = getattr(preprocessor, "blocks_", None)
    if isinstance(estimator.encoder, SequenceEncoder):
        module = estimator.encoder.build(blocks or ())
        width = int(module.width)  # type: ignore[arg-type]
    elif estimator.encoder is not None:
        encoder = estimator.encoder if blocks is None else Unpacked(estimator.encoder, blocks)
        module, width = _copy_encoder(encoder, example, blocks)
    options = (estimator.primitive, int(estimator.k), n_events, bool(estimator.cure))
    return Architecture(
        n_inputs=example.shape[1],
        hidden=() if module is not None else tuple(int(width) for width in estimator.hidden),
        k=n_components(*options),
        n_events=n_events,
        primitive=choose_families(*options),
        activation=estimator.activation,
        shift_activation=estimator.shift_activation,
        bias=bool(estimator.bias),
        module=module,
        module_width=width,
    )


@torch.no_grad()
def _copy_encoder(
    encoder: nn.Module, example: Tensor, blocks: Sequence[Block] | None
) -> tuple[nn.Module, int]:
    """Return a float32 copy of a user's encoder and its number of output features."""
    module = copy.deepcopy(encoder).float().cpu().eval()
    try:
        with torch.random.fork_rng(devices=[]):  # lazy layers draw their starting weights here
            torch.set_rng_state(torch.Generator().manual_seed(0).get_state())
            features = module(example)
        shape = tuple(getattr(features, "shape", ()))
        is_matrix = len(shape) == 2 and shape[0] == len(example) and shape[1] > 0
        problem = "" if is_matrix else str(shape or type(features).__name__)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        shapes = {block.name: ["rows", *block.shape] for block in blocks or ()}
        inputs = f"[rows, {example.shape[1]}]"
        raise SettingError(
            f"encoder must turn inputs of shape {shapes or inputs} into one row of features per row, "
            f"shape [{len(example)}, width]; got {problem}. Change its first layer (nn.LazyLinear "
            "finds the number of inputs by itself), and flatten its output."
        )
    return module, shape[1]


def single_precision(matrix: NDArray[np.floating[Any]]) -> Tensor:
    """Return the inputs of a network in float32; a C-contiguous float32 matrix is not copied."""
    largest = max(matrix.max(initial=0.0), -matrix.min(initial=0.0))
    if largest > _MAX_FLOAT32:
        raise CovariateError(
            f"X is too large for single precision; got {largest}, expected at most {_MAX_FLOAT32}. "
            "Scale it, or use preprocessor='auto'."
        )
    return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32))


# Trained members.


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The trained members of an ensemble: ``DeepSurvivalMachines.network_``.

    Times are divided by a unit inside. The members share one architecture, unless each has its own
    copy of an encoder.

    Attributes
    ----------
    architectures : tuple of Architecture
        One, or one per member.
    parameters : float32 tensor of shape (n_members, n_parameters)
        The parameters of each member.
    scale : TimeScale
        The unit of time.
    device : torch.device
        Where the network is computed; parameters and results are in the memory of the host.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(8,), n_members=2, max_epochs=2)
    >>> model = model.fit(data.X[:500], data.y[:500])
    >>> matrix = model.preprocess(data.X[500:503])
    >>> model.network_.represent(matrix).shape
    (3, 16)
    >>> model.network_.mixtures(matrix).log_weights.shape  # members, rows, events, components
    torch.Size([2, 3, 1, 4])
    """

    architectures: tuple[Architecture, ...]
    parameters: Tensor  # [n_members, n_parameters], float32
    scale: TimeScale
    device: torch.device = field(default=torch.device("cpu"), compare=False)

    def __post_init__(self) -> None:
        for architecture, parameters in self._groups():
            if architecture.module is not None:
                architecture.module.cpu().eval()
                architecture.fill_module(parameters)

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds of the network.

        Returns
        -------
        dict
            Parameters, their shapes by name, the time scale, and for each module of a user its
            buffers and frozen parameters.
        """
        return {
            "parameters": self.parameters,
            "layout": _shapes(self.architectures[0].layout.shapes),
            "scale": self.scale,
            "modules": [
                member.module_state() for member in self.architectures if member.module is not None
            ],
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], make_architecture: Callable[[], Architecture]
    ) -> FittedNetwork:
        """Return the network of a model file; ``ValueError`` if its numbers do not fit.

        Parameters
        ----------
        state : mapping
            The result of ``to_state``.
        make_architecture : callable
            Returns the architecture that the options of the model describe.

        Returns
        -------
        FittedNetwork
        """
        parameters, modules = state["parameters"], state["modules"]
        # Members share one architecture, unless each has a module.
        architectures = [make_architecture() for _ in range(len(modules) or 1)]
        layout = architectures[0].layout
        _check_shapes(state["layout"], _shapes(layout.shapes))
        shape = (len(parameters), layout.size)
        if parameters.dtype != torch.float32 or parameters.shape != shape:
            raise ValueError(f"parameters must have shape {shape}; got {tuple(parameters.shape)}")
        if not len(parameters) or not parameters.isfinite().all():
            raise ValueError("finite parameters expected")
        for architecture, tensors in zip(architectures, modules, strict=False):
            buffers = architecture.module_state()
            _check_shapes(_shapes(tensors), _shapes(buffers))
            for name, buffer in buffers.items():
                buffer.copy_(tensors[name])
        return cls(tuple(architectures), parameters, state["scale"])

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def width(self) -> int:
        """The number of features of the representation of one member."""
        return self.architectures[0].width

    def members(self) -> list[FittedNetwork]:
        """Return every member as a network.

        Returns
        -------
        list of FittedNetwork
            One per member.
        """
        architectures = self.architectures * (len(self) if len(self.architectures) == 1 else 1)
        return [
            replace(self, architectures=(architecture,), parameters=row)
            for architecture, row in zip(architectures, self.parameters.split(1), strict=True)
        ]

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
        representation = self._apply(matrix, Architecture.represent)
        return representation.transpose(0, 1).flatten(1).double().numpy()

    def mixtures(self, matrix: FloatArray) -> Mixture:
        """Return the members' mixtures in the model's unit of time.

        Parameters
        ----------
        matrix : float array of shape (n_rows, n_inputs)
            The output of ``model.preprocess(X)``.

        Returns
        -------
        Mixture
            Log weights and parameters in float64, ``[n_members, n_rows, n_events, k]``.
        """
        # [n_members, n_rows, 1 + n_parameters, n_events, k]
        log_weights, *parameters = self._apply(matrix, _stacked_mixture).double().unbind(2)
        is_outside = torch.stack([~(values.abs() < LARGEST_LOG) for values in parameters])
        if is_outside.any():  # NaN included
            rows = is_outside.sum(dim=(0, 1, 3, 4)).nonzero()[:, 0]
            raise CovariateError(
                f"X must lie near the training rows; got {len(rows)} rows, the first is row "
                f"{int(rows[0])}, so far away that a component's location or shape is beyond "
                f"exp({LARGEST_LOG:.0f}). Check the units of the columns."
            )
        components = self.architectures[0].family(*parameters)
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
        components = mixtures.components.rescaled(np.log(self.scale.unit))
        mixtures = Mixture(mixtures.log_weights, components)
        if self.architectures[0].n_events > 1:
            return CompetingDistribution(mixtures)
        # One mixture per row, of the components of all members: [n_rows, n_members * k]
        joint = mixtures.map(lambda values: values[:, :, 0].transpose(0, 1).flatten(1))
        return MixtureDistribution(Mixture(joint.log_weights - np.log(len(self)), joint.components))

    @torch.no_grad()
    def log_likelihood(self, matrix: FloatArray, target: Target, weight: FloatArray) -> float:
        """Return the weighted log-likelihood of the averaged joint distribution.

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
        total = 0.0
        size = max(1, _LIKELIHOOD_ROWS // len(self))
        for start in range(0, len(target), size):
            rows = slice(start, start + size)
            mixtures = self.mixtures(matrix[rows])
            observed = self.scale.observe(target.take(rows), weight[rows])
            total += float((observed.weight * _log_likelihood_by_row(mixtures, observed)).sum())
        return total

    @torch.no_grad()
    def _apply(
        self,
        matrix: FloatArray,
        function: Callable[[Architecture, dict[str, Tensor], Tensor], Tensor],
    ) -> Tensor:
        """Return the results of a function for all rows, ``[n_members, n_rows, ...]``."""
        x = single_precision(matrix)
        # A network that was pickled on a machine with a GPU may be loaded on one without.
        has_device = self.device.type != "cuda" or torch.cuda.is_available()
        device = self.device if has_device else torch.device("cpu")
        results = []
        for architecture, rows in self._groups():
            parameters = architecture.layout.views(rows.to(device))
            blocks = [
                function(architecture, parameters, block.to(device).expand(len(rows), -1, -1)).cpu()
                for block in x.split(max(1, _ROWS_PER_PASS // len(rows)))
            ]
            results.append(torch.cat(blocks, dim=1))
        return torch.cat(results)

    def _groups(self) -> list[tuple[Architecture, Tensor]]:
        """Return each architecture with the parameters of its members."""
        if len(self.architectures) == 1:
            return [(self.architectures[0], self.parameters)]
        return list(zip(self.architectures, self.parameters.split(1), strict=True))


def _log_likelihood_by_row(mixtures: Mixture, observed: Observations) -> Tensor:
    """Return the log-likelihood of each row if members count by their survival to the entry."""
    n_members, n_rows, n_events = mixtures.log_weights.shape[:3]
    row_numbers = torch.arange(n_rows).expand(n_members, -1)
    by_member = contributions(mixtures, observed.take(row_numbers)).total()  # [n_members, n_rows]
    log_entry = torch.zeros_like(by_member)
    if observed.entry is not None and observed.truncated is not None:
        entry = observed.entry[:, None].expand(-1, n_events)
        log_entry = torch.where(observed.truncated, mixtures.log_survival(entry).sum(-1), 0.0)
    return torch.logsumexp(by_member + torch.log_softmax(log_entry, dim=0), dim=0)


def _stacked_mixture(
    architecture: Architecture, parameters: dict[str, Tensor], x: Tensor
) -> Tensor:
    mixture = architecture.mixtures(parameters, x)
    return torch.stack([mixture.log_weights, *mixture.components.parameters], dim=2)


def _shapes(tensors: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the shapes of tensors, or shapes, by name."""
    return {name: list(getattr(value, "shape", value)) for name, value in tensors.items()}


def _check_shapes(saved: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuse tensors of a model file whose names or shapes differ from the architecture."""
    for name in {**saved, **expected}:
        if saved.get(name) != expected.get(name):
            raise ModelFileError(
                f"the weights {name!r:.60} have shape {saved.get(name)!r:.60} in the file and "
                f"{expected.get(name)} in this model. Give a module of the shape that was saved."
            )
