"""Fits that train together: folds whose categories have other levels too, and what is sent to other processes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.fleets import Planned, group, train_fleet
from lifemix.estimators.plan import make_plan


def table(levels, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=n), "b": np.array(list("uvwxyz"))[np.arange(n) % levels]}
    )
    return X, make_target(rng.weibull(1.4, n) * np.exp(0.5 * X["a"]) + 0.01, rng.integers(0, 2, n))


def planned(model, levels):
    return [
        Planned((0, number), model, *make_plan(model, *table(count, seed=number)), None)
        for number, count in enumerate(levels)
    ]


@pytest.mark.parametrize(
    "settings",
    [{}, {"hidden": (5, 3), "dropout": 0.2, "weight_decay": 0.1, "n_members": 2}, {"bias": False}],
)
def test_fits_with_other_levels_train_together_as_they_do_alone(settings):
    model = DeepSurvivalMachines(**({"hidden": (6,), "k": 2, "max_epochs": 4} | settings))
    members = planned(model, [6, 5, 6])
    assert {one.plan.architecture.n_inputs for one in members} == {6, 7}
    (fleet,) = group(members, 32)
    together = {
        one.key: found
        for one, found in zip(fleet, train_fleet([one.plan for one in fleet]), strict=True)
    }
    for one in members:
        fits, (architecture,) = together[one.key]
        ((alone, _),) = train_fleet([one.plan])
        assert architecture == one.plan.architecture
        for mine, own in zip(fits, alone, strict=True):
            assert mine.parameters.shape == own.parameters.shape == (architecture.layout.size,)
            np.testing.assert_allclose(mine.parameters, own.parameters, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(mine.train_loss, own.train_loss, rtol=1e-5)
            assert mine.best_epoch == own.best_epoch


def test_much_wider_inputs_and_linear_models_train_apart():
    narrow = DeepSurvivalMachines(hidden=(6,), max_epochs=1)
    assert len(group(planned(narrow, [2, 6]), 32)) == 2
    assert len(group(planned(DeepSurvivalMachines(hidden=(), max_epochs=1), [5, 6]), 32)) == 2
