"""Random changes of bytes, of JSON values and of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ODD_VALUES: list[Any] = [None, True, -1, 0, 10**9, 10**30, 10**400, 1e308, -1e-308]
ODD_VALUES += [float("nan"), float("inf"), "", "a", "\u0000", "[/red]", [], {}, [[]]]
ODD_VALUES += [{"$tuple": []}, {"$model": {}}, {"$array": "x"}, {"$number": "nan"}]


def choose(rng: np.random.Generator, values: Any) -> Any:
    """Return one of the values, unconverted."""
    return values[int(rng.integers(len(values)))]


def change_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with one to three changes: flipped bits, random runs, cuts, insertions, copies."""
    for _ in range(int(rng.integers(1, 4))):
        size = len(data)
        if size == 0:
            return rng.bytes(9)
        # Half of the changes hit the header, where the structure is.
        start = int(rng.integers(size if rng.random() < 0.5 else min(size, 3000)))
        end = start + int(rng.integers(1, 50))
        change = choose(
            rng, ["flip", "flip", "flip", "randomize", "delete", "cut", "insert", "copy"]
        )
        if change == "flip":
            data = (
                data[:start] + bytes([data[start] ^ 1 << int(rng.integers(8))]) + data[start + 1 :]
            )
        elif change == "randomize":
            data = data[:start] + rng.bytes(end - start) + data[end:]
        elif change == "delete":
            data = data[:start] + data[end:]
        elif change == "cut":
            data = data[:start]
        elif change == "insert":
            pieces = [b"\n", b"{", b"]", b'"', b"9" * 5000, rng.bytes(8), b"NaN", b"\\ud800"]
            data = data[:start] + choose(rng, pieces) + data[start:]
        else:
            source = int(rng.integers(size))
            data = data[:start] + data[source : source + end - start] + data[end:]
    return data


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
    removed = choose(rng, sorted(value))
    return {key: item for key, item in value.items() if key != removed}


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
        is_integer = array.dtype.kind in "iub"
        odd_numbers = [0, 1, 100] if is_integer else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30]
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
