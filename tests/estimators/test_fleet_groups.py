"""Models that are fitted together equal those that are fitted alone."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from lifemix import DeepSurvivalMachines, datasets, make_target
from lifemix.errors import DivergedError
from lifemix.estimators.fleet_groups import FitRequest, check_finite, fit_many, group_fits
from lifemix.estimators.preparation import TrainingSet, prepare
from lifemix.training import Fit


@pytest.fixture(scope="module")
def parts():
    data = datasets.load_metabric()
    rows = np.arange(400)
    return [(data.X.iloc[rows + start], data.y[rows + start]) for start in (0, 400, 800)]


def test_models_fitted_together_predict_as_when_fitted_alone(parts):
    first, second, held_out = parts
    options = [(first, 1e-3, 1), (first, 1e-2, 2), (second, 1e-3, 1)]
    models = [
        DeepSurvivalMachines(learning_rate=rate, max_epochs=5, n_members=n)
        for _, rate, n in options
    ]
    fittings = [
        FitRequest(model, *part, held_out)
        for model, (part, *_) in zip(models, options, strict=True)
    ]
    done = sorted(fit_many(fittings, max_fleet=3), key=lambda one: one.number)
    assert [one.number for one in done] == [0, 1, 2]
    for one, (part, rate, n) in zip(done, options, strict=True):
        alone = DeepSurvivalMachines(learning_rate=rate, max_epochs=5, n_members=n).fit(
            *part, validation_data=held_out
        )
        assert one.error is None
        np.testing.assert_allclose(
            one.model.predict_survival_function(held_out[0], [50, 100]),
            alone.predict_survival_function(held_out[0], [50, 100]),
            atol=1e-4,
        )


def test_targets_of_different_kinds_are_each_learned_as_they_are(parts):
    """Exact times, intervals, late entries and events at time 0 need different terms of the likelihood."""
    (X, y), _, held_out = parts
    time, event, some = y["time"], y["event"], np.arange(len(y)) % 3 == 0
    targets = [
        y,
        make_target(time, event, upper=np.where(some & (event > 0), 1.3 * time + 1, np.nan)),
        make_target(time, event, entry=np.where(some, time / 2, 0.0)),
        make_target(np.where(some & (event > 0), 0.0, time), event),
        y,
    ]

    def model():
        return DeepSurvivalMachines(max_epochs=2, hidden=(10,), k=2, learning_rate=0.01)

    done = list(fit_many([FitRequest(model(), X, target) for target in targets]))
    assert sorted(one.number for one in done) == list(range(len(targets)))
    for one in done:
        assert one.error is None
        expected = (
            model().fit(X, targets[one.number]).predict_survival_function(held_out[0], [50, 100])
        )
        found = one.model.predict_survival_function(held_out[0], [50, 100])
        np.testing.assert_allclose(found, expected, atol=2e-5)


def test_models_of_a_fleet_stop_one_by_one_on_held_out_rows_of_their_own(parts):
    """Each has its own number of held-out rows and its own time to stop; none is disturbed by those that went."""
    first, second, third = parts
    requests = [
        (0.05, first, second),
        (1e-3, first, (third[0][:150], third[1][:150])),
        (0.05, second, third),
    ]

    def model(rate):
        return DeepSurvivalMachines(learning_rate=rate, max_epochs=9, patience=2, hidden=(20,), k=2)

    done = fit_many([FitRequest(model(rate), *part, held_out) for rate, part, held_out in requests])
    together = [one.model for one in sorted(done, key=lambda one: one.number)]
    epochs = [len(one.history_) for one in together]
    assert epochs[0] < epochs[2] < epochs[1] == 9
    for one, (rate, part, held_out) in zip(together, requests, strict=True):
        alone = model(rate).fit(*part, validation_data=held_out)
        assert one.best_epoch_ == alone.best_epoch_
        for name in ("train_loss", "validation_loss"):
            losses = [[record[name] for record in fitted.history_] for fitted in (one, alone)]
            np.testing.assert_allclose(*losses, rtol=1e-4)
        expected = alone.predict_survival_function(third[0], [50, 100])
        np.testing.assert_allclose(
            one.predict_survival_function(third[0], [50, 100]), expected, atol=1e-4
        )


def test_a_model_that_diverges_comes_with_its_error_and_leaves_its_neighbour_alone(parts):
    first, _, held_out = parts
    X, new = first[0].to_numpy(), held_out[0].to_numpy()
    wild, tame, alone = (
        DeepSurvivalMachines(max_epochs=3, learning_rate=r, preprocessor=None)
        for r in (10, 1e-3, 1e-3)
    )
    requests = [FitRequest(wild, X * 1e20, first[1]), FitRequest(tame, X, first[1])]
    done = {one.number: one for one in fit_many(requests)}
    assert isinstance(done[0].error, DivergedError)
    assert "training diverged: the weights or the loss of 1 of 1 models" in str(done[0].error)
    assert not hasattr(done[0].model, "n_events_")
    assert done[1].error is None
    expected = alone.fit(X, first[1]).predict_survival_function(new, [50, 100])
    np.testing.assert_allclose(
        done[1].model.predict_survival_function(new, [50, 100]), expected, atol=1e-4
    )


FITS = {
    "good": (Fit(torch.zeros(2), 1, 0.5, [0.7], [0.5]), False),
    "no epoch at all": (Fit(torch.zeros(2)), False),
    "an earlier epoch to go back to": (
        Fit(torch.zeros(2), 1, 0.5, [0.7, math.nan], [0.5, math.nan]),
        False,
    ),
    "nothing held out": (Fit(torch.zeros(2), 2, math.nan, [0.7, 0.6], [math.nan, math.nan]), False),
    "nothing held out, last loss infinite": (
        Fit(torch.zeros(2), 2, math.nan, [0.7, math.inf], [math.nan] * 2),
        True,
    ),
    "no finite loss": (Fit(torch.zeros(2), 0, math.inf, [math.nan], [math.nan]), True),
    "weights that are no numbers": (Fit(torch.tensor([0.0, math.nan]), 1, 0.5, [0.7], [0.5]), True),
    "infinite weights": (Fit(torch.tensor([math.inf, 0.0]), 1, 0.5, [0.7], [0.5]), True),
}


@pytest.mark.parametrize(("fit", "diverged"), FITS.values(), ids=FITS)
def test_a_fit_without_a_finite_epoch_has_diverged(fit, diverged):
    if not diverged:
        check_finite([fit])
        return
    with pytest.raises(
        DivergedError, match=rf"1 of 2 models are not finite after {len(fit.train_loss)} epochs"
    ):
        check_finite([FITS["good"][0], fit])


def prepared_fits(n_levels_of_fits, **settings):
    """Return prepared fits to tables with a column of 2 to 6 levels."""
    fits = []
    for seed, n_levels in enumerate(n_levels_of_fits):
        rng = np.random.default_rng(seed)
        levels = np.array(list("uvwxyz"))[np.arange(200) % n_levels]
        X = pd.DataFrame({"a": rng.normal(size=200), "b": levels})
        y = make_target(rng.weibull(1.4, 200) + 0.01, rng.integers(0, 2, 200))
        model = DeepSurvivalMachines(**({"hidden": (6,), "max_epochs": 1} | settings))
        fits.append(prepare(model, TrainingSet(X, y)))
    return fits


def test_fits_of_one_shape_train_together_in_groups_of_equal_size():
    assert group_fits(prepared_fits([6, 5, 6]), 32) == [[0, 2], [1]]
    assert group_fits(prepared_fits([3] * 5), 3) == [[0, 1], [2, 3, 4]]
    assert group_fits(prepared_fits([3] * 3, n_members=2), 4) == [[0], [1, 2]]
    assert group_fits(prepared_fits([3] * 2, encoder=torch.nn.LazyLinear(2)), 32) == [[0], [1]]
