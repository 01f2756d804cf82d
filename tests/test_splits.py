"""Folds, validation rows, horizons and artificial censoring; subjects stay together everywhere."""

import sys
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, make_target, splits
from lifemix.datasets import load_metabric, load_support
from lifemix.errors import InputError, SettingError, TargetError
from lifemix.splits import (
    EventStratifiedKFold,
    censor_artificially,
    default_horizons,
    horizons,
    train_validation_split,
)

EVENTS = st.lists(st.integers(0, 3), min_size=10, max_size=60).map(np.array)
SEEDS = st.integers(0, 2**32 - 1)


def target(event, **options):
    return make_target(np.arange(1.0, len(event) + 1), event, **options)


def validation_rows(*arguments, **options):
    return train_validation_split(*arguments, **options)[1].tolist()


def folds_of(y, n_splits=5, seed=0, groups=None):
    folds = EventStratifiedKFold(n_splits, seed).split(None, y, groups)
    return [test.tolist() for _, test in folds]


def counts(event, rows):
    return np.bincount(event[rows], minlength=4)


@given(EVENTS, st.integers(2, 10), SEEDS)
def test_every_row_is_tested_once_and_every_fold_has_its_share(event, n_splits, seed):
    folds = list(EventStratifiedKFold(n_splits, seed).split(None, target(event)))
    assert len(folds) == n_splits
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(event)))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(event)))
    by_fold = np.array([counts(event, test) for _, test in folds])
    assert np.ptp(by_fold, axis=0).max() <= 1
    assert np.ptp(by_fold.sum(axis=1)) <= 1


@given(EVENTS, st.floats(0.1, 0.9), SEEDS)
def test_validation_rows_have_their_share_of_every_event(event, fraction, seed):
    rows = np.arange(len(event))[::-1][: len(event) - 2]
    train, validation = train_validation_split(target(event), rows, fraction, seed)
    assert len(validation) == round(fraction * len(rows))
    assert sorted([*train, *validation]) == sorted(rows)
    expected = len(validation) / len(rows) * counts(event, rows)
    assert np.abs(counts(event, validation) - expected).max() <= 1
    mask = np.isin(np.arange(len(event)), rows)
    assert validation_rows(target(event), mask, fraction, seed) == validation_rows(
        target(event), np.flatnonzero(mask), fraction, seed
    )


def test_splits_are_random_and_depend_on_the_seed_alone():
    y = target(np.zeros(1000, dtype=int))
    first, again, other = (folds_of(y, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    first, again, other = (validation_rows(y, random_state=seed) for seed in (0, 0, 1))
    assert first == again != other
    test = np.array(folds_of(y)[0])
    assert stats.kstest(test / 1000, "uniform").pvalue > 0.01
    assert len(np.unique(np.diff(test))) > 5


# Horizons.


def test_horizons_are_quantiles_of_the_event_times():
    assert horizons(load_support().y).tolist() == [14, 58, 252]
    np.testing.assert_allclose(horizons(load_metabric().y), [42.7, 85.9, 145.3], atol=0.05)
    y = make_target([1, 2, 3, 4, 5, 60], [1, 2, 2, 2, 0, 1])
    assert horizons(y, [0.5, 1.0], event=2).tolist() == [3, 4]
    assert horizons(y, [0.5]).tolist() == [30.5]
    assert horizons(y, [0.5], event=None).tolist() == [3.0]
    assert horizons(y, [0.5], event=2.0).tolist() == [3]
    intervals = make_target([1.0, 4.0], [1, 1], upper=[3.0, 4.0])
    assert horizons(intervals, [0, 1]).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("time", "event", "expected"),
    [
        ([1.2345, 2.3456, 3.4567, 4.5678, 5.0, 9.0], [1, 2, 1, 2, 0, 0], [2.07, 2.9, 3.73]),
        ([0.0, 0.0, 0.0, 5.0], [1, 1, 1, 0], [5.0]),  # no positive quartile
        ([1.0006, 1.0006, 1.0], [1, 1, 0], [1.0]),
        ([9.996, 9.996], [1, 1], [9.996]),  # 10 is beyond the follow-up
    ],
)
def test_default_horizons_are_rounded_quartiles_within_the_follow_up(time, event, expected):
    assert default_horizons(make_target(time, event)).tolist() == expected


# Artificial censoring.


@given(EVENTS, st.floats(0, 1), SEEDS)
def test_artificial_censoring_changes_a_fraction_of_the_events_only(event, fraction, seed):
    y = target(event)
    censored = censor_artificially(y, fraction, seed)
    changed = censored != y
    assert changed.sum() == round(fraction * (event > 0).sum())
    assert (censored["event"][changed] == 0).all()
    assert (event[changed] > 0).all()
    assert (censored["time"][changed] < y["time"][changed]).all()
    assert (censored["time"][changed] > 0).all()


def test_artificial_censoring_is_uniform_before_the_event():
    time = np.random.default_rng(0).uniform(1, 100, 20_000)
    y = censor_artificially(make_target(time, np.ones(20_000, int)), 0.25, 1)
    rows = y["event"] == 0
    assert stats.kstest(y["time"][rows] / time[rows], "uniform").pvalue > 0.01
    assert stats.ks_2samp(time[rows], time[~rows]).pvalue > 0.01


def test_artificial_censoring_at_the_edges():
    y = make_target([5.0, 6.0, 7.0], [1, 2, 0], entry=[4.9999, 0, 3])
    censored = censor_artificially(y, 1.0)
    assert censored["event"].tolist() == [0, 0, 0]
    assert 4.9999 < censored["time"][0] < 5
    assert censored["time"][2] == 7
    assert censored["entry"].tolist() == [4.9999, 0, 3]
    assert censor_artificially(make_target([0.0], [1]), 1.0).tolist() == [(0, 0.0)]


Y = target(np.array([0, 1, 1, 0]))
TWO_SUBJECTS = make_target(np.ones(6), [1, 0] * 3, subject=[1, 1, 1, 2, 2, 2])
INTERVALS = make_target([1.0], [1], upper=[2.0])
BAD = [
    (folds_of, (Y, 1), SettingError, "at least 2 .* got 1"),
    (folds_of, (Y, 5), SettingError, "rows, 4; got 5"),
    (folds_of, (TWO_SUBJECTS, 3), SettingError, "number of subjects, 2; got 3"),
    (train_validation_split, (Y, None, 1.0), SettingError, "between 0 and 1; got 1.0"),
    (train_validation_split, (Y, None, 0.1), SettingError, "got 0 validation rows of 4"),
    (train_validation_split, (TWO_SUBJECTS, None, 0.2), SettingError, "0 validation subjects of 2"),
    (horizons, (Y, [25]), SettingError, r"got \[25\]"),
    (horizons, (Y, [0.5], 2), TargetError, "rows with event 2; got none"),
    (horizons, (Y, [0.5], 0), InputError, "whole number >= 1; got 0"),
    (censor_artificially, (Y, -0.1), SettingError, "between 0 and 1; got -0.1"),
    (censor_artificially, (INTERVALS, 0.5), TargetError, "got 1 interval-censored"),
]


@pytest.mark.parametrize(("function", "arguments", "error", "message"), BAD)
def test_arguments_that_cannot_be_used_are_refused(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


# Subjects.

SUBJECTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12)), min_size=8, max_size=60
).filter(lambda rows: len({subject for _, subject in rows}) >= 4)


def of_subjects(rows):
    event, subject = np.array(rows).T
    return target(event, subject=subject)


@given(SUBJECTS, st.integers(2, 4), st.integers(0, 100))
def test_folds_count_subjects(rows, n_splits, seed):
    y = of_subjects(rows)
    n_subjects = []
    for train, test in EventStratifiedKFold(n_splits, seed).split(None, y):
        assert not set(y["subject"][train]) & set(y["subject"][test])
        assert sorted([*train, *test]) == list(range(len(y)))
        n_subjects.append(len(set(y["subject"][test])))
    assert np.ptp(n_subjects) <= 1
    groups = [f"patient {number}" for number in y["subject"]]
    by_groups = folds_of(target(y["event"]), n_splits, seed, groups)
    assert by_groups == folds_of(y, n_splits, seed)


@given(SUBJECTS, st.sampled_from([0.2, 0.5]), st.integers(0, 100))
def test_validation_rows_count_subjects(rows, fraction, seed):
    y = of_subjects(rows)
    for within in (np.arange(len(y)), np.arange(0, len(y), 2)):
        n_subjects = len(set(y["subject"][within]))
        if not 0 < round(fraction * n_subjects) < n_subjects:
            continue
        train, validation = train_validation_split(y, within, fraction, seed)
        assert not set(y["subject"][train]) & set(y["subject"][validation])
        assert len(set(y["subject"][validation])) == round(fraction * n_subjects)
        assert sorted([*train, *validation]) == within.tolist()


@given(EVENTS, st.integers(0, 100))
def test_one_row_per_subject_is_split_as_without_subjects(event, seed):
    y, numbered = target(event), target(event, subject=np.arange(len(event))[::-1])
    assert folds_of(y, 2, seed) == folds_of(numbered, 2, seed)
    first, second = (validation_rows(form, None, 0.5, seed) for form in (y, numbered))
    assert first == second


def test_subjects_with_events_are_spread_evenly():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    has_events = np.isin(subject, rng.permutation(300)[:60])
    event = np.where(has_events, rng.integers(0, 3, len(subject)), 0)
    y = target(event, subject=subject)
    by_fold = [np.bincount(event[test], minlength=3) for test in folds_of(y)]
    assert (np.ptp(by_fold, axis=0) <= [20, 8, 8]).all()
    share = np.bincount(event[validation_rows(y, fraction=0.2)])
    assert (np.abs(share - np.bincount(event) / 5) <= [20, 6, 6]).all()


class ScoresSeparation(DummyClassifier):
    """Scores 1 if no row to score is of a subject of the training rows."""

    def fit(self, X, y):
        self.trained_ = set(X[:, 0])
        return self

    def score(self, X, y):
        return float(not self.trained_ & set(X[:, 0]))


def test_scikit_learn_passes_groups_to_the_splitter():
    y = target(np.array([0, 1] * 30))
    groups = np.repeat(np.arange(20), 3)
    X, model, cv = groups[:, None].astype(float), ScoresSeparation(), EventStratifiedKFold(4)
    assert cross_val_score(model, X, y, groups=groups, cv=cv).tolist() == [1.0] * 4
    with config_context(enable_metadata_routing=True):
        assert cross_val_score(model, X, y, params={"groups": groups}, cv=cv).mean() == 1.0
        search = GridSearchCV(model, {"strategy": ["prior"]}, cv=cv).fit(X, y, groups=groups)
    assert (search.best_score_, search.n_splits_) == (1.0, 4)


# No subject is on both sides of a split, in any model or search.

N_ROWS, ROWS_PER_SUBJECT = 240, 6
SUBJECT = np.random.default_rng(0).permutation(
    np.repeat([f"patient {i}" for i in range(N_ROWS // ROWS_PER_SUBJECT)], ROWS_PER_SUBJECT)
)
ROW_TIME = np.arange(1.0, N_ROWS + 1)  # identifies the row
CAUSE = np.random.default_rng(1).integers(0, 3, N_ROWS)
TABLE = np.random.default_rng(2).normal(size=(N_ROWS, 3))
OF_SUBJECTS = make_target(ROW_TIME, CAUSE, subject=SUBJECT)
WITHOUT_SUBJECTS = make_target(ROW_TIME, CAUSE)
SMALL = {"hidden": (4,), "k": 2, "max_epochs": 2}


def subjects_of(y):
    return set(SUBJECT[splits.as_target(y).time.astype(int) - 1])


@pytest.fixture
def split_counts(monkeypatch):
    """Count the splits; none may have a subject on both sides."""
    counts = Counter()
    split_validation, split_folds = splits.train_validation_split, splits.EventStratifiedKFold.split

    def check(kind, y, train, test):
        y = splits.as_target(y)
        assert not subjects_of(y.take(train)) & subjects_of(y.take(test))
        counts[kind] += 1

    def watch_validation(y, *arguments, **options):
        rows = split_validation(y, *arguments, **options)
        check("validation", y, *rows)
        return rows

    def watch_folds(self, X, y, groups=None):
        for train, test in split_folds(self, X, y, groups):
            check("folds", y, train, test)
            yield train, test

    for name, module in list(sys.modules.items()):
        if name.startswith("lifemix") and hasattr(module, "train_validation_split"):
            monkeypatch.setattr(module, "train_validation_split", watch_validation)
    monkeypatch.setattr(splits.EventStratifiedKFold, "split", watch_folds)
    return counts


BOOSTING = baselines.GradientBoosting(n_intervals=3, max_iter=3)
MODELS = {
    "DeepSurvivalMachines": DeepSurvivalMachines(**SMALL, n_members=3),
    "DeepHit": baselines.DeepHit(shared_nodes=4, cause_nodes=4, n_times=5, max_epochs=2),
    "GradientBoosting": BOOSTING,
    "CauseSpecific": baselines.CauseSpecific(baselines.DeepSurv(hidden=(4,), max_epochs=2)),
    "ModelAverage": baselines.ModelAverage([DeepSurvivalMachines(**SMALL), BOOSTING]),
    "LifeMix": LifeMix({"networks": DeepSurvivalMachines(**SMALL), "trees": BOOSTING}, n_folds=2),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_early_stopping_keeps_subjects_together(split_counts, model):
    model.fit(TABLE, OF_SUBJECTS)
    assert split_counts["validation"] >= 1
    assert model.training_target_.subject is None
    if not isinstance(model, LifeMix):
        counts = dict(split_counts)
        model.fit(TABLE, WITHOUT_SUBJECTS, groups=SUBJECT)
        assert split_counts == {kind: 2 * count for kind, count in counts.items()}
        with pytest.raises(AssertionError):
            model.fit(TABLE, WITHOUT_SUBJECTS)


def test_validation_data_have_other_subjects():
    train, held_out = train_validation_split(OF_SUBJECTS)
    model = DeepSurvivalMachines(**SMALL)
    for rows, is_valid in ((held_out, True), (np.append(held_out, train[0]), False)):
        expected = nullcontext() if is_valid else pytest.raises(InputError, match="got 1 of its ")
        with expected:
            data = TABLE[rows], OF_SUBJECTS[rows]
            model.fit(TABLE[train], OF_SUBJECTS[train], validation_data=data)


SEARCHES = {
    "subjects in the target": (2, OF_SUBJECTS, {}),
    "groups": (EventStratifiedKFold(2), WITHOUT_SUBJECTS, {"groups": SUBJECT}),
    "splitter of scikit-learn": (GroupKFold(2), OF_SUBJECTS, {}),
}


@pytest.mark.parametrize(("cv", "y", "options"), SEARCHES.values(), ids=SEARCHES)
def test_a_search_keeps_subjects_together(split_counts, cv, y, options):
    model = DeepSurvivalMachines(**SMALL)
    FleetSearchCV(model, {"k": [1, 2]}, cv=cv).fit(TABLE, y, **options)
    # Early stopping in each fold, shared by the candidates, and in the last fit.
    assert split_counts["validation"] == 3
    assert split_counts["folds"] == (0 if isinstance(cv, GroupKFold) else 2)


def test_a_search_refuses_folds_that_separate_a_subject():
    folds = [(np.arange(120), np.arange(120, 240))]
    search = FleetSearchCV(DeepSurvivalMachines(**SMALL), {"k": [1]}, cv=folds)
    with pytest.raises(SettingError, match="subjects on both sides of fold 0. Use cv=5"):
        search.fit(TABLE, OF_SUBJECTS)


def test_scikit_learn_around_models_keeps_subjects_together(split_counts):
    model, cv = DeepSurvivalMachines(**SMALL), EventStratifiedKFold(2)
    cross_val_score(model, TABLE, OF_SUBJECTS, cv=cv)
    assert split_counts == {"folds": 2, "validation": 2}
    with config_context(enable_metadata_routing=True):
        GridSearchCV(model, {"k": [1]}, cv=cv).fit(TABLE, WITHOUT_SUBJECTS, groups=SUBJECT)
        search = FleetSearchCV(model, {"k": [1]}, cv=2)
        cross_val_score(search, TABLE, WITHOUT_SUBJECTS, cv=cv, params={"groups": SUBJECT})
    assert split_counts["folds"] == 2 + 2 + (2 + 4)
