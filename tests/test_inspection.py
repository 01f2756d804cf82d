"""Models in scikit-learn's inspection, and scikit-learn's checks of estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline as plain_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lifemix import (
    DeepSurvivalMachines,
    FleetSearchCV,
    LifeMix,
    baselines,
    make_pipeline,
    make_target,
)
from lifemix.baselines import CauseSpecific, CoxPH, FineGray, KaplanMeier

N_ROWS = 200


@pytest.fixture(scope="module")
def rows():
    """Return a table in which only the first of three columns matters, and its target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 2)), columns=["age", "noise"])
    X["ward"] = rng.choice(["north", "south"], N_ROWS)
    time = rng.exponential(np.exp(-1.5 * X["age"]))
    return X, make_target(time, np.ones(N_ROWS, dtype=int))


def network(**options):
    return DeepSurvivalMachines(
        hidden=(), k=1, max_epochs=60, learning_rate=0.05, validation_fraction=0, **options
    )


def scaled(model):
    return lambda X: (model, X[["age", "noise"]])


MODELS = {
    "DeepSurvivalMachines": network(),
    "CoxPH": CoxPH(penalty=0.1),
    "FineGray": FineGray(),
    "CauseSpecific": CauseSpecific(CoxPH(penalty=0.1)),
    "GradientBoosting": baselines.GradientBoosting(max_iter=20, min_samples_leaf=10),
    "MartingaleForest": baselines.MartingaleForest(n_trees=20),
    "LifeMix": LifeMix({"Cox": CoxPH(penalty=0.1), "marginal": KaplanMeier()}),
    "FleetSearchCV": FleetSearchCV(network(), {"k": [1]}, cv=2),
    "GridSearchCV": GridSearchCV(CoxPH(), {"penalty": [0.1]}, cv=2),
}
PIPELINES = {
    "pipeline": make_pipeline(StandardScaler(), CoxPH(penalty=0.1)),
    "plain pipeline": plain_pipeline(StandardScaler(), network()),
}
over_models = pytest.mark.parametrize(
    ("model", "columns"),
    [
        *(pytest.param(model, ["age", "noise", "ward"], id=name) for name, model in MODELS.items()),
        *(pytest.param(model, ["age", "noise"], id=name) for name, model in PIPELINES.items()),
    ],
)


@over_models
def test_permutation_importance_and_partial_dependence(model, columns, rows):
    X, y = rows[0][columns], rows[1]
    model.fit(X, y)
    assert is_regressor(model)
    assert not is_classifier(model)
    importance = permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean
    assert importance[0] > 0.1
    assert np.abs(importance[1:]).max() < 0.06
    dependence = partial_dependence(model, X, ["age"], grid_resolution=5, kind="both")
    (grid,) = dependence["grid_values"]
    expected = [model.predict(X.assign(age=age)) for age in grid]
    np.testing.assert_allclose(dependence["individual"][0], np.transpose(expected))
    np.testing.assert_allclose(dependence["average"][0], np.mean(expected, axis=1))
    assert (np.diff(dependence["average"][0]) >= 0).all()  # the risk rises with age
    if "ward" in columns:
        levels = partial_dependence(model, X, ["ward"], categorical_features=["ward"])
        assert levels["grid_values"][0].tolist() == ["north", "south"]


def test_arrays_and_figures(rows):
    pytest.importorskip("matplotlib")
    x, y = rows[0][["age", "noise"]].to_numpy(), rows[1]
    model = network().fit(x, y)
    assert permutation_importance(model, x, y, n_repeats=2).importances_mean.argmax() == 0
    display = PartialDependenceDisplay.from_estimator(model, x, [0, 1], grid_resolution=3)
    assert display.axes_.shape == (1, 2)


# Scikit-learn's checks of estimators. They give numbers or labels as a target; a subclass reads
# them as survival times, every one an event.


def survival_target(y):
    if y is None:
        return None
    y = np.asarray(y).ravel()
    codes = np.unique(y, return_inverse=True)[1] if y.dtype.kind in "OU" else y
    return make_target(np.abs(codes) + 1.0, np.ones(len(codes), dtype=int))


def from_plain_target(model):
    """Return the model as one of a subclass that takes the targets of scikit-learn's checks."""
    base = type(model)

    def fit(self, X, y, sample_weight=None):
        return base.fit(self, X, survival_target(y), sample_weight)

    def fit_without_weights(self, X, y):
        return base.fit(self, X, survival_target(y))

    def score(self, X, y):
        return base.score(self, X, survival_target(y))

    takes_weights = getattr(base, "_takes_weights", True)
    methods = {"fit": fit if takes_weights else fit_without_weights, "score": score}
    methods["__init__"] = base.__init__
    methods["__module__"] = __name__
    name = f"{base.__name__}FromPlainTarget"
    globals()[name] = type(name, (base,), methods)  # for pickle
    return globals()[name](**model.get_params(deep=False))


CHECKED = [
    DeepSurvivalMachines(hidden=(4,), k=1, max_epochs=8, learning_rate=0.05, batch_size=50),
    CoxPH(ties="breslow"),  # with Efron's ties weight 2 is not two rows, as in R
    FineGray(),
    baselines.DeepSurv(hidden=(4,), max_epochs=8, learning_rate=0.05),
    baselines.DeepHit(n_times=3, max_epochs=8, learning_rate=0.05),
    baselines.GradientBoosting(n_intervals=3, max_iter=3),
    baselines.MartingaleForest(n_trees=3),
    baselines.KaplanMeier(),
    CauseSpecific(CoxPH(ties="breslow")),
]
SAMPLES = (
    "a row of weight 2 stands once in random samples (mini-batches, held-out rows, bootstraps), two "
    "rows stand twice: the losses are equal, the random paths are not"
)
ONE_ROW = "refused, because no column varies in one row; the message says so"
ROWS_ONLY = "only the number of rows of X matters, so its values are not read"
NO_RISK = "without covariates all risks are equal, and the concordance is 1/2"
FIRST_USE = "event_times_ are computed when they are first used, here by predict"
TOLERANCE = "equal up to Newton's tolerance: columns are scaled by the rows, not by the weights"
ROUNDING = "in single precision; a matrix product rounds differently in other batches"
# The checks that cannot hold, with the reason, by the class ("" for all).
SKIPPED = {
    "": {"check_supervised_y_2d": "a survival target has a time and an event; it is no column"},
    "DeepSurvivalMachines": {"check_sample_weight_equivalence_on_dense_data": SAMPLES},
    "CoxPH": {
        "check_fit2d_1sample": ONE_ROW,
        "check_sample_weight_equivalence_on_dense_data": TOLERANCE,
    },
    "FineGray": {
        "check_fit2d_1sample": ONE_ROW,
        "check_dict_unchanged": FIRST_USE,
        "check_non_transformer_estimators_n_iter": "each event type has its number of iterations",
    },
    "DeepSurv": {"check_fit2d_1sample": ONE_ROW},
    "DeepHit": {
        "check_fit2d_1sample": ONE_ROW,
        "check_methods_sample_order_invariance": ROUNDING,
        "check_methods_subset_invariance": ROUNDING,
    },
    "GradientBoosting": {"check_fit2d_1sample": ONE_ROW},
    "MartingaleForest": {
        "check_fit2d_1sample": ONE_ROW,
        "check_sample_weight_equivalence_on_dense_data": SAMPLES,
    },
    "KaplanMeier": {
        "check_complex_data": ROWS_ONLY,
        "check_estimators_empty_data_messages": ROWS_ONLY,
        "check_regressors_train": NO_RISK,
    },
    "CauseSpecific": {
        "check_fit2d_1sample": ONE_ROW,
        "check_dict_unchanged": FIRST_USE,
        "check_sample_weight_equivalence_on_dense_data": TOLERANCE,
    },
}


def skipped(estimator):
    name = type(estimator).__name__.removesuffix("FromPlainTarget")
    reasons = SKIPPED[""] | SKIPPED[name]
    return reasons | {check.replace("dense", "sparse"): reason for check, reason in reasons.items()}


def over_checks(models):
    estimators = [from_plain_target(model) for model in models]
    return parametrize_with_checks(estimators, expected_failed_checks=skipped)


ignore_warnings = pytest.mark.filterwarnings(
    "ignore::lifemix.errors.LifemixWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)


@ignore_warnings
@over_checks(CHECKED[:2])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@ignore_warnings
@over_checks(CHECKED[2:])
def test_scikit_learn_estimator_checks_of_other_models(estimator, check):
    check(estimator)
