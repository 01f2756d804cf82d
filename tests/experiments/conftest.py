"""A tiny study of METABRIC and its records, computed once for all tests, and cells from values by fold."""

import numpy as np
import pandas as pd
import pytest

from experiments.horizon_tables import horizon_study
from experiments.results import cell
from experiments.run import run_jobs
from helpers.tiny_protocol import MODELS, TINY


@pytest.fixture(scope="session")
def study():
    return horizon_study(TINY)


@pytest.fixture(scope="session")
def folder(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / study.folder
    run_jobs([job for job in study.jobs if job.model in MODELS], folder)
    return folder


@pytest.fixture
def make_cells():
    """Return a function that makes the cells of models, {"dsm nested": values by fold}."""

    def make(values, data="support", measure="ctd", event=1, horizon=0.25, censoring=0.0):
        identity = (data, measure, event, horizon, censoring)
        return pd.DataFrame([cell(identity, *key.split(), folds) for key, folds in values.items()])

    return make


@pytest.fixture
def rng():
    return np.random.default_rng(0)
