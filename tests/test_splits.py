import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from lifemix import make_target
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


def target(event):
    return make_target(np.arange(1.0, len(event) + 1), event)


def counts(event, rows):
    return np.bincount(event[rows], minlength=4)


@given(EVENTS, st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_every_row_is_tested_once_and_every_fold_has_its_share(event, n_splits, seed):
    folds = list(EventStratifiedKFold(n_splits, seed).split(None, target(event)))
    assert len(folds) == n_splits
    assert np.sort(np.concatenate([test for _, test in folds])).tolist() == list(range(len(event)))
    for train, test in folds:
        assert np.sort(np.concatenate([train, test])).tolist() == list(range(len(event)))
    tests = np.array([counts(event, test) for _, test in folds])
    assert np.ptp(tests, axis=0).max() <= 1
    assert np.ptp(tests.sum(axis=1)) <= 1


@given(EVENTS, st.floats(0.1, 0.9), st.integers(0, 2**32 - 1))
def test_validation_part_has_its_share_of_every_event(event, fraction, seed):
    rows = np.arange(len(event))[::-1][: len(event) - 2]
    train, validation = train_validation_split(target(event), rows, fraction, seed)
    assert len(validation) == round(fraction * len(rows))
    assert np.sort(np.concatenate([train, validation])).tolist() == sorted(rows)
    share = len(validation) / len(rows)
    assert np.abs(counts(event, validation) - share * counts(event, rows)).max() <= 1


def test_rows_to_split_may_be_a_mask():
    y = target(np.tile([0, 1], 10))
    mask = np.arange(20) >= 10
    by_mask, by_number = (train_validation_split(y, rows) for rows in (mask, np.arange(10, 20)))
    assert [part.tolist() for part in by_mask] == [part.tolist() for part in by_number]


def test_folds_depend_on_the_seed_alone():
    y = target(np.tile([0, 1], 50))
    first, again, other = (
        [test.tolist() for _, test in EventStratifiedKFold(5, s).split(None, y)] for s in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert (
        train_validation_split(y, random_state=0)[1].tolist()
        == train_validation_split(y, random_state=0)[1].tolist()
    )
    assert (
        train_validation_split(y, random_state=0)[1].tolist()
        != train_validation_split(y, random_state=1)[1].tolist()
    )


def test_folds_are_random_within_an_event():
    y = target(np.zeros(1000, dtype=int))
    test = next(iter(EventStratifiedKFold(5).split(None, y)))[1]
    assert stats.kstest(test / 1000, "uniform").pvalue > 0.01
    assert len(np.unique(np.diff(test))) > 5


class CountsEvents(DummyClassifier):
    """Any estimator of scikit-learn, whose score tells which rows it got."""

    def fit(self, X, y):
        self.seen_ = y
        return self

    def score(self, X, y):
        return (y["event"] == 1).mean()


def test_is_a_splitter_of_scikit_learn():
    y = target(np.array([0] * 60 + [1] * 40))
    X = np.zeros((100, 1))
    assert cross_val_score(CountsEvents(), X, y, cv=EventStratifiedKFold(4)).tolist() == [0.4] * 4
    search = GridSearchCV(
        CountsEvents(), {"strategy": ["prior", "uniform"]}, cv=EventStratifiedKFold(5)
    ).fit(X, y)
    assert search.n_splits_ == 5


def test_horizons_are_quantiles_of_the_event_times():
    assert horizons(load_support().y).tolist() == [14, 58, 252]
    np.testing.assert_allclose(horizons(load_metabric().y), [42.7, 85.9, 145.3], atol=0.05)
    y = make_target([1, 2, 3, 4, 5, 60], [1, 2, 2, 2, 0, 1])
    assert horizons(y, [0.5, 1.0], event=2).tolist() == [3, 4]
    assert horizons(y, [0.5]).tolist() == [30.5]


def test_horizons_take_the_middle_of_intervals():
    assert horizons(make_target([1.0, 4.0], [1, 1], upper=[3.0, 4.0]), [0, 1]).tolist() == [2, 4]


@given(EVENTS, st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_artificial_censoring_touches_a_fraction_of_the_events_only(event, fraction, seed):
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
    assert rows.sum() == 5_000
    assert stats.kstest(y["time"][rows] / time[rows], "uniform").pvalue > 0.01
    assert (
        stats.ks_2samp(time[rows], time[~rows]).pvalue > 0.01
    )  # the rows are chosen without regard to their time


def test_artificial_censoring_leaves_late_entries_at_risk():
    y = make_target([5.0, 6.0, 7.0], [1, 2, 0], entry=[4.9999, 0, 3])
    censored = censor_artificially(y, 1.0)
    assert censored["event"].tolist() == [0, 0, 0]
    assert 4.9999 < censored["time"][0] < 5
    assert censored["time"][2] == 7
    assert censored["entry"].tolist() == [4.9999, 0, 3]


def test_an_event_at_time_zero_becomes_a_row_censored_at_zero():
    assert censor_artificially(make_target([0.0], [1]), 1.0).tolist() == [(0, 0.0)]


Y = target(np.array([0, 1, 1, 0]))
BAD = {
    "one fold": (
        lambda: next(EventStratifiedKFold(1).split(None, Y)),
        SettingError,
        "at least 2 .* got 1",
    ),
    "more folds than rows": (
        lambda: next(EventStratifiedKFold(5).split(None, Y)),
        SettingError,
        "rows, 4; got 5",
    ),
    "fraction of one": (
        lambda: train_validation_split(Y, fraction=1.0),
        SettingError,
        "between 0 and 1; got 1.0",
    ),
    "empty part": (
        lambda: train_validation_split(Y, fraction=0.1),
        SettingError,
        "got 0 validation rows of 4",
    ),
    "quantile": (lambda: horizons(Y, [25]), SettingError, r"got \[25\]"),
    "no such event": (lambda: horizons(Y, event=2), TargetError, "rows with event 2; got none"),
    "censoring is no event": (lambda: horizons(Y, event=0), InputError, "whole number >= 1; got 0"),
    "negative fraction": (
        lambda: censor_artificially(Y, -0.1),
        SettingError,
        "between 0 and 1; got -0.1",
    ),
    "intervals": (
        lambda: censor_artificially(make_target([1.0], [1], upper=[2.0]), 0.5),
        TargetError,
        "exact event times; got 1 interval-censored",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), BAD.values(), ids=BAD.keys())
def test_settings_that_cannot_be_used_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_default_horizons_are_rounded_quartiles_of_all_events_within_the_follow_up():
    y = make_target([1.2345, 2.3456, 3.4567, 4.5678, 5.0, 9.0], [1, 2, 1, 2, 0, 0])
    assert default_horizons(y).tolist() == [2.07, 2.9, 3.73]
    assert default_horizons(make_target([0.0, 0.0, 0.0, 5.0], [1, 1, 1, 0])).tolist() == [
        5.0
    ]  # no positive quartile
    assert default_horizons(make_target([1.0006, 1.0006, 1.0], [1, 1, 0])).tolist() == [1.0]
    assert default_horizons(make_target([9.996, 9.996], [1, 1])).tolist() == [
        9.996
    ]  # 10 is beyond the follow-up


def test_horizons_of_any_event_type():
    y = make_target([1.0, 2.0, 3.0, 4.0], [1, 2, 2, 0])
    assert horizons(y, [0.5], event=None).tolist() == [2.0]
    assert horizons(y, [0.5], event=2.0).tolist() == [2.5]


SUBJECTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12)), min_size=8, max_size=60
).filter(lambda rows: len({subject for _, subject in rows}) >= 4)


def of_subjects(rows):
    event, subject = (np.array(part) for part in zip(*rows, strict=True))
    return make_target(np.arange(1.0, len(event) + 1), event, subject=subject)


@given(SUBJECTS, st.integers(2, 4), st.integers(0, 100))
def test_folds_keep_subjects_whole_and_count_them_evenly(rows, n_splits, seed):
    y = of_subjects(rows)
    counts = []
    for train, test in EventStratifiedKFold(n_splits, seed).split(None, y):
        assert not set(y["subject"][train]) & set(y["subject"][test])
        assert sorted([*train, *test]) == list(range(len(y)))
        counts.append(len(set(y["subject"][test])))
    assert max(counts) - min(counts) <= 1


@given(SUBJECTS, st.integers(0, 100))
def test_groups_are_subjects(rows, seed):
    y = of_subjects(rows)
    plain = make_target(y["time"], y["event"])
    expected = [test.tolist() for _, test in EventStratifiedKFold(3, seed).split(None, y)]
    groups = np.array([f"patient {number}" for number in y["subject"]])
    assert [
        test.tolist() for _, test in EventStratifiedKFold(3, seed).split(None, plain, groups)
    ] == expected


@given(SUBJECTS, st.sampled_from([0.2, 0.5]), st.integers(0, 100))
def test_validation_keeps_subjects_whole_within_the_rows_given(rows, fraction, seed):
    y = of_subjects(rows)
    given_rows = np.arange(0, len(y), 2)
    for chosen in (None, given_rows):
        within = np.arange(len(y)) if chosen is None else chosen
        n_subjects = len(set(y["subject"][within]))
        if not 0 < round(fraction * n_subjects) < n_subjects:
            continue
        train, validation = train_validation_split(y, chosen, fraction, seed)
        assert not set(y["subject"][train]) & set(y["subject"][validation])
        assert len(set(y["subject"][validation])) == round(fraction * n_subjects)
        assert sorted([*train, *validation]) == within.tolist()


@given(EVENTS, st.integers(0, 100))
def test_one_row_per_subject_splits_as_without_subjects(event, seed):
    y = target(event)
    own = make_target(y["time"], event, subject=np.arange(len(event))[::-1])
    for one, other in zip(
        EventStratifiedKFold(2, seed).split(None, y),
        EventStratifiedKFold(2, seed).split(None, own),
        strict=True,
    ):
        assert one[1].tolist() == other[1].tolist()
    first, second = (
        train_validation_split(form, fraction=0.5, random_state=seed)[1] for form in (y, own)
    )
    assert first.tolist() == second.tolist()


def test_subjects_with_events_are_spread_evenly():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    often = np.isin(subject, rng.permutation(300)[:60])
    y = make_target(
        np.ones(len(subject)), np.where(often, rng.integers(0, 3, len(subject)), 0), subject=subject
    )
    shares = [
        np.bincount(y["event"][test], minlength=3)
        for _, test in EventStratifiedKFold(5).split(None, y)
    ]
    assert (np.ptp(shares, axis=0) <= [20, 8, 8]).all()
    _, validation = train_validation_split(y, fraction=0.2)
    assert (
        np.abs(np.bincount(y["event"][validation]) - np.bincount(y["event"]) / 5) <= [20, 6, 6]
    ).all()


def test_scikit_learn_hands_its_groups_to_the_splitter():
    y = target(np.array([0, 1] * 30))
    groups = np.repeat(np.arange(20), 3)
    folds = EventStratifiedKFold(4)

    class SeesWholeSubjects(CountsEvents):
        def fit(self, X, y):
            self.trained_ = set(X[:, 0])
            return self

        def score(self, X, y):
            return float(not self.trained_ & set(X[:, 0]))

    X = groups[:, None].astype(float)
    assert cross_val_score(SeesWholeSubjects(), X, y, groups=groups, cv=folds).tolist() == [1.0] * 4
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(SeesWholeSubjects(), X, y, params={"groups": groups}, cv=folds)
        search = GridSearchCV(SeesWholeSubjects(), {"strategy": ["prior"]}, cv=folds).fit(
            X, y, groups=groups
        )
    assert scores.tolist() == [1.0] * 4
    assert search.best_score_ == 1.0


def test_more_parts_than_subjects_are_refused():
    y = make_target(np.ones(6), [1, 0] * 3, subject=[1, 1, 1, 2, 2, 2])
    with pytest.raises(SettingError, match="number of subjects, 2; got 3"):
        next(EventStratifiedKFold(3).split(None, y))
    with pytest.raises(
        SettingError, match="at least one subject each; got 0 validation subjects of 2"
    ):
        train_validation_split(y, fraction=0.2)
