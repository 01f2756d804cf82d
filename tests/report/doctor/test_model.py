"""Every finding after a fit fires on a model made for it, and not on one that is right."""

import copy
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

from lifemix import DeepSurvivalMachines, LifeMix, make_target
from lifemix.baselines import CoxPH, KaplanMeier
from lifemix.errors import InputError
from lifemix.report.doctor import check_model
from lifemix.report.doctor.model import (
    check_follow_up,
    check_training,
    maller_zhou_p,
)
from lifemix.target import as_target

N = 800


def draw(seed, n=N, kinds=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"x": rng.normal(size=n), "z": rng.normal(size=n), "arm": rng.choice(["a", "b"], n)}
    )
    rates = [np.exp(0.7 * X["x"]), np.exp(-0.5 * X["z"])][:kinds]
    latent = np.stack([rng.weibull(1.3, n) / rate for rate in rates])
    censoring = rng.uniform(0, 4, n)
    times = np.minimum(latent.min(0), censoring)
    return X, times, np.where(latent.min(0) <= censoring, latent.argmin(0) + 1, 0)


@pytest.fixture(scope="module")
def fitted():
    X, times, event = draw(0)
    return DeepSurvivalMachines(
        k=2, hidden=(8,), n_members=3, max_epochs=60, learning_rate=5e-3
    ).fit(X, (times, event))


@pytest.fixture(scope="module")
def competing():
    X, times, event = draw(0, kinds=2)
    return DeepSurvivalMachines(k=2, hidden=(), max_epochs=40, learning_rate=5e-3).fit(
        X, (times, event)
    )


class Known:
    """The true model of ``draw`` with one event type, its curves bent by a power and its risks moved."""

    n_events_ = 1

    def __init__(self, power=1.0, mixed=0.0):
        self.power, self.mixed = power, mixed

    def predict_survival_function(self, X, times):
        x = X["x"].to_numpy() * (1 + self.mixed)
        return np.exp(-((np.asarray(times)[None] * np.exp(0.7 * x)[:, None]) ** 1.3) * self.power)


def codes(findings, severity=None):
    return {finding.code for finding in findings if severity in (None, finding.severity)}


def test_a_good_model_has_no_finding_that_warns(fitted):
    X, times, event = draw(1)
    assert codes(check_model(fitted, X, (times, event)), "warn") == set()
    assert codes(check_model(Known(), X, (times, event))) == set()


@pytest.mark.parametrize(("power", "words"), [(2.0, "too high"), (0.5, "too low")])
def test_risks_that_are_wrong_on_average_are_found(power, words):
    X, times, event = draw(1)
    findings = [f for f in check_model(Known(power), X, (times, event)) if f.code == "calibration"]
    assert findings[0].severity == "warn"
    assert words in findings[0].text
    assert "D-calibration" in findings[1].text


def test_risks_that_are_wrong_in_groups_are_found():
    X, times, event = draw(1, 3000)
    true = Known().predict_survival_function(X, [1.0]).mean()
    power = brentq(
        lambda p: Known(p, mixed=1.0).predict_survival_function(X, [1.0]).mean() - true, 0.1, 10
    )
    findings = check_model(Known(power, mixed=1.0), X, (times, event), horizons=[1.0])
    assert any(
        "per subject (integrated calibration index)" in f.text
        for f in findings
        if f.code == "calibration"
    )


def test_unlike_rows_are_found(fitted):
    X, times, event = draw(1)
    y = (times, event)
    assert codes(check_model(fitted, X, y)).isdisjoint(
        {"far-from-training", "new-levels", "new-missing-values"}
    )
    assert "far-from-training" in codes(check_model(fitted, X.assign(x=X["x"] * 20), y), "warn")
    assert "far-from-training" in codes(
        check_model(fitted, X.assign(x=np.where(X.index == 0, 15, X["x"])), y), "note"
    )
    assert "new-levels" in codes(check_model(fitted, X.assign(arm="c"), y), "warn")
    assert "new-missing-values" in codes(
        check_model(fitted, X.assign(z=X["z"].where(X.index > 100)), y), "warn"
    )


def test_rare_ones_among_zeros_are_not_far():
    X, times, event = draw(0)
    X = X.assign(rare=(np.arange(N) < 4).astype(int))
    model = CoxPH(penalty=1.0).fit(X, (times, event))
    assert "far-from-training" not in codes(check_model(model, X, (times, event)))
    assert "far-from-training" in codes(
        check_model(model, X.assign(rare=3 * X["rare"]), (times, event))
    )


def test_other_models_are_checked_as_far_as_they_go():
    X, times, event = draw(0)
    new, new_times, new_event = draw(1)
    for model in (CoxPH(), KaplanMeier()):
        findings = check_model(model.fit(X, (times, event)), new, (new_times, new_event))
        assert codes(findings, "warn") == set()
    late = check_model(model, new, (3 * new_times, new_event))
    assert "calibration" in codes(late, "warn")


def test_competing_risks_are_checked_event_by_event(competing):
    X, times, event = draw(1, kinds=2)
    assert "calibration" not in codes(check_model(competing, X, (times, event)), "warn")
    swapped = np.where(event > 0, 1, 0)
    findings = [f for f in check_model(competing, X, (times, swapped)) if f.code == "calibration"]
    assert "of event 1" in findings[0].text
    assert "too low" in findings[0].text
    for names in ({1: "relapse", 2: "death"}, ["relapse", "death"]):
        named = [
            f
            for f in check_model(competing, X, (times, swapped), event_names=names)
            if f.code == "calibration"
        ]
        assert [f.text for f in named] == [f.text.replace("event 1", "relapse") for f in findings]


def test_unknown_events_stop(fitted):
    X, times, event = draw(1, kinds=2)
    assert "unknown-event-type" in codes(check_model(fitted, X, (times, event)), "stop")


def test_rows_must_match(fitted):
    X, times, event = draw(1)
    with pytest.raises(InputError, match="same rows; got 5 in X and 800 in y"):
        check_model(fitted, X[:5], (times, event))


def test_intervals_are_left_to_the_likelihood(fitted):
    X, times, _ = draw(1)
    y = make_target(times, np.ones(N, int), upper=times + 0.5)
    assert "calibration-not-checked" in codes(check_model(fitted, X, y), "note")


def test_mass_beyond_the_follow_up():
    X, times, event = draw(0)
    event, times = np.where(times > 0.4, 0, event), np.minimum(times, 0.4)
    model = DeepSurvivalMachines(k=1, hidden=(), max_epochs=30, learning_rate=0.01).fit(
        X, (times, event)
    )
    findings = check_model(model, X, (times, event))
    assert "extrapolation" in codes(findings, "note")
    (finding,) = [f for f in findings if f.code == "extrapolation"]
    share = model.predict_survival_function(X, [0.4]).mean()
    assert finding.text.startswith(f"{100 * share:.0f} %")


def test_a_tail_that_kaplan_meier_does_not_have(fitted):
    X, times, event = draw(1)
    bent = copy.deepcopy(fitted)
    target = bent.training_target_
    bent.training_target_ = type(target)(target.event, target.time / 5, target.entry, target.upper)
    assert "late-survival" in codes(check_model(bent, X, (times, event)), "warn")
    assert "late-survival" not in codes(check_model(fitted, X, (times, event)))


def history(*members):
    return [
        {"member": m, "epoch": e, "train_loss": train, "validation_loss": held}
        for m, curve in enumerate(members)
        for e, (train, held) in enumerate(curve, 1)
    ]


FALLING = [(1 - 0.1 * e, 1.02 - 0.1 * e) for e in range(6)]
STOPPED = [*FALLING, *[(0.4, 0.6)] * 3]
AT_ONCE = [(1.0, 1.0), (0.9, 1.1), (0.8, 1.2), (0.7, 1.3)]
BY_HEART = [(1.0, 1.0), (0.3, 0.9), (0.2, 0.95)]
BLIND = [(1.0, math.nan), (0.9, math.nan)]


@pytest.mark.parametrize(
    ("curves", "best", "max_epochs", "expected"),
    [
        ([FALLING], [6], 6, {"unfinished"}),
        ([STOPPED], [6], 50, set()),
        ([STOPPED, FALLING], [6, 6], 6, {"unfinished"}),
        ([AT_ONCE], [1], 50, {"no-improvement"}),
        ([BY_HEART], [2], 50, {"overfitting"}),
        ([BLIND], [2], 2, {"no-early-stopping"}),
        ([], [], 0, set()),
    ],
)
def test_curves_of_training(curves, best, max_epochs, expected):
    settings = {"patience": 3, "hidden": (8,)}
    assert codes(check_training(history(*curves), best, max_epochs, settings)) == expected


@pytest.mark.parametrize(
    ("hidden", "n_members", "settings"),
    [
        ([8], 1, ("weight_decay", "dropout", "hidden", "n_members")),
        ([8], 2, ("weight_decay", "dropout", "hidden")),
        ([], 2, ("weight_decay",)),
    ],
)
def test_remedies_against_overfitting_fit_the_model(hidden, n_members, settings):
    curves, best = [BY_HEART] * n_members, [2] * n_members
    options = {"patience": 3, "hidden": hidden}
    (finding,) = check_training(history(*curves), best, 50, options)
    assert finding.settings == settings
    assert ("fewer units" in finding.remedy) == bool(hidden)
    assert ("ensemble" in finding.remedy) == (n_members == 1)


def test_remedies_for_other_models_name_no_setting_of_a_network():
    X, times, event = draw(0)
    new, *y = draw(1)
    late = (3 * y[0], y[1])
    parts = {"Cox": CoxPH(penalty=1.0), "curve": KaplanMeier()}
    for model in (CoxPH(), KaplanMeier(), LifeMix(parts, n_folds=2)):
        findings = check_model(model.fit(X, (times, event)), new, late)
        assert "calibration" in codes(findings)
        for finding in findings:
            assert finding.settings == ()
            assert not re.search("primitive|component|hidden|units|weight_decay", finding.remedy)


def test_remedies_for_a_network_name_its_settings(fitted):
    X, times, event = draw(1)
    findings = check_model(fitted, X, (times**2, event))
    assert ("primitive", "k") in {finding.settings for finding in findings}


def followed(until, n=400, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time = np.where(rng.random(n) < share, np.inf, rng.weibull(1.5, n) * 8)
    end = rng.uniform(0.5 * until, until, n)
    return X, make_target(np.minimum(time, end), (time <= end).astype(int))


def test_the_statistic_is_the_one_worked_out_by_hand():
    # last event 6, last time 10: events in (2, 6] are 3 of 8 rows
    target = as_target(make_target([1, 2, 3, 5, 6, 7, 9, 10], [1, 1, 1, 1, 1, 0, 0, 0]))
    assert maller_zhou_p(target) == pytest.approx((1 - 3 / 8) ** 8)
    assert (
        maller_zhou_p(as_target(make_target([1, 2, 3], [0, 1, 1]))) == 1.0
    )  # the last time is an event
    assert maller_zhou_p(as_target(make_target([1, 2], [0, 0]))) == 1.0


def test_a_long_follow_up_is_silent_and_a_short_one_is_not():
    assert list(check_follow_up(as_target(followed(80.0)[1]), 0.4)) == []
    (finding,) = check_follow_up(as_target(followed(8.0)[1]), 0.4)
    assert finding.code == "follow-up"
    assert "cannot be distinguished from those whose event is yet to come" in finding.text


@pytest.mark.parametrize(
    ("until", "cure", "expected"), [(8.0, True, True), (80.0, True, False), (8.0, False, False)]
)
def test_the_doctor_says_so_of_a_model_with_cured_rows_only(until, cure, expected):
    X, y = followed(until)
    model = DeepSurvivalMachines(k=1, hidden=(), max_epochs=2, cure=cure).fit(X, y)
    assert ("follow-up" in [finding.code for finding in check_model(model, X, y)]) == expected
