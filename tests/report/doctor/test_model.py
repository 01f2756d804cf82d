"""Every finding after a fit fires on a model made for it, and not on one that is right."""

import copy
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, LifeMix, make_target
from lifemix.baselines import CoxPH, KaplanMeier
from lifemix.errors import InputError
from lifemix.report.doctor import check_model
from lifemix.report.doctor.model import check_follow_up, check_training, maller_zhou_p
from lifemix.target import as_target


def draw(seed, n_events=1, n_rows=800):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["x", "z"])
    X["arm"] = rng.choice(["a", "b"], n_rows)
    rates = [np.exp(0.7 * X["x"]), np.exp(-0.5 * X["z"])][:n_events]
    latent = np.stack([rng.weibull(1.3, n_rows) / rate for rate in rates])
    censoring = rng.uniform(0, 4, n_rows)
    event = np.where(latent.min(0) <= censoring, latent.argmin(0) + 1, 0)
    return X, np.minimum(latent.min(0), censoring), event


def fit(n_events):
    settings = {"k": 2, "hidden": (), "n_members": 2, "max_epochs": 60, "learning_rate": 0.02}
    X, *y = draw(0, n_events)
    return DeepSurvivalMachines(**settings).fit(X, y)


@pytest.fixture(scope="module")
def single():
    return fit(1)


@pytest.fixture(scope="module")
def competing():
    return fit(2)


class TrueModel:
    """The true model of ``draw`` with one event type, its curves bent by a power and its risks spread."""

    n_events_ = 1

    def __init__(self, power=1.0, spread=1.0):
        self.power, self.spread = power, spread

    def predict_survival_function(self, X, times):
        rate = np.exp(0.7 * X["x"].to_numpy() * self.spread)[:, None]
        return np.exp(-((np.asarray(times)[None] * rate) ** 1.3) * self.power)


def test_a_good_model_has_no_finding_that_warns(single, competing, codes):
    for model in (single, competing):
        X, *y = draw(1, model.n_events_)
        assert not any(code.startswith("warn") for code in codes(check_model(model, X, y)))
    X, *y = draw(1)
    assert check_model(TrueModel(), X, y) == []


@pytest.mark.parametrize(("power", "words"), [(2.0, "too high"), (0.5, "too low")])
def test_risks_that_are_wrong_on_average_are_reported(power, words):
    X, *y = draw(1)
    mean_risk, uniformity = check_model(TrueModel(power), X, y)
    assert (mean_risk.severity, mean_risk.code) == ("warn", "calibration")
    assert words in mean_risk.text
    assert "D-calibration" in uniformity.text


def test_risks_that_are_wrong_in_groups_are_reported():
    X, *y = draw(1, n_rows=3000)
    powers = np.linspace(0.5, 1.5, 101)
    means = [TrueModel(power, 2.0).predict_survival_function(X, [1.0]).mean() for power in powers]
    expected = TrueModel().predict_survival_function(X, [1.0]).mean()
    model = TrueModel(powers[np.abs(means - expected).argmin()], 2.0)
    findings = check_model(model, X, y, horizons=[1.0])
    texts = [finding.text for finding in findings if finding.code == "calibration"]
    assert any("per subject (integrated calibration index)" in text for text in texts)


@pytest.mark.parametrize(
    ("column", "change", "expected"),
    [
        ("x", lambda values: values * 20, "warn far-from-training"),
        ("x", lambda values: values.where(values.index > 0, 15), "note far-from-training"),
        ("arm", lambda values: "c", "warn new-levels"),
        ("z", lambda values: values.where(values.index > 100), "warn new-missing-values"),
    ],
)
def test_rows_unlike_training_are_reported(single, codes, column, change, expected):
    X, *y = draw(1)
    assert expected not in codes(check_model(single, X, y))
    changed = X.assign(**{column: change(X[column])})
    assert expected in codes(check_model(single, changed, y))


def test_rare_flags_are_not_far(codes):
    X, *y = draw(0)
    X["rare"] = (np.arange(len(X)) < 4).astype(int)
    model = CoxPH(penalty=1.0).fit(X, y)
    assert check_model(model, X, y) == []
    changed = X.assign(rare=3 * X["rare"])
    assert codes(check_model(model, changed, y)) == {"note far-from-training"}


def test_competing_risks_are_checked_event_by_event(competing):
    X, times, event = draw(1, 2)
    y = times, np.where(event > 0, 1, 0)

    def texts(**options):
        findings = check_model(competing, X, y, **options)
        return [finding.text for finding in findings if finding.code == "calibration"]

    expected = texts()
    assert "of event 1" in expected[0]
    assert "too low" in expected[0]
    for names in ({1: "relapse", 2: "death"}, ["relapse", "death"]):
        assert texts(event_names=names) == [text.replace("event 1", "relapse") for text in expected]


def test_rows_that_cannot_be_checked(single, codes):
    X, *y = draw(1, 2)
    assert "stop unknown-event-type" in codes(check_model(single, X, y))
    with pytest.raises(InputError, match="same rows; got 5 in X and 800 in y"):
        check_model(single, X[:5], y)
    intervals = make_target(y[0], np.ones(len(X), int), upper=y[0] + 0.5)
    assert "note calibration-not-checked" in codes(check_model(single, X, intervals))
    subject = np.arange(len(X)) // 2
    path = make_target(np.tile([1.0, 2.0], 400), np.tile([0, 1], 400),
                       entry=np.tile([0.0, 1.0], 400), subject=subject)  # fmt: skip
    assert "note calibration-not-checked" in codes(check_model(single, X, path))


def test_mass_beyond_the_follow_up():
    X, times, event = draw(0)
    y = np.minimum(times, 0.4), np.where(times > 0.4, 0, event)
    model = DeepSurvivalMachines(k=1, hidden=(), max_epochs=30, learning_rate=0.01).fit(X, y)
    (finding,) = [f for f in check_model(model, X, y) if f.code == "extrapolation"]
    share = model.predict_survival_function(X, [0.4]).mean()
    assert finding.text.startswith(f"{100 * share:.0f} %")


def test_a_tail_that_kaplan_meier_does_not_have(single, codes):
    X, *y = draw(1)
    early = copy.deepcopy(single)
    target = early.training_target_
    early.training_target_ = replace(target, time=target.time / 5)
    assert "warn late-survival" in codes(check_model(early, X, y))
    assert "warn late-survival" not in codes(check_model(single, X, y))


FALLING = [(1 - 0.1 * e, 1.02 - 0.1 * e) for e in range(6)]
STOPPED = [*FALLING, *[(0.4, 0.6)] * 3]
RISING = [(1.0, 1.0), (0.9, 1.1), (0.8, 1.2), (0.7, 1.3)]
OVERFITTED = [(1.0, 1.0), (0.3, 0.9), (0.2, 0.95)]
BLIND = [(1.0, math.nan), (0.9, math.nan)]


def training_findings(curves, best, max_epochs=50, hidden=(8,)):
    history = [
        {"member": member, "epoch": epoch, "train_loss": train, "validation_loss": validation}
        for member, curve in enumerate(curves)
        for epoch, (train, validation) in enumerate(curve, 1)
    ]
    return list(check_training(history, best, max_epochs, {"patience": 3, "hidden": hidden}))


@pytest.mark.parametrize(
    ("curves", "best", "max_epochs", "expected"),
    [
        ([FALLING], [6], 6, {"warn unfinished"}),
        ([STOPPED], [6], 50, set()),
        ([STOPPED, FALLING], [6, 6], 6, {"warn unfinished"}),
        ([RISING], [1], 50, {"warn no-improvement"}),
        ([OVERFITTED], [2], 50, {"note overfitting"}),
        ([BLIND], [2], 2, {"note no-early-stopping"}),
        ([], [], 0, set()),
    ],
)
def test_curves_of_training(codes, curves, best, max_epochs, expected):
    assert codes(training_findings(curves, best, max_epochs)) == expected


@pytest.mark.parametrize(
    ("hidden", "n_members", "settings"),
    [
        ([8], 1, "weight_decay dropout hidden n_members"),
        ([8], 2, "weight_decay dropout hidden"),
        ([], 2, "weight_decay"),
    ],
)
def test_remedies_against_overfitting_fit_the_model(hidden, n_members, settings):
    curves = [OVERFITTED] * n_members
    (finding,) = training_findings(curves, [2] * n_members, hidden=hidden)
    assert " ".join(finding.settings) == settings
    assert ("fewer units" in finding.remedy) == bool(hidden)
    assert ("ensemble" in finding.remedy) == (n_members == 1)


def test_remedies_name_settings_of_networks_only_to_networks(single, codes):
    X, *y = draw(0)
    new, times, event = draw(1)
    parts = {"Cox": CoxPH(penalty=1.0), "curve": KaplanMeier()}
    for model in (CoxPH(), KaplanMeier(), LifeMix(parts, n_folds=2)):
        findings = check_model(model.fit(X, y), new, (3 * times, event))
        assert "warn calibration" in codes(findings)
        for finding in findings:
            assert finding.settings == ()
            assert not re.search("primitive|component|hidden|units|weight_decay", finding.remedy)
    findings = check_model(single, new, (times**2, event))
    assert ("primitive", "k") in {finding.settings for finding in findings}


def draw_cured(until, n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    time = np.where(rng.random(n_rows) < 0.4, np.inf, rng.weibull(1.5, n_rows) * 8)
    end = rng.uniform(0.5 * until, until, n_rows)
    return X, make_target(np.minimum(time, end), (time <= end).astype(int))


@pytest.mark.parametrize(
    ("time", "event", "p"),
    [
        # last event 6, last time 10: events in (2, 6] are 3 of 8 rows
        ([1, 2, 3, 5, 6, 7, 9, 10], [1, 1, 1, 1, 1, 0, 0, 0], (1 - 3 / 8) ** 8),
        ([1, 2, 3], [0, 1, 1], 1.0),  # the last time is an event
        ([1, 2], [0, 0], 1.0),
    ],
)
def test_maller_zhou_by_hand(time, event, p):
    assert maller_zhou_p(as_target(make_target(time, event))) == pytest.approx(p)


def test_a_short_follow_up_is_reported_of_models_with_cured_rows(codes):
    assert list(check_follow_up(as_target(draw_cured(80.0)[1]), 0.4)) == []
    X, y = draw_cured(8.0)
    for cure in (True, False):
        model = DeepSurvivalMachines(k=1, hidden=(), max_epochs=2, cure=cure).fit(X, y)
        assert ("warn follow-up" in codes(check_model(model, X, y))) == cure
