"""Long work tells how far it is to whoever listens, and to nobody else."""

import numpy as np

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, make_target
from lifemix.baselines import CoxPH, GradientBoosting, KaplanMeier
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
    # The start and all five fits: both folds of the networks count at once.
    assert calls[:6] == [("fitting the parts", done, 6) for done in (0, 2, 3, 4, 5, 6)]
    n_chosen = calls[-1][2]
    title = "fitting the chosen parts to all rows"
    assert calls[6:] == [(title, done, n_chosen) for done in range(n_chosen + 1)]


def test_lifemix_shows_a_bar_only_on_request(capsys):
    parts = {"Cox": CoxPH(), "curve": KaplanMeier()}
    model = LifeMix(parts, n_folds=2).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    watched = LifeMix(parts, n_folds=2, verbose=True).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "fitting the chosen parts to all rows" in shown.err
    assert "100%" in shown.err
    np.testing.assert_array_equal(watched.predict(X), model.predict(X))


def test_nobody_hears_after_the_end():
    calls = []
    with listening(lambda *call: calls.append(call)):
        report_progress("inside", 1, 2)
    report_progress("outside", 1, 2)
    assert calls == [("inside", 1, 2)]
