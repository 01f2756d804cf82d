"""The options of ``DeepSurvivalMachines``: what they may be, checked before any work is done, and what some mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from ..checks import Check, Flag, Number, Rule, Seed, Whole, Widths, warn_user
from ..encoders import SequenceEncoder
from ..errors import SettingError
from ..likelihood import check_objective
from ..network import resolve_activation
from ..primitives.choice import check_primitive
from ..training import check_callbacks, check_optimizer

__all__ = ["RULES", "check_combinations", "check_memory", "choose_device", "root_seed"]

_WORTH_A_GPU = 2e8  # multiplications of one training step
_BYTES_PER_WEIGHT = 20  # the weight, its best value, its gradient and two moments

RULES: Mapping[str, Rule] = {
    "primitive": Check(check_primitive),
    "objective": Check(check_objective),
    "activation": Check(lambda name: None if name is None else resolve_activation(name)),
    "shift_activation": Check(lambda name: None if name is None else resolve_activation(name)),
    "optimizer": Check(check_optimizer),
    "k": Whole(1),
    "n_members": Whole(1, optional=True),
    "batch_size": Whole(1, optional=True),
    "max_epochs": Whole(0),
    "patience": Whole(1, optional=True),
    "prior_strength": Number(0.0),
    "head_prior": Number(0.0),
    "weight_decay": Number(0.0),
    "discount": Number(0.0, 1.0),
    "dropout": Number(0.0, 0.95, optional=True),
    "validation_fraction": Number(0.0, 0.9),
    "learning_rate": Number(1e-12, 10.0, optional=True),
    "hidden": Widths(optional=True),
    "t_max": Number(0.0, sys.float_info.max, optional=True),
    "bias": Flag(),
    "rounding": Number(0.0, sys.float_info.max, optional=True),
    "cure": Flag(),
    "callbacks": Check(check_callbacks),
    "random_state": Seed(),
}
"""What the options of ``DeepSurvivalMachines`` may be."""


def check_combinations(estimator: Any) -> None:
    """Refuse options that cannot be used together, and warn of one that has no effect."""
    if isinstance(estimator.encoder, SequenceEncoder):
        estimator.encoder.check()
    elif estimator.encoder is not None and not isinstance(estimator.encoder, nn.Module):
        raise SettingError(
            f"encoder must be an nn.Module, one of lifemix.encoders or None; got {type(estimator.encoder).__name__}."
        )
    if estimator.checkpoint is not None:
        if not isinstance(estimator.checkpoint, (str, os.PathLike)):
            raise SettingError(
                f"checkpoint must be a folder or None; got {estimator.checkpoint!r}."
            )
        if estimator.random_state is None:
            raise SettingError(
                "checkpoint needs a random seed; got random_state=None. Set random_state to a number: a fit "
                "can only be continued with the same random numbers."
            )
    if estimator.cure and estimator.objective != "exact":
        raise SettingError(
            f"cure=True needs objective='exact'; got {estimator.objective!r}. The bound is minus infinity: it is "
            "the mean log density of an event over all outcomes, of which never has none."
        )
    if estimator.cure and estimator.t_max is not None:
        raise SettingError(
            f"cure=True cannot go with t_max; got t_max={estimator.t_max}, by which everybody has the event. Leave one "
            "of them out."
        )
    no_layer = estimator.hidden is not None and len(tuple(estimator.hidden)) == 0
    if estimator.dropout and (estimator.encoder is not None or no_layer):
        warn_user(
            f"dropout={estimator.dropout} has no effect: there is no hidden layer of the model's own to drop units "
            "from. Set dropout in the encoder (of your own: put nn.Dropout into it), or leave it out here."
        )


def check_memory(estimator: Any, n_inputs: int, n_weights: int) -> None:
    """Refuse a model whose weights alone are more than the memory of the machine."""
    needed = n_weights * int(estimator.n_members) * _BYTES_PER_WEIGHT
    memory = (
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if hasattr(os, "sysconf")
        else 2**44
    )
    if needed > memory:
        raise SettingError(
            f"k={estimator.k}, hidden={tuple(estimator.hidden)} and n_members={estimator.n_members} with {n_inputs} "
            f"inputs make {n_weights * int(estimator.n_members):,} weights, needing {needed / 1e9:,.0f} GB to train; "
            f"there are {memory / 1e9:,.0f} GB. Use fewer components, narrower layers or fewer members."
        )


def choose_device(device: str | torch.device, multiplications: float = np.inf) -> torch.device:
    """Return the device to compute on; ``auto`` is CUDA where there is one and a training step is large enough to gain.

    A step is some sixty calls, each of which a GPU begins after about 5 microseconds, whatever its size: 0.3 ms. That
    is a hundredth of what one core takes for the limit.
    """
    if device == "auto":
        return torch.device(
            "cuda" if torch.cuda.is_available() and multiplications >= _WORTH_A_GPU else "cpu"
        )
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError, ValueError, OverflowError) as error:
        raise SettingError(
            f"device {device!r} cannot be used: {error}. Try 'auto' or 'cpu'."
        ) from None
    return chosen


def root_seed(random_state: object) -> int:
    """Return the random seed of a fit; None is a fresh one each time."""
    seed = Seed()("random_state", random_state)
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**31 - 1))
    return int(seed)
