"""What the base class gives to every model."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, load, make_target, save
from lifemix.baselines import CoxPH, RandomSurvivalForest
from lifemix.errors import CovariateError, LifemixWarning
from lifemix.scoring import Scorer
from lifemix.splits import EventStratifiedKFold
from lifemix.target import subject_codes

MODELS = {
    "DeepSurvivalMachines": lambda: DeepSurvivalMachines(hidden=(4,), k=2, max_epochs=2),
    "FineGray": baselines.FineGray,
    "AalenJohansen": baselines.AalenJohansen,
    "CauseSpecific": lambda: baselines.CauseSpecific(baselines.CoxPH()),
}
over_models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
TIMES = np.array([0.0, 0.5, 1.0, 2.0, 5.0])


def data(n=90, seed=0, unit=1.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["age", "dose"])
    return X, make_target(unit * (rng.weibull(1.5, n).round(2) + 0.01), rng.integers(0, 3, n))


@over_models
def test_all_incidences_at_once_are_those_one_by_one(make):
    X, y = data()
    model = make().fit(X, y)
    together = model.predict_cumulative_incidences(X, TIMES)
    assert together.shape == (2, len(X), len(TIMES))
    for event in (1, 2):
        alone = model.predict_cumulative_incidence(X, TIMES, event)
        np.testing.assert_allclose(together[event - 1], alone, rtol=1e-12, atol=1e-14)


@over_models
def test_a_second_fit_forgets_the_first(make):
    X, y = data()
    other, later = data(60, seed=1, unit=100.0)
    model = make().fit(X, y)
    assert model.event_times_.max() < 10  # kept after the first question
    assert list(model.feature_names_in_) == ["age", "dose"]
    model.fit(other.to_numpy(), later)
    fresh = make().fit(other.to_numpy(), later)
    np.testing.assert_array_equal(model.event_times_, np.unique(later["time"][later["event"] > 0]))
    assert (
        model.last_event_time_ == fresh.last_event_time_ == later["time"][later["event"] > 0].max()
    )
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(
        model.predict_survival_function(other.to_numpy(), 100 * TIMES),
        fresh.predict_survival_function(other.to_numpy(), 100 * TIMES),
    )
    assert model.score(other.to_numpy(), later) == fresh.score(other.to_numpy(), later)


@over_models
def test_a_second_fit_knows_its_own_number_of_event_types(make):
    X, y = data()
    model = make().fit(X, y)
    assert model.n_events_ == 2
    model.fit(X, make_target(y["time"], y["event"] > 0))
    assert model.n_events_ == 1
    np.testing.assert_allclose(
        model.predict_cumulative_incidence(X, TIMES),
        1 - model.predict_survival_function(X, TIMES),
        atol=1e-12,
    )


def test_intervals_count_at_their_upper_ends_among_the_event_times():
    X, y = data()
    upper = np.where((y["event"] > 0) & (np.arange(len(y)) % 2 == 0), y["time"] + 7, np.nan)
    model = MODELS["DeepSurvivalMachines"]().fit(X, make_target(y["time"], y["event"], upper=upper))
    expected = np.unique(np.fmax(y["time"], upper)[y["event"] > 0])
    np.testing.assert_array_equal(model.event_times_, expected)
    assert model.last_event_time_ == expected[-1]


# Scores of rows of training subjects.

N_SUBJECTS = 40
PERSON = np.tile(np.arange(N_SUBJECTS), 3)
NAMES = np.array([f"patient-{number}" for number in PERSON])
RNG = np.random.default_rng(0)
VISITS = RNG.normal(size=(N_SUBJECTS, 4))[PERSON]
EVERY_EVENT = np.ones(len(PERSON), dtype=int)
Y = make_target(RNG.exponential(size=len(PERSON)), EVERY_EVENT, subject=NAMES)
REPEATED = make_target(RNG.exponential(size=N_SUBJECTS)[PERSON], EVERY_EVENT, subject=NAMES)
TRAINING = (PERSON < 30) & (np.arange(len(PERSON)) < 2 * N_SUBJECTS)  # two visits of 30 subjects
LATER = (PERSON < 30) & ~TRAINING
NEW = PERSON >= 30
NETWORK = DeepSurvivalMachines(hidden=(4,), k=2, n_members=1, max_epochs=1)
SCORED_MODELS = {
    "CoxPH": CoxPH(penalty=1.0),
    "DeepSurvivalMachines": NETWORK,
    "LifeMix": LifeMix(parts={"cox": CoxPH(penalty=1.0)}, n_folds=2),
    "FleetSearchCV": FleetSearchCV(NETWORK, {"k": [1]}, cv=2),
    "pipeline": make_pipeline(StandardScaler(), CoxPH(penalty=1.0)),
}


def score_warnings(model, rows, y=Y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LifemixWarning)
        model.score(VISITS[rows], y[rows])
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("y", [Y, REPEATED], ids=["different outcomes", "repeated outcome"])
@pytest.mark.parametrize("model", SCORED_MODELS.values(), ids=SCORED_MODELS)
def test_other_rows_of_training_subjects_give_one_warning(model, y):
    model = clone(model).fit(VISITS[TRAINING], y[TRAINING])
    (message,) = score_warnings(model, LATER | NEW, y)
    assert message.startswith("30 of 60 scored rows belong to subjects")
    assert "EventStratifiedKFold(), or GroupKFold() with groups=" in message
    assert score_warnings(pickle.loads(pickle.dumps(model)), LATER | NEW, y) == [message]
    assert not score_warnings(model, TRAINING, y)
    assert not score_warnings(model, NEW, y)


@pytest.mark.parametrize("model", [CoxPH(penalty=1.0), NETWORK], ids=["CoxPH", "network"])
def test_which_subjects_a_model_knows(model, tmp_path):
    model = clone(model).fit(VISITS, Y, sample_weight=TRAINING.astype(float))
    assert score_warnings(model, LATER | NEW)[0].startswith("30 of 60 scored rows")
    assert not score_warnings(model, NEW)
    # A file contains no subjects: a loaded model does not warn.
    save(model, tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    assert b"patient-" not in content
    codes = np.concatenate([subject_codes(NAMES).view(np.uint64), model._training_rows[0]])
    assert not any(code.tobytes() in content or str(code).encode() in content for code in codes)
    assert not score_warnings(load(tmp_path / "model.safetensors"), LATER)
    model.fit(VISITS[TRAINING], make_target(Y["time"][TRAINING], EVERY_EVENT[TRAINING]))
    assert not score_warnings(model, LATER)


@pytest.mark.parametrize(
    ("cv", "groups", "n_warnings"),
    [(3, None, 3), (EventStratifiedKFold(3), None, 0), (GroupKFold(3), PERSON, 0)],
)
def test_a_search_that_separates_subjects_warns_in_every_fold(cv, groups, n_warnings):
    forest = RandomSurvivalForest(n_trees=20)
    search = GridSearchCV(forest, {"min_samples_leaf": [3]}, cv=cv, return_train_score=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LifemixWarning)
        search.fit(VISITS, REPEATED, groups=groups)
    assert all(Path(warning.filename) == Path(__file__) for warning in caught)
    assert len(caught) == n_warnings
    # The covariates carry no information about the time.
    assert (search.best_score_ > 0.65) == (n_warnings > 0)


NAMED = {
    **MODELS,
    "KaplanMeier": baselines.KaplanMeier,
    "CoxPH": lambda: CoxPH(penalty=0.1),
    "without preprocessor": lambda: CoxPH(penalty=0.1, preprocessor=None),
    "transformer of scikit-learn": lambda: CoxPH(penalty=0.1, preprocessor=StandardScaler()),
    "MartingaleForest": lambda: baselines.MartingaleForest(n_trees=5),
    "DeepHit": lambda: baselines.DeepHit(shared_nodes=4, cause_nodes=4, max_epochs=2),
    "ModelAverage": lambda: baselines.ModelAverage([CoxPH(penalty=0.1), baselines.KaplanMeier()]),
    "LifeMix": lambda: LifeMix({"Cox": CoxPH(penalty=0.1), "marginal": baselines.KaplanMeier()}),
}


@pytest.fixture
def one_event():
    X, y = data()
    return X, make_target(y["time"], np.minimum(y["event"], 1))


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_a_frame_is_matched_by_the_names_of_training(make, one_event, tmp_path):
    X, y = one_event
    model = make().fit(X, y)
    save_path = tmp_path / "model.safetensors"
    models = [model]
    if not isinstance(getattr(model, "preprocessor", None), StandardScaler):
        save(model, save_path)
        models.append(load(save_path))
    table = pd.DataFrame({"id": "p1", "dose": X["dose"], "time": y["time"], "age": X["age"]})
    expected = model.predict_survival_function(X, TIMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted in models:
            survival = fitted.predict_survival_function(table, TIMES)
            np.testing.assert_allclose(survival, expected, rtol=1e-12)
            assert fitted.score(table, y) == fitted.score(X, y)
            scored = Scorer(fitted, TIMES, keep=["id"])(table)
            np.testing.assert_allclose(scored[[*scored.columns[1:6]]], expected, rtol=1e-12)
    for fitted in models:
        with pytest.raises(
            CovariateError, match=r"missing \['dose'\], got \['id', 'time', 'age'\]"
        ):
            fitted.predict_survival_function(table.drop(columns="dose"), TIMES)


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_an_array_needs_the_columns_of_training(make, one_event):
    X, y = one_event
    model = make().fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 2 features"):
        model.predict_survival_function(np.zeros((4, 3)), TIMES)
