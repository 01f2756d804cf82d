"""A table without fault: a hazard that depends on two columns, and independent censoring."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def clean():
    rng, n = np.random.default_rng(0), 1000
    X = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "dose": rng.gamma(2.0, 1.0, n),
            "arm": rng.choice(["a", "b", "c"], n),
            "smoker": rng.integers(0, 2, n),
        }
    )
    rate = np.exp(0.05 * (X["age"] - 60) + 0.3 * X["smoker"]).to_numpy()
    event, censoring = rng.exponential(1 / rate), rng.exponential(1.5, n)
    return X, np.minimum(event, censoring), (event <= censoring).astype(int)
