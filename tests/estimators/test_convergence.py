"""On data from a known mixture the fitted curves come closer to the truth as the sample grows."""

import lifelines
import numpy as np
import pandas as pd
import pytest

from helpers import simulations
from lifemix import DeepSurvivalMachines, make_target

FIRST, SECOND = simulations.MixtureTruth(seed=0), simulations.MixtureTruth(seed=5, centre=0.4)
NEW = simulations.covariates(1000, 99)
GRID = np.exp(np.linspace(-3, 3.5, 30))
BARS = [(1_000, {}, 0.09), (10_000, {}, 0.03), (100_000, {"patience": 5}, 0.015)]
SIZES = pytest.mark.parametrize(("n", "settings", "bar"), BARS, ids=["1k", "10k", "100k"])


def error(predicted, truth):
    return np.abs(predicted - truth).mean()


@pytest.mark.automatic
@SIZES
@pytest.mark.parametrize("censored", [False, True], ids=["all seen", "half censored"])
def test_single_risk(n, settings, bar, censored):
    # A sample of 1,000 is at the mercy of the few rows that it holds out: there, the mean over three samples.
    samples = [n + i for i in range(3 if n == 1_000 else 1)]
    assert np.mean([single_risk_error(n, seed, settings, censored) for seed in samples]) <= bar


def single_risk_error(n, seed, settings, censored):
    rng = np.random.default_rng([seed, 3])
    x = simulations.covariates(n, seed)
    time, event = FIRST.draw(x, rng), np.ones(n, dtype=int)
    if censored:
        limit = rng.permutation(time) * 1.02  # independent of the row, and as long as the times are
        event, time = (time <= limit).astype(int), np.minimum(time, limit)
        assert abs(event.mean() - 0.5) < 0.05
    model = DeepSurvivalMachines(**settings).fit(x, make_target(time, event))
    return error(model.predict_survival_function(NEW, GRID), FIRST.survival(NEW, GRID))


@pytest.mark.automatic
@SIZES
def test_two_competing_risks(n, settings, bar):
    rng = np.random.default_rng([n, 4])
    x = simulations.covariates(n, n)
    latent = np.column_stack([distribution.draw(x, rng) for distribution in (FIRST, SECOND)])
    model = DeepSurvivalMachines(**settings).fit(
        x, make_target(latent.min(1), latent.argmin(1) + 1)
    )
    both = [distribution.survival(NEW, GRID) for distribution in (FIRST, SECOND)]
    distribution = model.predict_distribution(NEW)
    assert error(distribution.survival(GRID), both[0] * both[1]) <= bar
    fine = np.exp(np.linspace(-6, 3.5, 3000))
    curves = [distribution.survival(NEW, fine) for distribution in (FIRST, SECOND)]
    for event, own, other in ((1, 0, 1), (2, 1, 0)):
        steps = -np.diff(curves[own], axis=1) * (curves[other][:, 1:] + curves[other][:, :-1]) / 2
        truth = np.cumsum(steps, axis=1)[:, np.searchsorted(fine[1:], GRID[1:] * (1 - 1e-12))]
        assert error(distribution.cumulative_incidence(GRID[1:], event), truth) <= bar
        # the net distribution is seen only as far as the other event leaves anyone
        net = np.abs(distribution.net(event).survival(GRID) - both[own])
        seen = both[other] > 0.1
        assert net[seen].mean() <= 2 * bar


def test_curves_of_two_groups_cross_where_the_truth_does_and_cox_cannot():
    rng = np.random.default_rng(7)
    group = np.arange(4000) % 2
    shape = np.where(group, 3.0, 0.8)
    time = 2.0 * rng.weibull(shape)
    limit = rng.uniform(0, 8, 4000)
    event, time = time <= limit, np.minimum(time, limit)
    X = pd.DataFrame({"group": group.astype(float)})
    model = DeepSurvivalMachines(k=2, hidden=(20,), learning_rate=1e-2).fit(
        X, make_target(time, event)
    )
    grid = np.linspace(0.05, 5, 400)
    low, high = model.predict_survival_function(pd.DataFrame({"group": [0.0, 1.0]}), grid)
    crossing = grid[np.flatnonzero(np.diff(np.sign(low - high)))]
    assert len(crossing) == 1
    np.testing.assert_allclose(crossing, 2.0, atol=0.2)  # both have S(2) = exp(-1)
    for curve, k in ((low, 0.8), (high, 3.0)):
        assert error(curve, np.exp(-((grid / 2) ** k))) < 0.02
    cox = lifelines.CoxPHFitter().fit(X.assign(time=time, event=event), "time", "event")
    a, b = cox.predict_survival_function(pd.DataFrame({"group": [0.0, 1.0]}), grid).to_numpy().T
    assert (
        len(np.unique(np.sign(np.round(a - b, 12)))) <= 2
    )  # one sign, and equal where nobody is left


def test_left_truncation_is_allowed_for():
    rng = np.random.default_rng(9)
    x = simulations.covariates(20_000, 11)
    time = FIRST.draw(x, rng)
    entry = rng.uniform(0, 3, len(time))
    seen = time > entry
    truth = FIRST.survival(NEW, GRID)
    fits = [
        DeepSurvivalMachines(batch_size=512, learning_rate=3e-3, patience=4, max_epochs=40).fit(
            x[seen], y
        )
        for y in (
            make_target(time[seen], seen[seen], entry=entry[seen]),
            make_target(time[seen], seen[seen]),
        )
    ]
    told, ignored = (error(fit.predict_survival_function(NEW, GRID), truth) for fit in fits)
    assert told < 0.04
    assert ignored > 2 * told


def test_intervals_carry_what_their_middles_do_not():
    rng = np.random.default_rng(10)
    x = simulations.covariates(6000, 12)
    time = FIRST.draw(x, rng)
    lower = np.floor(time / 4) * 4.0  # seen every 4 units only
    fit = DeepSurvivalMachines(batch_size=256, learning_rate=3e-3, patience=4, max_epochs=40)
    truth = FIRST.survival(NEW, GRID)
    told = fit.fit(
        x, make_target(lower, np.ones(6000, int), upper=lower + 4)
    ).predict_survival_function(NEW, GRID)
    middle = fit.fit(x, make_target(lower + 2, np.ones(6000, int))).predict_survival_function(
        NEW, GRID
    )
    assert error(told, truth) < 0.06
    assert error(middle, truth) > 2 * error(told, truth)
