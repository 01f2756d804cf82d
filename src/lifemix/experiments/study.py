"""An experiment on one data set: what there is to compute, and what becomes of its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .cells import Cell
from .protocol import Protocol
from .records import Key, Record

__all__ = ["Study", "Summary"]

Summary = tuple[list[Cell], list[dict[str, Any]]]
"""Cells, and which settings were chosen in which fold."""


@dataclass(frozen=True)
class Study:
    """One data set of an experiment.

    experiment: its name on the command line. place: the name of its results. data: its name in the cells.
    models: all that it has, those included that run only where they are named.
    jobs: the jobs of the models that are named, where none is of all but the optional ones.
    summarise: makes the cells, from records and the way of selection.
    options: words of the command that make the study what it is. notes: what the reader of the tables should know.
    """

    experiment: str
    place: str
    data: str
    protocol: Protocol
    models: tuple[str, ...]
    jobs: Callable[[Sequence[str] | None], Sequence[Any]]
    summarise: Callable[[Sequence[Record], str], Summary]
    options: str = ""
    notes: tuple[str, ...] = ()

    @property
    def tabular(self) -> bool:
        """Whether it is a table of models by horizons, whose records have calibration and costs to show."""
        return self.place == self.protocol.source.name

    @property
    def folder(self) -> str:
        """The name of the folder of its results; quick runs and the user's files have folders of their own."""
        return self._named(self.place)

    @property
    def page(self) -> str:
        """The name of the page, which all data sets of the experiment share."""
        return self._named(self.experiment)

    def _named(self, name: str) -> str:
        source = self.protocol.source
        own = "-original" if source.path is not None and source.name == "synthetic" else ""
        return name + own + ("" if self.protocol.run == "full" else f"-{self.protocol.run}")

    @property
    def command(self) -> str:
        """The command that gives the tables; where the user's file lies is the user's."""
        own = " --data FILE" if self.protocol.source.path is not None else ""
        quick = " --quick" if self.protocol.run == "quick" else ""
        return f"lifemix reproduce {self.experiment}{own}{self.options}{quick}"

    def records(self, known: Sequence[Record]) -> list[Record]:
        """Return those records that belong to the study as it is now, without those of earlier settings."""
        keys: set[Key] = {key for job in self.jobs(self.models) for key in job.keys()}
        return [record for record in known if record.key in keys]
