from pathlib import Path

import pandas as pd
import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def shared():
    """Return a reader of the reference files that some checkouts have beside the project."""

    def path(name):
        if not (SHARED / name).exists():
            pytest.skip(f"reference file {name} is not beside this checkout")
        return SHARED / name

    return path


@pytest.fixture
def shared_frame(shared):
    return lambda name: pd.read_csv(
        shared(name), keep_default_na=False, na_values=[""], skipinitialspace=True
    )
