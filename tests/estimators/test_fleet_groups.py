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

SMALL = {"hidden": (10,), "k": 2, "max_epochs": 2}


@pytest.fixture(scope="module")
def tables():
    data = datasets.load_metabric()
    rows = np.arange(300)
    return [(data.X.iloc[rows + start], data.y[rows + start]) for start in (0, 300, 600)]


def assert_as_alone(requests, X_new, max_fleet=32):
    """Fit the requests together and each alone; return the models that were fitted together."""
    fits = sorted(fit_many(requests, max_fleet=max_fleet), key=lambda fitted: fitted.number)
    assert len(fits) == len(requests)
    for fitted, request in zip(fits, requests, strict=True):
        assert fitted.error is None
        alone = DeepSurvivalMachines(**request.model.get_params())
        alone.fit(request.X, request.y, validation_data=request.validation_data)
        assert fitted.model.best_epoch_ == alone.best_epoch_
        for name in ("train_loss", "validation_loss"):
            losses = [
                [record[name] for record in model.history_] for model in (fitted.model, alone)
            ]
            np.testing.assert_allclose(*losses, rtol=1e-4)
        curves = (
            model.predict_survival_function(X_new, [50, 100]) for model in (fitted.model, alone)
        )
        np.testing.assert_allclose(*curves, atol=1e-4)
    return [fitted.model for fitted in fits]


def test_tables_rates_and_members(tables):
    first, second, held_out = tables
    options = [(first, 1e-3, 1), (first, 1e-2, 2), (second, 1e-3, 1)]
    requests = [
        FitRequest(DeepSurvivalMachines(learning_rate=rate, n_members=n, **SMALL), *table, held_out)
        for table, rate, n in options
    ]
    assert_as_alone(requests, held_out[0], max_fleet=3)


def test_targets_of_different_kinds(tables):
    """Exact times, intervals, late entries and events at time 0 have different likelihood terms."""
    (X, y), _, held_out = tables
    time, event, is_third = y["time"], y["event"], np.arange(len(y)) % 3 == 0
    is_event = is_third & (event > 0)
    targets = [
        y,
        make_target(time, event, upper=np.where(is_event, 1.3 * time + 1, np.nan)),
        make_target(time, event, entry=np.where(is_third, time / 2, 0.0)),
        make_target(np.where(is_event, 0.0, time), event),
    ]
    requests = [
        FitRequest(DeepSurvivalMachines(learning_rate=0.01, **SMALL), X, target)
        for target in targets
    ]
    assert_as_alone(requests, held_out[0])


def test_each_model_stops_at_its_time(tables):
    """Each has its number of held-out rows; none is disturbed by those that stopped."""
    first, second, third = tables
    few = third[0][:150], third[1][:150]
    settings = {"max_epochs": 9, "patience": 2, "hidden": (20,), "k": 2}
    requests = [
        FitRequest(DeepSurvivalMachines(learning_rate=rate, **settings), *table, held_out)
        for rate, table, held_out in (
            (0.05, first, second),
            (1e-3, first, few),
            (0.05, second, third),
        )
    ]
    models = assert_as_alone(requests, third[0])
    assert len({len(model.history_) for model in models}) >= 2
    assert max(len(model.history_) for model in models) == 9


def test_a_model_that_diverges_leaves_the_others_alone(tables):
    (X, y), _, (X_new, _) = tables
    X, X_new = X.to_numpy(), X_new.to_numpy()
    settings = {"max_epochs": 3, "preprocessor": None, "hidden": (), "validation_fraction": 0}
    wild, tame, alone = (
        DeepSurvivalMachines(learning_rate=rate, **settings) for rate in (10, 1e-3, 1e-3)
    )
    requests = [FitRequest(wild, X * 1e25, y), FitRequest(tame, X, y)]
    fits = {fitted.number: fitted for fitted in fit_many(requests)}
    assert isinstance(fits[0].error, DivergedError)
    assert "of 1 of 1 models" in str(fits[0].error)
    assert not hasattr(fits[0].model, "n_events_")
    expected = alone.fit(X, y).predict_survival_function(X_new, [50, 100])
    survival = fits[1].model.predict_survival_function(X_new, [50, 100])
    np.testing.assert_allclose(survival, expected, atol=1e-4)


ZEROS, NAN, INF = torch.zeros(2), math.nan, math.inf
FITS = {
    "good": (Fit(ZEROS, 1, 0.5, [0.7], [0.5]), False),
    "no epoch at all": (Fit(ZEROS), False),
    "an earlier epoch to go back to": (Fit(ZEROS, 1, 0.5, [0.7, NAN], [0.5, NAN]), False),
    "nothing held out": (Fit(ZEROS, 2, NAN, [0.7, 0.6], [NAN, NAN]), False),
    "nothing held out, last loss infinite": (Fit(ZEROS, 2, NAN, [0.7, INF], [NAN] * 2), True),
    "no finite loss": (Fit(ZEROS, 0, INF, [NAN], [NAN]), True),
    "weights that are no numbers": (Fit(torch.tensor([0.0, NAN]), 1, 0.5, [0.7], [0.5]), True),
    "infinite weights": (Fit(torch.tensor([INF, 0.0]), 1, 0.5, [0.7], [0.5]), True),
}


@pytest.mark.parametrize(("fit", "has_diverged"), FITS.values(), ids=FITS)
def test_a_fit_without_a_finite_epoch_has_diverged(fit, has_diverged):
    if not has_diverged:
        check_finite([fit])
        return
    message = rf"1 of 2 models are not finite after {len(fit.train_loss)} epochs"
    with pytest.raises(DivergedError, match=message):
        check_finite([FITS["good"][0], fit])


@pytest.mark.parametrize(
    ("n_levels", "settings", "max_fleet", "groups"),
    [
        ([6, 5, 6], {}, 32, [[0, 2], [1]]),
        ([3] * 5, {}, 3, [[0, 1], [2, 3, 4]]),
        ([3] * 3, {"n_members": 2}, 4, [[0], [1, 2]]),
        ([3] * 2, {"encoder": torch.nn.LazyLinear(2)}, 32, [[0], [1]]),
    ],
)
def test_fits_of_one_shape_form_groups_of_equal_size(n_levels, settings, max_fleet, groups):
    fits = []
    for seed, n in enumerate(n_levels):
        rng = np.random.default_rng(seed)
        levels = np.array(list("uvwxyz"))[np.arange(200) % n]
        X = pd.DataFrame({"a": rng.normal(size=200), "b": levels})
        y = make_target(rng.weibull(1.4, 200) + 0.01, rng.integers(0, 2, 200))
        fits.append(prepare(DeepSurvivalMachines(**(SMALL | settings)), TrainingSet(X, y)))
    assert group_fits(fits, max_fleet) == groups
