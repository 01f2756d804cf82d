"""All that a fit does before training: a table and a target become the data, the jobs and the settings of a fleet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..errors import SettingError
from ..model import Architecture
from ..preprocessing import apply_preprocessor, learn_preprocessor
from ..training import Data, Job, TrainConfig, warm_start
from .encoders import copy_encoder
from .inputs import single_precision, training_rows, validation_rows
from .sample import Sample
from .settings import check_settings, choose_device, root_seed
from .timescale import TimeScale

__all__ = ["Memo", "Plan", "architecture_of", "make_plan"]

_OWN_SETTINGS = ("learning_rate", "discount", "prior_strength", "head_prior", "dropout", "weight_decay")

Value = TypeVar("Value")


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


def make_plan(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    validation_data: tuple[Any, Any] | None = None,
    memo: Memo | None = None,
) -> tuple[Any, Plan]:
    """Check everything, and return the rows of the table that count and the plan."""
    check_settings(estimator)
    memo = memo or Memo()
    X, target, weight = training_rows(X, y, sample_weight, estimator.t_max)
    weight = weight / weight.mean()  # the loss does not depend on their scale, single precision does
    if estimator.t_max is not None and target.n_events > 1 and target.interval.any() and estimator.objective == "exact":
        raise SettingError(
            "t_max cannot go with intervals under competing risks in the exact likelihood; got both. "
            "Leave t_max out, or use objective='elbo'."
        )
    option = estimator.preprocessor if isinstance(estimator.preprocessor, str) else joblib.hash(estimator.preprocessor)

    def read() -> tuple[Any, Sample]:
        preprocessor = learn_preprocessor(estimator.preprocessor, X)
        sample = Sample(apply_preprocessor(preprocessor, X, columns_required=False), target, weight)
        if validation_data is not None:
            X_held, held = validation_rows(validation_data, target.n_events, estimator.t_max)
            sample = sample.with_held_out(apply_preprocessor(preprocessor, X_held, columns_required=False), held)
        return preprocessor, sample

    preprocessor, sample = memo.get(("sample", option), read)
    scale = memo.get("scale", lambda: TimeScale.learn(target))
    architecture = architecture_of(estimator, single_precision(sample.matrix[:2]), target.n_events)
    settled = _is_settled(estimator, sample)
    device = choose_device(estimator.device)

    def load() -> Data:
        observed = scale.observe(sample.target, sample.weight, torch.float32)
        return Data(single_precision(sample.matrix), observed).to(device)

    config = TrainConfig(
        objective=estimator.objective,
        batch_size=int(estimator.batch_size),
        max_epochs=0 if settled else int(estimator.max_epochs),
        patience=int(estimator.patience),
        optimizer=estimator.optimizer,
        t_max=None if estimator.t_max is None else estimator.t_max / scale.unit,
    )
    jobs = _jobs(estimator, architecture, sample, scale, 0.0 if settled else estimator.validation_fraction, memo)
    data = memo.get(("data", option, str(device)), load)
    return X, Plan(preprocessor, sample, scale, architecture, data, jobs, config)


def _jobs(
    estimator: Any, architecture: Architecture, sample: Sample, scale: TimeScale, fraction: float, memo: Memo
) -> list[Job]:
    """Return one job a member, each with a seed and rows to hold out of its own, unless these were given."""

    def start() -> Tensor:
        rows, _ = sample.split(0.0, 0)  # all but the given rows to hold out
        observed = scale.observe(sample.target.take(rows), sample.weight[rows])
        return warm_start(architecture.law, observed, architecture.n_events)

    begin = memo.get(("start", architecture.law), start)
    settings = {name: float(getattr(estimator, name)) for name in _OWN_SETTINGS}
    root = memo.get(("root", estimator.random_state), lambda: root_seed(estimator.random_state))
    jobs = []
    for seed in np.random.SeedSequence(root).generate_state(estimator.n_members).tolist():
        parts = memo.get(("split", seed, fraction), lambda seed=seed: sample.split(fraction, seed))  # type: ignore[misc]
        train, held_out = (torch.as_tensor(rows) for rows in parts)
        jobs.append(Job(train, held_out, begin, seed, **settings))
    return jobs


def architecture_of(estimator: Any, example: Tensor, n_events: int) -> Architecture:
    """Return the shape of an estimator's model for inputs like ``example``, ``[rows, inputs]``."""
    module, width = None, 0
    if estimator.encoder is not None:
        module, width = copy_encoder(estimator.encoder, example)
    return Architecture(
        n_inputs=example.shape[1],
        hidden=() if module is not None else tuple(int(width) for width in estimator.hidden),
        k=int(estimator.k),
        n_events=n_events,
        primitive=estimator.primitive,
        activation=estimator.activation,
        shift_activation=estimator.shift_activation,
        bias=bool(estimator.bias),
        module=module,
        module_width=width,
    )


def _is_settled(estimator: Any, sample: Sample) -> bool:
    """Tell whether the warm start is the maximum already: one component, and inputs that do not vary."""
    plain = estimator.k == 1 and estimator.discount == 1 and estimator.t_max is None and estimator.encoder is None
    apart = sample.target.n_events == 1 or not sample.target.interval.any()
    return plain and apart and not sample.varies
