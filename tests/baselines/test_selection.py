import numpy as np
import pytest

from lifemix import make_target
from lifemix.baselines import CauseSpecific, CoxPH, KaplanMeier, RandomSurvivalForest, select_model
from lifemix.errors import SettingError
from lifemix.metrics import concordance_td
from lifemix.splits import horizons, train_validation_split

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
TIMES = RNG.exponential(np.exp(-X))
Y = make_target(TIMES[:, 0], np.ones(400, int))


def test_the_candidate_with_the_highest_validation_concordance_wins():
    candidates = [KaplanMeier(), CoxPH(), RandomSurvivalForest(n_trees=10, max_depth=1)]
    result = select_model(candidates, X, (TIMES[:, 0], np.ones(400, int)))
    assert result.index == 1
    assert isinstance(result.best, CoxPH)
    assert result.scores[0] == 0.5 < result.scores[2] < result.scores[1]
    assert not hasattr(candidates[1], "coef_")


def test_the_score_is_the_mean_of_the_three_horizons_on_held_out_rows():
    training, validation = train_validation_split(Y, fraction=0.2, random_state=0)
    cox = CoxPH().fit(X[training], Y[training])
    at = horizons(Y[training])
    risk = 1 - cox.predict_survival_function(X[validation], at)
    expected = [concordance_td(Y[training], Y[validation], risk[:, i], t) for i, t in enumerate(at)]
    assert select_model([CoxPH()], X, Y).scores[0] == pytest.approx(np.mean(expected), abs=1e-12)


def test_with_competing_risks_all_kinds_count():
    y = make_target(TIMES.min(axis=1), TIMES.argmin(axis=1) + 1)
    model = CauseSpecific(CoxPH()).fit(X, y)
    values = []
    for event in (1, 2):
        at = horizons(y, event=event)
        risk = model.predict_cumulative_incidence(X, at, event)
        values += [concordance_td(y, y, risk[:, i], t, event) for i, t in enumerate(at)]
    assert model.score(X, y) == pytest.approx(np.mean(values), abs=1e-12)


def test_no_candidates_are_refused():
    with pytest.raises(SettingError, match="at least one estimator; got none"):
        select_model([], X, Y)
