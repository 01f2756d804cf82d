import numpy as np
import pytest

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import bootstrap, bootstrap_difference, brier_score, concordance, concordance_td
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
    one, same, other = (bootstrap(concordance, y, risk, n_resamples=20, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.replicates, same.replicates)
    assert (one.replicates != other.replicates).any()


def test_metrics_with_many_values(sample):
    y, risk = sample
    horizons = np.array([0.2, 0.5])
    survival = np.exp(-np.exp(risk)[:, None] * horizons)
    result = bootstrap(lambda drawn, s: brier_score(y, drawn, s, horizons), y, survival, n_resamples=50, random_state=0)
    assert result.value.shape == result.lower.shape == result.upper.shape == result.standard_error.shape == (2,)
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
    assert result.standard_error < 0.7 * bootstrap(metric, y, risk, n_resamples=200, random_state=0).standard_error


def test_samples_without_a_value_are_left_out_and_counted():
    y = ([1.0, 2.0, 3.0], [1, 0, 0])
    with pytest.warns(LifemixWarning, match=r"no value on \d+ of 200 samples drawn; the interval is from the others"):
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
    with pytest.raises(SettingError, match="n_resamples must be a whole number of at least 2; got 1"):
        bootstrap(concordance, y, risk, n_resamples=1)
    with pytest.raises(SettingError, match="level must lie between"):
        bootstrap(concordance, y, risk, level=1.0)
