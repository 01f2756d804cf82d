"""A fleet of one model whose encoder is a module of the user's.

Such a module may draw random numbers from PyTorch's global generator (dropout) and may keep numbers beside its
parameters (the running means of batch normalisation). The random numbers come from the seed of the model, and the
global generator is left as it was; the numbers beside the parameters go back to the best epoch together with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ..network import Architecture
from .config import Data, Job, TrainConfig
from .fleet import Fleet

__all__ = ["ModuleFleet"]


class ModuleFleet(Fleet):
    """A fleet of one; training changes the module of its architecture."""

    def __init__(
        self, architecture: Architecture, data: Data, job: Job, config: TrainConfig
    ) -> None:
        if architecture.module is not None:
            architecture.module.to(data.x.device)
        super().__init__(architecture, data, [job], config)
        self.best_buffers = self.buffers()
        self._cuda = [data.x.device] if data.x.device.type == "cuda" else []
        self.random_states = [
            torch.Generator(device).manual_seed(job.seed).get_state()
            for device in (torch.device("cpu"), *self._cuda)
        ]

    def run_epoch(self) -> None:
        """Make one pass over the training rows, then evaluate the validation rows."""
        with self._own_random_numbers():
            super().run_epoch()
        if self.fits[0].best_epoch == self.epoch:
            self.best_buffers = self.buffers()
        if not self.running:
            self.put_buffers(self.best_buffers)

    def buffers(self) -> dict[str, Tensor]:
        """Return copies of the numbers that the module keeps beside its parameters."""
        return {name: buffer.clone() for name, buffer in self.architecture.module_state().items()}

    def put_buffers(self, values: dict[str, Tensor]) -> None:
        """Give the module what ``buffers`` returned."""
        for name, buffer in self.architecture.module_state().items():
            buffer.copy_(values[name])

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Let PyTorch's global generators go on from this model's states, and put them back afterwards."""
        with torch.random.fork_rng(devices=self._cuda):
            torch.set_rng_state(self.random_states[0])
            for device, state in zip(self._cuda, self.random_states[1:], strict=True):
                torch.cuda.set_rng_state(state, device)
            yield
            self.random_states = [
                torch.get_rng_state(),
                *(torch.cuda.get_rng_state(device) for device in self._cuda),
            ]
