"""``score`` warns about other rows of training subjects, and no model file contains a subject."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, load, make_target, save
from lifemix.baselines import CoxPH, RandomSurvivalForest
from lifemix.errors import LifemixWarning
from lifemix.splits import EventStratifiedKFold
from lifemix.target import TrainingRows, subject_codes

N_SUBJECTS, N_VISITS = 40, 3
RNG = np.random.default_rng(0)
PERSON = np.tile(np.arange(N_SUBJECTS), N_VISITS)
NAMES = np.array([f"patient-{number}" for number in PERSON])
X = RNG.normal(size=(N_SUBJECTS, 4))[PERSON]
TIME = RNG.exponential(size=N_SUBJECTS)[PERSON]
SAME_OUTCOME = make_target(TIME, np.ones(len(TIME), dtype=int), subject=NAMES)  # visits repeat it
OWN_OUTCOME = make_target(
    RNG.exponential(size=len(TIME)), np.ones(len(TIME), dtype=int), subject=NAMES
)
TRAINING = (PERSON < 30) & (np.arange(len(PERSON)) < 2 * N_SUBJECTS)  # two visits of 30 subjects
LATER = (PERSON < 30) & ~TRAINING
NEW = PERSON >= 30
SMALL = {"hidden": (4,), "k": 2, "n_members": 1, "max_epochs": 1}
MODELS = {
    "CoxPH": CoxPH(penalty=1.0),
    "DeepSurvivalMachines": DeepSurvivalMachines(**SMALL),
    "LifeMix": LifeMix(parts={"cox": CoxPH(penalty=1.0)}, n_folds=2),
    "FleetSearchCV": FleetSearchCV(DeepSurvivalMachines(**SMALL), {"k": [1]}, cv=2),
    "pipeline": make_pipeline(StandardScaler(), CoxPH(penalty=1.0)),
}


def score_warnings(model, rows, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LifemixWarning)
        model.score(X[rows], y[rows])
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("y", [SAME_OUTCOME, OWN_OUTCOME], ids=["same outcome", "own outcome"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_other_rows_of_training_subjects_give_one_warning(model, y):
    model.fit(X[TRAINING], y[TRAINING])
    (message,) = score_warnings(model, LATER | NEW, y)
    assert message.startswith(
        "30 of 60 scored rows belong to subjects that the model was trained on"
    )
    assert "cv=lifemix.splits.EventStratifiedKFold(), or GroupKFold() with groups=" in message
    assert score_warnings(pickle.loads(pickle.dumps(model)), LATER | NEW, y) == [message]
    assert not score_warnings(model, TRAINING, y)
    assert not score_warnings(model, NEW, y)


def test_part_of_the_training_rows_is_recognised():
    model = CoxPH(penalty=1.0).fit(X[TRAINING], OWN_OUTCOME[TRAINING])
    assert not score_warnings(model, np.flatnonzero(TRAINING)[:20], OWN_OUTCOME)


@pytest.mark.parametrize(
    "model", [CoxPH(penalty=1.0), DeepSurvivalMachines(**SMALL)], ids=["CoxPH", "DSM"]
)
def test_rows_of_weight_zero_are_no_training_rows(model):
    model.fit(X, OWN_OUTCOME, sample_weight=TRAINING.astype(float))
    assert score_warnings(model, LATER | NEW, OWN_OUTCOME)[0].startswith("30 of 60 scored rows")
    assert not score_warnings(model, NEW, OWN_OUTCOME)


def test_a_new_fit_forgets_the_subjects_of_the_last():
    model = CoxPH(penalty=1.0).fit(X[TRAINING], OWN_OUTCOME[TRAINING])
    model.fit(X[TRAINING], make_target(TIME[TRAINING], np.ones(TRAINING.sum(), dtype=int)))
    assert not score_warnings(model, LATER, OWN_OUTCOME)


def search_on_noise(cv, groups=None):
    search = GridSearchCV(
        RandomSurvivalForest(n_trees=20), {"min_samples_leaf": [3]}, cv=cv, return_train_score=True
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LifemixWarning)
        search.fit(X, SAME_OUTCOME, groups=groups)
    assert all(Path(warning.filename) == Path(__file__) for warning in caught)
    return search.best_score_, [str(warning.message).partition(":")[0] for warning in caught]


def test_a_search_that_separates_subjects_warns_in_every_fold():
    score, messages = search_on_noise(3)
    assert score > 0.65  # of covariates that say nothing about the time
    assert messages == ["40 of 40 scored rows belong to subjects that the model was trained on"] * 3


@pytest.mark.parametrize(
    ("cv", "groups"), [(EventStratifiedKFold(3), None), (GroupKFold(3), PERSON)]
)
def test_a_search_that_keeps_subjects_together_does_not_warn(cv, groups):
    score, messages = search_on_noise(cv, groups)
    assert score < 0.65
    assert not messages


@pytest.mark.parametrize(
    "model", [CoxPH(penalty=1.0), DeepSurvivalMachines(**SMALL)], ids=["CoxPH", "DSM"]
)
def test_a_model_file_contains_no_subjects_and_a_loaded_model_does_not_warn(model, tmp_path):
    model.fit(X[TRAINING], OWN_OUTCOME[TRAINING])
    save(model, tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    assert b"patient-" not in content
    codes = np.concatenate([subject_codes(NAMES).view(np.uint64), model._training_rows.subjects])
    assert not any(code.tobytes() in content or str(code).encode() in content for code in codes)
    assert not score_warnings(load(tmp_path / "model.safetensors"), LATER, OWN_OUTCOME)


def test_hashes_tell_rows_and_subjects_apart():
    subject, time = np.array([1, 1, 2]), np.array([1.0, 2.0, 3.0])
    training = TrainingRows.of(subject, time)
    assert training.count_other_rows(subject[::-1], time[::-1]) == 0
    assert training.count_other_rows(np.array([1, 2, 3]), np.array([1.0, 9.0, 3.0])) == 1
