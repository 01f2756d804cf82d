"""Jobs that compute records, in parallel; an interrupted run resumes with the jobs of which a record is missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import joblib
import pandas as pd
import torch
from rich.console import Console
from rich.progress import Progress
from sklearn.exceptions import ConvergenceWarning

import lifemix
from lifemix.errors import LifemixWarning
from lifemix.files import folder_lock

from .protocol import Protocol
from .records import (
    Frame,
    Key,
    Record,
    Setting,
    append_records,
    key_of,
    pack_records,
    provenance,
    read_records,
)

__all__ = ["Job", "Study", "run_jobs", "study_records"]


@dataclass(frozen=True)
class Job:
    """Some settings of one model on some folds with one level of censoring.

    Fits that train together are one job, so that its records are the same in every run. compute: a function of a
    module, yields the results of every setting and fold.
    """

    protocol: Protocol
    data: str
    model: str
    settings: tuple[Setting, ...]
    folds: tuple[int, ...]
    compute: Callable[[Job], Iterator[Record]]
    level: float = 0.0
    is_selected: bool = False  # whether the model has several settings

    def record(self, setting: Setting, fold: int) -> Record:
        """Return what identifies the record of a setting on a fold."""
        return {
            "data": self.data,
            "model": self.model,
            "setting": dict(setting),
            "censoring": self.level,
            "fold": fold,
            "seed": self.protocol.seed,
            "run": self.protocol.run,
        }

    def keys(self) -> list[Key]:
        """Return the keys of the job's records."""
        return [key_of(self.record(*case)) for case in product(self.settings, self.folds)]


@dataclass(frozen=True)
class Study:
    """One data set of an experiment.

    folder: the name of the folder of its records. data: its name in the cells. jobs: of all models.
    summarise: returns cells and selected records of a DataFrame of records.
    notes: in what the study differs from the paper.
    """

    experiment: str
    folder: str
    data: str
    protocol: Protocol
    jobs: tuple[Job, ...]
    summarise: Callable[[Frame], tuple[Frame, Frame]]
    notes: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that computes the study, without the user's path."""
        options = " --data FILE" if self.protocol.path is not None else ""
        options += " --full-grid" if self.protocol.full_grid else ""
        options += " --quick" if self.protocol.run == "quick" else ""
        return f"python -m experiments {self.experiment}{options}"


def run_suffix(protocol: Protocol) -> str:
    """Return the end of the names of folders and pages: quick runs and the original SYNTHETIC have their own."""
    is_original = protocol.data == "synthetic" and protocol.path is not None
    return "-original" * is_original + "-quick" * (protocol.run == "quick")


def run_jobs(jobs: Iterable[Job], folder: Path, n_jobs: int = 1) -> None:
    """Run the jobs of which a record is missing; the records of a finished job are on disk at once."""
    with folder_lock(folder, "experiment"):
        stored = read_records(folder)
        missing = [job for job in jobs if not stored.keys() >= set(job.keys())]
        parallel = joblib.Parallel(n_jobs, return_as="generator_unordered")
        path = folder / "records.jsonl"
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(folder.name, total=len(missing))
            for records in parallel(joblib.delayed(_run_job)(job) for job in missing):
                append_records(path, (record for record in records if key_of(record) not in stored))
                bar.update(task, advance=1, description=f"{folder.name}: {records[-1]['model']}")
        if path.exists():
            pack_records(path, read_records(folder).values())


def study_records(study: Study, folder: Path) -> Frame:
    """Return the records that belong to the study as it is now, without those of earlier settings."""
    keys = {key for job in study.jobs for key in job.keys()}
    records = read_records(folder)
    return pd.DataFrame([record for key, record in records.items() if key in keys])


def _run_job(job: Job) -> Sequence[Record]:
    """Return the records of a job, computed on one thread: the same numbers everywhere."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        for category in (LifemixWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        origin = {"version": lifemix.__version__, "made": provenance()}
        return [record | origin for record in job.compute(job)]
