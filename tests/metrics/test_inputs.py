"""What all metrics have in common: invariances, undefined values, and arguments they refuse."""

import numpy as np
import pytest

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import (
    aalen_johansen,
    auc_td,
    brier_score,
    calibration_curve,
    concordance,
    concordance_antolini,
    concordance_td,
    d_calibration,
    integrated_brier_score,
    integrated_calibration_index,
    kaplan_meier,
    nelson_aalen,
)

Y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
RISK = [4.0, 3.0, 2.0, 1.0]


def integrated_brier(train, y, risk, horizon, **options):
    survival = np.column_stack([1 - risk / 2, 1 - risk])
    return integrated_brier_score(train, y, survival, [horizon / 2, horizon], **options)


def antolini(_, y, risk, horizon):
    return concordance_antolini(
        y, np.column_stack([1 - risk / 2, 1 - risk]), [0.0, horizon], horizon=horizon
    )


# Functions of the training target, the test target, the risk at the horizon and the horizon.
WEIGHTED = {
    "concordance_td": concordance_td,
    "concordance_td sksurv": lambda *args: concordance_td(*args, compat="sksurv"),
    "concordance_td wolbers": lambda *args: concordance_td(*args, competing="wolbers"),
    "auc_td": auc_td,
    "auc_td sksurv": lambda *args: auc_td(*args, compat="sksurv"),
    "brier_score": lambda train, y, risk, t: brier_score(train, y, 1 - risk, t, 1),
    "brier_score sksurv": lambda train, y, risk, t: brier_score(
        train, y, 1 - risk, t, 1, compat="sksurv"
    ),
    "integrated_brier_score": integrated_brier,
}
METRICS = WEIGHTED | {
    "concordance": lambda _, y, risk, t: concordance(y, risk, horizon=t),
    "concordance wolbers": lambda _, y, risk, t: concordance(
        y, risk, horizon=t, competing="wolbers"
    ),
    "integrated_calibration_index": lambda _, *args: integrated_calibration_index(*args),
    "calibration_curve": lambda _, *args: calibration_curve(*args).observed,
    "antolini": antolini,
    "d_calibration": lambda _, y, risk, t: d_calibration(y, 1 - risk).statistic,
}
RESPECTS_ENTRY = {"concordance", "antolini", "calibration_curve", "d_calibration"}


def draw(rng, n=200):
    risk = rng.uniform(0.01, 0.99, n)
    time = np.ceil(10 * rng.exponential(1 - risk) + rng.uniform(0, 3, n))
    return time, np.where(time > 20, 0, rng.integers(0, 3, n)), risk


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_neither_the_order_of_rows_nor_the_unit_of_time_matters(metric, rng):
    time, event, risk = draw(rng)
    rows = rng.permutation(len(time))
    expected = metric((time, event), (time, event), risk, 3.0)
    y = (365.0 * time[rows], event[rows])
    np.testing.assert_allclose(metric(y, y, risk[rows], 365.0 * 3), expected, rtol=1e-9)


@pytest.mark.parametrize("metric", WEIGHTED.values(), ids=WEIGHTED)
def test_how_long_test_rows_are_followed_after_the_horizon_does_not_matter(metric, rng):
    time, event, risk = draw(rng)
    y_train = (time, event)
    late = time > 8
    end = (np.where(late, 8.5, time), np.where(late, 0, event))
    later = (np.where(late, 1000.0, time), event)
    assert metric(y_train, later, risk, 8.0) == metric(y_train, end, risk, 8.0)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_interval_censored_rows_are_refused(metric):
    y = make_target([1.0, 2.0], [1, 1], upper=[1.5, np.nan])
    with pytest.raises(TargetError, match="1 events known only to an interval"):
        metric(Y, y, np.array([0.5, 0.2]), 2.0)


@pytest.mark.parametrize("name", sorted(METRICS.keys() - RESPECTS_ENTRY))
def test_left_truncated_rows_are_refused_unless_entry_is_respected(name):
    y = make_target([1.0, 2.0], [1, 1], entry=[0.5, 0.0])
    with pytest.raises(TargetError, match="observed from the origin.*got 1 left-truncated rows"):
        METRICS[name](Y, y, np.array([0.5, 0.2]), 2.0)


@pytest.mark.parametrize("name", sorted(METRICS.keys() - {"d_calibration", "antolini"}))
def test_horizons_beyond_the_follow_up_are_nan(name):
    pattern = "beyond the follow-up, .*NaN|not defined at the horizons.*NaN|was followed up to"
    with pytest.warns(LifemixWarning, match=pattern):
        assert np.isnan(METRICS[name](Y, Y, np.array([0.8, 0.6, 0.4, 0.2]), 9.0)).all()


@pytest.mark.parametrize("name", sorted(METRICS.keys() - {"d_calibration", "calibration_curve"}))
def test_without_an_event_the_value_is_nan(name):
    pattern = "no pair is comparable|no row.* has the event"
    y = ([3.0, 4.0], [0, 0])
    with pytest.warns(LifemixWarning, match=pattern):
        assert np.isnan(METRICS[name](Y, y, np.array([0.5, 0.2]), 2.0))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"risk": [1.0, 2.0]}, InputError, r"one value per row, shape \(4,\); got shape \(2,\)"),
        ({"risk": [1, np.nan, 2, 3]}, InputError, r"finite; got nan \(1 such values\)"),
        ({"risk": ["a", "b", "c", "d"]}, InputError, "risk must be numbers"),
        ({"horizon": [1.0, 2.0]}, InputError, "horizon must be one number"),
        ({"compat": "R"}, SettingError, "compat must be one of None, 'sksurv'; got 'R'"),
        ({"competing": "no"}, SettingError, "one of 'censored', 'wolbers'; got 'no'"),
        ({"competing": "wolbers", "compat": "sksurv"}, SettingError, "does not support competing="),
    ],
)
def test_unsuitable_arguments_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        concordance_td(Y, Y, **{"risk": RISK, "horizon": 3.0, **changes})


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (kaplan_meier, {"transform": "logit"}, "one of 'plain', 'log', 'log-log'; got 'logit'"),
        (nelson_aalen, {"level": 95}, "level must lie between 0 and 1.*got 95"),
        (aalen_johansen, {"variance": "delta"}, "variance must be one of"),
    ],
)
def test_unsuitable_settings_of_curves_are_refused(function, options, message):
    with pytest.raises(SettingError, match=message):
        function(Y, **options)
    with pytest.raises(TargetError, match="known only to an interval"):
        function(make_target([1.0], [1], upper=[2.0]))
