"""A small table on disk with numbers, labels, missing values, weights and subjects."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")


def invented_table(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["count"] = rng.integers(0, 12, n)
    frame["flag"] = rng.random(n) < 0.3
    frame["site"] = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame.loc[rng.random(n) < 0.05, "site"] = None
    own = rng.exponential(np.exp(-0.8 * frame["a"])) * 10
    limit = rng.exponential(20.0, n)
    frame["time"], frame["event"] = np.minimum(own, limit) + 1e-3, (own <= limit).astype(int)
    frame["patient"] = [f"p{i:04d}" for i in rng.integers(0, n // 3, n)]
    frame["weight"] = rng.uniform(0.5, 2.0, n)
    return frame


@pytest.fixture(scope="session")
def table():
    return invented_table()


@pytest.fixture(scope="session")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards")
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(path / f"part-{number}.parquet", index=False, row_group_size=150)
    return path
