import numpy as np
import pandas as pd
import pytest

from lifemix import make_target, plots
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import CovariateError, InputError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(60, 10, 200), "income": RNG.choice(["<$9", "$9"], 200)})
EVENT = RNG.integers(0, 3, 200)
TIME = RNG.exponential(5, 200) + 0.1
ROWS = ["age", "income = $9 (reference)", "income = <$9"]


def tick_labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_hazard_ratios_limits_and_reference_levels_are_drawn():
    summary = CoxPH().fit(X, make_target(TIME, EVENT > 0)).summary
    axes = plots.coefficients(summary)
    assert tick_labels(axes) == ROWS
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    effects, reference = axes.lines[:2]
    np.testing.assert_array_equal(effects.get_data(), [summary["hazard_ratio"][[0, 2]], [0, 2]])
    assert (reference.get_xdata(), reference.get_ydata()) == ([1.0], [1.0])
    limits = [segment[:, 0] for segment in axes.collections[0].get_segments()]
    np.testing.assert_array_equal(limits, summary[["lower", "upper"]].iloc[[0, 2]])
    assert axes.get_xscale() == "log"
    assert axes.yaxis_inverted()
    with pytest.raises(InputError, match=r"what model.summary returns; missing columns \['column'"):
        plots.coefficients(pd.DataFrame({"a": [1]}))
    with pytest.raises(InputError, match="a row with a hazard ratio; got none"):
        plots.coefficients(summary.assign(hazard_ratio=np.nan))


def test_event_types_have_colours_and_rows_without_a_ratio_are_left_out():
    summary = FineGray().fit(X.assign(twice=2 * X["age"]), make_target(TIME, EVENT)).summary
    assert summary["hazard_ratio"].isna().sum() == 2
    axes = plots.coefficients(summary)
    assert tick_labels(axes) == ROWS
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["event 1", "event 2"]
    assert axes.lines[0].get_color() != axes.lines[2].get_color()


def test_means_are_standardised_with_labels_as_levels_and_without_missing_values():
    table = pd.DataFrame(
        {
            "age": [1.0, 3.0, np.nan, 99.0],
            "sex": ["f", "m", "f", None],
            "all": [7, 7, 7, 7],
            "sick": [True, False] * 2,
        }
    )
    means = plots.phenotype_means(table, np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]))
    assert list(means.index) == ["age", "sex = f", "sex = m", "all", "sick"]
    ages, female = np.array([1.0, 3.0, 99.0]), np.array([1, 0, 1])
    z = (ages - ages.mean()) / ages.std()
    np.testing.assert_allclose(means.loc["age"], [z[0], z[1:].mean()])
    z = (female - female.mean()) / female.std()
    np.testing.assert_allclose(means.loc["sex = f"], z[:2])
    np.testing.assert_array_equal(means.loc["all"], 0)
    weights = RNG.dirichlet([1, 2, 3], 50)
    means = plots.phenotype_means(RNG.normal(3, 2, (50, 4)), weights)
    np.testing.assert_allclose(means.to_numpy() @ weights.sum(axis=0), 0, atol=1e-9)


def test_the_features_that_differ_most_are_drawn():
    weights = RNG.dirichlet([0.2, 0.2], 400)
    table = pd.DataFrame(RNG.normal(size=(400, 6)), columns=list("uvwxyz"))
    table["signal"] = weights[:, 0] + RNG.normal(0, 0.1, 400)
    axes = plots.phenotypes(table, weights, features=3, labels=["early", "late"])
    rows = tick_labels(axes)
    assert (len(rows), rows[0]) == (3, "signal")
    expected = plots.phenotype_means(table, weights).loc[rows]
    np.testing.assert_allclose(axes.images[0].get_array(), expected)
    columns = [tick.get_text() for tick in axes.get_xticklabels()]
    assert columns[0] == f"early\n{weights[:, 0].mean():.0%}"


@pytest.mark.parametrize(
    ("table", "weights", "error", "message"),
    [
        (np.ones((4, 1)), np.full((3, 2), 0.5), InputError, r"\(4, k\), .*got shape \(3, 2\)"),
        (np.ones((4, 1)), np.ones((4, 2)), InputError, "each adding up to 1"),
        (np.ones(4), np.ones((4, 1)), CovariateError, r"got shape \(4,\)"),
    ],
)
def test_unsuitable_weights_and_tables_are_refused(table, weights, error, message):
    with pytest.raises(error, match=message):
        plots.phenotype_means(table, weights)


def test_the_most_important_features_are_drawn_in_order():
    importance = np.array([[0.0, 0.0], [0.2, 0.3], [0.1, 0.1]])
    axes = plots.importance_over_time(
        [1, 2], importance, importance / 10, features=["a", "b", "c"], show=2
    )
    first, second, zero = axes.lines
    assert (first.get_label(), second.get_label()) == ("b", "c")
    np.testing.assert_array_equal(first.get_ydata(), [0.2, 0.3])
    assert set(zero.get_ydata()) == {0}
    assert len(axes.collections) == 2
