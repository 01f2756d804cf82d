"""A table of patients and the options that fit it quickly, for the tests of the command line."""

import numpy as np
import pandas as pd

QUICK = ["--members", "1", "--epochs", "2", "--hidden", "4"]
COLUMNS = ["--time", "days", "--event", "died", "--id", "patient"]


def make_table(n=200, seed=0, kinds=1):
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, n).round(1)
    risk = (age - 60) / 10
    frame = pd.DataFrame(
        {
            "patient": [f"{i:04d}" for i in range(n)],
            "age": age,
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.random(n).round(3)),
            "stage": rng.choice(["I", "II", "III"], n),
            "hospital": "one",
            "days": (rng.exponential(300 * np.exp(-risk)) + 1).round(1),
            "died": rng.integers(0, kinds + 1, n),
        }
    )
    return frame


def values_of(quality, metric, model=None, event=1):
    """Return the values of a measure in a table of quality."""
    model = quality[0]["model"] if model is None else model
    keys = {"metric": metric, "model": model, "event": event}
    return [row["value"] for row in quality if all(row[key] == keys[key] for key in keys)]
