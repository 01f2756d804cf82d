"""What characterises a component's subjects."""

import numpy as np
import pandas as pd
import pytest

from lifemix import plots
from lifemix.errors import CovariateError, InputError

RNG = np.random.default_rng(0)


def test_hard_weights_give_the_standardised_means_of_the_groups():
    x = np.array([1.0, 2.0, 3.0, 6.0])
    gate = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    table = plots.phenotype_means(x[:, None], gate)
    np.testing.assert_allclose(table.loc["x0"], (np.array([1.5, 4.5]) - 3) / x.std())


def test_components_average_to_zero():
    X, gate = RNG.normal(3, 2, (50, 4)), RNG.dirichlet([1, 2, 3], 50)
    table = plots.phenotype_means(X, gate)
    np.testing.assert_allclose(table.to_numpy() @ gate.sum(axis=0), 0, atol=1e-9)


def test_labels_become_levels_and_missing_values_are_left_out():
    X = pd.DataFrame(
        {
            "age": [1.0, 3.0, np.nan, 99.0],
            "sex": ["f", "m", "f", None],
            "all": [7, 7, 7, 7],
            "sick": [True, False] * 2,
        }
    )
    gate = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]])
    table = plots.phenotype_means(X, gate)
    assert list(table.index) == ["age", "sex = f", "sex = m", "all", "sick"]
    known = np.array([1.0, 3.0, 99.0])
    z = (known - known.mean()) / known.std()
    np.testing.assert_allclose(table.loc["age"], [z[0], z[1:].mean()])
    female = np.array([1, 0, 1])
    z = (female - female.mean()) / female.std()
    np.testing.assert_allclose(table.loc["sex = f"], [z[0], z[1]])
    np.testing.assert_array_equal(table.loc["all"], 0)


def test_the_features_that_differ_most_are_drawn():
    gate = RNG.dirichlet([0.2, 0.2], 400)
    X = pd.DataFrame({f"noise{i}": RNG.normal(size=400) for i in range(6)})
    X["signal"] = gate[:, 0] + RNG.normal(0, 0.1, 400)
    axes = plots.phenotypes(X, gate, features=3, labels=["early", "late"])
    rows = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(rows) == 3
    assert rows[0] == "signal"
    (image,) = axes.images
    np.testing.assert_allclose(image.get_array(), plots.phenotype_means(X, gate).loc[rows])
    assert image.norm.vmin == -image.norm.vmax
    columns = [tick.get_text() for tick in axes.get_xticklabels()]
    assert columns[0] == f"early\n{gate[:, 0].mean():.0%}"


def test_bad_weights_and_tables_are_refused():
    with pytest.raises(InputError, match=r"\(4, k\), each adding up to 1; got shape \(3, 2\)"):
        plots.phenotype_means(np.ones((4, 1)), np.full((3, 2), 0.5))
    with pytest.raises(InputError, match="each adding up to 1"):
        plots.phenotype_means(np.ones((4, 1)), np.ones((4, 2)))
    with pytest.raises(CovariateError, match=r"got shape \(4,\)"):
        plots.phenotype_means(np.ones(4), np.ones((4, 1)))
