"""The models of the columns ``lifemix`` and ``lifemix-dsm``: that they can be fitted, saved and read again."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.baselines import AalenJohansen, ModelAverage
from lifemix.experiments.best import best_alone, best_model, best_settings, best_settings_alone


def test_the_best_model_bends_and_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"u": rng.normal(size=400), "group": rng.choice(["a", "b"], 400)})
    X.loc[::7, "u"] = np.nan
    scale = np.exp(1.5 * np.abs(X["u"].fillna(0)))  # the same at -u and u: no straight line follows it
    y = make_target(rng.exponential(scale), rng.random(400) < 0.8)
    (setting,) = best_settings_alone("support")
    model = best_alone("support", setting | {"n_members": 2}, 0).fit(X, y)
    grid = pd.DataFrame({"u": [-2.0, 0.0, 2.0], "group": "a"})
    survival = model.predict_survival_function(grid, [2.0])[:, 0]
    assert min(survival[0], survival[2]) > survival[1] + 0.15
    path = tmp_path / "best.safetensors"
    save(model, path)
    np.testing.assert_array_equal(
        load(path).predict_survival_function(X, [0.5, 2.0]), model.predict_survival_function(X, [0.5, 2.0])
    )


def test_the_best_model_has_trees_beside_it_or_chooses():
    first, second = best_settings("metabric")
    assert (first["discount"], second["discount"]) == (1.0, 0.5)
    model = best_model("metabric", second, 3)
    assert isinstance(model, ModelAverage)
    assert model.discount == 0.5
    assert [part.random_state for part in model.estimators] == [3, 3]
    settings = best_settings("synthetic")
    alone, with_trees, drawn = (best_model("synthetic", one | {"discount": 0.7}, 0) for one in settings)
    assert isinstance(alone, DeepSurvivalMachines)
    assert isinstance(with_trees, ModelAverage)
    assert alone.discount == with_trees.discount == drawn.discount == 0.7


def test_the_marginal_curve_has_the_share_that_the_setting_gives_it():
    *_, setting = best_settings("ebmt")
    model = best_model("ebmt", setting, 0)
    dsm, trees, marginal = np.array(model.weights) / np.sum(model.weights)
    assert isinstance(model.estimators[2], AalenJohansen)
    assert (marginal, dsm) == (pytest.approx(setting["marginal"]), pytest.approx(trees))


@pytest.mark.parametrize(("data", "competing"), [("support", False), ("ebmt", True)])
def test_the_tuned_model_is_the_one_of_the_tables(data, competing):
    (setting,) = best_settings_alone(data)
    tuned = DeepSurvivalMachines.tuned(competing)
    ours, theirs = (model.get_params() for model in (tuned, best_alone(data, setting, 0)))
    assert {name: str(value) for name, value in ours.items()} == {name: str(value) for name, value in theirs.items()}
    assert DeepSurvivalMachines.tuned(competing, k=2, n_members=3).get_params()["n_members"] == 3
