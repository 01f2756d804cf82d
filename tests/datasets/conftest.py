from pathlib import Path

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
