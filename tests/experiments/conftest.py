"""Pages with made-up numbers, written once for all tests."""

import pytest

from invented import facts, records, scaling_cells, table_cells, transfer_cells
from lifemix.experiments.pages import write_page


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    write_page(out, table_cells(), facts(), records())
    quick = facts("synthetic-quick", "quick", notes=("A <note> of ours.",))
    write_page(out, table_cells("synthetic", 2, levels=(0.0,)), quick, records("synthetic", 2))
    write_page(out, transfer_cells(), facts("transfer"))
    write_page(out, scaling_cells(), facts("scaling"))
    return out
