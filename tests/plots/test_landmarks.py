"""Quality by landmark and updated curves: what is drawn is what was given."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, make_target, metrics, plots
from lifemix.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 1))
Y = make_target(RNG.exponential(np.exp(-X[:, 0])), np.ones(150, dtype=int))
TIMES = np.linspace(0, 3, 31)


@pytest.fixture(scope="module")
def model():
    return DeepSurvivalMachines(k=1, hidden=(), n_members=1, max_epochs=2).fit(X, Y)


def test_quality_is_drawn_by_landmark_with_its_intervals(model):
    risk = metrics.landmark_risk(model, X, Y, [0.0, 0.5], 0.5)
    table = metrics.evaluate_landmarks(
        Y, Y, risk, [0.0, 0.5], 0.5, measures=["auc", "brier"], n_bootstrap=5
    )
    axes = plots.landmark_quality({"one": table, "two": table}, "brier", time_unit="years")
    expected = table[table["metric"] == "brier"]
    for line in axes.lines:
        np.testing.assert_array_equal(line.get_ydata(), expected["value"])
    (bars, _) = axes.collections
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == expected[
        ["lower", "upper"]
    ].values.tolist()
    assert axes.get_xlabel() == "landmark s (years), window of 0.5 years"
    assert plots.landmark_quality(table, "auc").get_ylabel().startswith("AUC")
    with pytest.raises(InputError, match=r"metric must be one of \['auc', 'brier'\]; got 'ici'"):
        plots.landmark_quality(table, "ici")
    with pytest.raises(InputError, match="what metrics.evaluate_landmarks returns; got"):
        plots.landmark_quality(pd.DataFrame({"a": [1]}))


def test_curves_are_conditional_on_each_visit(model):
    visits = [0.0, 0.75, 1.5]
    distributions = [model.predict_distribution(X[i : i + 1]) for i in range(3)]
    axes = plots.updated_curves(
        distributions, visits, TIMES, values=["low", "high", "low"], time_unit="years"
    )
    faint = [line for line in axes.lines if line.get_alpha()]
    strong = [line for line in axes.lines if line.get_linewidth() == 2.4]
    for line, other, visit, one in zip(faint, strong, visits, distributions, strict=True):
        assert line.get_xdata()[0] == visit
        assert line.get_ydata()[0] == 1
        np.testing.assert_allclose(line.get_ydata(), one.given(visit).survival(line.get_xdata())[0])
        np.testing.assert_allclose(
            other.get_ydata(), one.given(visit).survival(other.get_xdata())[0]
        )
    assert [line.get_xdata()[-1] for line in strong] == [0.75, 1.5, 3.0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "0: low",
        "0.75: high",
        "1.5: low",
    ]


def test_what_cannot_be_drawn_is_said(model):
    one = model.predict_distribution(X[:1])
    with pytest.raises(
        InputError, match=r"each of the 2 visits .* got distributions of \[1\] rows"
    ):
        plots.updated_curves([one], [0, 1], TIMES)
    with pytest.raises(InputError, match="visits must increase; got 1 before 0"):
        plots.updated_curves([one, one], [1, 0], TIMES)
    with pytest.raises(InputError, match=r"of one row, .*got distributions of \[150\] rows"):
        plots.updated_curves([model.predict_distribution(X)], [0], TIMES)
