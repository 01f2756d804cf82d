import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import make_target
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import SettingError

REFERENCE = json.loads(
    (Path(__file__).parent.parent / "references/baselines/competing.json").read_text()
)
DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
NEW, TIMES = np.array(REFERENCE["new"]), np.array(REFERENCE["times"])
Y = make_target(DATA["time"], DATA["event"])


@pytest.mark.parametrize("event", [1, 2, 3])
def test_equal_to_crr_of_r(event):
    model = FineGray(coherent=False, preprocessor=None).fit(DATA["x"], Y)
    expected = REFERENCE["fine_gray"][event - 1]
    np.testing.assert_allclose(model.coef_[event], expected["coef"], atol=1e-9)
    errors = model.summary.set_index("event").loc[event, "standard_error"]
    np.testing.assert_allclose(errors, expected["standard_errors"], rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_cumulative_incidence(NEW, TIMES, event),
        expected["incidence"],
        rtol=0,
        atol=1e-9,
    )


def test_coherent_incidences_are_those_of_crr_until_they_add_up_to_one():
    coherent = FineGray(preprocessor=None).fit(DATA["x"], Y)
    expected = np.array([cause["incidence"] for cause in REFERENCE["fine_gray"]])
    got = np.array(
        [coherent.predict_cumulative_incidence(NEW, TIMES, event) for event in (1, 2, 3)]
    )
    total = expected.sum(axis=0)
    assert (total > 1).any(), "the reference has to hold a subject whose incidences pass 1"
    below = np.broadcast_to(total <= 1, got.shape)
    np.testing.assert_allclose(got[below], expected[below], atol=1e-9)
    np.testing.assert_allclose(got.sum(axis=0)[total > 1], 1, atol=1e-12)
    assert (got <= expected + 1e-12).all()


def test_one_kind_of_event_is_cox_regression():
    y = make_target(DATA["time"], DATA["event"] > 0)
    fine_gray, cox = (model(preprocessor=None) for model in (FineGray, CoxPH))
    fine_gray.fit(DATA["x"], y)
    cox.set_params(ties="breslow").fit(DATA["x"], y)
    np.testing.assert_allclose(fine_gray.coef_[1], cox.coef_, atol=1e-12)
    np.testing.assert_allclose(
        fine_gray.predict_survival_function(NEW, TIMES),
        cox.predict_survival_function(NEW, TIMES),
        atol=1e-12,
    )


def test_score_with_weights_written_out_is_zero():
    time, event, x = DATA["time"], DATA["event"], DATA["x"]
    beta = FineGray(preprocessor=None).fit(x, Y).coef_[2]

    def censoring_before(t):
        earlier = np.unique(time[(event == 0) & (time < t)])
        return np.prod(
            [1 - ((time == u) & (event == 0)).sum() / (time >= u).sum() for u in earlier]
        )

    score = np.zeros(3)
    for i in np.flatnonzero(event == 2):
        weight = np.zeros(len(time))
        for j in range(len(time)):
            if time[j] >= time[i]:
                weight[j] = 1
            elif event[j] in (1, 3):
                weight[j] = censoring_before(time[i]) / censoring_before(time[j])
        r = weight * np.exp(x @ beta)
        score += x[i] - r @ x / r.sum()
    np.testing.assert_allclose(score, 0, atol=1e-8)


def test_recovers_the_law_it_assumes():
    # Fine and Gray (1999), section 5: F_1(t | x) = 1 - (1 - p (1 - exp(-t)))^exp(x b).
    rng = np.random.default_rng(3)
    n, p, b = 6000, 0.5, 0.8
    x = rng.normal(size=(n, 1))
    ratio = np.exp(b * x[:, 0])
    first = rng.random(n) < 1 - (1 - p) ** ratio
    u = rng.random(n) * (1 - (1 - p) ** ratio)
    t1 = -np.log(1 - (1 - (1 - u) ** (1 / ratio)) / p, where=first, out=np.full(n, np.inf))
    time = np.where(first, t1, rng.exponential(1, n))
    censoring = rng.uniform(0, 4, n)
    y = make_target(
        np.minimum(time, censoring), np.where(time > censoring, 0, np.where(first, 1, 2))
    )
    model = FineGray(preprocessor=None).fit(x, y)
    assert model.coef_[1][0] == pytest.approx(b, abs=3 * model.summary["standard_error"][0])
    assert 0.01 < model.summary["standard_error"][0] < 0.03
    grid, new = np.array([0.2, 0.5, 1.0, 2.0]), np.array([[-1.0], [0.0], [1.0]])
    truth = 1 - (1 - p * (1 - np.exp(-grid))) ** np.exp(b * new)
    np.testing.assert_allclose(model.predict_cumulative_incidence(new, grid, 1), truth, atol=0.025)


@pytest.mark.parametrize(
    ("options", "message"), [({"penalty": -1}, "penalty must be"), ({"max_iter": 0}, "max_iter")]
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        FineGray(**options).fit(DATA["x"], Y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
def test_columns_that_depend_on_earlier_ones_have_no_standard_errors():
    rng = np.random.default_rng(4)
    time, event, x = rng.exponential(size=300), rng.integers(0, 3, 300), rng.normal(size=(300, 3))
    rare = (rng.random((300, 2)) < 0.03) & (event != 2)[
        :, None
    ]  # where it holds, event 2 never comes
    columns = [x, rare, x @ rng.normal(size=(3, 4)), rare[:, 0] + x[:, 0], rare[:, 1] - x[:, 1]]
    model = FineGray(preprocessor=None).fit(np.column_stack(columns), make_target(time, event))
    errors = model.summary.set_index("event").loc[2, "standard_error"].to_numpy()
    assert (errors[:3] > 0).all()
    assert np.isnan(errors[5:]).all()
