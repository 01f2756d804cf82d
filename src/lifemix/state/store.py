"""Where the arrays of a state go to, and where they come from."""

from __future__ import annotations

import hashlib
from collections import ChainMap, Counter
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError

__all__ = ["Reader", "Size", "Writer", "malformed"]

Size = int | str | None
"""One dimension of an array: its length, a name for a length that several arrays share, or None for any length."""


def malformed(place: str, expected: str, got: Any) -> ModelFileError:
    """Return the error for a part of a file that no model would have written."""
    return ModelFileError(f"{place} must be {expected}; got {got!r:.100}. Save the model again.")


class Writer:
    """Collects the arrays of a state by name; equal arrays are kept once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.encoder: Any = None  # an encoder of the user's, the first where there are several
        self.activation: Any = None  # and a function as activation
        self.owner: Any = None  # the model whose attributes are being written
        self._taken: Counter[str] = Counter()
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def array(self, values: Any, place: str) -> str:
        """Keep a copy of an array and return the name by which it is found again."""
        array = np.array(values, order="C")
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self._names:
            self._taken[place] += 1
            self._names[key] = place if self._taken[place] == 1 else f"{place}#{self._taken[place]}"
            self.arrays[self._names[key]] = array
        return self._names[key]


@dataclass(frozen=True, eq=False)
class Reader:
    """Gives the arrays of a state, checked; knows the lengths that arrays share."""

    arrays: Mapping[str, NDArray[Any]]
    encoder: Any = None  # what the user gave for models that were saved with an encoder of their own
    import_class: Callable[[str], Any] = lambda name: None  # brings a class of ours that is not registered yet
    activation: Any = None  # and for models with a function of their own as activation
    sizes: MutableMapping[str, int] = field(default_factory=dict)
    owner: Any = None  # the model whose attributes are being read: its options, and what was read before, are there
    with_encoder: list[str] = field(default_factory=list)  # the options that took it, of models inside others too

    def inner(self) -> Reader:
        """Return a reader for a part: new names of lengths belong to the part alone."""
        return replace(self, sizes=ChainMap({}, self.sizes))

    def for_model(self, model: Any) -> Reader:
        """Return a reader for the attributes of a model; its lengths have nothing to do with those of other models."""
        return replace(self, sizes={}, owner=model)

    def array(self, name: Any, place: str, dtype: str, shape: tuple[Size, ...] | None) -> NDArray[Any]:
        """Return a copy of the array of that name, of this type and shape; shape None: any."""
        if not isinstance(name, str) or name not in self.arrays:
            raise malformed(place, "the name of an array in the file", name)
        array = self.arrays[name]
        if array.dtype != np.dtype(dtype) or (shape is not None and not self.fits(array.shape, shape)):
            expected = "" if shape is None else f" of shape {tuple(self.sizes.get(str(size), size) for size in shape)}"
            raise malformed(place, f"{dtype}{expected}", f"{array.dtype} of shape {array.shape}")
        return array.copy()

    def fits(self, found: tuple[int, ...], expected: tuple[Size, ...]) -> bool:
        """Tell whether a shape is the expected one; a length that has no value yet takes the one found."""
        if len(found) != len(expected):
            return False
        for length, size in zip(found, expected, strict=True):
            if isinstance(size, str):
                size = self.sizes.setdefault(size, length)
            if size is not None and size != length:
                return False
        return True
