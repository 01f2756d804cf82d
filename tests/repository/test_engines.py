"""Real local clusters of Dask and Ray give what one process gives.

All that runs on one cluster is one test, since a cluster takes seconds to start.
"""

import os
import sys
from contextlib import contextmanager

import joblib
import numpy as np
import pandas as pd
import pytest

from helpers.engine_scores import score
from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target, save
from lifemix.scoring import Scorer

BASE = DeepSurvivalMachines(
    hidden=(6,), k=2, max_epochs=2, batch_size=64, learning_rate=1e-2, n_members=1, dropout=0.0
)  # settings that follow from the table are small in the tests, but not in other processes
GRID = {"k": [1, 2], "hidden": [(6,), (5, 4)]}
N_FOLDS = 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["u", "v"], 600)
    return X, make_target(
        rng.weibull(1.5, 600) * np.exp(0.8 * X["a"]) + 0.01, rng.integers(0, 3, 600)
    )


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed", reason="the extra engines is not installed")
    pytest.importorskip("dask.dataframe", reason="the extra engines is not installed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster):
        yield


@contextmanager
def ray_cluster():
    os.environ |= {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
    }
    ray = pytest.importorskip("ray", reason="the extra engines is not installed")
    from ray.util.joblib import register_ray

    paths = os.pathsep.join(path for path in sys.path if path)
    settings = {
        "num_cpus": 2,
        "include_dashboard": False,
        "log_to_driver": False,
        "object_store_memory": 2**27,
    }
    ray.init(**settings, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    register_ray()
    try:
        yield
    finally:
        ray.shutdown()


def score_with_dask(scorer, X):
    from dask import dataframe

    return (
        dataframe.from_pandas(X, npartitions=3).map_partitions(scorer, meta=scorer.meta).compute()
    )


def score_with_ray(scorer, X):
    from ray import data

    table = data.from_pandas(X.assign(row=np.arange(len(X))))
    found = table.map_batches(scorer, batch_format="pandas", batch_size=250).to_pandas()
    return (
        found.sort_values("row", ignore_index=True).drop(columns="row").astype(float)
    )  # numbers of Arrow


CLUSTERS = {
    "dask": (dask_cluster, score_with_dask, []),
    "ray": (ray_cluster, score_with_ray, ["row"]),  # which does not keep the order of the rows
}


def check_search(data, backend):
    plain = FleetSearchCV(BASE, GRID, cv=N_FOLDS, max_fleet=1, refit=False).fit(*data)
    for scoring in (None, score):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            search = FleetSearchCV(
                BASE, GRID, cv=N_FOLDS, max_fleet=1, refit=False, scoring=scoring
            ).fit(*data)
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
        )


def check_scoring(data, score_with, keep, folder):
    X, y = data
    model = BASE.fit(X, y)
    save(model, folder / "model.safetensors")
    found = score_with(Scorer(folder / "model.safetensors", [0.5, 1.0], keep=keep), X)
    scorer = Scorer(model, [0.5, 1.0])
    pd.testing.assert_frame_equal(
        found, scorer(X), rtol=0.0, atol=1e-6
    )  # the accuracy of incidences
    np.testing.assert_allclose(
        found["survival_1"], model.predict_survival_function(X, [1.0])[:, 0], rtol=1e-12
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages themselves
@pytest.mark.parametrize("backend", CLUSTERS)
def test_a_cluster_gives_the_same(data, backend, tmp_path):
    cluster, score_with, keep = CLUSTERS[backend]
    with cluster():
        check_search(data, backend)
        check_scoring(data, score_with, keep, tmp_path)
