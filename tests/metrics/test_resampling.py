import numpy as np
import pytest
from scipy import stats

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import (
    bootstrap,
    bootstrap_difference,
    brier_score,
    concordance,
    concordance_td,
)
from lifemix.target import as_target


@pytest.fixture
def sample(rng):
    risk = rng.normal(size=300)
    time, censoring = rng.exponential(np.exp(-risk)), rng.exponential(1.5, 300)
    return (np.minimum(time, censoring), (time <= censoring).astype(int)), risk


def test_interval_of_a_mean_is_the_textbook_one(rng):
    values = rng.normal(3.0, 2.0, 400)
    y = (np.ones(400), np.ones(400, int))
    result = bootstrap(lambda y, x: x.mean(), y, values, n_resamples=2000, random_state=1)
    assert result.value == values.mean()
    error = values.std() / 20
    assert result.standard_error == pytest.approx(error, rel=0.08)
    assert result.lower == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert result.upper == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)
    assert result.replicates.shape == (2000,)


def test_intervals_cover_the_true_concordance(rng):
    # Exponential times with rate exp(2 x), x standard normal: P(concordant) by a very large sample.
    x = rng.normal(size=200_000)
    truth = concordance((rng.exponential(np.exp(-2 * x)), np.ones(200_000, int)), x)
    hits = 0
    for seed in range(40):
        x = rng.normal(size=80)
        y = (rng.exponential(np.exp(-2 * x)), np.ones(80, int))
        result = bootstrap(concordance, y, x, n_resamples=100, level=0.9, random_state=seed)
        hits += result.lower <= truth <= result.upper
    assert 28 <= hits <= 40


def test_rows_of_target_and_predictions_are_drawn_together(sample):
    y, _ = sample
    target = make_target(*y, entry=y[0] / 2)

    def difference(drawn, time):
        drawn = as_target(drawn)
        return np.abs(drawn.time - time).max() + np.abs(drawn.entry - time / 2).max()

    assert bootstrap(difference, target, y[0], n_resamples=5, random_state=0).replicates.max() == 0


def test_a_seed_fixes_the_result(sample):
    y, risk = sample
    one, same, other = (
        bootstrap(concordance, y, risk, n_resamples=20, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.replicates, same.replicates)
    assert (one.replicates != other.replicates).any()


def test_metrics_with_many_values(sample):
    y, risk = sample
    horizons = np.array([0.2, 0.5])
    survival = np.exp(-np.exp(risk)[:, None] * horizons)
    result = bootstrap(
        lambda drawn, s: brier_score(y, drawn, s, horizons),
        y,
        survival,
        n_resamples=50,
        random_state=0,
    )
    assert (
        result.value.shape
        == result.lower.shape
        == result.upper.shape
        == result.standard_error.shape
        == (2,)
    )
    assert (result.lower < result.value).all()
    assert (result.value < result.upper).all()


def test_the_difference_of_a_model_and_itself_is_zero(sample):
    y, risk = sample
    result = bootstrap_difference(concordance, y, risk, 2 * risk, n_resamples=20, random_state=0)
    assert result.value == result.lower == result.upper == result.standard_error == 0


def test_the_difference_is_surer_than_its_parts(sample, rng):
    y, risk = sample
    noisy = risk + 0.3 * rng.normal(size=300)

    def metric(drawn, r):
        return concordance_td(y, drawn, r, 1.0)

    result = bootstrap_difference(metric, y, risk, noisy, n_resamples=200, random_state=0)
    assert result.value == pytest.approx(metric(y, risk) - metric(y, noisy))
    assert (
        result.standard_error
        < 0.7 * bootstrap(metric, y, risk, n_resamples=200, random_state=0).standard_error
    )


def test_samples_without_a_value_are_left_out_and_counted():
    y = ([1.0, 2.0, 3.0], [1, 0, 0])
    with pytest.warns(
        LifemixWarning,
        match=r"no value on \d+ of 200 samples drawn; the interval is from the others",
    ):
        result = bootstrap(concordance, y, [3.0, 2.0, 1.0], n_resamples=200, random_state=0)
    assert np.isnan(result.replicates).any()
    assert 0 < result.lower <= result.upper <= 1
    with pytest.warns(LifemixWarning, match="no value on 10 of 10"):
        empty = bootstrap(lambda y, r: np.nan, y, [3.0, 2.0, 1.0], n_resamples=10, random_state=0)
    assert np.isnan([empty.lower, empty.upper, empty.standard_error]).all()


def test_bad_arguments_are_refused(sample):
    y, risk = sample
    with pytest.raises(InputError, match=r"must have 300 rows, as y has; got shape \(299,\)"):
        bootstrap(concordance, y, risk[1:])
    with pytest.raises(
        SettingError, match="n_resamples must be a whole number of at least 2; got 1"
    ):
        bootstrap(concordance, y, risk, n_resamples=1)
    with pytest.raises(SettingError, match="level must lie between"):
        bootstrap(concordance, y, risk, level=1.0)


def test_subjects_are_drawn_with_all_their_rows():
    subject = np.array([5, 9, 5, 7, 9, 5])
    y = make_target(np.arange(1.0, 7.0), np.ones(6, int), subject=subject)
    drawn = []

    def record(target, row):
        counts = np.bincount(row.astype(int), minlength=6)
        for one in (5, 7, 9):
            assert len(set(counts[subject == one])) == 1
        assert (
            len(set(zip(target.subject, subject[row.astype(int)], strict=True)))
            == target.n_subjects
        )
        drawn.append((target.n_subjects, len(target)))
        return float(len(row))

    bootstrap(record, y, np.arange(6.0), n_resamples=50, random_state=0)
    assert {count for count, _ in drawn[1:51]} == {3}  # a subject that was drawn twice counts twice
    assert len({rows for _, rows in drawn[1:51]}) > 3
    assert {count for count, _ in drawn[51:]} == {2}  # the jackknife leaves out one after the other


def test_one_row_per_subject_gives_the_interval_of_rows(sample):
    y, risk = sample
    own = make_target(*y, subject=[f"p{i}" for i in range(300)])
    one, other = (
        bootstrap(concordance, form, risk, n_resamples=20, random_state=0) for form in (y, own)
    )
    np.testing.assert_array_equal(one.replicates, other.replicates)
    assert (one.lower, one.upper) == (other.lower, other.upper)


def test_rows_that_repeat_a_subject_do_not_narrow_the_interval(sample):
    y, risk = sample
    once = bootstrap(concordance, y, risk, n_resamples=200, random_state=0)
    copies = make_target(*(np.repeat(part, 4) for part in y), subject=np.repeat(np.arange(300), 4))
    by_subject = bootstrap(concordance, copies, np.repeat(risk, 4), n_resamples=200, random_state=0)
    by_row = bootstrap(
        concordance,
        (copies["time"], copies["event"]),
        np.repeat(risk, 4),
        n_resamples=200,
        random_state=0,
    )
    assert by_subject.standard_error == pytest.approx(once.standard_error, rel=0.02)
    assert by_row.standard_error < 0.6 * once.standard_error


def test_limits_agree_with_those_of_scipy(rng):
    # SciPy leaves out single rows in the jackknife, and so do we up to 50 rows.
    x = rng.lognormal(size=40)
    y = (np.ones(40), np.ones(40, int))
    ours = bootstrap(
        lambda y, x: [x.mean(), x.std()], y, x, n_resamples=4000, level=0.9, random_state=0
    )
    for place, statistic in enumerate((np.mean, np.std)):
        theirs = stats.bootstrap(
            (x,),
            statistic,
            n_resamples=4000,
            confidence_level=0.9,
            method="BCa",
            rng=np.random.default_rng(1),
        ).confidence_interval
        width = theirs.high - theirs.low
        assert ours.lower[place] == pytest.approx(theirs.low, abs=0.04 * width)
        assert ours.upper[place] == pytest.approx(theirs.high, abs=0.06 * width)


def test_limits_of_a_metric_that_hardly_varies():
    y, x = (np.ones(30), np.ones(30, int)), np.arange(30.0)
    constant = bootstrap(lambda y, x: 3.0, y, x, n_resamples=10, random_state=0)
    assert (constant.lower, constant.upper, constant.standard_error) == (3.0, 3.0, 0.0)
    highest = bootstrap(
        lambda y, x: x.max(), y, x, n_resamples=50, random_state=0
    )  # no resample is above the value
    assert highest.lower <= highest.upper <= 29
    single = bootstrap(lambda y, x: x.mean(), ([1.0], [1]), [2.0], n_resamples=5, random_state=0)
    assert (single.lower, single.upper) == (2.0, 2.0)


def test_limits_hold_a_skewed_metric_more_often_than_percentiles(rng):
    y, hits = (np.ones(30), np.ones(30, int)), np.zeros(2)
    for seed in range(150):
        found = bootstrap(
            lambda y, x: x.var(), y, rng.normal(size=30), n_resamples=80, random_state=seed
        )
        lower, upper = np.quantile(found.replicates, [0.025, 0.975])
        hits += [lower <= 1 <= upper, found.lower <= 1 <= found.upper]
    percentile, accelerated = hits / 150
    assert accelerated > percentile + 0.02
    assert accelerated > 0.83
