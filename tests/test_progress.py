"""Long work tells how far it is to whoever listens, and to nobody else."""

import numpy as np

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, make_target
from lifemix.baselines import CoxPH, GradientBoosting
from lifemix.progress import listening, report_progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 2))
Y = make_target(RNG.exponential(np.exp(X[:, 0])), RNG.integers(0, 2, 90))
NETWORK = DeepSurvivalMachines(hidden=(2,), max_epochs=1, n_members=1)


def heard(work):
    calls = []
    with listening(lambda *call: calls.append(call)):
        work()
    return calls


def test_a_search_tells_every_fleet():
    calls = heard(
        lambda: FleetSearchCV(NETWORK, {"k": [1, 2]}, cv=2, max_fleet=2, refit=False).fit(X, Y)
    )
    assert calls == [("cross-validation", 2, 4), ("cross-validation", 4, 4)]


def test_lifemix_tells_every_part():
    parts = {
        "networks": NETWORK,
        "Cox": CoxPH(),
        "trees": GradientBoosting(n_intervals=2, max_iter=2),
    }
    calls = heard(lambda: LifeMix(parts, n_folds=2).fit(X, Y))
    done = [done for _, done, _ in calls]
    assert len(calls) == 6  # the start, and both folds of the networks at once
    assert done[0] == 0
    assert done == sorted(done)
    assert all(total == done[-1] for _, _, total in calls)


def test_nobody_hears_after_the_end():
    calls = []
    with listening(lambda *call: calls.append(call)):
        report_progress("inside", 1, 2)
    report_progress("outside", 1, 2)
    assert calls == [("inside", 1, 2)]
