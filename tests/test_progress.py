"""Long work reports its progress to a listener, and only while there is one."""

import numpy as np

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, make_target
from lifemix.baselines import CoxPH, GradientBoosting, KaplanMeier
from lifemix.progress import listening, report_progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 2))
Y = make_target(RNG.exponential(np.exp(X[:, 0])), RNG.integers(0, 2, 90))
NETWORK = DeepSurvivalMachines(hidden=(2,), max_epochs=1, n_members=1)


def calls_of(work):
    calls = []
    with listening(lambda *call: calls.append(call)):
        work()
    report_progress("after the end", 1, 2)
    return calls


def test_a_search_reports_every_fleet():
    search = FleetSearchCV(NETWORK, {"k": [1, 2]}, cv=2, max_fleet=2, refit=False)
    calls = calls_of(lambda: search.fit(X, Y))
    assert calls == [("cross-validation", 2, 4), ("cross-validation", 4, 4)]


def test_lifemix_reports_every_part():
    trees = GradientBoosting(n_intervals=2, max_iter=2)
    model = LifeMix({"networks": NETWORK, "Cox": CoxPH(), "trees": trees}, n_folds=2)
    calls = calls_of(lambda: model.fit(X, Y))
    # The start and all five fits: both folds of the networks count at once.
    assert calls[:6] == [("fitting the parts", done, 6) for done in (0, 2, 3, 4, 5, 6)]
    n_chosen = calls[-1][2]
    title = "fitting the chosen parts to all rows"
    assert calls[6:] == [(title, done, n_chosen) for done in range(n_chosen + 1)]


def test_lifemix_shows_a_bar_only_on_request(capsys):
    parts = {"Cox": CoxPH(), "curve": KaplanMeier()}
    model = LifeMix(parts, n_folds=2).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    verbose = LifeMix(parts, n_folds=2, verbose=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting the chosen parts to all rows" in err
    assert "100%" in err
    np.testing.assert_array_equal(verbose.predict(X), model.predict(X))
