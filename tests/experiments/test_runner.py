"""Backends of the runner."""

import sys
from dataclasses import dataclass
from types import ModuleType

import joblib
import pytest
from joblib._parallel_backends import ThreadingBackend

from experiments.records import Record, RecordStore
from experiments.runner import run_jobs
from lifemix.errors import MissingExtraError, SettingError


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
    [
        ("dask", "distributed", r'pip install "dask\[distributed\]"'),
        ("ray", "ray.util.joblib", 'pip install "ray"'),
    ],
)
def test_a_backend_that_is_not_installed_names_the_install(
    tmp_path, monkeypatch, backend, module, install
):
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


@pytest.mark.parametrize(("model", "package"), [("rsf", "scikit-survival")])
def test_a_missing_extra_is_noticed_before_the_first_job(tmp_path, monkeypatch, model, package):
    @dataclass(frozen=True)
    class Named(Job):
        model: str = "cph"

        def record(self):
            return Record("d", self.model, {}, 0.0, self.fold, 0, "full", {"ctd": [[0.5]]})

    done = []
    monkeypatch.setattr("experiments.learners.find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=rf"the model {model} of the tables needs {package}.*\[baselines\]"
    ):
        run_jobs([Named(0), Named(1, model)], RecordStore(tmp_path), work=done.append)
    assert done == []
    store = RecordStore(tmp_path)
    store.add([Named(1, model).record()])
    run_jobs([Named(1, model)], store)  # nothing to compute, nothing needed
