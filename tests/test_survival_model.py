"""What the base class gives to every model, ours and the baselines alike."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, baselines, make_target

MODELS = {
    "DeepSurvivalMachines": lambda: DeepSurvivalMachines(hidden=(4,), k=2, max_epochs=2),
    "FineGray": baselines.FineGray,
    "AalenJohansen": baselines.AalenJohansen,
    "CauseSpecific": lambda: baselines.CauseSpecific(baselines.CoxPH()),
}
over_models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
TIMES = np.array([0.0, 0.5, 1.0, 2.0, 5.0])


def data(n=90, seed=0, unit=1.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["age", "dose"])
    return X, make_target(unit * (rng.weibull(1.5, n).round(2) + 0.01), rng.integers(0, 3, n))


@over_models
def test_all_incidences_at_once_are_those_one_by_one(make):
    X, y = data()
    model = make().fit(X, y)
    together = model.predict_cumulative_incidences(X, TIMES)
    assert together.shape == (2, len(X), len(TIMES))
    for event in (1, 2):
        alone = model.predict_cumulative_incidence(X, TIMES, event)
        np.testing.assert_allclose(together[event - 1], alone, rtol=1e-12, atol=1e-14)


@over_models
def test_a_second_fit_forgets_the_first(make):
    X, y = data()
    other, later = data(60, seed=1, unit=100.0)
    model = make().fit(X, y)
    assert model.event_times_.max() < 10  # kept after the first question
    assert list(model.feature_names_in_) == ["age", "dose"]
    model.fit(other.to_numpy(), later)
    fresh = make().fit(other.to_numpy(), later)
    np.testing.assert_array_equal(model.event_times_, np.unique(later["time"][later["event"] > 0]))
    assert (
        model.last_event_time_ == fresh.last_event_time_ == later["time"][later["event"] > 0].max()
    )
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(
        model.predict_survival_function(other.to_numpy(), 100 * TIMES),
        fresh.predict_survival_function(other.to_numpy(), 100 * TIMES),
    )
    assert model.score(other.to_numpy(), later) == fresh.score(other.to_numpy(), later)


@over_models
def test_a_second_fit_knows_its_own_number_of_event_types(make):
    X, y = data()
    model = make().fit(X, y)
    assert model.n_events_ == 2
    model.fit(X, make_target(y["time"], y["event"] > 0))
    assert model.n_events_ == 1
    np.testing.assert_allclose(
        model.predict_cumulative_incidence(X, TIMES),
        1 - model.predict_survival_function(X, TIMES),
        atol=1e-12,
    )


def test_intervals_count_at_their_upper_ends_among_the_event_times():
    X, y = data()
    upper = np.where((y["event"] > 0) & (np.arange(len(y)) % 2 == 0), y["time"] + 7, np.nan)
    model = MODELS["DeepSurvivalMachines"]().fit(X, make_target(y["time"], y["event"], upper=upper))
    expected = np.unique(np.fmax(y["time"], upper)[y["event"] > 0])
    np.testing.assert_array_equal(model.event_times_, expected)
    assert model.last_event_time_ == expected[-1]
