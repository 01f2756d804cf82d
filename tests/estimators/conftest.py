"""Small samples, a maker of small networks, and fitted networks; a fit takes hundredths of a second."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, make_target


class Sample(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def simulate(n, n_events, seed):
    """Draw Weibull times with effects of three covariates; a third of the rows are censored."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    latent = rng.weibull(1.5, (n, n_events)) * np.exp(1 + X[:, :1] - 0.5 * X[:, 1:2])
    latent[:, -1] *= np.exp(X[:, 2])
    censoring = rng.exponential(8.0 / n_events, n)
    time = np.minimum(latent.min(1), censoring)
    return Sample(X, make_target(time, np.where(time < censoring, latent.argmin(1) + 1, 0)))


@pytest.fixture(scope="session")
def single():
    return simulate(240, 1, seed=1)


@pytest.fixture(scope="session")
def competing():
    return simulate(240, 2, seed=2)


@pytest.fixture(scope="session")
def mixed_table(single):
    """Return a DataFrame with numbers, labels, booleans and missing values, and its target."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(single.X.copy(), columns=["age", "dose", "marker"])
    X["sex"] = np.where(rng.random(len(X)) < 0.5, "F", "M")
    X["stage"] = pd.Categorical(rng.choice(["I", "II", "III"], len(X)))
    X["treated"] = rng.random(len(X)) < 0.5
    X.loc[rng.random(len(X)) < 0.1, "marker"] = np.nan
    X.loc[rng.random(len(X)) < 0.1, "sex"] = None
    X["stage"] = X["stage"].where(rng.random(len(X)) > 0.1)
    return Sample(X, single.y)


@pytest.fixture(scope="session")
def quick():
    """Return a maker of small models; any option may be given by name."""

    def make(**settings):
        small = {"hidden": (8,), "k": 2, "max_epochs": 4, "learning_rate": 0.01}
        return DeepSurvivalMachines(**(small | settings))

    return make


@pytest.fixture(scope="session")
def fitted(quick, single, competing):
    """Return fitted models by name; do not change them."""
    return {
        "single": quick().fit(*single),
        "members": quick(n_members=3).fit(*single),
        "competing members": quick(n_members=3).fit(*competing),
    }
