"""The models of the columns ``tuned`` and ``tuned-trees``: that they can be fitted, saved and read again."""

import numpy as np
import pandas as pd
import pytest

from experiments.best import tuned_model, tuned_settings, with_trees, with_trees_settings
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.baselines import GradientBoosting, ModelAverage


def test_the_tuned_model_bends_and_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"u": rng.normal(size=400), "group": rng.choice(["a", "b"], 400)})
    X.loc[::7, "u"] = np.nan
    scale = np.exp(
        1.5 * np.abs(X["u"].fillna(0))
    )  # the same at -u and u: no straight line follows it
    y = make_target(rng.exponential(scale), rng.random(400) < 0.8)
    (setting,) = tuned_settings("support")
    model = tuned_model("support", setting | {"n_members": 2}, 0).fit(X, y)
    grid = pd.DataFrame({"u": [-2.0, 0.0, 2.0], "group": "a"})
    survival = model.predict_survival_function(grid, [2.0])[:, 0]
    assert min(survival[0], survival[2]) > survival[1] + 0.15
    path = tmp_path / "best.safetensors"
    save(model, path)
    np.testing.assert_array_equal(
        load(path).predict_survival_function(X, [0.5, 2.0]),
        model.predict_survival_function(X, [0.5, 2.0]),
    )


def test_trees_are_averaged_in_with_the_discount_of_the_setting():
    first, second = with_trees_settings("metabric")
    assert (first["discount"], second["discount"]) == (1.0, 0.5)
    model = with_trees("metabric", second, 3)
    assert isinstance(model, ModelAverage)
    assert model.discount == 0.5
    assert [type(part) for part in model.estimators] == [DeepSurvivalMachines, GradientBoosting]
    assert [part.random_state for part in model.estimators] == [3, 3]
    (only,) = with_trees_settings("synthetic")
    assert only["discount"] == 1.0


@pytest.mark.parametrize(("data", "competing"), [("support", False), ("ebmt", True)])
def test_the_tuned_model_is_the_one_of_the_tables(data, competing):
    (setting,) = tuned_settings(data)
    tuned = DeepSurvivalMachines.tuned(competing)
    ours, theirs = (model.get_params() for model in (tuned, tuned_model(data, setting, 0)))
    assert {name: str(value) for name, value in ours.items()} == {
        name: str(value) for name, value in theirs.items()
    }
    assert DeepSurvivalMachines.tuned(competing, k=2, n_members=3).get_params()["n_members"] == 3
