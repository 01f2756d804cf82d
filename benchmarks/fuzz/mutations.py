"""Random changes of bytes, of JSON values and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["altered_array", "altered_bytes", "altered_value", "change_somewhere", "odd_value"]

_ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    10**9,
    10**30,
    10**400,
    1e308,
    -1e-308,
    "",
    "a",
    "\u0000",
    "[/red]",
    [],
    {},
    [[]],
    {"$tuple": []},
    {"$model": {}},
    {"$array": "x"},
    {"$number": "nan"},
    float("nan"),
    float("inf"),
]


def odd_value(rng: np.random.Generator) -> Any:
    """Return something that nobody expects."""
    return _ODD[int(rng.integers(len(_ODD)))]


def altered_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with one to three changes: bits, runs, cuts, insertions, copies."""
    for _ in range(int(rng.integers(1, 4))):
        data = (
            _CHANGES[int(rng.integers(len(_CHANGES)))](rng, data)
            if data
            else bytes(rng.integers(0, 256, 9).tolist())
        )
    return data


def _flip(rng: np.random.Generator, data: bytes) -> bytes:
    changed = bytearray(data)
    near = (
        len(data) if rng.random() < 0.5 else min(len(data), 3000)
    )  # the header is where structure is
    changed[int(rng.integers(near))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _run(rng: np.random.Generator, data: bytes) -> bytes:
    at, length = int(rng.integers(len(data))), int(rng.integers(1, 20))
    return data[:at] + rng.bytes(length) + data[at + length :]


def _cut(rng: np.random.Generator, data: bytes) -> bytes:
    at = int(rng.integers(len(data)))
    return data[:at] if rng.random() < 0.5 else data[:at] + data[at + int(rng.integers(1, 50)) :]


def _insert(rng: np.random.Generator, data: bytes) -> bytes:
    at = int(rng.integers(len(data)))
    piece = [b"\n", b"{", b"]", b'"', b"9" * 5000, rng.bytes(8), b"NaN", b"\\ud800"][
        int(rng.integers(8))
    ]
    return data[:at] + piece + data[at:]


def _copy(rng: np.random.Generator, data: bytes) -> bytes:
    first, second = (int(each) for each in rng.integers(len(data), size=2))
    length = int(rng.integers(1, 60))
    return data[:first] + data[second : second + length] + data[first + length :]


_CHANGES: list[Callable[[np.random.Generator, bytes], bytes]] = [
    _flip,
    _flip,
    _flip,
    _run,
    _cut,
    _insert,
    _copy,
]


def altered_value(rng: np.random.Generator, value: Any) -> Any:
    """Return something like a value, or anything at all."""
    if rng.random() < 0.4:
        return odd_value(rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        half = value / 2 if abs(value) < 1e300 else value // 2
        return [-value, value + 1, 0, value * 10**9, half][int(rng.integers(5))]
    if isinstance(value, str):
        return [value[:-1], value + "x", value.upper()][int(rng.integers(3))]
    if isinstance(value, list):
        return [value[:-1], value + value, value[::-1], []][int(rng.integers(4))]
    if isinstance(value, dict) and value:
        name = sorted(value)[int(rng.integers(len(value)))]
        return {key: each for key, each in value.items() if key != name}
    return odd_value(rng)


def change_somewhere(rng: np.random.Generator, content: Any) -> None:
    """Change one value somewhere inside of JSON content, in place."""
    places: list[tuple[Any, Any]] = []
    todo = [content]
    while todo:
        part = todo.pop()
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        places += [(part, key) for key in keys]
        todo += [part[key] for key in keys if isinstance(part[key], (dict, list)) and part[key]]
    parent, key = places[int(rng.integers(len(places)))]
    parent[key] = altered_value(rng, parent[key])


def altered_array(rng: np.random.Generator, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with other numbers, length, shape, type or order."""
    way = int(rng.integers(6))
    if way == 0 and array.size:
        changed = array.copy()
        whole = changed.dtype.kind in "iub"
        odd = [0, 1, 100] if whole else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30]
        changed.flat[int(rng.integers(array.size))] = odd[int(rng.integers(len(odd)))]
        return changed
    if way == 1 and array.ndim:
        return [array[:-1], np.concatenate([array, array]), array[:0]][int(rng.integers(3))]
    if way == 2:
        return [array.reshape(-1), array[None], array.T][int(rng.integers(3))]
    if way == 3:
        with np.errstate(all="ignore"):
            return array.astype(
                ["float64", "float32", "int64", "int32", "uint8", "bool"][int(rng.integers(6))]
            )
    if way == 4 and array.ndim:
        return array[::-1]
    return np.zeros_like(array)
