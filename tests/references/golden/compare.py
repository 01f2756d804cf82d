"""Stored results of two checkouts, compared case by case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .arrays import Arrays, differences
from .signatures import api_difference

__all__ = ["ROUND_TRIP", "Results", "compare", "read", "write"]

ROUND_TRIP = (
    "save and load"  # the array that holds how much predictions change by saving and loading
)


@dataclass
class Results:
    """What one checkout gives: arrays by case, errors of cases that fail, signatures of public names."""

    cases: dict[str, Arrays] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    api: dict[str, str] = field(default_factory=dict)


def write(results: Results, folder: Path) -> None:
    """Write one .npz with all arrays, and errors and signatures as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    # Names of cases and arrays go into a list: they hold characters that a member of an archive must not have.
    names = [(case, array) for case, arrays in results.cases.items() for array in arrays]
    arrays = {str(number): results.cases[case][array] for number, (case, array) in enumerate(names)}
    np.savez_compressed(folder / "arrays.npz", **arrays)
    text = {"names": names, "errors": results.errors, "api": results.api}
    (folder / "results.json").write_text(json.dumps(text, indent=1), encoding="utf-8")


def read(folder: Path) -> Results:
    """Read what ``write`` wrote."""
    text = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    results = Results(errors=text["errors"], api=text["api"])
    with np.load(folder / "arrays.npz") as arrays:
        for number, (case, array) in enumerate(text["names"]):
            results.cases.setdefault(case, {})[array] = arrays[str(number)]
    return results


def compare(
    old: Results, new: Results, tolerance: float = np.inf, show_arrays: bool = False
) -> tuple[list[str], bool]:
    """Return the lines of the comparison, and whether all differences are within the tolerance.

    A case that fails in one checkout only, and a prediction that changes by saving and loading in the new one, are
    differences. A case that fails in both is listed, and is neither equal nor different.
    """
    distances, lines = {}, []
    names = list(dict.fromkeys([*old.cases, *old.errors, *new.cases, *new.errors]))
    width = max(map(len, names), default=0)
    for name in names:
        verdict, distances[name] = _verdict(name, old, new)
        lines.append(f"{name:{width}}  {verdict}")
        if show_arrays and name in old.cases and name in new.cases:
            unequal = differences(old.cases[name], new.cases[name])
            lines += [
                f"{'':{width}}    {array}: {distance:.3g}" for array, distance in unequal.items()
            ]
    api = api_difference(old.api, new.api)
    lines += ["", "Public names:", *(api or ["no difference"]), "", _summary(distances, api)]
    return lines, all(distance is None or distance <= tolerance for distance in distances.values())


def _verdict(name: str, old: Results, new: Results) -> tuple[str, float | None]:
    if name in old.errors and name in new.errors:
        return f"fails in both: {new.errors[name]}", None
    for label, results in (("old", old), ("new", new)):
        if name in results.errors:
            return f"fails in {label} only: {results.errors[name]}", np.inf
        if name not in results.cases:
            return f"not in {label}", np.inf
    changed = float(new.cases[name].get(ROUND_TRIP, np.array(0.0)))
    if changed > 0:
        return f"predictions change by {changed:.3g} after save and load", changed
    unequal = differences(old.cases[name], new.cases[name])
    if not unequal:
        return "equal", 0.0
    array = max(unequal, key=unequal.__getitem__)
    return f"{unequal[array]:.3g} ({array})", unequal[array]


def _summary(distances: Mapping[str, float | None], api: list[str]) -> str:
    compared = {name: distance for name, distance in distances.items() if distance is not None}
    different = {name: distance for name, distance in compared.items() if distance > 0}
    text = f"{len(compared) - len(different)} equal, {len(different)} different"
    if different:
        worst = max(different, key=different.__getitem__)
        text += f", largest difference {different[worst]:.3g} ({worst})"
    if len(distances) > len(compared):
        text += f", {len(distances) - len(compared)} fail in both"
    return f"{text}; {len(api)} public names differ"
