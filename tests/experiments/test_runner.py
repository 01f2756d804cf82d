"""Backends of the runner."""

import sys
from dataclasses import dataclass
from types import ModuleType

import joblib
import pytest
from joblib._parallel_backends import ThreadingBackend

from lifemix.errors import SettingError
from lifemix.experiments.records import Record, RecordStore
from lifemix.experiments.runner import run_jobs


@dataclass(frozen=True)
class Job:
    fold: int

    def keys(self):
        return [self.record().key]

    def record(self):
        return Record("d", "m", {}, 0.0, self.fold, 0, "full", {"ctd": [[self.fold / 10]]})

    def run(self):
        yield self.record()


JOBS = [Job(fold) for fold in range(3)]


@pytest.mark.parametrize(
    ("backend", "module", "install"),
    [("dask", "distributed", r'pip install "dask\[distributed\]"'), ("ray", "ray.util.joblib", 'pip install "ray"')],
)
def test_a_backend_that_is_not_installed_names_the_install(tmp_path, monkeypatch, backend, module, install):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingError, match=install):
        run_jobs(JOBS, RecordStore(tmp_path), backend=backend)


def test_a_backend_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(SettingError, match="backend must be one of loky, dask, ray; got 'spark'"):
        run_jobs(JOBS, RecordStore(tmp_path), backend="spark")


def test_jobs_go_to_the_cluster_that_is_named(tmp_path, monkeypatch):
    used = []

    class Cluster(ThreadingBackend):
        supports_return_generator = False  # as Ray's

        def submit(self, func, callback=None):
            used.append(func)
            return super().submit(func, callback)

    joblib.register_parallel_backend("ray", Cluster)
    stand_in = ModuleType("ray.util.joblib")
    stand_in.register_ray = lambda: None
    monkeypatch.setitem(sys.modules, "ray.util.joblib", stand_in)
    store = RecordStore(tmp_path)
    run_jobs(JOBS, store, n_jobs=2, backend="ray")
    assert used
    assert [record.test["ctd"] for record in store.records()] == [[[0.0]], [[0.1]], [[0.2]]]
