"""The summary of linear models: equal to R and lifelines, and NaN where the data do not determine it."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import lifemix
from lifemix import datasets, make_target
from lifemix.baselines import CauseSpecific, CoxPH, FineGray, KaplanMeier
from lifemix.preprocessing import TabularPreprocessor

FOLDER = Path(__file__).parents[1] / "references" / "baselines"
FRAME = pd.read_csv(FOLDER / "summary_data.csv")
EXPECTED = pd.read_csv(FOLDER / "summary.csv")
X, WEIGHT = FRAME[["age", "stage", "treated"]], FRAME["weight"]
Y = make_target(FRAME["time"], FRAME["event"])
ANY_EVENT = make_target(FRAME["time"], FRAME["event"] > 0)
LATE = make_target(FRAME["time"], FRAME["event"] > 0, FRAME["entry"])
NUMBERS = ["coefficient", "hazard_ratio", "standard_error", "lower", "upper", "z", "p"]


def assert_equal_to_r(summary, model, event):
    expected = EXPECTED[(EXPECTED["model"] == model) & (EXPECTED["event"] == event)]
    is_reference = summary["level"] == "I"
    rows = summary[~is_reference]
    terms = (rows["column"] + " " + rows["level"]).str.strip().tolist()
    assert terms == expected["term"].tolist()
    np.testing.assert_allclose(rows[NUMBERS], expected[NUMBERS], rtol=1e-6, atol=1e-6)
    reference = summary[is_reference]
    assert reference[NUMBERS[:5]].to_numpy().tolist() == [[0, 1, 0, 1, 1]]
    assert reference[["z", "p"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("case", "options", "y", "weight"),
    [
        ("efron", {}, ANY_EVENT, None),
        ("breslow", {"ties": "breslow"}, ANY_EVENT, None),
        ("weights and entry", {}, LATE, WEIGHT),
    ],
)
def test_cox_equals_coxph_of_r(case, options, y, weight):
    summary = CoxPH(**options).fit(X, y, weight).summary
    assert summary.columns.tolist() == ["column", "level", *NUMBERS]
    assert_equal_to_r(summary, case, 1)


@pytest.mark.parametrize("event", [1, 2])
def test_models_of_several_events_equal_coxph_and_crr_of_r(event):
    for name, model in (("cause_specific", CauseSpecific(CoxPH())), ("fine_gray", FineGray())):
        summary = model.fit(X, Y).summary
        assert summary.columns.tolist() == ["event", "column", "level", *NUMBERS]
        assert_equal_to_r(summary[summary["event"] == event], name, event)


def test_cox_equals_lifelines():
    lifelines = pytest.importorskip("lifelines")
    complete = FRAME.dropna()
    design = pd.get_dummies(complete[["age", "stage", "treated"]], dtype=float)
    design = design.drop(columns="stage_I").assign(T=complete["time"], E=complete["event"] > 0)
    theirs = lifelines.CoxPHFitter().fit(design, "T", "E", fit_options={"precision": 1e-12}).summary
    y = make_target(complete["time"], complete["event"] > 0)
    ours = CoxPH().fit(complete[["age", "stage", "treated"]], y).summary
    ours = ours[ours["level"] != "I"]
    ours.index = (ours["column"] + "_" + ours["level"]).str.strip("_")
    names = {
        "coefficient": "coef",
        "hazard_ratio": "exp(coef)",
        "standard_error": "se(coef)",
        "lower": "exp(coef) lower 95%",
        "upper": "exp(coef) upper 95%",
        "z": "z",
        "p": "p",
    }
    theirs = theirs.loc[ours.index, list(names.values())]
    np.testing.assert_allclose(ours[list(names)], theirs, rtol=1e-6, atol=1e-6)


def test_scaling_of_the_preprocessor_does_not_matter_and_other_transformers_name_the_rows():
    numbers = X[["treated"]].assign(age=X["age"].fillna(60.0))
    as_is = CoxPH(preprocessor=None).fit(numbers, ANY_EVENT).summary
    for preprocessor in ("auto", TabularPreprocessor(scale=False)):
        summary = CoxPH(preprocessor=preprocessor).fit(numbers, ANY_EVENT).summary
        pd.testing.assert_frame_equal(summary, as_is, rtol=1e-9)
    scaled = CoxPH(preprocessor=StandardScaler()).fit(numbers, ANY_EVENT).summary
    assert scaled["column"].tolist() == ["treated", "age"]
    np.testing.assert_allclose(scaled[["z", "p"]], as_is[["z", "p"]], rtol=1e-9)
    bins = TabularPreprocessor(numbers="piecewise", bins=2)
    binned = CoxPH(preprocessor=bins).fit(numbers, ANY_EVENT).summary
    assert binned["column"].tolist() == ["treated", "age", "age"]
    assert all(level.startswith("<=") for level in binned["level"][1:])


def test_columns_that_depend_on_earlier_ones_are_left_out_as_in_r():
    group = np.where(X["stage"] == "I", "early", "late")
    numbers = X.assign(age=X["age"].fillna(60.0), stage=X["stage"].fillna("II"), group=group)
    summary = CoxPH().fit(numbers, ANY_EVENT).summary
    alone = CoxPH().fit(numbers.drop(columns="group"), ANY_EVENT).summary
    pd.testing.assert_frame_equal(summary[:-2], alone, rtol=1e-6)
    assert summary["column"].tolist()[-2:] == ["group", "group"]
    assert summary.loc[len(alone) :, "coefficient"].isna().tolist() == [False, True]


def test_with_a_penalty_every_level_has_its_coefficient():
    model = CoxPH(penalty=3.0).fit(X, ANY_EVENT)
    summary = model.summary
    levels = summary["column"] == "stage"
    np.testing.assert_allclose(summary["coefficient"][levels], model.coef_[2:6])
    assert (summary["standard_error"][levels] > 0).all()
    fine_gray = FineGray(penalty=3.0).fit(X, ANY_EVENT).summary
    assert (fine_gray["standard_error"] > 0).all()


def test_more_columns_than_rows_have_no_coefficients_unless_there_is_a_penalty():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(30, 50)), make_target(rng.exponential(size=30), np.arange(30) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns separate the events
        summary = CoxPH().fit(wide, y).summary
    assert summary["coefficient"].isna().all()
    assert CoxPH(penalty=1.0).fit(wide, y).summary["coefficient"].notna().all()


def test_saved_models_keep_the_summary(tmp_path):
    for model, y in ((CoxPH(), ANY_EVENT), (FineGray(), Y), (CauseSpecific(CoxPH()), Y)):
        model.fit(X, y)
        lifemix.save(model, tmp_path / "m.safetensors")
        pd.testing.assert_frame_equal(
            lifemix.load(tmp_path / "m.safetensors").summary, model.summary
        )


def test_models_without_coefficients_have_no_summary():
    assert not hasattr(CauseSpecific(KaplanMeier()).fit(X, Y), "summary")
    assert not hasattr(CoxPH(), "summary")


def test_indicators_that_no_row_with_the_event_has_do_not_diverge():
    data = datasets.load_metabric_causes()
    assert data.X["NPI"].isna().sum() == 1  # a row with event 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FineGray().fit(data.X, data.y)
        CauseSpecific(CoxPH()).fit(data.X, data.y)
    summary = model.summary
    rows = summary[(summary["event"] == 1) & (summary["column"] == "NPI")]
    assert rows["coefficient"].isna().tolist() == [False, True]
    row = data.X[data.X["NPI"].isna()]
    assert 0.01 < model.predict_cumulative_incidence(row, [120.0], event=1)[0, 0] < 0.99
