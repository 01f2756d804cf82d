"""The model of the column ``lifemix``: that its settings can be fitted, saved and read again."""

import numpy as np
import pandas as pd

from lifemix import load, make_target, save
from lifemix.experiments.best import best_model, best_settings


def test_the_best_model_bends_and_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"u": rng.normal(size=400), "group": rng.choice(["a", "b"], 400)})
    X.loc[::7, "u"] = np.nan
    scale = np.exp(1.5 * np.abs(X["u"].fillna(0)))  # the same at -u and u: no straight line follows it
    y = make_target(rng.exponential(scale), rng.random(400) < 0.8)
    model = best_model("support", best_settings("support")[0], 0).set_params(n_members=2).fit(X, y)
    grid = pd.DataFrame({"u": [-2.0, 0.0, 2.0], "group": "a"})
    survival = model.predict_survival_function(grid, [2.0])[:, 0]
    assert min(survival[0], survival[2]) > survival[1] + 0.15
    path = tmp_path / "best.safetensors"
    save(model, path)
    np.testing.assert_array_equal(
        load(path).predict_survival_function(X, [0.5, 2.0]), model.predict_survival_function(X, [0.5, 2.0])
    )
