"""What is done before training: times that were rounded coarsely, and held-out rows."""

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import SettingError
from lifemix.estimators.fleet_groups import FitRequest, fit_many
from lifemix.estimators.preparation import events_as_intervals
from lifemix.estimators.settings import common_step, detect_rounding
from lifemix.streaming import TableSource
from lifemix.target import as_target

SMALL = {"hidden": (8,), "k": 2, "max_epochs": 2, "n_members": 2}


def sample(n=2000, step=1.0, seed=0):
    """Return columns, continuous times and events; half of the rows are censored."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, 4 * step * rng.weibull(1.4, n) * np.exp(0.4 * X[:, 0]), rng.integers(0, 2, n)


def coarse(step=1.0, **options):
    X, time, event = sample(step=step, **options)
    return X, make_target(step * np.clip(np.round(time / step), 1, 8), event)


@pytest.mark.parametrize("step", [1.0, 1 / 12, 365.25 / 7, 1e-9, 1e12])
def test_the_step_of_coarse_times_is_found_in_any_unit(step):
    assert detect_rounding(as_target(coarse(step)[1])) == pytest.approx(step, rel=1e-9)


def test_the_step_is_the_largest_that_all_times_are_multiples_of():
    assert common_step(np.array([4.0, 6.0, 10.0]), 0.1) == 2
    assert common_step(np.array([6.0, 10.0, 15.0]), 0.1) == 1
    assert common_step(np.array([0.0, 3.0, 4.5]), 0.1) == 1.5
    assert common_step(np.array([6.0, 10.0, 15.0]), 1.5) == 0
    assert common_step(np.array([1.0, np.e, np.pi]), 1e-2) == 0


def test_other_times_are_taken_as_they_are():
    X, time, event = sample()
    whole = np.maximum(1, np.round(time))
    assert detect_rounding(as_target(make_target(time, event))) == 0
    assert (
        detect_rounding(as_target(make_target(np.ceil(100 * time), event))) == 0
    )  # few share a time
    assert (
        detect_rounding(
            as_target(make_target(np.ceil(300 * np.repeat(time, 9)), np.repeat(event, 9)))
        )
        == 0
    )  # fine steps
    assert (
        detect_rounding(as_target(make_target(whole, event * (1 + (X[:, 1] > 0))))) == 0
    )  # two event types
    upper = np.where((event > 0) & (X[:, 1] > 0), whole + 1, np.nan)
    assert detect_rounding(as_target(make_target(whole, event, upper=upper))) == 0
    assert (
        detect_rounding(as_target(make_target(np.full(len(time), 3.0), event))) == 0
    )  # one time has no step


def test_an_event_counts_as_one_in_the_step_around_its_time():
    y = as_target(
        make_target(
            [0.0, 2.0, 4.0, 4.0, 6.0],
            [1, 1, 0, 1, 1],
            entry=[0, 0, 0, 3.5, 0],
            upper=[np.nan] * 4 + [7],
        )
    )
    seen = events_as_intervals(y, 2.0)
    np.testing.assert_array_equal(seen.time, [0, 1, 4, 3.5, 6])
    np.testing.assert_array_equal(seen.upper, [1, 3, np.nan, 5, 7])
    np.testing.assert_array_equal(seen.event, y.event)
    assert events_as_intervals(y, 0.0) is y


def test_it_is_the_likelihood_of_such_intervals_while_the_target_stays():
    X, y = coarse()
    upper = np.where(y["event"] > 0, y["time"] + 0.5, np.nan)
    intervals = make_target(
        np.where(y["event"] > 0, y["time"] - 0.5, y["time"]), y["event"], upper=upper
    )
    model = DeepSurvivalMachines(**SMALL, rounding=1.0).fit(X, y)
    told = DeepSurvivalMachines(**SMALL).fit(X, intervals)
    assert model.history_ == told.history_
    times = [0.5, 2.0, 5.0]
    np.testing.assert_array_equal(
        model.predict_survival_function(X, times), told.predict_survival_function(X, times)
    )
    assert not model.training_target_.interval.any()
    assert model.last_event_time_ == y["time"][y["event"] > 0].max()


def test_the_distribution_of_the_times_before_rounding_is_found():
    rng = np.random.default_rng(1)
    n, shape, scale = 20_000, 1.6, 1.5
    time = np.round(scale * rng.weibull(shape, n))  # a fifth is 0
    y, X = make_target(time, np.ones(n, dtype=int)), np.zeros((n, 1))
    times = np.linspace(0.3, 4, 30)
    truth = np.exp(-((times / scale) ** shape))

    def distance(rounding):
        model = DeepSurvivalMachines(k=1, rounding=rounding, preprocessor=None).fit(X, y)
        return np.abs(model.predict_survival_function(X[:1], times)[0] - truth).max()

    assert distance(None) < 1.5 / np.sqrt(n)
    assert distance(0.0) > 0.05


def test_what_was_found_is_told_and_gives_the_same_model(tmp_path):
    X, y = coarse()
    model = DeepSurvivalMachines(**SMALL, rounding=None).fit(X, y)
    assert model.settings_["rounding"] == 1.0
    written_out = DeepSurvivalMachines(**SMALL, rounding=1.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), written_out.predict(X))
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert (again.rounding, again.settings_) == (None, model.settings_)


def test_models_with_and_without_train_side_by_side():
    X, y = coarse()
    steps = (0.0, 1.0)
    requests = [FitRequest(DeepSurvivalMachines(**SMALL, rounding=step), X, y) for step in steps]
    for found in fit_many(requests):
        alone = DeepSurvivalMachines(**SMALL, rounding=steps[found.number]).fit(X, y)
        np.testing.assert_allclose(found.model.predict(X), alone.predict(X), rtol=1e-6)


def test_competing_risks_have_it_where_it_is_asked_for():
    X, y = coarse(n=120)
    causes = make_target(y["time"], y["event"] * (1 + (X[:, 1] > 0)))
    automatic = DeepSurvivalMachines(**SMALL, rounding=None).fit(X, causes)
    given = DeepSurvivalMachines(**SMALL, rounding=1.0).fit(X, causes)
    assert automatic.settings_["rounding"] == 0
    assert given.history_[0]["train_loss"] != automatic.history_[0]["train_loss"]


def test_a_table_on_disk_is_treated_as_in_memory(tmp_path):
    X, y = coarse()
    path = tmp_path / "table.csv"
    rows = [f"{a},{b},{t},{e}" for (a, b), t, e in zip(X, y["time"], y["event"], strict=True)]
    path.write_text("\n".join(["a,b,time,event", *rows]) + "\n")
    source = TableSource(path, time="time", event="event")
    assert DeepSurvivalMachines(**SMALL, rounding=None).fit(source).settings_["rounding"] == 1
    automatic, chosen = (
        DeepSurvivalMachines(**SMALL, rounding=step).fit(source) for step in (None, 1.0)
    )
    assert automatic.history_ == chosen.history_


def test_a_negative_step_is_refused():
    X, y = coarse(n=60)
    with pytest.raises(SettingError, match="rounding"):
        DeepSurvivalMachines(rounding=-1.0).fit(X, y)


def test_a_preprocessor_that_cannot_be_pickled_is_used():
    X, time, event = sample(200)
    y = make_target(time, event)
    doubled = DeepSurvivalMachines(preprocessor=FunctionTransformer(lambda X: 2 * X), **SMALL)
    plain = DeepSurvivalMachines(preprocessor=None, **SMALL).fit(2 * X, y)
    np.testing.assert_array_equal(doubled.fit(X, y).predict(X), plain.predict(2 * X))
    with pytest.raises(SettingError, match="preprocessor must be 'auto', None or"):
        DeepSurvivalMachines(preprocessor=np.ma.masked).fit(X, y)
