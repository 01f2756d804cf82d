"""The options of ``DeepSurvivalMachines``: which values they may have, and what None stands for.

Options that are None follow from the training rows. A small table gets many members and strong
dropout, because the result of one network that stops early on a few rows is random. With more rows,
members and dropout decrease and batches grow. Networks with Tanh start nearly linear and are
bounded, so that extreme rows get finite predictions. ``experiments/unseen`` compares these settings
with other models.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from .._types import FloatArray
from ..checks import Check, Choice, Flag, Number, Rule, Seed, Whole, Widths
from ..encoders import SequenceEncoder
from ..errors import SettingError
from ..likelihood import check_objective
from ..network import Architecture, resolve_activation
from ..primitives.mixture import COMPONENT_COUNT, check_primitive
from ..target import Target

__all__ = [
    "AUTOMATIC",
    "ONE_NETWORK",
    "RULES",
    "automatic_settings",
    "check_combinations",
    "choose_device",
    "common_step",
    "detect_rounding",
    "explain_settings",
    "settings_in_json",
    "with_automatic_settings",
    "with_settings",
]

_MAX_TIME = 1e30  # single precision
_HOOKS = ("on_fit_start", "on_epoch_start", "on_epoch_end", "on_fit_end")


def _check_activation(activation: Any) -> None:
    if activation is not None:
        resolve_activation(activation)


def _are_callbacks(callbacks: Any) -> bool:
    return isinstance(callbacks, Sequence) and all(
        not isinstance(callback, type) and all(hasattr(callback, hook) for hook in _HOOKS)
        for callback in callbacks
    )


RULES: Mapping[str, Rule] = {
    "primitive": Check(check_primitive),
    "objective": Check(check_objective),
    "activation": Check(_check_activation),
    "shift_activation": Check(_check_activation),
    "k": COMPONENT_COUNT,
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
    "bias": Flag(),
    "rounding": Number(0.0, _MAX_TIME, optional=True),
    "cure": Flag(),
    "random_state": Seed(),
    "optimizer": Choice("adam", "rmsprop", "sgd"),
    "callbacks": Rule(
        "a list of objects derived from lifemix.training.Callback", _are_callbacks, optional=True
    ),
}
"""The rules of the options."""

ONE_NETWORK: Mapping[str, Any] = {
    "hidden": (100,),
    "activation": "relu6",
    "n_members": 1,
    "dropout": 0.0,
    "batch_size": 128,
    "learning_rate": 1e-3,
    "patience": 10,
    "rounding": 0.0,
}
"""Fixed settings of a single network: the starting point of the experiments."""

AUTOMATIC = tuple(ONE_NETWORK)
"""The options that may be None."""

_SETTINGS_BY_ROWS = (
    # maximum number of rows, n_members, dropout, batch_size, learning_rate, patience
    (2_000, 16, 0.3, 256, 3e-3, 10),
    (5_000, 8, 0.3, 256, 3e-3, 10),
    (20_000, 3, 0.1, 256, 4e-3, 4),
    (100_000, 2, 0.0, 512, 2e-3, 4),
    (math.inf, 1, 0.0, 1024, 2e-3, 4),
)
_MIN_DROPOUT_WIDTH = 32  # narrower layers have no units to spare
_MAX_SEQUENCE_MEMBERS = 8  # members with an encoder of histories train one by one

_MIN_EVENTS_PER_TIME = 100.0
_MAX_STEPS_BETWEEN_QUARTILES = 20.0
_STEP_TOLERANCE = 1e-3  # distance of a time to a multiple of the step, as a share of the step
_MIN_GPU_MULTIPLICATIONS = 2e8


def check_combinations(estimator: Any) -> None:
    """Refuse options that cannot be used, alone or together."""
    if isinstance(estimator.encoder, SequenceEncoder):
        estimator.encoder.check()
    elif estimator.encoder is not None and not isinstance(estimator.encoder, nn.Module):
        raise SettingError(
            "encoder must be an nn.Module, one of lifemix.encoders or None; got "
            f"{type(estimator.encoder).__name__}."
        )
    if estimator.checkpoint is not None:
        if not isinstance(estimator.checkpoint, (str, os.PathLike)):
            raise SettingError(
                f"checkpoint must be a folder or None; got {estimator.checkpoint!r}."
            )
        if estimator.random_state is None:
            raise SettingError(
                "checkpoint needs a random seed; got random_state=None. Set random_state to a "
                "number: a fit can only be continued with the same random numbers."
            )
    if estimator.cure and estimator.objective != "exact":
        raise SettingError(
            f"cure=True needs objective='exact'; got {estimator.objective!r}. The ELBO is minus "
            "infinity, because the cured component has density 0."
        )


def _check_path_settings(estimator: Any, target: Target) -> None:
    """Refuse settings whose loss depends on how the path of a subject is cut into intervals."""
    if estimator.objective != "exact" or estimator.discount != 1:
        raise SettingError(
            f"objective={estimator.objective!r} and discount={estimator.discount:g} cannot go with "
            f"several intervals per subject; got {len(target)} intervals of "
            f"{len(target.joined())} subjects. Use objective='exact' and discount=1: the bound of a "
            "path is not the sum of the bounds of its intervals, and every interval but the last "
            "ends without event, so that all would be discounted as if they were censored."
        )


# What None stands for.


def automatic_settings(
    n_rows: int, hidden: Sequence[int] | None = None, has_encoder: bool = False
) -> dict[str, Any]:
    """Return the settings for a number of training rows.

    Parameters
    ----------
    n_rows : int
        Number of training rows; of paths, the number of subjects.
    hidden : sequence of int, optional
        The widths of the layers, if the user chose them.
    has_encoder : bool, default False
        Whether the network has an encoder, whose members train one after the other.

    Returns
    -------
    dict
        A value for each name in ``AUTOMATIC``.
    """
    widths = (50, 50) if hidden is None else tuple(hidden)
    n_members, dropout, batch_size, learning_rate, patience = next(
        settings for max_rows, *settings in _SETTINGS_BY_ROWS if n_rows <= max_rows
    )
    can_drop = not has_encoder and len(widths) > 0 and min(widths) >= _MIN_DROPOUT_WIDTH
    return {
        "hidden": widths,
        "activation": "tanh" if hidden is None else "relu6",
        "n_members": 1 if has_encoder else n_members,
        "dropout": dropout if can_drop else 0.0,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "rounding": 0.0,
    }


def with_automatic_settings(estimator: Any, n_rows: int, target: Target) -> Any:
    """Return a copy of the estimator with values in place of None, checked against the target.

    n_rows: the number of training rows; of paths, the number of subjects.
    """
    if target.path is not None:
        _check_path_settings(estimator, target)
    settings = automatic_settings(n_rows, estimator.hidden, estimator.encoder is not None)
    if isinstance(estimator.encoder, SequenceEncoder):
        n_members = automatic_settings(n_rows)["n_members"]
        settings["n_members"] = min(n_members, _MAX_SEQUENCE_MEMBERS)
    if estimator.batch_size is not None:
        settings["learning_rate"] = 1e-3
    if estimator.rounding is None:
        settings["rounding"] = detect_rounding(target)
    elif estimator.rounding > target.time.max():
        raise SettingError(
            f"rounding must be at most the last time, {target.time.max():g}; got "
            f"{estimator.rounding:g}. Give the step in the unit of the times, or 0 if they are "
            "exact."
        )
    return with_settings(estimator, settings)


def with_settings(estimator: Any, settings: Mapping[str, Any]) -> Any:
    """Return a copy of the estimator in which these settings replace None."""
    completed = copy.copy(estimator)
    for name in AUTOMATIC:
        if getattr(estimator, name) is None:
            setattr(completed, name, settings[name])
    return completed


def settings_in_json(estimator: Any) -> dict[str, Any]:
    """Return the settings that may be None, in JSON's types; a function by its name."""
    return {
        "hidden": [int(width) for width in estimator.hidden],
        "activation": resolve_activation(estimator.activation).name,
        "n_members": int(estimator.n_members),
        "dropout": float(estimator.dropout),
        "batch_size": int(estimator.batch_size),
        "learning_rate": float(estimator.learning_rate),
        "patience": int(estimator.patience),
        "rounding": float(estimator.rounding),
    }


def explain_settings(estimator: Any, settings: Mapping[str, Any], n_rows: int) -> list[str]:
    """Return the settings that replaced None and why, those with the same reason in one text.

    settings: ``settings_`` of the fitted estimator.
    """
    rows = f"for {n_rows:,} training rows"
    reasons = {
        "hidden": "the default",
        "activation": "the default" if estimator.hidden is None else "the paper's",
        "n_members": rows,
        "dropout": rows,
        "batch_size": rows,
        "learning_rate": rows,
        "patience": rows,
        "rounding": "the step of the training times",
    }
    widths = settings["hidden"] if estimator.hidden is None else estimator.hidden
    if estimator.encoder is not None:
        reasons["n_members"] += ", few because each encoder trains alone"
        reasons["dropout"] = "an encoder has its own"
    elif min(widths, default=0) < _MIN_DROPOUT_WIDTH:
        reasons["dropout"] = "the layers are narrow"
    if estimator.batch_size is not None:
        reasons["learning_rate"] = "with a batch size of your own"
    if settings["rounding"] == 0:
        reasons["rounding"] = "the training times are not coarse"
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if getattr(estimator, name) is None:
            by_reason.setdefault(reason, []).append(f"{name}={settings[name]!r}")
    return [f"{', '.join(texts)}: {reason}" for reason, texts in by_reason.items()]


def detect_rounding(target: Target) -> float:
    """Return the step to which the event times were rounded; 0 if it is not coarse.

    Times are coarse if at least 100 events share each distinct time on average, all event times are
    multiples of a step, and at most 20 steps lie between their quartiles. The result is 0 for
    targets with several event types, because the likelihood of an interval would be an integral,
    and with intervals or paths.
    """
    if target.n_events > 1 or target.path is not None or target.interval.any():
        return 0.0
    times = target.time[target.event > 0]
    distinct = np.unique(times)
    if len(distinct) < 2 or len(times) < _MIN_EVENTS_PER_TIME * len(distinct):
        return 0.0
    low, high = np.quantile(times, [0.25, 0.75])
    min_step = max(high - low, distinct[-1] / 1e6) / _MAX_STEPS_BETWEEN_QUARTILES
    return common_step(distinct, min_step)


def common_step(times: FloatArray, min_step: float) -> float:
    """Return the largest step of which all times are multiples; 0 below ``min_step``.

    This is Euclid's algorithm on all times at once: the smallest remainder becomes the next step.
    """
    step = float(times[times > 0].min())
    while step >= min_step:
        remainders = np.abs(times - step * np.round(times / step))
        remainders = remainders[remainders > _STEP_TOLERANCE * step]
        if len(remainders) == 0:
            return step
        step = float(remainders.min())
    return 0.0


def choose_device(estimator: Any, architecture: Architecture) -> torch.device:
    """Return the device to train on; ``auto`` is CUDA for large training steps.

    A step is about sixty calls. A GPU starts each after about 5 microseconds, 0.3 ms together: a
    hundredth of what one core needs for the number of multiplications from which CUDA is used.
    Modules of the user are taken as large.
    """
    device = estimator.device
    if device == "auto":
        n_weights = architecture.layout.size * int(estimator.n_members)
        is_large = 3.0 * int(estimator.batch_size) * n_weights >= _MIN_GPU_MULTIPLICATIONS
        use_cuda = is_large or architecture.module is not None
        return torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")
    try:
        torch_device = torch.device(device)
        torch.empty(0, device=torch_device)
    except (RuntimeError, AssertionError, TypeError, ValueError, OverflowError) as error:
        raise SettingError(
            f"device {device!r} cannot be used: {error}. Try 'auto' or 'cpu'."
        ) from None
    return torch_device
