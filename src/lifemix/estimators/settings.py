"""Checks of an estimator's options, all before any work is done."""

from __future__ import annotations

import os
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import SettingError
from ..likelihood import check_objective
from ..networks import activation_function
from ..primitives import primitive_class
from ..training import OPTIMIZERS
from ..warning import warn_user

__all__ = ["check_settings", "choose_device", "root_seed"]


_HUGE = 1e30


def check_settings(estimator: Any) -> None:
    """Refuse options that cannot be used."""
    primitive_class(estimator.primitive)
    check_objective(estimator.objective)
    activation_function(estimator.activation)
    if estimator.shift_activation is not None:
        activation_function(estimator.shift_activation)
    if estimator.optimizer not in OPTIMIZERS:
        raise SettingError(f"unknown optimizer; got {estimator.optimizer!r}, expected one of {sorted(OPTIMIZERS)}.")
    for name, least in {"k": 1, "n_members": 1, "batch_size": 1, "max_epochs": 0, "patience": 1}.items():
        _whole(name, getattr(estimator, name), least)
    for name in ("prior_strength", "head_prior", "weight_decay"):
        _number(name, getattr(estimator, name), 0, _HUGE)
    _number("discount", estimator.discount, 0, 1)
    _number("dropout", estimator.dropout, 0, 0.95)
    _number("validation_fraction", estimator.validation_fraction, 0, 0.9)
    _number("learning_rate", estimator.learning_rate, 1e-12, 10)
    _check_hidden(estimator.hidden)
    if estimator.encoder is not None and not isinstance(estimator.encoder, nn.Module):
        raise SettingError(f"encoder must be an nn.Module or None; got {type(estimator.encoder).__name__}.")
    if estimator.t_max is not None:
        _number("t_max", estimator.t_max, 0, sys.float_info.max)
    if not isinstance(estimator.bias, (bool, np.bool_)):
        raise SettingError(f"bias must be True or False; got {estimator.bias!r}.")
    _check_checkpoint(estimator)
    if estimator.dropout > 0 and (estimator.encoder is not None or len(tuple(estimator.hidden)) == 0):
        warn_user(
            f"dropout={estimator.dropout} has no effect: there is no hidden layer of the model's own to drop units "
            "from. Put nn.Dropout into the encoder, or set dropout=0."
        )


def _check_checkpoint(estimator: Any) -> None:
    if estimator.checkpoint is None:
        return
    if not isinstance(estimator.checkpoint, (str, os.PathLike)):
        raise SettingError(f"checkpoint must be a folder or None; got {estimator.checkpoint!r}.")
    if estimator.random_state is None:
        raise SettingError(
            "checkpoint needs a seed; got random_state=None. Set random_state to a number: a killed fit can only go on "
            "with the same random numbers."
        )


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise SettingError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def _number(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most:
        raise SettingError(f"{name} must be a number from {least} to {most}; got {value!r}.")


def _check_hidden(hidden: object) -> None:
    if isinstance(hidden, (str, bytes)) or not hasattr(hidden, "__iter__"):
        raise SettingError(f"hidden must be a sequence of widths such as (100,) or (); got {hidden!r}.")
    for width in hidden:
        _whole("each width in hidden", width, 1)


def choose_device(device: str | torch.device) -> torch.device:
    """Return the device to compute on; ``auto`` is CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise SettingError(f"device {device!r} cannot be used: {error}. Try 'auto' or 'cpu'.") from None
    return chosen


def root_seed(random_state: object) -> int:
    """Return the number that all randomness of a fit comes from; None is fresh each time."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or int(random_state) < 0:
        raise SettingError(f"random_state must be a whole number >= 0, a generator or None; got {random_state!r}.")
    return int(random_state)
