"""Running jobs one after the other or side by side, and writing down what they give as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from typing import Any

import joblib

from ..errors import SettingError
from .jobs import Job, run_job
from .store import RecordStore

__all__ = ["BACKENDS", "run_jobs"]

BACKENDS = ("loky", "dask", "ray")
_RAY_ROUND = 2  # jobs a worker between two times that records are written down


def run_jobs(
    jobs: Sequence[Job],
    store: RecordStore,
    n_jobs: int = 1,
    backend: str = "loky",
    quiet: bool = True,
    work: Callable[[Any], Any] = run_job,
) -> None:
    """Do the jobs of which some record is missing; every record is on the disk before the next one is waited for."""
    if backend not in BACKENDS:
        raise SettingError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    missing = [job for job in jobs if any(key not in store for key in job.keys())]
    with progress(not quiet, len(jobs), len(jobs) - len(missing)) as show:
        for records in _results(missing, n_jobs, backend, work):
            store.add(records)
            show(records)


def _results(jobs: Sequence[Any], n_jobs: int, backend: str, work: Callable[[Any], Any]) -> Iterator[Any]:
    if n_jobs == 1 and backend == "loky":
        yield from map(work, jobs)
        return
    with ExitStack() as stack:
        stack.enter_context(_config(backend, n_jobs, stack))
        calls = [joblib.delayed(work)(job) for job in jobs]
        if backend == "ray":  # which gives results only when all calls are done
            size = _RAY_ROUND * (n_jobs if n_jobs > 0 else joblib.cpu_count())
            for start in range(0, len(calls), size):
                yield from joblib.Parallel()(calls[start : start + size])
        else:
            yield from joblib.Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls)


def _config(backend: str, n_jobs: int, stack: ExitStack) -> AbstractContextManager[Any]:
    """Make joblib use a backend: processes of this machine, or a cluster."""
    if backend == "dask":
        client = _optional("distributed", "dask[distributed]").Client
        stack.enter_context(client(n_workers=n_jobs if n_jobs > 0 else None, threads_per_worker=1))
    elif backend == "ray":
        _optional("ray.util.joblib", "ray").register_ray()
    else:
        return joblib.parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1)
    return joblib.parallel_config(backend=backend, n_jobs=n_jobs)


def _optional(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise SettingError(
            f'this backend needs {package}, which is not installed. Run: pip install "{package}"'
        ) from None


@contextmanager
def progress(shown: bool, total: int, done: int) -> Iterator[Callable[[Any], None]]:
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

        def show(records: Any) -> None:
            last = records[-1]
            bar.update(task, advance=1, description=f"{last.data}: {last.model}")

        yield show
