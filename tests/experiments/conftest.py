"""A tiny study of METABRIC and its records, computed once for all tests, and cells made up by a random generator."""

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
    """Return a function that makes cells of one data set, for models with their selections and values by fold."""

    def make(rows, data="support", measure="ctd", event=1, horizon=0.25, censoring=0.0):
        identity = (data, measure, event, horizon, censoring)
        return pd.DataFrame(
            [cell(identity, model, selection, values) for model, selection, values in rows]
        )

    return make


@pytest.fixture
def rng():
    return np.random.default_rng(0)
