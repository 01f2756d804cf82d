"""Pictures of how good a model is show the metrics' own numbers."""

import numpy as np
import pytest

from lifemix import make_target, metrics, plots
from lifemix.errors import InputError

RNG = np.random.default_rng(1)
N = 300
RATE = RNG.uniform(0.05, 0.5, N)
EVENT_TIME, CENSORED_AT = RNG.exponential(1 / RATE), RNG.uniform(0, 15, N)
TIME = np.minimum(EVENT_TIME, CENSORED_AT)
Y = make_target(TIME, EVENT_TIME <= CENSORED_AT)
TRAIN, TEST = np.arange(N) < 150, np.arange(N) >= 150
GRID = np.linspace(0.5, 10, 12)
SURVIVAL = np.exp(-np.outer(RATE, GRID))[TEST]
TWO_KINDS = make_target(TIME, np.where(EVENT_TIME <= CENSORED_AT, RNG.integers(1, 3, N), 0))


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def test_calibration_shows_the_groups_and_their_limits():
    risk = 1 - SURVIVAL[:, 5]
    curve = metrics.calibration_curve(Y[TEST], risk, GRID[5], bins=5)
    axes = plots.calibration(Y[TEST], risk, GRID[5], bins=5, time_unit="years")
    diagonal, points = axes.lines
    np.testing.assert_array_equal(points.get_xdata(), curve.predicted)
    np.testing.assert_array_equal(points.get_ydata(), curve.observed)
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    bars = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
    np.testing.assert_array_equal(bars, np.stack([curve.lower, curve.upper], axis=1))
    ticks = [segment[0, 0] for segment in axes.collections[1].get_segments()]
    np.testing.assert_allclose(ticks, np.sort(risk))
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_ylabel() == f"observed risk by {GRID[5]:g} years"


def test_calibration_compares_models_and_zooms_to_small_risks():
    risk = np.linspace(0.01, 0.04, 150)
    early = make_target(TIME[TEST] + 1, Y["event"][TEST])
    early["event"][early["time"] < 1.02] = 0
    with_names = plots.calibration(early, {"one": risk, "two": risk / 2}, 1.1, bins=3)
    assert {"one", "two"} <= set(lines(with_names))
    assert with_names.get_xlim()[1] < 0.5
    with pytest.raises(InputError, match="at least one model; got none"):
        plots.calibration(Y[TEST], {}, 1.0)


def test_brier_scores_and_the_reference_without_covariates():
    axes = plots.brier_over_time(Y[TRAIN], Y[TEST], {"true": SURVIVAL}, GRID)
    drawn = lines(axes)
    np.testing.assert_allclose(
        drawn["true"].get_ydata(),
        metrics.brier_score(Y[TRAIN], Y[TEST], SURVIVAL, GRID),
        rtol=1e-12,
    )
    km = metrics.kaplan_meier(Y[TRAIN]).at(GRID)
    expected = metrics.brier_score(Y[TRAIN], Y[TEST], np.tile(km, (150, 1)), GRID)
    np.testing.assert_allclose(drawn["no covariates"].get_ydata(), expected, rtol=1e-12)
    assert (drawn["true"].get_ydata() < drawn["no covariates"].get_ydata()).mean() > 0.7
    assert axes.get_ylim()[0] == 0
    assert set(
        lines(plots.brier_over_time(Y[TRAIN], Y[TEST], SURVIVAL, GRID, reference=False))
    ) == {"model"}


def test_brier_score_of_one_of_two_events():
    incidence = (1 - SURVIVAL) / 2
    drawn = lines(
        plots.brier_over_time(TWO_KINDS[TRAIN], TWO_KINDS[TEST], 1 - incidence, GRID, event=2)
    )
    expected = metrics.brier_score(TWO_KINDS[TRAIN], TWO_KINDS[TEST], 1 - incidence, GRID, 2)
    np.testing.assert_allclose(drawn["model"].get_ydata(), expected)
    everyone = np.tile(1 - metrics.aalen_johansen(TWO_KINDS[TRAIN], 2).at(GRID), (150, 1))
    reference = metrics.brier_score(TWO_KINDS[TRAIN], TWO_KINDS[TEST], everyone, GRID, 2)
    np.testing.assert_allclose(drawn["no covariates"].get_ydata(), reference)


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
def test_beyond_the_follow_up_there_is_a_gap():
    late = np.append(GRID, 100.0)
    survival = np.hstack([SURVIVAL, np.zeros((150, 1))])
    drawn = lines(plots.brier_over_time(Y[TRAIN], Y[TEST], survival, late))
    assert np.isnan(drawn["model"].get_ydata()[-1])
    reference = drawn["no covariates"].get_ydata()
    assert np.isnan(reference[-1])
    assert np.isfinite(reference[:-1]).all()


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
def test_times_that_are_all_beyond_the_follow_up_draw_nothing():
    drawn = lines(plots.brier_over_time(Y[TRAIN], Y[TEST], np.zeros((150, 2)), [100.0, 200.0]))
    assert np.isnan(drawn["model"].get_ydata()).all()
    assert np.isnan(drawn["no covariates"].get_ydata()).all()


def test_concordance_at_each_time():
    drawn = lines(
        plots.concordance_over_time(
            Y[TRAIN], Y[TEST], {"true": 1 - SURVIVAL, "score": RATE[TEST][:, None]}, GRID
        )
    )
    expected = [
        metrics.concordance_td(Y[TRAIN], Y[TEST], 1 - SURVIVAL[:, i], t) for i, t in enumerate(GRID)
    ]
    np.testing.assert_allclose(drawn["true"].get_ydata(), expected)
    np.testing.assert_allclose(
        drawn["score"].get_ydata(), expected
    )  # the same order of risks at all times
    assert set(drawn["by chance"].get_ydata()) == {0.5}


def test_bars_of_d_calibration_are_the_counts_and_add_up_to_one():
    own = np.exp(-RATE * TIME)
    result = metrics.d_calibration(Y, own, bins=5)
    axes = plots.d_calibration(Y, own, bins=5)
    heights = [
        bar.get_height()
        for bar in axes.patches
        if hasattr(bar, "get_height") and bar.get_width() < 1
    ]
    np.testing.assert_allclose(heights, result.counts / N)
    assert sum(heights) == pytest.approx(1)
    assert f"chi-squared {result.statistic:.1f} on 4" in axes.get_title(loc="left")


HISTORY = [
    {"member": m, "epoch": e, "train_loss": 2 / e + m, "validation_loss": 3 / e + m}
    for m in (0, 1)
    for e in (1, 2, 3)
]


def test_history_has_two_lines_a_member_and_marks_the_kept_epochs():
    axes = plots.training_history(HISTORY, [3, 2])
    train0, train1, held0, held1, best = axes.lines
    np.testing.assert_allclose(train1.get_ydata(), [3, 2, 5 / 3])
    np.testing.assert_allclose(held0.get_ydata(), [3, 1.5, 1])
    np.testing.assert_allclose(held1.get_ydata(), [4, 2.5, 2])
    np.testing.assert_allclose(np.stack(best.get_data()), [[3, 2], [1, 2.5]])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["training rows", "held-out rows", "kept epoch"]
    assert train0.get_color() != held0.get_color()


def test_history_without_held_out_rows():
    axes = plots.training_history(
        [record | {"validation_loss": np.nan} for record in HISTORY[:3]], 2
    )
    line, best = axes.lines
    np.testing.assert_allclose(line.get_ydata(), [2, 1, 2 / 3])
    np.testing.assert_allclose(best.get_ydata(), [1])
    with pytest.raises(InputError, match=r"model.history_.*'epoch', 'train_loss'"):
        plots.training_history([{"loss": 1}])
    with pytest.raises(InputError, match="one epoch per member, 2 in all; got 1"):
        plots.training_history(HISTORY, 1)
