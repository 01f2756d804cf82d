"""The rows that a fit learns from, and which of them are held out to stop early."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..splits import train_validation_split
from ..target import Target
from ..warning import warn_user

__all__ = ["Sample"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs, target and case weights; the last ``n_given`` rows were given by the user to be held out."""

    matrix: Floats  # [rows, inputs]
    target: Target
    weight: Floats
    n_given: int = 0

    def with_held_out(self, matrix: Floats, target: Target) -> Sample:
        """Put given rows to hold out behind the others."""
        both = [np.concatenate([getattr(self.target, f.name), getattr(target, f.name)]) for f in fields(Target)]
        weight = np.concatenate([self.weight, np.ones(len(target))])
        return Sample(np.concatenate([self.matrix, matrix]), Target(*both), weight, len(target))

    @property
    def training_target(self) -> Target:
        """The target without the given rows to hold out."""
        return self.target.take(slice(0, len(self.target) - self.n_given))

    @property
    def varies(self) -> bool:
        """Whether there is any input by which rows could differ."""
        return bool(self.matrix.any())

    def split(self, fraction: float, seed: int) -> tuple[Rows, Rows]:
        """Return the rows to train on and the rows to hold out, disjoint and stratified by event.

        A row censored at time 0 says nothing, so it is in neither. Where both parts cannot have every kind of event,
        nothing is held out, with a warning.
        """
        usable = np.flatnonzero((self.target.time > 0) | (self.target.event > 0))
        if self.n_given:
            first = len(self.target) - self.n_given
            return usable[usable < first], usable[usable >= first]
        if fraction == 0:
            return usable, usable[:0]
        if 1 <= round(fraction * len(usable)) < len(usable):
            train, held_out = train_validation_split(self.target, usable, fraction, seed)
            kinds = set(range(1, self.target.n_events + 1))
            if all(kinds <= set(self.target.event[part].tolist()) for part in (train, held_out)):
                return train, held_out
        warn_user(
            f"too few events to hold rows out: {len(usable)} rows, counts by kind "
            f"{np.bincount(self.target.event[usable])[1:].tolist()}. Training runs for max_epochs on all rows; "
            "set validation_fraction=0 to choose this."
        )
        return usable, usable[:0]
