"""The data of a fleet, the settings that its models share, and those of each model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..likelihood import Observations

__all__ = ["Data", "Job", "TrainConfig"]


@dataclass(frozen=True, eq=False)
class Data:
    """All rows that the models of the fleet may use; jobs refer to them by index."""

    x: Tensor  # [rows, inputs]
    observed: Observations  # [rows]
    mapped: bool = False  # whether the rows lie on disk, in random order: batches are then runs of consecutive rows

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any] | None]:
        """The same memory as arrays: they can be pickled without a copy and read from mapped memory, tensors cannot."""
        observed = {f.name: getattr(self.observed, f.name) for f in fields(self.observed)}
        return {
            name: None if v is None else v.numpy(force=True)
            for name, v in {"x": self.x, **observed}.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.x.device, "arrays": self._arrays, "mapped": self.mapped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = {name: values for name, values in state["arrays"].items() if values is not None}
        tensors: dict[str, Tensor] = {
            name: _tensor(v).to(state["device"]) for name, v in known.items()
        }
        self.__dict__["x"] = tensors.pop("x")
        self.__dict__["observed"] = Observations(**tensors)
        self.__dict__["mapped"] = state["mapped"]

    def to(self, device: torch.device) -> Data:
        """Return the data on a device."""
        return Data(self.x.to(device), self.observed.to(device), self.mapped)


def _tensor(values: NDArray[Any]) -> Tensor:
    """Return a tensor on the same memory; a copy where that must not be written to, which PyTorch cannot express."""
    return torch.from_numpy(values) if values.flags.writeable else torch.tensor(values)


@dataclass(frozen=True, eq=False)
class Job:
    """One model of a fleet: its rows, its seed, and the settings that may differ inside a fleet."""

    train_rows: Tensor
    validation_rows: Tensor
    warm_start: Tensor  # [events, parameters of the primitive]
    seed: int
    learning_rate: float = 1e-3
    discount: float = 1.0
    prior_strength: float = 0.0
    head_prior: float = 0.0
    dropout: float = 0.0
    weight_decay: float = 0.0
    n_inputs: int | None = (
        None  # where the model has fewer inputs than its fleet: the others are 0, and weigh 0
    )


@dataclass(frozen=True)
class TrainConfig:
    """The settings that all models of a fleet share."""

    objective: str = "exact"
    batch_size: int = 100
    max_epochs: int = 200
    patience: int = 10
    optimizer: str | type[torch.optim.Optimizer] = "adam"
    t_max: float | None = None
    spread: float = 0.5
    max_gradient_norm: float = 10.0
