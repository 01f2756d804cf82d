"""A small table with numbers, labels, missing values, weights and subjects, for tests of tables on disk."""

import numpy as np
import pandas as pd

COVARIATES = ["a", "b", "c", "count", "flag", "site"]


def make_table(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["count"] = rng.integers(0, 12, n)
    frame["flag"] = rng.random(n) < 0.3
    frame["site"] = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame.loc[rng.random(n) < 0.05, "site"] = None
    event_time = rng.exponential(np.exp(-0.8 * frame["a"])) * 10
    censoring = rng.exponential(20.0, n)
    frame["time"] = np.minimum(event_time, censoring) + 1e-3
    frame["event"] = (event_time <= censoring).astype(int)
    frame["patient"] = [f"p{i:04d}" for i in rng.integers(0, n // 3, n)]
    frame["weight"] = rng.uniform(0.5, 2.0, n)
    return frame


def write_shards(table, folder, n_shards=3):
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n_shards)):
        table.iloc[rows].to_parquet(
            folder / f"part-{number}.parquet", index=False, row_group_size=150
        )
    return folder
