"""Pages with made-up numbers, and the records of a tiny study, made once for all tests."""

import pytest

from experiments.pages import write_page
from experiments.records import RecordStore
from experiments.runner import run_jobs
from invented import facts, scaling_cells, selected, table_cells, transfer_cells
from tiny import MODELS, STUDY


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    write_page(out, table_cells(), facts(), selected())
    quick = facts("synthetic-quick", "quick", notes=("A <note> of ours.",))
    write_page(out, table_cells("synthetic", 2, levels=(0.0,)), quick, selected("synthetic", 2))
    write_page(out, transfer_cells(), facts("transfer"))
    write_page(out, scaling_cells(), facts("scaling"))
    return out


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    store = RecordStore(tmp_path_factory.mktemp("tiny") / STUDY.folder)
    run_jobs(STUDY.jobs(MODELS), store)
    return store
