"""A table of patients and the options that fit it quickly, for the tests of the command line."""

import numpy as np
import pandas as pd

QUICK = "--members 1 --epochs 2 --hidden 4"
COLUMNS = "--time days --event died --id patient"


def make_table(n_rows=200, seed=0, n_events=1):
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, n_rows).round(1)
    risk = (age - 60) / 10
    columns = {
        "patient": [f"{i:04d}" for i in range(n_rows)],
        "age": age,
        "dose": np.where(rng.random(n_rows) < 0.2, np.nan, rng.random(n_rows).round(3)),
        "stage": rng.choice(["I", "II", "III"], n_rows),
        "hospital": "north",
        "days": (rng.exponential(300 * np.exp(-risk)) + 1).round(1),
        "died": rng.integers(0, n_events + 1, n_rows),
    }
    return pd.DataFrame(columns)


def values_of(quality, metric, model=None, event=1):
    """Return the values of a measure in a table of quality."""
    model = quality[0]["model"] if model is None else model
    keys = {"metric": metric, "model": model, "event": event}
    return [row["value"] for row in quality if all(row[key] == keys[key] for key in keys)]
