"""Running jobs one after another or in parallel, and storing their records as they come."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from typing import Any

import joblib
import torch
from sklearn.exceptions import ConvergenceWarning

from lifemix.errors import LifemixWarning, SettingError

from .learners import check_extras
from .records import Record, RecordStore
from .study import ExperimentJob

__all__ = ["BACKENDS", "run_job", "run_jobs"]

BACKENDS = ("loky", "dask", "ray")
_RAY_ROUND = 2  # jobs per worker between two times that records are stored
Work = Callable[[ExperimentJob], list[Record]]


def run_job(job: ExperimentJob) -> list[Record]:
    """Do the work of a job on one thread: jobs run in parallel, and give the same numbers everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            for category in (LifemixWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", category)
            return list(job.run())
    finally:
        torch.set_num_threads(before)


def run_jobs(
    jobs: Sequence[ExperimentJob],
    store: RecordStore,
    n_jobs: int = 1,
    backend: str = "loky",
    quiet: bool = True,
    work: Work = run_job,
) -> None:
    """Do the jobs of which some record is missing; the records of a job are on disk before the next is waited for."""
    if backend not in BACKENDS:
        raise SettingError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    missing = [job for job in jobs if any(key not in store for key in job.keys())]
    check_extras(dict.fromkeys(key[1] for job in missing for key in job.keys()))
    with _progress(not quiet, len(jobs), len(jobs) - len(missing)) as show:
        for records in _results(missing, n_jobs, backend, work):
            store.add(records)
            show(records)


def _results(
    jobs: Sequence[ExperimentJob], n_jobs: int, backend: str, work: Work
) -> Iterator[list[Record]]:
    if n_jobs == 1 and backend == "loky":
        yield from map(work, jobs)
        return
    with ExitStack() as stack:
        stack.enter_context(_config(backend, n_jobs, stack))
        calls = [joblib.delayed(work)(job) for job in jobs]
        if backend == "ray":  # gives results only when all calls are done
            size = _RAY_ROUND * (n_jobs if n_jobs > 0 else joblib.cpu_count())
            with joblib.Parallel() as parallel:  # the same workers for all calls
                for start in range(0, len(calls), size):
                    yield from parallel(calls[start : start + size])
        else:
            yield from joblib.Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")(
                calls
            )


def _config(backend: str, n_jobs: int, stack: ExitStack) -> AbstractContextManager[Any]:
    """Make joblib use a backend: processes of this machine, or a cluster."""
    if backend == "dask":
        _connect(_optional("distributed", "dask[distributed]"), n_jobs, stack)
    elif backend == "ray":
        _optional("ray.util.joblib", "ray").register_ray()
    else:
        return joblib.parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1)
    return joblib.parallel_config(backend=backend, n_jobs=n_jobs)


def _connect(distributed: Any, n_jobs: int, stack: ExitStack) -> None:
    """Use the client that there is, the scheduler that DASK_SCHEDULER_ADDRESS names, or processes of this machine."""
    try:
        distributed.get_client()
    except ValueError:
        known = import_module("dask").config.get("scheduler-address", None)
        own = (
            {} if known else {"n_workers": n_jobs if n_jobs > 0 else None, "threads_per_worker": 1}
        )
        stack.enter_context(distributed.Client(**own))


def _optional(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise SettingError(
            f'this backend needs {package}, which is not installed. Run: pip install "{package}"'
        ) from None


@contextmanager
def _progress(shown: bool, total: int, done: int) -> Iterator[Callable[[list[Record]], None]]:
    """Yield a function to call with the records of every finished job."""
    if not shown:
        yield lambda records: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jobs,"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task("", total=total, completed=done)

        def show(records: list[Record]) -> None:
            last = records[-1]
            bar.update(task, advance=1, description=f"{last.data}: {last.model}")

        yield show
