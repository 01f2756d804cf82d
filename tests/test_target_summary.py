"""What a model file keeps of the training target: counts in cells of time, from which curves are nearly the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, LifeMix, baselines, load, make_target, metrics, save
from lifemix.baselines import CoxPH
from lifemix.datasets import load_metabric
from lifemix.splits import default_horizons, horizons
from lifemix.target import as_target
from lifemix.target_summary import LEAST, Cells, TargetSummary


def simulated(n, causes=1, seed=0, weeks=False):
    rng = np.random.default_rng(seed)
    happens, leaves = rng.weibull(1.3, n), rng.exponential(1.5, n)
    if weeks:
        happens, leaves = np.ceil(52 * happens), np.minimum(np.ceil(52 * leaves), 100)
    event = np.where(happens <= leaves, rng.integers(1, causes + 1, n), 0)
    event[:causes] = np.arange(1, causes + 1)
    return as_target(make_target(np.minimum(happens, leaves), event))


@st.composite
def _targets(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, causes = draw(st.integers(1, 200)), draw(st.integers(1, 3))
    time = np.round(rng.exponential(10.0, n) + 0.1, draw(st.integers(0, 3)))
    event = rng.integers(0, causes + 1, n)
    event[rng.integers(n)] = 1
    event = np.unique(event, return_inverse=True)[1] + (event > 0).all()  # codes without gaps
    entry = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.4])), time * rng.random(n) * 0.9, 0.0)
    wide = (rng.random(n) < draw(st.sampled_from([0.0, 0.3]))) & (event > 0)
    upper = np.where(wide, time + rng.exponential(5.0, n) + 0.01, np.nan)
    return as_target(make_target(time, event, entry=entry, upper=upper))


@settings(max_examples=150, deadline=None)
@given(target=_targets())
def test_counts_and_ends_are_kept_and_no_cell_tells_of_few(target):
    summary = TargetSummary.of(target)
    rows = summary.to_target()
    assert len(rows) == len(target)
    assert np.array_equal(np.bincount(rows.event), np.bincount(target.event))
    assert rows.interval.sum() == target.interval.sum()
    assert rows.truncated.sum() == target.truncated.sum()
    assert np.fmax(rows.time, rows.upper).max() == np.fmax(target.time, target.upper).max()
    assert summary.last_event_time == summary.grid[-1] == target.event_times[-1]
    assert (np.diff(summary.grid) > 0).all()
    assert ((rows.entry <= rows.time) & ~(rows.upper <= rows.time)).all()
    for event in (None, *range(1, target.n_events + 1)):
        assert np.array_equal(horizons(rows, event=event), horizons(target, event=event))
    assert np.array_equal(default_horizons(rows), default_horizons(target))
    for cells in (summary.times, summary.lower, summary.upper, summary.entry):
        assert len(cells) < LEAST or cells.counts.sum(axis=1).min() >= LEAST
        assert len(cells.left) <= 1 or len(cells) >= LEAST
    assert summary.matches(target)


@settings(max_examples=60, deadline=None)
@given(target=_targets())
def test_the_edges_of_cells_are_times_of_nobody_or_of_many(target):
    exact = target.time[~target.interval]
    cells = TargetSummary.of(target).times
    times, count = np.unique(exact, return_counts=True)
    shared = times[count >= LEAST]
    inner = np.concatenate([cells.left[1:], cells.right[:-1]])
    assert set(inner.tolist()) & set(times.tolist()) <= set(shared.tolist())


@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("causes", [1, 3])
@pytest.mark.parametrize("weeks", [False, True])
def test_measures_come_out_as_from_the_rows(n, causes, weeks):
    train, test = simulated(n, causes, 1, weeks), simulated(n, causes, 2, weeks)
    rows = TargetSummary.of(train).to_target()
    rng = np.random.default_rng(3)
    risk = -test.time + rng.normal(size=n) * test.time.std()
    for event in range(1, causes + 1):
        at = horizons(train, event=event)
        survival = rng.uniform(0.05, 0.95, (n, 3))
        for measure in (
            lambda y, at=at, event=event: np.mean([metrics.concordance_td(y, test, risk, t, event) for t in at]),
            lambda y, at=at, event=event, s=survival: metrics.brier_score(y, test, s, at, event),
            lambda y, at=at, event=event: metrics.auc_td(y, test, risk, at, event),
        ):
            np.testing.assert_allclose(measure(rows), measure(train), atol=2e-3 if n < 1000 else 5e-4)


def test_times_that_many_share_are_exact():
    target = simulated(20_000, weeks=True)
    summary = TargetSummary.of(target)
    rows = summary.to_target()
    order = np.lexsort((target.event, target.time))
    again = np.lexsort((rows.event, rows.time))
    assert np.array_equal(rows.time[again], target.time[order])
    assert np.array_equal(rows.event[again], target.event[order])


def test_the_size_has_a_bound_whatever_the_number_of_rows_and_causes():
    for n, causes in ((300_000, 1), (100_000, 50)):
        cells = TargetSummary.of(simulated(n, causes)).times
        assert cells.counts.size + 2 * len(cells.left) <= 1.6 * 2**13


def test_a_target_of_other_rows_does_not_match():
    target = simulated(400, 2)
    summary = TargetSummary.of(target)
    assert not summary.matches(simulated(400, 2, seed=5))
    assert not summary.matches(target.take(slice(0, 399)))


def test_cells_of_nothing():
    cells = Cells.of(np.empty(0), np.empty(0, dtype=np.int64), 2)
    assert len(cells) == 0
    assert cells.spread()[0].shape == (0,)


def test_a_file_holds_no_row_and_the_loaded_model_scores_alike(tmp_path):
    data = load_metabric()
    X, y = data.X[:1000], data.y[:1000]
    model = DeepSurvivalMachines(hidden=(4,), k=2, max_epochs=2).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(data.X[1000:]), model.predict(data.X[1000:]))
    assert again.score(data.X[1000:], data.y[1000:]) == pytest.approx(
        model.score(data.X[1000:], data.y[1000:]), abs=1e-3
    )
    assert again.last_event_time_ == again.event_times_[-1] == model.event_times_[-1]
    own = {f"{time:.9g}" for time in y["time"].tolist()}
    kept = np.concatenate([again.training_summary_.times.left[1:], again.training_summary_.times.right[:-1]])
    assert not own & {f"{time:.9g}" for time in kept.tolist()}
    assert len(again.event_times_) <= len(model.event_times_) / 5


def test_the_file_does_not_grow_with_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    sizes = []
    for n in (100_000, 400_000):
        target = simulated(n)
        model = DeepSurvivalMachines(hidden=(), k=1, max_epochs=0).fit(rng.normal(size=(n, 1)), target)
        save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert max(sizes) < 400_000
    assert sizes[1] < 1.1 * sizes[0]


@pytest.mark.parametrize("spread", ["even", "gap", "late entry", "ties"])
def test_curves_at_the_times_that_are_kept_are_close_everywhere(spread):
    rng = np.random.default_rng(2)
    n, entry = 20_000, None
    time = rng.weibull(0.7, n)
    if spread == "gap":
        time = np.where(time > 0.5, time + 20.0, time)
    if spread == "late entry":
        entry = np.where(rng.random(n) < 0.7, 0.8 * time * rng.random(n), 0.0)
    if spread == "ties":
        time = np.ceil(time * 3000) / 3000
    target = as_target(make_target(time, rng.random(n) < 0.7, entry=entry))
    times = target.event_times
    summary = TargetSummary.of(target, 2**12)
    assert len(summary.event_times) <= 2**12 < len(times) == summary.merged.sum()
    assert summary.steps[0] == times[0]
    assert summary.steps[-1] == times[-1]
    assert (np.diff(summary.steps) > 0).all()
    at_risk = (np.searchsorted(np.sort(target.entry), times) - np.searchsorted(np.sort(target.time), times)).clip(1)
    hazard = np.cumsum(np.bincount(np.searchsorted(times, target.time[target.event > 0])) / at_risk)
    again = summary.between(hazard[np.searchsorted(times, summary.event_times)], 0.0)
    at = np.concatenate([times, np.nextafter(times, 0), times[:-1] / 2 + times[1:] / 2])
    for ratio in (0.05, 1.0, 20.0):
        one, other = (
            np.exp(-ratio * np.append(0.0, values)[np.searchsorted(steps, at, side="right")])
            for steps, values in ((times, hazard), (summary.steps, again))
        )
        np.testing.assert_allclose(other, one, atol=1e-3)


def test_curves_that_end_in_infinity_and_event_times_by_the_thousand():
    target = simulated(5_000)
    summary = TargetSummary.of(target, 100)
    values = np.append(np.linspace(0.1, 3, len(summary.event_times) - 1), np.inf)
    found = summary.between(values, 0.0)
    assert len(found) == len(summary.steps) == len(target.event_times)
    assert not np.isnan(found).any()
    assert found[-1] == np.inf
    assert TargetSummary.of(target, 10**4).merged is None
    assert summary.bounded(100) is summary
    assert TargetSummary.of(simulated(200_000), 100).merged.max() == 512


CURVES = {
    "KaplanMeier": (baselines.KaplanMeier(), 1),
    "AalenJohansen": (baselines.AalenJohansen(), 2),
    "CoxPH": (baselines.CoxPH(), 1),
    "CauseSpecific": (baselines.CauseSpecific(baselines.CoxPH(), rule="product_limit"), 2),
    "FineGray": (baselines.FineGray(), 2),
    "GradientBoosting": (baselines.GradientBoosting(n_intervals=4, max_iter=10), 2),
    "MartingaleForest": (baselines.MartingaleForest(n_trees=2, min_samples_leaf=2000), 2),
    "DeepSurv": (baselines.DeepSurv(hidden=(4,), max_epochs=1, batch_size=2000), 1),
    "DeepHit": (baselines.DeepHit(shared_nodes=4, cause_nodes=4, n_times=5, max_epochs=1, batch_size=2000), 2),
    "RandomSurvivalForest": (baselines.RandomSurvivalForest(2, max_depth=2, split_times=5), 1),
    "ModelAverage": (baselines.ModelAverage([baselines.AalenJohansen(), baselines.AalenJohansen()]), 2),
    "LifeMix": (LifeMix({"Cox": baselines.CoxPH(penalty=1.0), "marginal": baselines.KaplanMeier()}, n_folds=2), 1),
}


@pytest.mark.parametrize("name", CURVES)
def test_the_file_of_a_baseline_is_small_and_predicts_the_same(name, tmp_path):
    model, causes = CURVES[name]
    n = 15_000
    X = np.random.default_rng(0).normal(size=(n, 2))
    rows = simulated(n, causes)
    y = make_target(rows.time * np.exp(0.8 * X[:, 0]), rows.event)
    model = clone(model).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    assert size < (600_000 if name == "RandomSurvivalForest" else 450_000)
    at = np.unique(np.quantile(y["time"], np.linspace(0, 1, 300)))
    predicted = [one.predict_cumulative_incidences(X[:100], at) for one in (again, model)]
    np.testing.assert_allclose(*predicted, atol=1e-3)
    predicted = [one.predict_survival_function(X[:100], at) for one in (again, model)]
    np.testing.assert_allclose(*predicted, atol=1e-3)
    np.testing.assert_allclose(again.predict(X[:50]), model.predict(X[:50]), rtol=1e-3, atol=1e-3)  # 0 is a risk too
    assert again.score(X[:200], y[:200]) == pytest.approx(model.score(X[:200], y[:200]), abs=1e-3)
    assert again.event_times_[-1] == model.event_times_[-1] == again.last_event_time_
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_model_whose_curves_jump_at_event_times_keeps_them(tmp_path):
    data = load_metabric()
    model = CoxPH().fit(data.X, data.y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.event_times_, model.event_times_)
    assert np.array_equal(
        again.predict_survival_function(data.X, [50.0, 90.0]), model.predict_survival_function(data.X, [50.0, 90.0])
    )
    again.fit(data.X[:500], data.y[:500])
    assert again.event_times_[-1] == data.y[:500]["time"][data.y[:500]["event"] > 0].max()
    assert len(again.training_target_) == 500
