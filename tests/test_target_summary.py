"""The counts of a training target: no subject can be read from them, and estimates from them are close."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lifemix import DeepSurvivalMachines, load, make_target, metrics, save
from lifemix.baselines import CoxPH
from lifemix.datasets import load_metabric
from lifemix.splits import default_horizons, horizons
from lifemix.target import as_target
from lifemix.target_summary import MIN_ROWS, Cells, TargetSummary


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
    assume(not np.isin(time, [0, 1]).all())  # make_target takes such times for events
    event = rng.integers(0, causes + 1, n)
    event[rng.integers(n)] = 1
    event = np.unique(event, return_inverse=True)[1] + (event > 0).all()  # codes without gaps
    entry = np.where(
        rng.random(n) < draw(st.sampled_from([0.0, 0.4])), time * rng.random(n) * 0.9, 0.0
    )
    wide = (rng.random(n) < draw(st.sampled_from([0.0, 0.3]))) & (event > 0)
    upper = np.where(wide, time + rng.exponential(5.0, n) + 0.01, np.nan)
    return as_target(make_target(time, event, entry=entry, upper=upper))


@given(target=_targets())
def test_counts_and_ends_are_exact_and_every_cell_has_ten_rows(target):
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
        assert len(cells.start) <= 1 or cells.counts.sum(axis=1).min() >= MIN_ROWS
    assert summary.matches(target)


@given(target=_targets())
def test_the_edges_of_cells_are_not_the_times_of_few_rows(target):
    exact = target.time[~target.interval]
    cells = TargetSummary.of(target).times
    times, count = np.unique(exact, return_counts=True)
    shared = times[count >= MIN_ROWS]
    inner = np.concatenate([cells.start[1:], cells.end[:-1]])
    assert set(inner.tolist()) & set(times.tolist()) <= set(shared.tolist())


@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("causes", [1, 3])
@pytest.mark.parametrize("weeks", [False, True])
def test_metrics_are_close_to_those_from_the_rows(n, causes, weeks):
    train, test = simulated(n, causes, 1, weeks), simulated(n, causes, 2, weeks)
    rows = TargetSummary.of(train).to_target()
    rng = np.random.default_rng(3)
    risk = -test.time + rng.normal(size=n) * test.time.std()
    for event in range(1, causes + 1):
        at = horizons(train, event=event)
        survival = rng.uniform(0.05, 0.95, (n, 3))
        for measure in (
            lambda y, at=at, event=event: np.mean(
                [metrics.concordance_td(y, test, risk, t, event) for t in at]
            ),
            lambda y, at=at, event=event, s=survival: metrics.brier_score(y, test, s, at, event),
            lambda y, at=at, event=event: metrics.auc_td(y, test, risk, at, event),
        ):
            np.testing.assert_allclose(
                measure(rows), measure(train), atol=2e-3 if n < 1000 else 5e-4
            )


def test_times_that_ten_rows_share_are_exact():
    target = simulated(20_000, weeks=True)
    summary = TargetSummary.of(target)
    rows = summary.to_target()
    order = np.lexsort((target.event, target.time))
    again = np.lexsort((rows.event, rows.time))
    assert np.array_equal(rows.time[again], target.time[order])
    assert np.array_equal(rows.event[again], target.event[order])


def test_the_number_of_cells_is_bounded():
    for n, causes in ((300_000, 1), (100_000, 50)):
        cells = TargetSummary.of(simulated(n, causes)).times
        assert cells.counts.size + 2 * len(cells.start) <= 1.6 * 2**13


def test_a_target_of_other_rows_does_not_match():
    target = simulated(400, 2)
    summary = TargetSummary.of(target)
    assert not summary.matches(simulated(400, 2, seed=5))
    assert not summary.matches(target.take(slice(0, 399)))


def test_there_may_be_no_cells():
    cells = Cells.of(np.empty(0), np.empty(0, dtype=np.int64), 2)
    assert cells.counts.shape == (0, 2)
    assert cells.spread(1).shape == (0,)


def test_a_file_holds_no_row_and_the_loaded_model_has_nearly_the_same_score(tmp_path):
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
    kept = np.concatenate(
        [again.training_summary_.times.start[1:], again.training_summary_.times.end[:-1]]
    )
    assert not own & {f"{time:.9g}" for time in kept.tolist()}
    assert len(again.event_times_) <= len(model.event_times_) / 5


def test_the_size_of_a_file_does_not_depend_on_the_number_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    sizes = []
    for n in (25_000, 100_000):
        target = simulated(n)
        model = DeepSurvivalMachines(hidden=(), k=1, max_epochs=0).fit(
            rng.normal(size=(n, 1)), target
        )
        save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert max(sizes) < 400_000
    assert sizes[1] < 1.3 * sizes[0]


def test_a_model_whose_curves_have_a_step_at_each_event_time_keeps_the_event_times(tmp_path):
    data = load_metabric()
    model = CoxPH().fit(data.X, data.y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.event_times_, model.event_times_)
    again.fit(data.X[:500], data.y[:500])
    assert again.event_times_[-1] == data.y[:500]["time"][data.y[:500]["event"] > 0].max()
    assert len(again.training_target_) == 500


FORGED = {
    "a negative count": lambda s: replace(s.times, counts=-s.times.counts),
    "counts that are no whole numbers": lambda s: replace(
        s.times, counts=s.times.counts.astype(float)
    ),
    "a missing cell": lambda s: replace(s.times, start=s.times.start[:-1]),
    "a time that is not finite": lambda s: replace(s.times, end=s.times.end * np.inf),
    "cells in the wrong order": lambda s: replace(
        s.times, start=s.times.start[::-1], end=s.times.end[::-1]
    ),
    "no last time": lambda s: replace(s.times, last=s.times.last * np.nan),
    "other event types": lambda s: replace(s, lower=s.entry),
    "no quartiles": lambda s: replace(s, quartiles=s.quartiles[1:]),
    "more entries than rows": lambda s: replace(
        s, entry=Cells.of(np.ones(401), np.zeros(401, dtype=np.int64), 1)
    ),
    "event times that descend": lambda s: replace(s, event_times=s.grid[::-1]),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_a_summary_that_no_target_has_is_refused(forge):
    with pytest.raises((ValueError, TypeError)):
        forge(TargetSummary.of(simulated(400, 2)))
