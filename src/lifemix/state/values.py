"""What a fitted attribute can hold, and how each is written and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import ModelFileError
from .store import Reader, Size, Writer, malformed

__all__ = [
    "BoolValue",
    "ByEvent",
    "FloatArray",
    "FloatList",
    "FloatValue",
    "IfPresent",
    "IntArray",
    "IntValue",
    "JsonValue",
    "ListOf",
    "NameArray",
    "NumbersByName",
    "ObjectOf",
    "OneOf",
    "StateKind",
    "TableOf",
    "TextValue",
    "TupleOf",
    "read_fields",
]

_LARGEST = float(np.finfo(np.float64).max)


class StateKind(Protocol):
    """What an attribute holds."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the value in JSON's types; arrays go to the writer. ``place`` names the value in errors."""

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the value that ``write`` gave; a ``ModelFileError`` or ``ValueError`` where it cannot be one."""


# Arrays.


class FloatArray:
    """An array of numbers, each from ``least`` to ``most``; NaN only where values may be ``missing``.

    A dimension is a length, a name for a length that arrays of the model share, or None. The names ``events``,
    ``event_times`` and ``inputs`` (columns after preprocessing) are known to every model.
    """

    def __init__(
        self,
        *shape: Size,
        least: float = -_LARGEST,
        most: float = _LARGEST,
        missing: bool = False,
        dtype: str = "float64",
    ) -> None:
        self.shape, self.least, self.most, self.missing, self.dtype = shape, least, most, missing, dtype

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name of the array."""
        return writer.array(np.asarray(value, dtype=self.dtype), place)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the array."""
        array = reader.array(saved, place, self.dtype, self.shape)
        bad = ~((array >= np.float64(self.least)) & (array <= np.float64(self.most)))
        if self.missing:
            bad &= ~np.isnan(array)
        if bad.any():
            raise malformed(place, f"numbers from {self.least:g} to {self.most:g}", array[bad][0])
        return array


class IntArray:
    """An array of whole numbers; dimensions as in ``FloatArray``. In a file they take 4 bytes where that will do."""

    def __init__(self, *shape: Size, least: int | None = None, dtype: Any = np.int64) -> None:
        self.shape, self.least, self.dtype = shape, least, dtype

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name of the array."""
        array = np.asarray(value)
        short = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return writer.array(array.astype(np.int32 if short else np.int64), place)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the array."""
        stored = reader.arrays.get(saved) if isinstance(saved, str) else None
        kind = "int64" if stored is not None and stored.dtype == np.int64 else "int32"
        array = reader.array(saved, place, kind, self.shape)
        if self.least is not None and (array < self.least).any():
            raise malformed(place, f"whole numbers from {self.least} on", array.min())
        return array.astype(self.dtype)


class FloatList:
    """A list of numbers, infinite and missing ones included."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name of the array."""
        return writer.array(np.asarray(value, dtype=np.float64), place)

    def read(self, saved: object, reader: Reader, place: str) -> list[float]:
        """Return the list."""
        values: list[float] = reader.array(saved, place, "float64", (None,)).tolist()
        return values


class NameArray:
    """A vector of names."""

    def __init__(self, size: Size = None) -> None:
        self.items = ListOf(TextValue(), size)

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the list of the names."""
        return [str(name) for name in value]

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the array of objects."""
        return np.array(self.items.read(saved, reader, place), dtype=object)


class TableOf:
    """A list of records of numbers, each with the same fields; fields of ``int`` or ``float``."""

    def __init__(self, **fields: type) -> None:
        self.fields = fields

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the names of the columns."""
        kinds = {int: np.int64, float: np.float64}
        columns = {
            name: np.array([record[name] for record in value], dtype=kinds[field])
            for name, field in self.fields.items()
        }
        return {name: writer.array(column, f"{place}.{name}") for name, column in columns.items()}

    def read(self, saved: object, reader: Reader, place: str) -> list[dict[str, Any]]:
        """Return the records."""
        within = reader.inner()
        known = {int: "int64", float: "float64"}
        arrays = _with_names(saved, self.fields, place)
        columns = [
            within.array(arrays[name], f"{place}.{name}", known[field], ("records",)).tolist()
            for name, field in self.fields.items()
        ]
        return [dict(zip(self.fields, row, strict=True)) for row in zip(*columns, strict=True)]


# JSON's own types.


class IntValue:
    """A whole number, of at least ``least``."""

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the number."""
        return int(value)

    def read(self, saved: object, reader: Reader, place: str) -> int:
        """Return the number."""
        if type(saved) is not int or (self.least is not None and saved < self.least):
            raise malformed(place, "a whole number" if self.least is None else f"a whole number >= {self.least}", saved)
        return saved


class FloatValue:
    """A finite number, from ``least`` to ``most``."""

    def __init__(self, least: float = -_LARGEST, most: float = _LARGEST) -> None:
        self.least, self.most = least, most

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the number."""
        return float(value)

    def read(self, saved: object, reader: Reader, place: str) -> float:
        """Return the number."""
        if isinstance(saved, bool) or not isinstance(saved, (int, float)) or not self.least <= saved <= self.most:
            raise malformed(place, f"a number from {self.least:g} to {self.most:g}", saved)
        return float(saved)


class BoolValue:
    """True or False."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return it."""
        return bool(value)

    def read(self, saved: object, reader: Reader, place: str) -> bool:
        """Return it."""
        if type(saved) is not bool:
            raise malformed(place, "true or false", saved)
        return saved


class TextValue:
    """A text."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the text."""
        return str(value)

    def read(self, saved: object, reader: Reader, place: str) -> str:
        """Return the text."""
        if not isinstance(saved, str):
            raise malformed(place, "a text", saved)
        return saved


class NumbersByName:
    """Finite numbers by name."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the dictionary."""
        return {str(name): float(number) for name, number in value.items()}

    def read(self, saved: object, reader: Reader, place: str) -> dict[str, float]:
        """Return the dictionary."""
        if not isinstance(saved, dict):
            raise malformed(place, "numbers by name", saved)
        return {name: FloatValue().read(number, reader, f"{place}.{name}") for name, number in saved.items()}


class OneOf:
    """One of some texts."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the text."""
        return str(value)

    def read(self, saved: object, reader: Reader, place: str) -> str:
        """Return the text."""
        if not isinstance(saved, str) or saved not in self.values:
            raise malformed(place, f"one of {list(self.values)}", saved)
        return saved


class JsonValue:
    """Anything of JSON's types with finite numbers, taken as it is."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return a copy in JSON's types."""
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{place} must be of JSON's types, finite numbers: {error}. Convert it.") from None

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return it."""
        return saved


# What is made of other values.


class ListOf:
    """A list of values of one sort."""

    def __init__(self, item: StateKind, size: Size = None) -> None:
        self.item, self.size = item, size

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the list of what is written of each."""
        return [self.item.write(one, writer, f"{place}.{i}") for i, one in enumerate(value)]

    def read(self, saved: object, reader: Reader, place: str) -> list[Any]:
        """Return the list."""
        if not isinstance(saved, list) or not reader.fits((len(saved),), (self.size,)):
            length = "" if self.size is None else f" of {reader.sizes.get(str(self.size), self.size)}"
            raise malformed(place, f"a list{length}", saved)
        return [self.item.read(one, reader.inner(), f"{place}.{i}") for i, one in enumerate(saved)]


class TupleOf:
    """A tuple of values, each of its own sort."""

    def __init__(self, *items: StateKind) -> None:
        self.items = items

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the list of what is written of each."""
        return [
            item.write(one, writer, f"{place}.{i}") for i, (item, one) in enumerate(zip(self.items, value, strict=True))
        ]

    def read(self, saved: object, reader: Reader, place: str) -> tuple[Any, ...]:
        """Return the tuple."""
        if not isinstance(saved, list) or len(saved) != len(self.items):
            raise malformed(place, f"a list of {len(self.items)}", saved)
        within = reader.inner()
        pairs = zip(self.items, saved, strict=True)
        return tuple(item.read(one, within, f"{place}.{i}") for i, (item, one) in enumerate(pairs))


class ByEvent:
    """A dictionary with one value for each event type, ``{1: ..., 2: ...}``."""

    def __init__(self, item: StateKind) -> None:
        self.item = item

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the list of what is written of each."""
        return [self.item.write(value[event], writer, f"{place}.{event}") for event in range(1, len(value) + 1)]

    def read(self, saved: object, reader: Reader, place: str) -> dict[int, Any]:
        """Return the dictionary."""
        return dict(enumerate(ListOf(self.item, "events").read(saved, reader, place), 1))


class IfPresent:
    """An attribute that a model need not have; as part of an object, a value that may be None."""

    def __init__(self, item: StateKind) -> None:
        self.item = item

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return what is written of the value."""
        return None if value is None else self.item.write(value, writer, place)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the value."""
        return None if saved is None else self.item.read(saved, reader, place)


class ObjectOf:
    """An object that ``make`` builds from its fields, such as a frozen dataclass; it may raise ``ValueError``."""

    def __init__(self, make: Callable[..., Any], **fields: StateKind) -> None:
        self.make, self.fields = make, fields

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return what is written of each field."""
        return {name: kind.write(getattr(value, name), writer, f"{place}.{name}") for name, kind in self.fields.items()}

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the object."""
        return self.make(**read_fields(saved, self.fields, reader.inner(), place))


def read_fields(saved: object, fields: Mapping[str, StateKind], reader: Reader, place: str) -> dict[str, Any]:
    """Return the values of an object's fields; all of them must be there and no others."""
    values = _with_names(saved, fields, place)
    return {name: kind.read(values[name], reader, f"{place}.{name}") for name, kind in fields.items()}


def _with_names(saved: object, names: Mapping[str, Any], place: str) -> dict[str, Any]:
    if not isinstance(saved, dict) or set(saved) != set(names):
        raise malformed(place, f"an object with {sorted(names)}", sorted(saved) if isinstance(saved, dict) else saved)
    return saved
