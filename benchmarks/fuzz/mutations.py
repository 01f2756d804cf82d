"""Random changes of bytes, of JSON values and of arrays."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import torch

Random = np.random.Generator
Array = np.ndarray[Any, Any]
ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    10**9,
    10**30,
    10**400,
    1e308,
    -1e-308,
    np.nan,
    np.inf,
    "",
    "a",
    "\u0000",
    "[/red]",
    [],
    {},
    [[]],
    # The decoder of model files reads these as a tuple, a model, an array and a number.
    {"$tuple": []},
    {"$model": {}},
    {"$array": "x"},
    {"$number": "nan"},
]
ODD_OBJECTS: list[Any] = [
    *ODD_VALUES,
    pd.NA,
    pd.NaT,
    Decimal("sNaN"),
    Decimal("NaN"),
    Decimal("1e400"),
    datetime(2020, 2, 3),
    1j,
    b"a",
    np.ma.masked,
    np.array([1, 2]),
    np.float16(3),
    torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True),
    object(),
]
INSERTIONS = [b"\n", b"{", b"]", b'"', b"9" * 5000, b"NaN", b"\\ud800"]


def choose(rng: Random, values: Any) -> Any:
    """Return one of the values, unconverted."""
    return values[int(rng.integers(len(values)))]


def change_bytes(rng: Random, content: bytes) -> bytes:
    """Return bytes with one to three changes: flipped bits, random runs, cuts, insertions, copies."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            return rng.bytes(9)
        # Half of the changes hit the header, where the structure is.
        limit = len(data)
        if rng.random() < 0.5:
            limit = min(limit, 3000)
        start = int(rng.integers(limit))
        end = start + int(rng.integers(1, 50))
        change = choose(rng, ["flip", "randomize", "delete", "cut", "insert", "copy"])
        if change == "flip":
            data[start] ^= 1 << int(rng.integers(8))
        elif change == "randomize":
            data[start:end] = rng.bytes(end - start)
        elif change == "delete":
            del data[start:end]
        elif change == "cut":
            del data[start:]
        elif change == "insert":
            data[start:start] = choose(rng, INSERTIONS)
        else:
            source = int(rng.integers(len(data)))
            data[start:end] = data[source : source + end - start]
    return bytes(data)


def change_value(rng: Random, value: Any) -> Any:
    """Return a JSON value similar to the given one, or an odd one."""
    if rng.random() < 0.4 or value is None or value == {}:
        return choose(rng, ODD_VALUES)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        similar = [-value, value + 1, 0, value * 10**9, value // 2]
    elif isinstance(value, str):
        similar = [value[:-1], value + "x", value.upper()]
    elif isinstance(value, list):
        similar = [value[:-1], value + value, value[::-1], []]
    else:
        smaller = dict(value)
        del smaller[choose(rng, list(value))]
        similar = [smaller]
    return choose(rng, similar)


def change_somewhere(rng: Random, content: Any) -> None:
    """Change one value inside JSON content, in place."""
    positions: list[tuple[Any, Any]] = []
    containers = [content]
    while containers:
        container = containers.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in items:
            positions.append((container, key))
            if isinstance(value, dict | list):
                containers.append(value)
    container, key = choose(rng, positions)
    container[key] = change_value(rng, container[key])


def change_array(rng: Random, array: Array) -> Array:
    """Return an array with another number, length, shape, type or order."""
    change = choose(rng, ["number", "length", "shape", "type", "order", "zeros"])
    if change == "number" and array.size:
        numbers: list[Any] = [0, 1, 100]
        if array.dtype.kind == "f":
            numbers = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30]
        array = array.copy()
        position = int(rng.integers(array.size))
        array.flat[position] = choose(rng, numbers)
        return array
    if change == "length" and array.ndim:
        twice = np.concatenate([array, array])
        return choose(rng, [array[:-1], twice, array[:0]])
    if change == "shape":
        reshaped = choose(rng, [array.reshape(-1), array[None], array.T])
        return np.ascontiguousarray(reshaped)
    if change == "type":
        dtype = choose(rng, ["f8", "f4", "i8", "i4", "u1", "bool"])
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    if change == "order" and array.ndim:
        return np.ascontiguousarray(array[::-1])
    return np.zeros_like(array)
