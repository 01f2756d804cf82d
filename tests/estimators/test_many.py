"""Models fitted together are what they are when fitted alone."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, datasets
from lifemix.estimators.many import FitRequest, fit_many


@pytest.fixture(scope="module")
def parts():
    data = datasets.load_metabric()
    rows = np.arange(400)
    return [(data.X.iloc[rows + start], data.y[rows + start]) for start in (0, 400, 800)]


def test_models_fitted_together_predict_as_when_fitted_alone(parts):
    first, second, held_out = parts
    options = [(first, 1e-3, 1), (first, 1e-2, 2), (second, 1e-3, 1)]
    models = [DeepSurvivalMachines(learning_rate=rate, max_epochs=5, n_members=n) for _, rate, n in options]
    fittings = [FitRequest(model, *part, held_out) for model, (part, *_) in zip(models, options, strict=True)]
    done = sorted(fit_many(fittings, max_fleet=3), key=lambda one: one.number)
    assert [one.number for one in done] == [0, 1, 2]
    for one, (part, rate, n) in zip(done, options, strict=True):
        alone = DeepSurvivalMachines(learning_rate=rate, max_epochs=5, n_members=n).fit(*part, validation_data=held_out)
        assert one.error is None
        np.testing.assert_allclose(
            one.model.predict_survival_function(held_out[0], [50, 100]),
            alone.predict_survival_function(held_out[0], [50, 100]),
            atol=1e-4,
        )


def test_a_model_that_diverges_comes_with_its_error(parts):
    first, _, held_out = parts
    wild = DeepSurvivalMachines(learning_rate=10.0, max_epochs=3, shift_activation="identity", preprocessor=None)
    tame = DeepSurvivalMachines(max_epochs=3, preprocessor=None)
    X = first[0].to_numpy() * 1e6
    done = {one.number: one for one in fit_many([FitRequest(wild, X, first[1]), FitRequest(tame, *first, held_out)])}
    assert done[1].error is None
    assert done[0].error is None or "diverged" in str(done[0].error)
