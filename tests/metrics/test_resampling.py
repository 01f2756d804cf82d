import numpy as np
import pytest
from scipy import stats

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import bootstrap, bootstrap_difference, concordance, concordance_td
from lifemix.target import as_target


@pytest.fixture
def sample(rng):
    risk = rng.normal(size=300)
    time, censoring = rng.exponential(np.exp(-risk)), rng.exponential(1.5, 300)
    return (np.minimum(time, censoring), (time <= censoring).astype(int)), risk


def uncensored(n):
    return np.ones(n), np.ones(n, int)


def test_limits_agree_with_those_of_scipy(rng):
    # SciPy leaves out single rows in the jackknife; we do the same up to 50 rows.
    x = rng.lognormal(size=40)
    options = {"n_resamples": 4000, "random_state": 0, "level": 0.9}
    result = bootstrap(lambda y, x: [x.mean(), x.std()], uncensored(40), x, **options)
    assert result.replicates.shape == (4000, 2)
    np.testing.assert_array_equal(result.value, [x.mean(), x.std()])
    assert result.standard_error[0] == pytest.approx(x.std() / np.sqrt(40), rel=0.05)
    for column, statistic in enumerate((np.mean, np.std)):
        theirs = stats.bootstrap(
            (x,), statistic, n_resamples=4000, confidence_level=0.9, method="BCa", rng=rng
        ).confidence_interval
        width = theirs.high - theirs.low
        assert result.lower[column] == pytest.approx(theirs.low, abs=0.04 * width)
        assert result.upper[column] == pytest.approx(theirs.high, abs=0.06 * width)


def test_rows_of_target_and_predictions_are_drawn_together(sample):
    (time, event), _ = sample

    def difference(y, x):
        target = as_target(y)
        return np.abs(target.time - x).max() + np.abs(target.entry - x / 2).max()

    y = make_target(time, event, entry=time / 2)
    result = bootstrap(difference, y, time, n_resamples=5, random_state=0)
    assert result.replicates.max() == 0


def test_a_seed_fixes_the_result_and_subjects_of_one_row_are_rows(sample):
    y, risk = sample
    by_subject = make_target(*y, subject=[f"p{i}" for i in range(300)])
    first, again, other = (
        bootstrap(concordance, target, risk, n_resamples=20, random_state=seed)
        for target, seed in ((y, 3), (by_subject, 3), (y, 4))
    )
    np.testing.assert_array_equal(first.replicates, again.replicates)
    assert (first.lower, first.upper) == (again.lower, again.upper)
    assert (first.replicates != other.replicates).any()


def test_differences_are_paired(sample, rng):
    y, risk = sample
    options = {"n_resamples": 200, "random_state": 0}
    same = bootstrap_difference(concordance, y, risk, 2 * risk, n_resamples=20)
    assert same.value == same.lower == same.upper == same.standard_error == 0
    noisy = risk + 0.3 * rng.normal(size=300)

    def metric(test, r):
        return concordance_td(y, test, r, 1.0)

    result = bootstrap_difference(metric, y, risk, noisy, **options)
    assert result.value == pytest.approx(metric(y, risk) - metric(y, noisy))
    assert result.standard_error < 0.7 * bootstrap(metric, y, risk, **options).standard_error


def test_samples_without_a_value_are_left_out_and_counted():
    y, risk = ([1.0, 2.0, 3.0], [1, 0, 0]), [3.0, 2.0, 1.0]
    with pytest.warns(LifemixWarning, match=r"no value on \d+ of 200 samples drawn"):
        result = bootstrap(concordance, y, risk, n_resamples=200, random_state=0)
    assert np.isnan(result.replicates).any()
    assert 0 < result.lower <= result.upper <= 1
    with pytest.warns(LifemixWarning, match="no value on 10 of 10"):
        empty = bootstrap(lambda y, r: np.nan, y, risk, n_resamples=10)
    assert np.isnan([empty.lower, empty.upper, empty.standard_error]).all()


def test_limits_of_a_metric_that_hardly_varies():
    y, x, options = uncensored(30), np.arange(30.0), {"n_resamples": 50, "random_state": 0}
    constant = bootstrap(lambda y, x: 3.0, y, x, **options)
    assert (constant.lower, constant.upper, constant.standard_error) == (3.0, 3.0, 0.0)
    highest = bootstrap(lambda y, x: x.max(), y, x, **options)  # never above the value
    assert highest.lower <= highest.upper <= 29
    single = bootstrap(lambda y, x: x.mean(), ([1.0], [1]), [2.0], **options)
    assert (single.lower, single.upper) == (2.0, 2.0)


def test_subjects_are_drawn_with_all_their_rows():
    subject = np.array([5, 9, 5, 7, 9, 5])
    y = make_target(np.arange(1.0, 7.0), np.ones(6, int), subject=subject)
    drawn = []

    def record(target, row):
        counts = np.bincount(row.astype(int), minlength=6)
        assert all(len(set(counts[subject == number])) == 1 for number in (5, 7, 9))
        pairs = set(zip(target.subject, subject[row.astype(int)], strict=True))
        assert len(pairs) == target.n_subjects
        drawn.append((target.n_subjects, len(target)))
        return float(len(row))

    bootstrap(record, y, np.arange(6.0), n_resamples=50, random_state=0)
    assert {count for count, _ in drawn[1:51]} == {3}  # a subject drawn twice counts twice
    assert len({rows for _, rows in drawn[1:51]}) > 3
    assert {count for count, _ in drawn[51:]} == {2}  # the jackknife leaves out each subject


def test_rows_that_repeat_a_subject_do_not_narrow_the_interval(sample):
    y, risk = sample
    subject = np.repeat(np.arange(300), 4)
    time, event = y[0][subject], y[1][subject]
    once, by_subject, by_row = (
        bootstrap(concordance, target, values, n_resamples=100, random_state=0).standard_error
        for target, values in (
            (y, risk),
            (make_target(time, event, subject=subject), risk[subject]),
            ((time, event), risk[subject]),
        )
    )
    assert by_subject == pytest.approx(once, rel=0.02)
    assert by_row < 0.6 * once


@pytest.mark.parametrize(
    ("risk", "options", "error", "message"),
    [
        (np.ones(2), {}, InputError, r"must have 3 rows, as y has; got shape \(2,\)"),
        (np.ones(3), {"n_resamples": 1}, SettingError, "n_resamples must be .* at least 2; got 1"),
        (np.ones(3), {"level": 1.0}, SettingError, "level must lie between"),
    ],
)
def test_unsuitable_arguments_are_refused(risk, options, error, message):
    with pytest.raises(error, match=message):
        bootstrap(concordance, uncensored(3), risk, **options)
