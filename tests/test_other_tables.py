"""Tables of scipy, polars and Arrow; curves as scikit-survival returns them; what notebooks show."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, LifeMix, datasets, make_target, metrics, plots
from lifemix.baselines import AalenJohansen, CauseSpecific, CoxPH, ModelAverage
from lifemix.target import as_target

QUICK = DeepSurvivalMachines(k=2, hidden=(), max_epochs=1)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=150), "b": rng.choice(["x", "y"], 150)})
    return X.assign(T=rng.exponential(np.exp(X["a"])) + 0.01, E=rng.integers(0, 2, 150))


@pytest.fixture(scope="module")
def fitted(table):
    return QUICK.fit(table[["a", "b"]], make_target(table["T"], table["E"]))


def test_curves_come_as_functions_or_arrays(fitted, table):
    X, times = table[["a", "b"]].head(5), [0.5, 1.0, 2.0]
    distribution = fitted.predict_distribution(X)
    hazard = fitted.predict_cumulative_hazard_function(X, times)
    np.testing.assert_allclose(hazard, distribution.cumulative_hazard(times))
    survival = fitted.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(
        survival, fitted.predict_survival_function(X, fitted.event_times_)
    )
    functions = fitted.predict_cumulative_hazard_function(X)
    np.testing.assert_allclose([function(times) for function in functions], hazard)
    np.testing.assert_allclose(
        fitted.predict_cumulative_hazard_function(X, return_array=True), -np.log(survival)
    )
    cox = CoxPH().fit(table[["a", "b"]], make_target(table["T"], table["E"]))
    assert cox.predict_survival_function(X, return_array=True).shape == (5, len(cox.event_times_))


def test_unknown_names_are_unknown_and_models_can_be_copied(fitted):
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fitted.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted"):
        DeepSurvivalMachines().event_times_  # noqa: B018
    assert pickle.loads(pickle.dumps(fitted)).n_events_ == 1


def test_notebooks_show_data_sets_as_tables():
    dataset = datasets.load_metabric()
    text = dataset._repr_html_()
    assert "METABRIC: 1,904 rows" in text
    assert text.count("<tr") == 6
    hostile = dataclasses.replace(
        dataset, name="<script>", X=dataset.X.rename(columns={"x0": "<script>"})
    )
    assert "<script>" not in hostile._repr_html_()


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_matrices_are_tables(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * (rng.random((100, 3)) < 0.3)
    y = make_target(rng.exponential(size=100), rng.integers(0, 2, 100))
    expected = QUICK.fit(X, y).predict(X)
    np.testing.assert_array_equal(QUICK.fit(form(X), y).predict(form(X)), expected)


SEVERAL = {
    "LifeMix": LifeMix({"Cox": CauseSpecific(CoxPH())}, n_folds=2),
    "CauseSpecific": CauseSpecific(CoxPH()),
    "ModelAverage": ModelAverage([AalenJohansen(), CauseSpecific(CoxPH())]),
}


@pytest.mark.parametrize("model", SEVERAL.values(), ids=SEVERAL.keys())
def test_models_of_models_and_measures_take_sparse_matrices(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * (rng.random((100, 3)) < 0.3)
    y = make_target(rng.exponential(size=100), rng.integers(0, 3, 100))
    few = sparse.coo_array(X)
    expected = model.fit(X, y).predict_cumulative_incidences(X, [0.5, 1.0])
    np.testing.assert_array_equal(
        clone(model).fit(few, y).predict_cumulative_incidences(few, [0.5, 1.0]), expected
    )
    measured = [metrics.evaluate(model, y, table, y, [0.5, 1.0]) for table in (few, X)]
    pd.testing.assert_frame_equal(*measured)
    importances = [
        metrics.permutation_importance(
            lambda rows: 1 - model.predict_cumulative_incidence(rows, [0.5]),
            table,
            y,
            y,
            [0.5],
            1,
            random_state=0,
        )
        for table in (few, X)
    ]
    np.testing.assert_array_equal(importances[0].mean, importances[1].mean)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
@pytest.mark.parametrize("model", [CoxPH(), CauseSpecific(CoxPH())], ids=["CoxPH", "CauseSpecific"])
def test_columns_of_other_frames_are_known_by_name(model, package, table):
    other = pytest.importorskip(package)
    X, y = table[["a", "b"]], make_target(table["T"], table["E"])
    expected = model.fit(X, y).predict_cumulative_incidence(X, [0.5])
    frames = [dict(X), {"b": X["b"], "a": X["a"]}]
    train, new = (
        other.table(one) if package == "pyarrow" else other.DataFrame(one) for one in frames
    )
    model.fit(train, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict_cumulative_incidence(new, [0.5]), expected)


@pytest.mark.parametrize("form", ["polars", "pyarrow", "list"])
def test_importance_and_phenotypes_know_names_and_numbers_in_every_table(form, table):
    X, y = table[["a", "b"]], make_target(table["T"], table["E"])
    other = None if form == "list" else pytest.importorskip(form)
    given = (
        X.to_numpy().tolist()
        if other is None
        else (other.table if form == "pyarrow" else other.DataFrame)(dict(X))
    )
    names = ["x0", "x1"] if other is None else ["a", "b"]
    model, found = CoxPH().fit(given, y), []
    for one in (given, X.set_axis(names, axis=1) if other is not None else X.to_numpy()):
        found.append(
            metrics.permutation_importance(
                lambda rows: model.predict_survival_function(rows, [0.5]),
                one,
                y,
                y,
                [0.5],
                n_repeats=1,
                random_state=0,
            )
        )
    assert list(found[0].features) == names
    np.testing.assert_array_equal(found[0].mean, found[1].mean)
    gate = np.tile([[0.2, 0.8], [0.7, 0.3]], (75, 1))
    expected = plots.phenotype_means(X.set_axis(names, axis=1), gate)
    pd.testing.assert_frame_equal(
        plots.phenotype_means(given, gate), expected, check_index_type=False
    )


def test_polars_frames_are_tables_and_targets(table):
    polars = pytest.importorskip("polars")
    gaps = table.assign(
        b=table["b"].where(table.index > 3, None), a=table["a"].where(table.index > 9)
    )
    X, y = gaps[["a", "b"]], make_target(table["T"], table["E"])
    expected = QUICK.fit(X, y).predict(X)
    columns = {name: [None if pd.isna(value) else value for value in X[name]] for name in X}
    frame = polars.DataFrame(columns)
    target = polars.DataFrame({"time": table["T"].tolist(), "event": table["E"].tolist()})
    for given in (frame, frame.lazy().collect()):
        np.testing.assert_array_equal(QUICK.fit(given, target).predict(given), expected)
    assert as_target(target.lazy()).time.tolist() == table["T"].tolist()
    pair = (target["time"], target["event"])
    assert as_target(pair).event.tolist() == table["E"].tolist()
    made = make_target(*pair)
    assert made["time"].tolist() == table["T"].tolist()
