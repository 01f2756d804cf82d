"""Random changes of bytes, of JSON values and of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS: list[Any] = [-1, 0, 10**9, 10**30, 10**400, 1e308, -1e-308, float("nan"), float("inf")]
TEXTS: list[Any] = ["", "a", "\u0000", "[/red]"]
# What the decoder of model files reads as something else than an object.
TAGS: list[Any] = [{"$tuple": []}, {"$model": {}}, {"$array": "x"}, {"$number": "nan"}]
ODD_VALUES = [None, True, *NUMBERS, *TEXTS, [], {}, [[]], *TAGS]
INSERTIONS = [b"\n", b"{", b"]", b'"', b"9" * 5000, b"NaN", b"\\ud800"]


def choose(rng: np.random.Generator, values: Any) -> Any:
    """Return one of the values, unconverted."""
    return values[int(rng.integers(len(values)))]


def change_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Return bytes with one to three changes: flipped bits, random runs, cuts, insertions, copies."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            return rng.bytes(9)
        # Half of the changes hit the header, where the structure is.
        header = len(data) if rng.random() < 0.5 else min(len(data), 3000)
        start = int(rng.integers(header))
        end = start + int(rng.integers(1, 50))
        change = rng.choice(
            ["flip", "randomize", "delete", "cut", "insert", "copy"],
            p=[3 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8],
        )
        if change == "flip":
            data[start] ^= 1 << int(rng.integers(8))
        elif change == "randomize":
            data[start:end] = rng.bytes(end - start)
        elif change == "delete":
            del data[start:end]
        elif change == "cut":
            del data[start:]
        elif change == "insert":
            data[start:start] = choose(rng, [*INSERTIONS, rng.bytes(8)])
        else:
            source = int(rng.integers(len(data)))
            data[start:end] = data[source : source + end - start]
    return bytes(data)


def change_value(rng: np.random.Generator, value: Any) -> Any:
    """Return a JSON value similar to the given one, or an odd one."""
    if rng.random() < 0.4 or value is None or value == {}:
        return choose(rng, ODD_VALUES)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return choose(rng, [-value, value + 1, 0, value * 10**9, value // 2])
    if isinstance(value, str):
        return choose(rng, [value[:-1], value + "x", value.upper()])
    if isinstance(value, list):
        return choose(rng, [value[:-1], value + value, value[::-1], []])
    without = dict(value)
    del without[choose(rng, sorted(value))]
    return without


def change_somewhere(rng: np.random.Generator, content: Any) -> None:
    """Change one value inside JSON content, in place."""
    positions: list[tuple[Any, Any]] = []
    containers = [content]
    while containers:
        container = containers.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            positions.append((container, key))
            if isinstance(container[key], dict | list):
                containers.append(container[key])
    container, key = choose(rng, positions)
    container[key] = change_value(rng, container[key])


def change_array(rng: np.random.Generator, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with another number, length, shape, type or order."""
    change = choose(rng, ["number", "length", "shape", "type", "order", "zeros"])
    if change == "number" and array.size:
        array = array.copy()
        odd_numbers: list[Any] = [0, 1, 100]
        if array.dtype.kind == "f":
            odd_numbers = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30]
        array.flat[int(rng.integers(array.size))] = choose(rng, odd_numbers)
        return array
    if change == "length" and array.ndim:
        return choose(rng, [array[:-1], np.concatenate([array, array]), array[:0]])
    if change == "shape":
        return np.ascontiguousarray(choose(rng, [array.reshape(-1), array[None], array.T]))
    if change == "type":
        with np.errstate(all="ignore"):
            return array.astype(choose(rng, ["f8", "f4", "i8", "i4", "u1", "bool"]))
    if change == "order" and array.ndim:
        return np.ascontiguousarray(array[::-1])
    return np.zeros_like(array)
