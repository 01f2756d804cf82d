"""The plan of a fit: all that is done before training.

A table and a target become the rows to learn from and to hold out, one job per member of the ensemble, and the settings
that all jobs share. Plans of one shape can train together as a fleet (see ``fleets``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import joblib
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from .._types import Float32Array, FloatArray, IndexArray
from ..checks import warn_user
from ..encoders import SequenceEncoder
from ..errors import InputError, SettingError
from ..likelihood import Observations
from ..network import Architecture
from ..preprocessing import TableLike, TabularPreprocessor, apply_preprocessor, learn_preprocessor
from ..primitives.choice import choose_families, components_per_event
from ..splits import train_validation_split
from ..streaming import RowBlock, TableSource, mapped_arrays, open_arrays, scan_table
from ..target import Target, TargetLike
from ..training import Data, Job, Ranks, TrainConfig, warm_start
from .automatic import resolved, used
from .encoders import check_encoder_inputs, make_encoder
from .inputs import in_units, single_precision, training_rows, validation_rows
from .path_settings import check_path_settings, prior_share
from .rounding import check_rounding, events_in_steps
from .settings import check_memory, choose_device, root_seed
from .timescale import TimeScale

__all__ = [
    "OWN_SETTINGS",
    "Memo",
    "Plan",
    "Sample",
    "architecture_of",
    "make_plan",
    "source_plan",
]

OWN_SETTINGS = (
    "learning_rate",
    "discount",
    "prior_strength",
    "head_prior",
    "dropout",
    "weight_decay",
)
"""The options that may differ between models that train together."""

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs, target and case weights; the last ``n_given`` rows were given by the user to be held out."""

    matrix: Float32Array  # [rows, inputs]
    target: Target
    weight: FloatArray
    n_given: int = 0

    def with_held_out(self, matrix: Float32Array, target: Target) -> Sample:
        """Put given rows to hold out behind the others."""
        weight = np.concatenate([self.weight, np.ones(len(target))])
        return Sample(
            np.concatenate([self.matrix, matrix]),
            self.target.followed_by(target),
            weight,
            len(target),
        )

    @property
    def training_target(self) -> Target:
        """The target without the given rows to hold out."""
        return self.target.take(slice(0, len(self.target) - self.n_given))

    @property
    def varies(self) -> bool:
        """Whether there is any input by which rows could differ."""
        return bool(self.matrix.any())

    def split(self, fraction: float, seed: int) -> tuple[IndexArray, IndexArray]:
        """Return the rows to train on and the rows to hold out, disjoint, stratified by event, each subject in one.

        A row censored at time 0 carries no information, so it is in neither. Where both parts cannot have every event
        type, nothing is held out, with a warning.
        """
        usable = np.flatnonzero((self.target.time > 0) | (self.target.event > 0))
        if self.n_given:
            first = len(self.target) - self.n_given
            return usable[usable < first], usable[usable >= first]
        if fraction == 0:
            return usable, usable[:0]
        n_subjects = self.target.take(usable).n_subjects
        if 1 <= round(fraction * n_subjects) < n_subjects:
            train, held_out = train_validation_split(self.target, usable, fraction, seed)
            types = set(range(1, self.target.n_events + 1))
            if all(types <= set(self.target.event[part].tolist()) for part in (train, held_out)):
                return train, held_out
        warn_user(
            f"too few events to hold rows out: {len(usable)} rows, counts by event type "
            f"{np.bincount(self.target.event[usable])[1:].tolist()}. Training runs for max_epochs on all rows; "
            "set validation_fraction=0 to choose this."
        )
        return usable, usable[:0]


@dataclass
class Memo:
    """What plans on the same rows share, computed once: a search makes many plans that differ in one setting."""

    known: dict[Any, Any] = field(default_factory=dict)

    def get(self, key: Any, make: Callable[[], Value]) -> Value:
        """Return what is known under a key, or make it."""
        if key not in self.known:
            self.known[key] = make()
        return cast(Value, self.known[key])


@dataclass(frozen=True, eq=False)
class Plan:
    """A fit that is ready to train."""

    preprocessor: Any
    sample: Sample
    scale: TimeScale
    architecture: Architecture
    data: Data
    jobs: list[Job]
    config: TrainConfig
    settings: dict[str, Any]  # what the options that follow from the table came to


def make_plan(
    estimator: Any,
    X: TableLike,
    y: TargetLike,
    sample_weight: ArrayLike | None = None,
    validation_data: tuple[Any, Any] | None = None,
    memo: Memo | None = None,
) -> tuple[Any, Plan]:
    """Check everything, and return the rows of the table that count and the plan."""
    estimator._check_settings()
    memo = memo or Memo()
    X, target, weight = training_rows(X, y, sample_weight, estimator.t_max)
    check_path_settings(estimator, target)
    estimator = resolved(estimator, len(target.joined()), target)
    weight = (
        weight / weight.mean()
    )  # the loss does not depend on their scale, single precision does
    check_rounding(estimator.rounding, target)
    intervals = estimator.rounding > 0 or bool(target.interval.any())
    _check_t_max(estimator, target, intervals)
    check_encoder_inputs(estimator.encoder, X)
    longest, sequences = (
        getattr(estimator.encoder, "max_visits", None),
        isinstance(estimator.encoder, SequenceEncoder),
    )
    option = (
        estimator.preprocessor
        if isinstance(estimator.preprocessor, str)
        else joblib.hash(estimator.preprocessor)
    )
    option = option if estimator.encoder is None else (option, longest, sequences)

    def read() -> tuple[Any, Sample]:
        preprocessor = learn_preprocessor(
            estimator.preprocessor, X, max_visits=longest, sequences=sequences
        )
        sample = Sample(_inputs(preprocessor, X), target, weight)
        if validation_data is not None:
            X_held, held = validation_rows(validation_data, target, estimator.t_max)
            sample = sample.with_held_out(_inputs(preprocessor, X_held), held)
        return preprocessor, sample

    preprocessor, sample = memo.get(("sample", option), read)
    scale = memo.get("scale", lambda: TimeScale.learn(target))
    scale.check(sample.target)
    architecture = architecture_of(
        estimator, torch.from_numpy(sample.matrix[:2]), target.n_events, preprocessor
    )
    check_memory(estimator, architecture.n_inputs, architecture.layout.size)
    settled = _is_settled(estimator, architecture, sample, intervals)
    device = choose_device(estimator.device, _multiplications(estimator, architecture))

    def load() -> Data:
        seen = events_in_steps(sample.target, estimator.rounding)
        observed = scale.observe(seen, sample.weight, torch.float32)
        return Data(torch.from_numpy(sample.matrix), observed).to(device)

    config = train_config(estimator, scale, settled)
    jobs = _jobs(
        estimator,
        architecture,
        sample,
        scale,
        0.0 if settled else estimator.validation_fraction,
        memo,
    )
    data = memo.get(("data", option, str(device), estimator.rounding), load)
    settings = used(estimator)
    return X, Plan(preprocessor, sample, scale, architecture, data, jobs, config, settings)


def _check_t_max(estimator: Any, target: Target, intervals: bool) -> None:
    if (
        estimator.t_max is not None
        and target.n_events > 1
        and intervals
        and estimator.objective == "exact"
    ):
        raise SettingError(
            "t_max cannot go with intervals under competing risks in the exact likelihood; got both. "
            "Leave t_max (or rounding) out, or use objective='elbo'."
        )


@contextmanager
def source_plan(estimator: Any, source: TableSource) -> Iterator[tuple[Any, Plan, Ranks]]:
    """Read a table on disk; yield a sample of its rows, the plan, and the processes that share the fit.

    The data of the plan are memory-mapped arrays, which are deleted at the end unless the source has a cache.
    """
    estimator._check_settings()
    _check_source(estimator, source)
    ranks = Ranks.current(str(estimator.device))
    root = int(ranks.from_first(root_seed(estimator.random_state)))
    rules = (
        estimator.preprocessor
        if isinstance(estimator.preprocessor, TabularPreprocessor)
        else TabularPreprocessor()
    )
    scan = scan_table(source, float(estimator.validation_fraction), int(rules.max_levels), root)
    X, target, weight = training_rows(
        scan.frame, scan.target, scan.weight / scan.mean_weight, estimator.t_max
    )
    check_path_settings(estimator, target)
    estimator = resolved(estimator, round(scan.n_rows * prior_share(target)), target)
    check_rounding(estimator.rounding, target)
    _check_t_max(estimator, target, estimator.rounding > 0 or bool(target.interval.any()))
    preprocessor, scale = (
        scan.statistics.fitted(estimator.preprocessor, scan.frame),
        TimeScale.learn(target),
    )
    scale.check(target)
    example = _inputs(preprocessor, X[:2])
    architecture = architecture_of(estimator, torch.from_numpy(example), target.n_events)
    check_memory(estimator, architecture.n_inputs, architecture.layout.size)
    encode = _SourceEncoder.for_rows(
        preprocessor, scale, estimator.rounding, scan.mean_weight, target
    )
    usable = np.flatnonzero((target.time > 0) | (target.event > 0))
    informative = events_in_steps(target.take(usable), estimator.rounding)
    begin = warm_start(
        architecture.family, scale.observe(informative, weight[usable]), architecture.n_events
    )
    settings: dict[str, Any] = {name: float(getattr(estimator, name)) for name in OWN_SETTINGS}
    for name in ("prior_strength", "head_prior"):
        settings[name] *= prior_share(target)
    if estimator.validation_fraction > 0 and scan.n_held_out == 0:
        warn_user(
            f"too few rows to hold any out: {scan.n_train}. Training runs for max_epochs on all rows; set "
            "validation_fraction=0 to choose this."
        )
    train_rows, validation_rows = torch.arange(scan.n_train + scan.n_held_out).split(
        [scan.n_train, scan.n_held_out]
    )
    seeds = member_seeds(root, estimator.n_members)
    jobs = [Job(train_rows, validation_rows, begin, seed, **settings) for seed in seeds]
    device = choose_device(estimator.device, _multiplications(estimator, architecture))
    key = str(joblib.hash([source.fingerprint(), encode, root, scan.held_out_share]))
    folder = None if estimator.checkpoint is None else Path(estimator.checkpoint)
    with ExitStack() as stack:
        if ranks.rank == 0:
            place = stack.enter_context(mapped_arrays(source, scan, encode, root, key, folder))
        arrays = open_arrays(ranks.from_first(place if ranks.rank == 0 else None))
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        data = Data(tensors.pop("x"), Observations(**tensors), mapped=True).to(device)
        config, sample = train_config(estimator, scale), Sample(example[:0], target, weight)
        yield (
            X,
            Plan(preprocessor, sample, scale, architecture, data, jobs, config, used(estimator)),
            ranks,
        )


@dataclass(frozen=True)
class _SourceEncoder:
    """Returns the inputs and observations of a block, with the fields that any row of the table needs."""

    preprocessor: Any
    scale: TimeScale
    rounding: float
    mean_weight: float
    has_intervals: bool
    has_entries: bool
    has_origin: bool

    @classmethod
    def for_rows(
        cls,
        preprocessor: Any,
        scale: TimeScale,
        rounding: float,
        mean_weight: float,
        target: Target,
    ) -> Self:
        """Return the encoder of a table; ``target`` has a row of every kind."""
        target = events_in_steps(target, rounding)
        at_origin = target.time == 0
        intervals = bool(target.interval.any() or (at_origin & (target.event > 0)).any())
        entries = bool(target.truncated.any())
        return cls(
            preprocessor, scale, rounding, mean_weight, intervals, entries, bool(at_origin.any())
        )

    def __call__(self, block: RowBlock) -> dict[str, NDArray[Any]]:
        target = events_in_steps(block.outcome, self.rounding)
        observations = self.scale.observe(target, block.weight / self.mean_weight, torch.float32)
        absent = torch.zeros_like(observations.time, dtype=torch.bool)
        if self.has_intervals and observations.interval is None:
            observations = replace(observations, interval=absent, upper=2 * observations.time)
        if self.has_entries and observations.truncated is None:
            observations = replace(observations, truncated=absent, entry=observations.time)
        if self.has_origin and observations.at_origin is None:
            observations = replace(observations, at_origin=absent)
        arrays = {
            name: tensor.numpy()
            for name, tensor in vars(observations).items()
            if tensor is not None
        }
        return {"x": _inputs(self.preprocessor, block.frame), **arrays}


def _check_source(estimator: Any, source: TableSource) -> None:
    """Refuse options that need the table in memory."""
    if source.time is None:
        raise InputError("a fit needs the outcome: TableSource(path, time=..., event=...).")
    if estimator.encoder is not None:
        raise SettingError("encoder= needs a table in memory; got a TableSource. Use hidden=(...).")
    preprocessor = estimator.preprocessor
    if (
        preprocessor is not None
        and preprocessor != "auto"
        and not isinstance(preprocessor, TabularPreprocessor)
    ):
        raise SettingError(
            f"preprocessor must be 'auto', None or a TabularPreprocessor with a TableSource; got "
            f"{type(preprocessor).__name__}. Others need the whole table in memory."
        )


def train_config(estimator: Any, scale: TimeScale, settled: bool = False) -> TrainConfig:
    """Return the settings that all members share."""
    return TrainConfig(
        objective=estimator.objective,
        batch_size=int(estimator.batch_size),
        max_epochs=0 if settled else int(estimator.max_epochs),
        patience=int(estimator.patience),
        optimizer=estimator.optimizer,
        t_max=in_units(estimator.t_max, scale.unit),
    )


def member_seeds(root: int, n_members: int) -> list[int]:
    """Return the random seed of each member."""
    seeds: list[int] = np.random.SeedSequence(root).generate_state(n_members).tolist()
    return seeds


def _inputs(preprocessor: Any, X: Any) -> Float32Array:
    """Return the inputs of the network, one row after the other in memory."""
    return single_precision(apply_preprocessor(preprocessor, X, columns_required=False)).numpy()


def _jobs(
    estimator: Any,
    architecture: Architecture,
    sample: Sample,
    scale: TimeScale,
    fraction: float,
    memo: Memo,
) -> list[Job]:
    """Return one job per member, each with a random seed and rows to hold out of its own, unless these were given."""

    def start() -> Tensor:
        rows, _ = sample.split(0.0, 0)  # all but the given rows to hold out
        some = sample.target if len(rows) == len(sample.target) else sample.target.take(rows)
        observed = scale.observe(events_in_steps(some, estimator.rounding), sample.weight[rows])
        return warm_start(architecture.family, observed, architecture.n_events)

    begin = memo.get(("start", architecture.family, estimator.rounding), start)
    settings: dict[str, Any] = {name: float(getattr(estimator, name)) for name in OWN_SETTINGS}
    root = memo.get(("root", estimator.random_state), lambda: root_seed(estimator.random_state))
    for name in ("prior_strength", "head_prior"):
        settings[name] *= prior_share(sample.target)
    jobs = []
    for seed in member_seeds(root, estimator.n_members):
        train, held_out = memo.get(
            ("split", seed, fraction), partial(_split, sample, fraction, seed)
        )
        jobs.append(Job(train, held_out, begin, seed, **settings))
    return jobs


def _multiplications(estimator: Any, architecture: Architecture) -> float:
    """Return how many a training step takes, about; of an encoder of the user's it is not known how many."""
    if architecture.module is not None:
        return np.inf
    return 3.0 * int(estimator.batch_size) * architecture.layout.size * int(estimator.n_members)


def _split(sample: Sample, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    train, held_out = sample.split(fraction, seed)
    return torch.as_tensor(train), torch.as_tensor(held_out)


def architecture_of(
    estimator: Any, example: Tensor, n_events: int, preprocessor: Any = None
) -> Architecture:
    """Return the shape of an estimator's model for inputs like ``example``, ``[rows, inputs]``.

    preprocessor: what gives the inputs; one of histories knows where each source stands in a row.
    """
    module, width = None, 0
    if estimator.encoder is not None:
        module, width = make_encoder(
            estimator.encoder, example, getattr(preprocessor, "blocks_", None)
        )
    families = choose_families(
        estimator.primitive, int(estimator.k), n_events, bool(estimator.cure)
    )
    return Architecture(
        n_inputs=example.shape[1],
        hidden=() if module is not None else tuple(int(width) for width in estimator.hidden),
        k=components_per_event(
            estimator.primitive, int(estimator.k), n_events, bool(estimator.cure)
        ),
        n_events=n_events,
        primitive=families,
        activation=estimator.activation,
        shift_activation=estimator.shift_activation,
        bias=bool(estimator.bias),
        module=module,
        module_width=width,
    )


def _is_settled(
    estimator: Any, architecture: Architecture, sample: Sample, intervals: bool
) -> bool:
    """Tell whether the warm start is the maximum already: one component, and inputs that do not vary."""
    plain = (
        architecture.k == 1
        and estimator.discount == 1
        and estimator.t_max is None
        and estimator.encoder is None
    )
    apart = sample.target.n_events == 1 or not intervals
    return plain and apart and not sample.varies
