"""All that is done before training: from a table and a target to jobs.

``TrainingSet`` holds the rows in memory, and what the fits of a search on the same rows share.
``prepare`` returns what training needs for one estimator; ``prepare_source`` does the same for a
table on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from .._types import Float32Array, IndexArray
from ..checks import as_pandas, check_same_rows, check_weight, take_rows, warn_user
from ..encoders import SequenceEncoder
from ..errors import InputError, SettingError, TargetError
from ..histories import as_input
from ..likelihood import Observations
from ..mapped_matrix import mapped_arrays, open_arrays, scan_table
from ..network import Architecture
from ..preprocessing import (
    TableData,
    TableLike,
    TabularPreprocessor,
    apply_preprocessor,
    learn_preprocessor,
    shape_of,
)
from ..preprocessing.tabular import refuse_outcome_columns
from ..splits import train_validation_split
from ..streaming import RowBlock, TableSource
from ..target import (
    Target,
    TargetLike,
    as_target,
    refuse_missing_types,
    refuse_unknown_types,
    warn_no_censored_row,
)
from ..training import (
    Data,
    Job,
    Ranks,
    TrainConfig,
    warm_start,
)
from .fitted_network import TimeScale, architecture_of, single_precision
from .settings import (
    choose_device,
    settings_in_json,
    with_automatic_settings,
)

__all__ = ["PreparedFit", "TrainingSet", "prepare", "prepare_source", "split_rows"]

_JOB_OPTIONS = (
    "learning_rate",
    "discount",
    "prior_strength",
    "head_prior",
    "dropout",
    "weight_decay",
)

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """What training needs, and what the fitted model keeps."""

    columns: Any  # one row of the training table: number and names of its columns
    preprocessor: Any
    target: Target  # of the training rows
    scale: TimeScale
    architecture: Architecture
    data: Data
    jobs: list[Job]  # one per member
    config: TrainConfig
    settings: dict[str, Any]


class TrainingSet:
    """The rows that a fit learns from, and what fits with other options share.

    Parameters
    ----------
    X, y : table and target of n rows
        As in ``DeepSurvivalMachines.fit``.
    sample_weight : array-like of shape (n,), optional
        Case weights.
    validation_data : pair (X, y), optional
        Rows for early stopping.

    Attributes
    ----------
    X, target : table and target
        The rows of positive weight.
    all_rows, weight : target and weights
        Those rows, followed by the rows of ``validation_data``.
    """

    def __init__(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
    ) -> None:
        X, target = _read_rows(X, y)
        refuse_missing_types(target.event)
        warn_no_censored_row(target.event)
        refuse_outcome_columns(X, target)
        weight = check_weight(sample_weight, len(target))
        rows = np.flatnonzero(weight > 0)
        counts = np.bincount(target.event[rows], minlength=target.n_events + 1)
        if not counts[1:].all():
            raise InputError(
                "sample_weight must be positive for some row of every event type; got only zeros "
                f"for {(np.flatnonzero(counts[1:] == 0) + 1).tolist()}."
            )
        if len(rows) < 2:
            raise InputError(
                f"a model needs at least 2 rows, preferably hundreds; got n_samples = {len(rows)}."
            )
        if len(rows) < len(target):
            X, target, weight = take_rows(X, rows), target.take(rows), weight[rows]
        self.X, self.target, self.all_rows = X, target, target
        self.weight = weight / weight.mean()  # single precision depends on the scale
        self.validation_X = None
        if validation_data is not None:
            self.validation_X, validation = _read_validation(validation_data, target)
            self.all_rows = target.followed_by(validation)
            self.weight = np.concatenate([self.weight, np.ones(len(validation))])
        self.scale = TimeScale.learn(target)
        self.scale.check(self.all_rows)
        self._shared: dict[Any, Any] = {}

    def share(self, key: Any, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, which is computed at the first call."""
        if key not in self._shared:
            self._shared[key] = compute()
        return cast(Value, self._shared[key])

    def encode(
        self, preprocessor: Any, max_visits: int | None, is_sequence: bool | None
    ) -> tuple[Any, Float32Array]:
        """Return the fitted preprocessor, and the inputs of all rows."""
        fitted = learn_preprocessor(
            preprocessor, self.X, max_visits=max_visits, sequences=is_sequence
        )
        x = _inputs(fitted, self.X)
        if self.validation_X is not None:
            x = np.concatenate([x, _inputs(fitted, self.validation_X)])
        return fitted, x

    def observe(self, rounding: float) -> Observations:
        """Return the target of all rows as tensors, in single precision."""
        target = events_as_intervals(self.all_rows, rounding)
        return self.scale.observe(target, self.weight, torch.float32)

    def split(self, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
        """Return the numbers of the rows to train on and of those to hold out."""
        n_training = len(self.target)
        if n_training < len(self.all_rows):  # the rows of validation_data follow
            rows = np.flatnonzero(self.all_rows.informative)
            train, validation = rows[rows < n_training], rows[rows >= n_training]
        else:
            train, validation = split_rows(self.target, fraction, seed)
        return torch.as_tensor(train), torch.as_tensor(validation)

    def warm_start(self, architecture: Architecture, rounding: float) -> Tensor:
        """Return the maximum-likelihood fit of the family to the training rows."""
        target = events_as_intervals(self.target, rounding)
        observed = self.scale.observe(target, self.weight[: len(target)])
        return warm_start(architecture.family, observed, architecture.n_events)


def _read_rows(X: Any, y: Any, name: str = "") -> tuple[Any, Target]:
    """Return a table and its target, which must have the same rows."""
    X, target = as_pandas(as_input(X)), as_target(y)
    if isinstance(X, pd.DataFrame):
        X = TableData(X)  # reads its columns once
    check_same_rows(shape_of(X)[0], len(target), name)
    return X, target


def _read_validation(validation_data: Any, training: Target) -> tuple[Any, Target]:
    """Return the rows for early stopping; they must be of other subjects than the training rows."""
    if not isinstance(validation_data, (tuple, list)) or len(validation_data) != 2:
        raise InputError(
            f"validation_data must be a pair (X, y); got {type(validation_data).__name__}."
        )
    X, y = validation_data
    X, target = _read_rows(X, y, "validation_data: ")
    refuse_unknown_types(target.event, training.n_events, "validation_data")
    if target.subject is not None and training.subject is not None:
        is_shared = np.isin(target.subject, training.subject)
        if is_shared.any():
            raise InputError(
                "validation_data must have other subjects than X; got "
                f"{target.take(is_shared).n_subjects} of its {target.n_subjects} subjects in both "
                f"({int(is_shared.sum())} rows). Leave their rows out of one of them."
            )
    if not target.informative.any():
        raise TargetError(
            "validation_data must not be censored at time 0 in all rows; got only "
            f"such rows ({len(target)}). Use other rows."
        )
    return X, target


def _inputs(preprocessor: Any, X: Any) -> Float32Array:
    """Return the inputs of the network, one row after the other in memory."""
    matrix = apply_preprocessor(preprocessor, X, columns_required=False)
    return single_precision(matrix).numpy()


def split_rows(target: Target, fraction: float, seed: int) -> tuple[IndexArray, IndexArray]:
    """Return the informative rows to train on and to hold out, each subject on one side.

    The split is stratified by event. If both sides cannot have every event type, nothing is held
    out, with a warning.
    """
    rows = np.flatnonzero(target.informative)
    if fraction == 0:
        return rows, rows[:0]
    n_subjects = target.take(rows).n_subjects
    if 1 <= round(fraction * n_subjects) < n_subjects:
        split = train_validation_split(target, rows, fraction, seed)
        event_types = set(range(1, target.n_events + 1))
        if all(event_types <= set(target.event[side].tolist()) for side in split):
            return split
    warn_user(
        f"too few events to hold rows out: {len(rows)} rows, counts by event type "
        f"{np.bincount(target.event[rows])[1:].tolist()}. Training runs for max_epochs on all "
        "rows; set validation_fraction=0 to choose this."
    )
    return rows, rows[:0]


def events_as_intervals(target: Target, step: float) -> Target:
    """Return the target with exact events as intervals of the width of a step.

    An exact event at t falls in ``(t - step / 2, t + step / 2]``, from 0 or the entry on if that is
    later; censored rows keep their times. A continuous density can rise without limit at a few tied
    times, on training and on held-out rows; the probability of the interval cannot.
    """
    if step == 0:
        return target
    is_exact = (target.event > 0) & ~target.interval
    lower = np.maximum(target.time - step / 2, target.entry)
    return replace(
        target,
        time=np.where(is_exact, lower, target.time),
        upper=np.where(is_exact, target.time + step / 2, target.upper),
    )


def prepare(estimator: Any, table: TrainingSet) -> PreparedFit:
    """Return what training needs to fit an estimator to a table."""
    estimator = with_automatic_settings(estimator, len(table.target.joined()), table.target)
    encoder, rounding = estimator.encoder, estimator.rounding
    is_sequence = None if encoder is None else isinstance(encoder, SequenceEncoder)
    table_options = (getattr(encoder, "max_visits", None), is_sequence)
    try:
        preprocessor_key = joblib.hash(estimator.preprocessor)
    except Exception:  # pickling raises any type; a lambda, say, is shared as the same object only
        preprocessor_key = id(estimator.preprocessor)
    table_key = (preprocessor_key, *table_options)
    preprocessor, x = table.share(
        ("inputs", table_key), lambda: table.encode(estimator.preprocessor, *table_options)
    )
    example, n_events = torch.from_numpy(x[:2]), table.target.n_events
    architecture = architecture_of(estimator, example, n_events, preprocessor)
    device = choose_device(estimator, architecture)
    data = table.share(
        ("data", table_key, rounding, str(device)),
        lambda: Data(torch.from_numpy(x), table.observe(rounding)).to(device),
    )
    seed = table.share(("seed", estimator.random_state), lambda: _root_seed(estimator.random_state))
    # One component without covariates: the warm start is the maximum of the likelihood.
    is_plain = estimator.discount == 1 and encoder is None
    is_separate = n_events == 1 or not (rounding > 0 or table.target.interval.any())
    if architecture.k == 1 and is_plain and is_separate and not x.any():
        estimator.max_epochs, estimator.validation_fraction = 0, 0.0
    return _with_jobs(estimator, table, preprocessor, architecture, data, seed)


def _root_seed(random_state: Any) -> int:
    """Return the random seed of a fit; None is a fresh one each time."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31 - 1))


def _with_jobs(
    estimator: Any,
    table: TrainingSet,
    preprocessor: Any,
    architecture: Architecture,
    data: Data,
    seed: int,
    split: tuple[Tensor, Tensor] | None = None,
) -> PreparedFit:
    """Return the prepared fit with one job per member; without ``split`` each holds out rows."""
    start = table.share(
        ("start", architecture.family, estimator.rounding),
        lambda: table.warm_start(architecture, estimator.rounding),
    )
    options: dict[str, Any] = {name: float(getattr(estimator, name)) for name in _JOB_OPTIONS}
    # The loss is a mean over rows, but a prior counts once per subject.
    subjects_per_row = len(table.all_rows.joined()) / len(table.all_rows)
    options["prior_strength"] *= subjects_per_row
    options["head_prior"] *= subjects_per_row
    jobs = []
    for member_seed in np.random.SeedSequence(seed).generate_state(estimator.n_members).tolist():
        split_options = (float(estimator.validation_fraction), member_seed)
        rows = split or table.share(("split", *split_options), partial(table.split, *split_options))
        jobs.append(Job(*rows, start, member_seed, **options))
    config = TrainConfig(
        objective=estimator.objective,
        batch_size=int(estimator.batch_size),
        max_epochs=int(estimator.max_epochs),
        patience=int(estimator.patience),
        optimizer=estimator.optimizer,
    )
    return PreparedFit(
        take_rows(table.X, [0]),
        preprocessor,
        table.target,
        table.scale,
        architecture,
        data,
        jobs,
        config,
        settings_in_json(estimator),
    )


# Tables on disk.


@contextmanager
def prepare_source(estimator: Any, source: TableSource) -> Iterator[tuple[PreparedFit, Ranks]]:
    """Read a table on disk; yield what training needs, and the processes that share the fit.

    The data are memory-mapped arrays, which are deleted at the end unless the source has a cache.
    """
    _check_source(estimator, source)
    ranks = Ranks.current(str(estimator.device))
    seed = int(ranks.from_first(_root_seed(estimator.random_state)))
    fraction = float(estimator.validation_fraction)
    max_levels = getattr(estimator.preprocessor, "max_levels", TabularPreprocessor().max_levels)
    scan = scan_table(source, fraction, int(max_levels), seed)
    if fraction > 0 and scan.n_held_out == 0:
        warn_user(
            f"too few rows to hold any out: {scan.n_train}. Training runs for max_epochs on all "
            "rows; set validation_fraction=0 to choose this."
        )
    table = TrainingSet(scan.frame, scan.target)
    table.weight = scan.weight / scan.mean_weight
    subjects_per_row = len(table.target.joined()) / len(table.target)
    n_subjects = round(scan.n_rows * subjects_per_row)
    estimator = with_automatic_settings(estimator, n_subjects, table.target)
    preprocessor = learn_preprocessor(
        estimator.preprocessor, scan.frame, statistics=scan.statistics
    )
    example = torch.from_numpy(_inputs(preprocessor, scan.frame[:2]))
    architecture = architecture_of(estimator, example, table.target.n_events)
    device = choose_device(estimator, architecture)
    # The sample has a row of every kind, so it has all fields of the observations.
    sample = table.observe(estimator.rounding)
    fields = [name for name, values in vars(sample).items() if values is not None]
    options = preprocessor, table.scale, estimator.rounding, scan.mean_weight, fields
    encode = partial(_encode_block, *options)
    key = str(joblib.hash([source.fingerprint(), encode, seed, scan.held_out_share]))
    checkpoint = None if estimator.checkpoint is None else Path(estimator.checkpoint)
    with ExitStack() as stack:
        folder = None
        if ranks.rank == 0:
            matrix = mapped_arrays(source, scan, encode, seed, key, checkpoint)
            folder = stack.enter_context(matrix)
        arrays = open_arrays(ranks.from_first(folder))
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        data = Data(tensors.pop("x"), Observations(**tensors), mapped=True).to(device)
        rows = torch.arange(scan.n_train + scan.n_held_out)
        split = rows[: scan.n_train], rows[scan.n_train :]
        yield _with_jobs(estimator, table, preprocessor, architecture, data, seed, split), ranks


def _check_source(estimator: Any, source: TableSource) -> None:
    """Refuse options that need the table in memory."""
    if source.time is None:
        raise InputError("a fit needs the outcome: TableSource(path, time=..., event=...).")
    if estimator.encoder is not None:
        raise SettingError("encoder= needs a table in memory; got a TableSource. Use hidden=(...).")
    preprocessor = estimator.preprocessor
    is_ours = isinstance(preprocessor, TabularPreprocessor)
    if preprocessor is not None and preprocessor != "auto" and not is_ours:
        raise SettingError(
            "preprocessor must be 'auto', None or a TabularPreprocessor with a TableSource; got "
            f"{type(preprocessor).__name__}. Others need the whole table in memory."
        )


def _encode_block(
    preprocessor: Any,
    scale: TimeScale,
    rounding: float,
    mean_weight: float,
    fields: Sequence[str],
    block: RowBlock,
) -> dict[str, NDArray[Any]]:
    """Return the inputs and all ``fields`` of the observations of a block of rows."""
    target = events_as_intervals(block.outcome, rounding)
    observed = scale.observe(target, block.weight / mean_weight, torch.float32)
    is_absent = torch.zeros_like(observed.time, dtype=torch.bool)
    defaults = {"upper": 2 * observed.time, "entry": observed.time}
    arrays = {"x": _inputs(preprocessor, block.frame)}
    for name in fields:
        values = getattr(observed, name)
        values = defaults.get(name, is_absent) if values is None else values
        arrays[name] = values.numpy()
    return arrays
