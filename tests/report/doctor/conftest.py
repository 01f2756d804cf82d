"""A table without fault: a hazard that depends on two columns, and independent censoring."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def clean():
    rng, n_rows = np.random.default_rng(0), 1000
    X = pd.DataFrame({"age": rng.normal(60, 10, n_rows), "dose": rng.gamma(2.0, 1.0, n_rows)})
    X = X.assign(arm=rng.choice(["a", "b", "c"], n_rows), smoker=rng.integers(0, 2, n_rows))
    rate = np.exp(0.05 * (X["age"] - 60) + 0.3 * X["smoker"]).to_numpy()
    event, censoring = rng.exponential(1 / rate), rng.exponential(1.5, n_rows)
    return X, np.minimum(event, censoring), (event <= censoring).astype(int)


@pytest.fixture(scope="session")
def codes():
    """Return a function of findings: the set of severities and codes, as "warn few-rows"."""
    return lambda findings: {f"{finding.severity} {finding.code}" for finding in findings}
