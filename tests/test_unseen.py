"""The statistics of ``benchmarks.unseen``, against numbers worked out here."""

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.unseen.comparison import against, by_table, worst_table
from benchmarks.unseen.rivals import XGBoostCox, _partial_likelihood
from benchmarks.unseen.trials import CommonEpoch, EqualParts, OneCycle, compared
from scipy.stats import t as student

from lifemix import DeepSurvivalMachines, make_target
from lifemix.baselines import CoxPH
from lifemix.target import as_target
from lifemix.training import Callback

GAPS = {"a": [-0.02, -0.01], "b": [0.01, 0.03], "c": [-0.05, -0.05]}


def records():
    rows = []
    for table, gaps in GAPS.items():
        for fold, gap in enumerate(gaps):
            rows.append({"table": table, "fold": fold, "model": "ridge", "ibs": 0.2, "c": 0.6})
            rows.append({"table": table, "fold": fold, "model": "dsm", "ibs": 0.2 + gap, "c": 0.6 - gap})
    return pd.DataFrame(rows)


def test_folds_that_a_model_lacks_are_left_out():
    frame = records().drop(index=1)  # dsm on the first fold of a
    np.testing.assert_allclose(by_table(frame, "ibs").loc["a"], [0.2, 0.19])


def test_tables_ahead_are_counted():
    assert against(records(), "dsm", "ridge", "ibs")[:2] == (2, 3)
    assert against(records(), "dsm", "ridge", "c")[:2] == (2, 3)


def test_the_worst_table_has_the_interval_of_nadeau_and_bengio():
    table, gap, low = worst_table(records(), "dsm", "ridge")
    percent = np.array([5.0, 15.0])
    error = percent.std(ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert (table, gap) == ("b", pytest.approx(10.0))
    assert low == pytest.approx(10.0 - student.ppf(0.975, 1) * error)


def test_trials_are_compared_with_the_default():
    frame = records().replace({"model": {"ridge": "dsm", "dsm": "other"}}).assign(fit_seconds=1.0)
    (row,) = compared(frame).to_dict("records")
    assert (row["variant"], row["ibs ahead"], row["c ahead"]) == ("other", "2 of 3", "2 of 3")
    assert row["ibs gain"] == pytest.approx((7.5 - 10 + 25) / 3)
    assert row["ibs worst"] == pytest.approx(-10)


def test_equal_parts_hold_out_every_row_once_in_six_members():
    X, y = sample()
    seen = []

    class Watch(Callback):
        def on_epoch_start(self, state):
            seen.extend(job.validation_rows for job in state.fleet.jobs)

    settings = {"hidden": (4,), "n_members": 6, "max_epochs": 1}
    DeepSurvivalMachines(**settings, callbacks=[EqualParts(0), Watch()]).fit(X, y)
    assert sorted(torch.cat(seen).tolist()) == list(range(len(X)))


def test_a_common_epoch_is_that_of_the_least_mean_loss():
    X, y = sample()
    watch = CommonEpoch()
    model = DeepSurvivalMachines(hidden=(16,), n_members=3, patience=99, learning_rate=0.03, callbacks=[watch])
    model.fit(X, y)
    losses = pd.DataFrame(model.history_).groupby("epoch")["validation_loss"].mean()
    assert watch.epoch == losses.idxmin()
    assert len(losses) == watch.epoch + 10


def test_one_cycle_rises_and_falls():
    rates = []

    class Watch(Callback):
        def on_epoch_end(self, state):
            rates.append(state.fleet.settings.learning_rate)

    X, y = sample()
    DeepSurvivalMachines(hidden=(4,), max_epochs=10, patience=10, callbacks=[OneCycle(1e-2, 10), Watch()]).fit(X, y)
    assert np.argmax(rates) in (2, 3)
    assert 5e-3 < max(rates) <= 1e-2
    assert rates[-1] < 1e-3


def sample(n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    time = np.ceil(4 * rng.exponential(np.exp(-X[:, 0])))  # with ties
    return X, make_target(time, rng.integers(0, 2, n))


def test_the_partial_likelihood_is_that_of_cox_regression():
    X, y = sample()
    model = CoxPH(ties="breslow", preprocessor=None).fit(X, y)
    found = _partial_likelihood(X @ model.coef_, as_target(y))
    assert found == pytest.approx(model.log_likelihood_, rel=1e-9)


def test_xgboost_s_curves_rise_from_0_and_order_rows_by_risk():
    pytest.importorskip("xgboost")
    X, y = sample()
    model = XGBoostCox().fit(X, y)
    curves = model.predict_cumulative_incidence(X, [0.0, 1.0, 4.0, 9.0])
    assert (curves[:, 0] == 0).all()
    assert (np.diff(curves, axis=1) >= 0).all()
    np.testing.assert_array_equal(np.argsort(curves[:, 2], kind="stable"), np.argsort(model.predict(X), kind="stable"))
