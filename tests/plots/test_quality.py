"""Quality over time: the lines are the values of the metrics."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, make_target, metrics, plots
from lifemix.errors import InputError

RNG = np.random.default_rng(1)
RATE = RNG.uniform(0.05, 0.5, 300)
EVENT_TIME, CENSORED_AT = RNG.exponential(1 / RATE), RNG.uniform(0, 15, 300)
TIME = np.minimum(EVENT_TIME, CENSORED_AT)
EVENT = np.where(EVENT_TIME <= CENSORED_AT, RNG.integers(1, 3, 300), 0)
GRID = np.linspace(0.5, 10, 12)
SURVIVAL = np.exp(-np.outer(RATE, GRID))[150:]


def targets(n_events=1):
    y = make_target(TIME, np.minimum(EVENT, n_events))
    return y[:150], y[150:]


def lines(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


@pytest.mark.parametrize("event", [None, 2])
def test_brier_scores_and_the_reference_without_covariates(event):
    train, test = targets(event or 1)
    survival = 1 - (1 - SURVIVAL) / (event or 1)
    axes = plots.brier_over_time(train, test, {"true": survival}, GRID, event=event)
    scores = lines(axes)
    expected = metrics.brier_score(train, test, survival, GRID, event)
    np.testing.assert_allclose(scores["true"], expected, rtol=1e-12)
    marginal = np.tile(1 - metrics.aalen_johansen(train, event).at(GRID), (150, 1))
    expected = metrics.brier_score(train, test, marginal, GRID, event)
    np.testing.assert_allclose(scores["no covariates"], expected, rtol=1e-12)
    assert axes.get_ylim()[0] == 0
    axes = plots.brier_over_time(train, test, survival, GRID, event=event, reference=False)
    assert set(lines(axes)) == {"model"}


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
def test_beyond_the_follow_up_there_is_a_gap():
    late, survival = np.append(GRID, 100.0), np.hstack([SURVIVAL, np.zeros((150, 1))])
    for scores in lines(plots.brier_over_time(*targets(), survival, late)).values():
        assert np.isnan(scores).tolist() == [False] * 12 + [True]
    beyond = plots.brier_over_time(*targets(), np.zeros((150, 2)), [100.0, 200.0])
    assert np.isnan(list(lines(beyond).values())).all()


def test_concordance_at_each_time():
    train, test = targets()
    risks = {"curves": 1 - SURVIVAL, "score": RATE[150:, None]}
    drawn = lines(plots.concordance_over_time(train, test, risks, GRID))
    expected = [metrics.concordance_td(train, test, RATE[150:], t) for t in GRID]
    np.testing.assert_allclose(drawn["curves"], expected)
    np.testing.assert_allclose(drawn["score"], expected)
    assert set(drawn["by chance"]) == {0.5}


@pytest.fixture(scope="module")
def model():
    model = DeepSurvivalMachines(k=1, hidden=(), n_members=1, max_epochs=2)
    return model.fit(RATE[:, None], make_target(TIME, EVENT > 0))


def test_quality_is_drawn_by_landmark_with_its_intervals(model):
    y, at = make_target(TIME, EVENT > 0), [0.0, 0.5]
    risk = metrics.landmark_risk(model, RATE[:, None], y, at, 1.5)
    table = metrics.evaluate_landmarks(
        y, y, risk, at, 1.5, measures=["auc", "brier"], n_bootstrap=5
    )
    axes = plots.landmark_quality({"a": table, "b": table}, "brier", time_unit="years")
    expected = table[table["metric"] == "brier"]
    for line in axes.lines:
        np.testing.assert_array_equal(line.get_ydata(), expected["value"])
    limits = [segment[:, 1] for segment in axes.collections[0].get_segments()]
    np.testing.assert_array_equal(limits, expected[["lower", "upper"]])
    assert axes.get_xlabel() == "landmark s (years), window of 1.5 years"
    assert plots.landmark_quality(table, "auc").get_ylabel().startswith("AUC")
    with pytest.raises(InputError, match=r"metric must be one of \['auc', 'brier'\]; got 'ici'"):
        plots.landmark_quality(table, "ici")
    with pytest.raises(InputError, match="what metrics.evaluate_landmarks returns; got"):
        plots.landmark_quality(pd.DataFrame({"a": [1]}))


def test_curves_are_conditional_on_each_visit(model):
    visits, values = [0.0, 0.75, 1.5], ["low", "high", "low"]
    distributions = [model.predict_distribution(RATE[i : i + 1, None]) for i in range(3)]
    times = np.linspace(0, 3, 31)
    axes = plots.updated_curves(distributions, visits, times, values=values, time_unit="years")
    continued = [line for line in axes.lines if line.get_alpha()]
    until_next = [line for line in axes.lines if line.get_linewidth() == 2.4]
    for number, visit in enumerate(visits):
        assert continued[number].get_xydata()[0].tolist() == [visit, 1]
        conditional = distributions[number].given(visit)
        for line in (continued[number], until_next[number]):
            np.testing.assert_allclose(line.get_ydata(), conditional.survival(line.get_xdata())[0])
    assert [line.get_xdata()[-1] for line in until_next] == [0.75, 1.5, 3.0]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["0: low", "0.75: high", "1.5: low"]


def test_unsuitable_visits_are_refused(model):
    rows = model.predict_distribution(RATE[:, None])
    for distributions, visits, message in (
        ([rows[:1]], [0, 1], r"each of the 2 visits .* got distributions of \[1\] rows"),
        ([rows[:1]] * 2, [1, 0], "visits must increase; got 1 before 0"),
        ([rows], [0], r"of one row, .*got distributions of \[300\] rows"),
    ):
        with pytest.raises(InputError, match=message):
            plots.updated_curves(distributions, visits, [0.0, 1.0])
