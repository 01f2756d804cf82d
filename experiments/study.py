"""An experiment on one data set: the jobs to compute, and what becomes of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from .cells import Cell
from .protocol import Protocol
from .records import Key, Record
from .selection import Selected

__all__ = ["ExperimentJob", "Study", "Summary"]

Summary = tuple[list[Cell], list[Selected]]
"""Cells, and which settings were selected in which fold."""


class ExperimentJob(Interface):
    """A piece of work that gives some records; always the same ones, whatever is known already."""

    def keys(self) -> list[Key]:
        """Return the keys of the records that the job gives."""
        ...

    def run(self) -> Iterator[Record]:
        """Do the work, and yield the records."""
        ...


@dataclass(frozen=True)
class Study:
    """One data set of an experiment.

    experiment: its name on the command line. place: the name of its results. data: its name in the cells.
    models: all that it has, those included that run only when named.
    jobs: the jobs of the named models, or with None of all but the optional ones.
    summarise: makes the cells, from records and the way of selection.
    options: options of the command that make the study what it is. notes: what readers of the tables should know.
    tabular: whether it is a table of models by horizons, whose records have calibration and costs to show.
    """

    experiment: str
    place: str
    data: str
    protocol: Protocol
    models: tuple[str, ...]
    jobs: Callable[[Sequence[str] | None], Sequence[ExperimentJob]]
    summarise: Callable[[Sequence[Record], str], Summary]
    options: str = ""
    notes: tuple[str, ...] = ()
    tabular: bool = False

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
        """The command that gives the tables, the user's path left out."""
        own = " --data FILE" if self.protocol.source.path is not None else ""
        quick = " --quick" if self.protocol.run == "quick" else ""
        return f"python -m experiments {self.experiment}{own}{self.options}{quick}"

    def records(self, known: Sequence[Record]) -> list[Record]:
        """Return the records that belong to the study as it is now, without those of earlier settings."""
        keys: set[Key] = {key for job in self.jobs(self.models) for key in job.keys()}
        return [record for record in known if record.key in keys]
