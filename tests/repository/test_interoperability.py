"""Tables of scipy, polars and Arrow; scorers of scikit-survival; curves as functions."""

import dataclasses
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from lifemix import DeepSurvivalMachines, LifeMix, datasets, make_target, metrics, plots
from lifemix.baselines import AalenJohansen, CauseSpecific, CoxPH, KaplanMeier, ModelAverage
from lifemix.errors import InputError
from lifemix.target import as_target

QUICK = DeepSurvivalMachines(k=2, hidden=(), max_epochs=2, learning_rate=0.01)
TIMES = np.array([0.5, 1.0, 2.0])
N_ROWS = 150


def draw(n_events=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)) * (rng.random((N_ROWS, 3)) < 0.4)
    time = rng.exponential(np.exp(X[:, 0])) + 0.01
    return X, make_target(time, rng.integers(0, n_events + 1, N_ROWS))


@pytest.fixture(scope="module")
def table():
    X, y = draw()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["group"] = np.where(X[:, 2] > 0, "x", "y")
    frame.loc[:3, "group"] = None
    frame.loc[:9, "a"] = np.nan
    return frame, y


# Curves as functions.


@pytest.mark.parametrize("model", [QUICK, CoxPH(), KaplanMeier()], ids=repr)
def test_without_times_the_curves_are_functions(model):
    X, y = draw()
    model = clone(model).fit(X, y)
    survival = model.predict_survival_function(X, TIMES)
    functions = model.predict_survival_function(X)
    np.testing.assert_array_equal([function(TIMES) for function in functions], survival)
    assert (functions[3](1.0), functions[3](0.0)) == (survival[3, 1], 1.0)
    assert functions[3](TIMES[:, None]).shape == (3, 1)
    at_events = model.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(functions[5].x, np.unique(y["time"][y["event"] > 0]))
    np.testing.assert_array_equal(functions[5].y, at_events[5])
    assert functions[5].domain == (0.0, np.inf)
    with pytest.raises(InputError, match=r"finite and >= 0; got -1\.0"):
        functions[0]([-1.0])
    hazards = model.predict_cumulative_hazard_function(X)
    expected = model.predict_cumulative_hazard_function(X, TIMES)
    np.testing.assert_allclose([hazard(TIMES) for hazard in hazards], expected)
    np.testing.assert_allclose(np.exp(-expected), survival)


def test_attributes_that_are_missing(table):
    model = clone(QUICK)
    with pytest.raises(AttributeError, match="not fitted"):
        model.event_times_  # noqa: B018
    model.fit(*table)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        model.nonsense  # noqa: B018
    with pytest.raises(InputError, match="return_std needs times"):
        model.predict_survival_function(table[0], return_std=True)


# Tables.


def other_frame(package, frame):
    """Return a frame of polars or a table of Arrow."""
    module = pytest.importorskip(package)
    columns = frame.astype(object).where(frame.notna(), None).to_dict("list")
    return (module.table if package == "pyarrow" else module.DataFrame)(columns)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
@pytest.mark.parametrize("model", [QUICK, CoxPH(), CauseSpecific(CoxPH())], ids=repr)
def test_frames_are_matched_by_the_names_of_columns(model, package, table):
    X, y = table
    expected = clone(model).fit(X, y).predict_cumulative_incidence(X, TIMES)
    model = clone(model).fit(other_frame(package, X), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "group"]
    new = other_frame(package, X[["group", "b", "a"]])
    np.testing.assert_array_equal(model.predict_cumulative_incidence(new, TIMES), expected)


def test_targets_of_polars():
    polars = pytest.importorskip("polars")
    _, y = draw()
    frame = polars.DataFrame({"time": y["time"], "event": y["event"]})
    for form in (frame, frame.lazy(), (frame["time"], frame["event"])):
        assert as_target(form).to_array().tolist() == y.tolist()
    assert make_target(frame["time"], frame["event"]).tolist() == y.tolist()


SPARSE = {
    "csr": (QUICK, sparse.csr_matrix),
    "csc": (QUICK, sparse.csc_array),
    "LifeMix": (LifeMix({"Cox": CauseSpecific(CoxPH())}, n_folds=2), sparse.coo_array),
    "ModelAverage": (ModelAverage([AalenJohansen(), CauseSpecific(CoxPH())]), sparse.coo_array),
}


@pytest.mark.parametrize(("model", "form"), SPARSE.values(), ids=SPARSE)
def test_sparse_matrices_are_tables(model, form):
    X, y = draw(n_events=2)
    model = clone(model).fit(X, y)
    expected = model.predict_cumulative_incidences(X, TIMES)
    other = clone(model).fit(form(X), y)
    np.testing.assert_array_equal(other.predict_cumulative_incidences(form(X), TIMES), expected)
    values = [metrics.evaluate(model, y, rows, y, TIMES) for rows in (form(X), X)]
    pd.testing.assert_frame_equal(*values)


@pytest.mark.parametrize("form", ["polars", "pyarrow", "list", "sparse"])
def test_importance_and_phenotypes_of_other_tables(form):
    X, y = draw()
    names = [f"x{number}" for number in range(3)]
    frame = pd.DataFrame(X, columns=names)
    other = {"list": X.tolist, "sparse": lambda: sparse.coo_array(X)}.get(
        form, lambda: other_frame(form, frame)
    )()
    model = CoxPH().fit(other, y)

    def predict(rows):
        return model.predict_survival_function(rows, [0.5])

    options = {"n_repeats": 1, "random_state": 0}
    importances = [
        metrics.permutation_importance(predict, rows, y, y, [0.5], **options)
        for rows in (other, frame if form in ("polars", "pyarrow") else X)
    ]
    assert list(importances[0].features) == names
    np.testing.assert_array_equal(importances[0].mean, importances[1].mean)
    if form != "sparse":
        gate = np.tile([[0.2, 0.8], [0.7, 0.3]], (75, 1))
        means = [plots.phenotype_means(rows, gate) for rows in (other, frame)]
        pd.testing.assert_frame_equal(*means, check_index_type=False)


def test_notebooks_show_data_sets_as_tables():
    data = datasets.load_metabric()
    text = data._repr_html_()
    assert "METABRIC: 1,904 rows" in text
    assert text.count("<tr") == 6
    X = data.X.rename(columns={"x0": "<script>"})
    assert "<script>" not in dataclasses.replace(data, name="<script>", X=X)._repr_html_()


# scikit-survival and SHAP.


def test_scorers_of_scikit_survival():
    sksurv = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    X, y = draw()
    y = np.rec.fromarrays([y["event"] > 0, y["time"]], names="event,time")
    train, test = slice(0, 100), slice(100, None)
    model = clone(QUICK).fit(X[train], y[train])
    times, risk = TIMES[:2], model.predict(X[test])
    survival = model.predict_survival_function(X[test], times)
    brier = sksurv.as_integrated_brier_score_scorer(QUICK, times=times)
    expected = -sksurv.integrated_brier_score(y[train], y[test], survival, times)
    score = clone(brier).fit(X[train], y[train]).score(X[test], y[test])
    assert score == pytest.approx(expected, abs=1e-12)
    scorer = sksurv.as_concordance_index_ipcw_scorer(QUICK, tau=1.0).fit(X[train], y[train])
    expected = sksurv.concordance_index_ipcw(y[train], y[test], risk, tau=1.0)[0]
    assert scorer.score(X[test], y[test]) == expected
    grid = {"estimator__learning_rate": [1e-6, 0.1]}
    search = GridSearchCV(brier, grid, cv=KFold(2), error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.slow
def test_the_example_of_shap_values(capsys):
    pytest.importorskip("shap", reason="shap is not installed")
    example = Path(__file__).parents[2] / "examples" / "shap_values.py"
    main = runpy.run_path(str(example))["main"]
    for values, base, predicted in main(n_background=8, n_rows=4, max_epochs=5).values():
        np.testing.assert_allclose(values.sum(1) + base, predicted, atol=1e-6)
        assert np.abs(values).max() > 0
    assert "age at diagnosis in years" in capsys.readouterr().out
