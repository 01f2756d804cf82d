"""What a reader needs to run an experiment again: command, versions, machine, seeds, folds, horizons."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

__all__ = ["RunFacts", "machine", "versions"]

_PACKAGES = ("lifemix", "torch", "numpy", "pandas", "scikit-learn", "scipy", "scikit-survival", "pycox")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the numbers depend on."""
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Return what kind of machine this is, without its name."""
    processor = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = models[0] if models else processor
    except OSError:
        processor = platform.processor() or processor
    return f"{platform.system()}, {processor}, {os.cpu_count()} cores"


@dataclass(frozen=True)
class RunFacts:
    """How the cells of a page were made.

    experiment: its name, such as ``"support"``. command: the exact command that makes the page again.
    run: ``"full"`` or ``"quick"``.
    seconds: of computing, all fits together. folds: how many were used, by data set. horizons: by data set, for each
    kind of event its times; units: of time, by data set; events: names of the kinds of event, by data set.
    notes: what else the reader should know; they stand at the top. chosen: which settings were chosen where, as the
    runner tells it: ``data``, ``model``, ``censoring``, ``selection``, ``folds``, ``settings`` (one a fold, or one for
    all) and ``candidates``.
    """

    experiment: str
    command: str
    run: str = "full"
    seeds: tuple[int, ...] = (0,)
    seconds: float | None = None
    folds: Mapping[str, int] = field(default_factory=dict)
    horizons: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    machine: str = field(default_factory=machine)
    notes: tuple[str, ...] = ()
    chosen: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_run(cls, facts: Mapping[str, Any]) -> Self:
        """Read what the runner writes to ``facts.json`` about the run of one data set."""
        data = facts["data"]
        names = {int(code): name for code, name in facts.get("event_names", {}).items()}
        kinds = range(1, len(facts["horizons"]) + 1)
        computer = facts.get("machine", {})
        parts = [computer[key] for key in ("system", "processor") if key in computer]
        if "cores" in computer:
            parts.append(f"{computer['cores']} cores")
        python = {"Python": computer["python"]} if "python" in computer else {}
        return cls(
            experiment=data,
            command=facts["command"],
            run=facts["run"],
            seeds=(facts["seed"],),
            seconds=facts.get("seconds"),
            folds={data: len(facts["folds"])},
            horizons={data: facts["horizons"]},
            units={data: facts.get("time_unit") or ""},
            events={data: [names.get(kind, f"event {kind}") for kind in kinds]},
            versions=python | dict(facts["versions"]),
            machine=", ".join(parts),
            chosen=facts.get("chosen", ()),
        )
