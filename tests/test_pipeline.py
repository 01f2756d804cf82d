"""Pipelines and searches in every function that takes a model."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.pipeline import make_pipeline as plain_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from lifemix import (
    DeepSurvivalMachines,
    FleetSearchCV,
    LifeMix,
    load,
    make_pipeline,
    make_target,
    metrics,
    report,
    save,
    streaming,
)
from lifemix.baselines import CauseSpecific, CoxPH, KaplanMeier, ModelAverage
from lifemix.errors import SettingError
from lifemix.export import export_survival
from lifemix.pipeline import SurvivalPipeline, split_pipeline
from lifemix.preprocessing import TableData
from lifemix.scoring import Scorer

TIMES = np.array([0.5, 1.0])
N_ROWS = 300


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 2)), columns=["age", "dose"])
    return X, rng.exponential(np.exp(-X["age"].to_numpy()))


X, TIME = table()
Y = make_target(TIME, np.ones(N_ROWS, dtype=int))
COMPETING = make_target(TIME, np.random.default_rng(1).integers(0, 3, N_ROWS))


def small(**options):
    return DeepSurvivalMachines(hidden=(4,), k=2, max_epochs=1, **options)


def cox(**options):
    return CoxPH(penalty=0.1, preprocessor=None, **options)


GRID = {"penalty": [0.1]}
# Each with the transformers before its last step.
MODELS = {
    "pipeline": (lambda: plain_pipeline(StandardScaler(), cox()), [StandardScaler]),
    "network": (lambda: plain_pipeline(StandardScaler(), small()), [StandardScaler]),
    "pipeline of lifemix": (lambda: make_pipeline(StandardScaler(), cox()), [StandardScaler]),
    "grid search": (lambda: GridSearchCV(cox(), GRID, cv=2), []),
    "random search": (lambda: RandomizedSearchCV(cox(), GRID, n_iter=1, cv=2), []),
    "fleet": (lambda: FleetSearchCV(small(), {"k": [2]}, cv=2), []),
    "search for a pipeline": (
        lambda: GridSearchCV(
            plain_pipeline(StandardScaler(), cox()), {"coxph__penalty": [0.1]}, cv=2
        ),
        [StandardScaler],
    ),
    "pipeline with a search": (
        lambda: plain_pipeline(StandardScaler(), GridSearchCV(cox(), GRID, cv=2)),
        [StandardScaler],
    ),
    "pipeline in a pipeline": (
        lambda: plain_pipeline(
            FunctionTransformer(), "passthrough", plain_pipeline(StandardScaler(), cox())
        ),
        [FunctionTransformer, StandardScaler],
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """Return a fitted pipeline or search, its last step and the table as that step takes it."""
    make, steps = MODELS[request.param]
    model = make().fit(X, Y)
    transformers, last = split_pipeline(model)
    assert [type(step) for step in transformers] == steps
    x = X
    for transformer in transformers:
        x = transformer.transform(x)
    expected = StandardScaler().fit(X).transform(X) if StandardScaler in steps else X
    np.testing.assert_array_equal(x, expected)
    return model, last, x


def test_metrics(fitted):
    model, last, x = fitted
    pd.testing.assert_frame_equal(
        metrics.evaluate(model, Y, X, Y, TIMES), metrics.evaluate(last, Y, x, Y, TIMES)
    )
    np.testing.assert_array_equal(
        metrics.predicted_risk(model, TableData(X), TIMES, 1, 1),
        metrics.predicted_risk(last, x, TIMES, 1, 1),
    )
    np.testing.assert_array_equal(
        metrics.predicted_risks(model, X, TIMES, 1), metrics.predicted_risks(last, x, TIMES, 1)
    )
    np.testing.assert_array_equal(
        metrics.survival_at_own_time(model, X, Y), metrics.survival_at_own_time(last, x, Y)
    )
    np.testing.assert_array_equal(
        metrics.landmark_risk(model, X, Y, [0.2, 0.4], 0.5),
        metrics.landmark_risk(last, x, Y, [0.2, 0.4], 0.5),
    )


@pytest.mark.parametrize("fitted", ["network", "search for a pipeline", "fleet"], indirect=True)
def test_report(fitted, tmp_path):
    pytest.importorskip("matplotlib")
    model, last, _ = fitted
    page = report.write_report(model, X, Y, tmp_path / "page.html", n_bootstrap=2).read_text()
    name = type(last).__name__
    assert ("Deep Survival Machines" if name == "DeepSurvivalMachines" else name) in page
    steps = [type(step).__name__ for step in split_pipeline(model)[0]]
    assert ("after " + " and ".join(steps) in page) == bool(steps)
    for column in X.columns:  # those of the table, not of the transformers
        assert column in page


def test_scorer(fitted):
    model, last, x = fitted
    batch = X.assign(id=range(N_ROWS))
    score = Scorer(model, TIMES, keep=["id"])
    expected = last.predict_survival_function(x, TIMES)
    for scorer in (score, pickle.loads(pickle.dumps(score))):
        predictions = scorer(batch)
        np.testing.assert_allclose(predictions[["survival_0.5", "survival_1"]], expected)
        assert predictions["id"].tolist() == list(range(N_ROWS))


def test_tables_on_disk(fitted, tmp_path):
    pytest.importorskip("pyarrow")
    model, last, x = fitted
    X.assign(time=TIME, event=1).to_csv(tmp_path / "rows.csv", index=False)
    source = streaming.TableSource(tmp_path / "rows.csv", "time", "event")
    quality = streaming.evaluate(model, source, TIMES)
    rows = quality["metric"] != "log_likelihood"
    expected = metrics.evaluate(last, Y, x, Y, TIMES)["value"]
    np.testing.assert_allclose(quality.loc[rows, "value"], expected, rtol=1e-6)
    assert (~rows).any() == hasattr(last, "log_likelihood")
    X.to_csv(tmp_path / "new.csv", index=False)
    new = streaming.TableSource(tmp_path / "new.csv")
    streaming.write_predictions(model, new, tmp_path / "predictions.csv", TIMES)
    predictions = pd.read_csv(tmp_path / "predictions.csv")
    np.testing.assert_allclose(
        predictions["survival_1"], last.predict_survival_function(x, TIMES)[:, 1], rtol=1e-6
    )


def test_files(fitted, tmp_path):
    model, last, x = fitted
    if split_pipeline(model)[0]:
        with pytest.raises(SettingError, match="a model file cannot contain .* StandardScaler"):
            save(model, tmp_path / "model.safetensors")
        assert not list(tmp_path.iterdir())
    else:
        save(model, tmp_path / "model.safetensors")
        loaded = load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(loaded.predict(x), last.predict(x))
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("purpose", ["calculator", "program"])
def test_programs_take_the_network_of_a_search_and_refuse_other_steps(purpose, tmp_path):
    def write(model):
        if purpose == "program":
            return export_survival(model, TIMES).module()
        return report.write_calculator(model, tmp_path / "page.html", data=X).read_bytes()

    search = FleetSearchCV(small(), {"k": [2]}, cv=2).fit(X, Y)
    alone = Pipeline([("only", search.best_estimator_)])
    assert [bool(write(model)) for model in (search, alone)] == [True, True]
    if purpose == "calculator":
        assert write(search) == write(search.best_estimator_)
    with pytest.raises(
        SettingError, match=f"a {purpose} cannot contain the steps before the model"
    ):
        write(plain_pipeline(StandardScaler(), search.best_estimator_))


UNUSABLE = {
    "no model": plain_pipeline(StandardScaler(), FunctionTransformer()),
    "not fitted": GridSearchCV(cox(), GRID),
    "no refit": GridSearchCV(cox(), GRID, cv=2, refit=False).fit(X, Y),
    "nothing": None,
}


@pytest.mark.parametrize("model", UNUSABLE.values(), ids=UNUSABLE)
def test_what_does_not_end_with_a_fitted_survival_model_is_refused(model):
    with pytest.raises(SettingError, match=r"pipeline or fitted search \(refit=True\) that ends"):
        metrics.evaluate(model, Y, X, Y, TIMES)


# lifemix.make_pipeline.

PREDICTIONS = {
    "predict_survival_function": (TIMES,),
    "predict_cumulative_hazard_function": (TIMES,),
    "predict_cumulative_incidence": (TIMES, 2),
    "predict_cumulative_incidences": (TIMES,),
    "predict_net_survival": (TIMES, 2),
    "predict_path": (np.zeros(N_ROWS), np.full(N_ROWS, 2.0), np.arange(N_ROWS), TIMES),
    "log_likelihood": (COMPETING,),
    "predict": (),
    "transform": (),
    "score": (COMPETING,),
}


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), small()).fit(X, COMPETING)


@pytest.mark.parametrize("method", PREDICTIONS)
def test_a_pipeline_predicts_as_its_last_step(pipeline, method):
    x = pipeline[0].transform(X)
    np.testing.assert_array_equal(
        getattr(pipeline, method)(X, *PREDICTIONS[method]),
        getattr(pipeline[-1], method)(x, *PREDICTIONS[method]),
    )


def test_options_and_functions_of_time(pipeline):
    survival, spread = pipeline.predict_survival_function(X, TIMES, return_std=True)
    assert survival.shape == spread.shape == (N_ROWS, 2)
    np.testing.assert_allclose(pipeline.predict_survival_function(X)[3](TIMES), survival[3])
    distribution = pipeline.predict_distribution(X)
    np.testing.assert_allclose(distribution.survival(TIMES), survival)


def test_a_pipeline_has_the_methods_of_its_last_step_only():
    assert not hasattr(make_pipeline(StandardScaler(), cox()), "predict_distribution")
    assert hasattr(make_pipeline(StandardScaler(), small()), "predict_distribution")
    assert not hasattr(make_pipeline(StandardScaler()), "predict_survival_function")
    search = make_pipeline(StandardScaler(), GridSearchCV(small(), {"k": [1]}, cv=2))
    assert hasattr(search.fit(X, Y), "predict_distribution")


def test_a_pipeline_is_one_of_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), cox(), verbose=False)
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline.named_steps) == ["standardscaler", "coxph"]
    assert isinstance(clone(pipeline), SurvivalPipeline)
    assert isinstance(pipeline[:-1], Pipeline)
    search = GridSearchCV(pipeline, {"coxph__penalty": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.predict_survival_function(X, TIMES).shape == (N_ROWS, 2)


def test_names_of_columns_pass_through():
    pipeline = make_pipeline(StandardScaler(), small()).set_output(transform="pandas")
    assert pipeline.fit(X, Y)[-1].feature_names_in_.tolist() == ["age", "dose"]
    swapped = X[["dose", "age"]]
    columns = make_pipeline(
        ColumnTransformer([("numbers", StandardScaler(), ["age", "dose"])]), cox()
    )
    columns.set_output(transform="pandas").fit(X, Y)
    np.testing.assert_array_equal(columns.predict(swapped), columns.predict(X))


MIXTURES = {
    "average": (lambda part: ModelAverage([part, KaplanMeier()]), Y),
    "cause-specific": (CauseSpecific, COMPETING),
    "LifeMix": (lambda part: LifeMix({"scaled": part, "marginal": KaplanMeier()}), Y),
}


@pytest.mark.parametrize(("make", "y"), MIXTURES.values(), ids=MIXTURES)
def test_a_pipeline_may_be_part_of_a_model(make, y):
    model = make(make_pipeline(StandardScaler(), cox())).fit(X, y)
    expected = make(CoxPH(penalty=0.1)).fit(X, y)  # scales by itself
    np.testing.assert_allclose(
        model.predict_survival_function(X, TIMES),
        expected.predict_survival_function(X, TIMES),
        atol=1e-6,
    )
