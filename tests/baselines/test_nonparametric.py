import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import make_target, metrics
from lifemix.baselines import AalenJohansen, KaplanMeier
from lifemix.errors import CovariateError

REFERENCE = json.loads(
    (Path(__file__).parent.parent / "references/baselines/competing.json").read_text()
)
DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
TIMES = np.array(REFERENCE["times"])


@pytest.mark.parametrize(
    ("name", "entry", "weight"),
    [("kaplan_meier", False, False), ("kaplan_meier_weighted_truncated", True, True)],
)
def test_kaplan_meier_is_equal_to_r(name, entry, weight):
    y = make_target(DATA["time"], DATA["event"] > 0, DATA["entry"] if entry else None)
    model = KaplanMeier().fit(DATA["x"], y, DATA["weight"] if weight else None)
    curves = model.predict_survival_function(DATA["x"][:2], TIMES)
    np.testing.assert_allclose(
        curves, np.tile(REFERENCE["nonparametric"][name], (2, 1)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "entry", "weight"),
    [
        ("aalen_johansen", False, False),
        ("aalen_johansen_weighted", False, True),
        ("aalen_johansen_truncated", True, False),
    ],
)
def test_aalen_johansen_is_equal_to_r(name, entry, weight):
    y = make_target(DATA["time"], DATA["event"], DATA["entry"] if entry else None)
    model = AalenJohansen().fit(DATA["x"], y, DATA["weight"] if weight else None)
    expected = REFERENCE["nonparametric"][name]
    np.testing.assert_allclose(
        model.predict_survival_function(DATA["x"][:1], TIMES)[0], expected[0], atol=1e-12
    )
    for event in (1, 2, 3):
        got = model.predict_cumulative_incidence(DATA["x"][:1], TIMES, event)[0]
        np.testing.assert_allclose(got, expected[event], atol=1e-12)


def test_agrees_with_the_curves_of_the_metrics():
    y = make_target(DATA["time"], DATA["event"])
    model = AalenJohansen().fit(DATA["x"], y)
    curve = metrics.aalen_johansen(y, 2)
    got = model.predict_cumulative_incidence(DATA["x"][:1], curve.time, 2)[0]
    np.testing.assert_allclose(got, curve.estimate, atol=1e-12)


def test_net_survival_is_the_kaplan_meier_curve_with_other_kinds_censored():
    entry, weight = DATA["entry"], DATA["weight"]
    model = AalenJohansen().fit(DATA["x"], make_target(DATA["time"], DATA["event"], entry), weight)
    for event in (1, 2, 3):
        alone = KaplanMeier().fit(
            DATA["x"], make_target(DATA["time"], np.equal(DATA["event"], event), entry), weight
        )
        np.testing.assert_allclose(
            model.predict_net_survival(DATA["x"][:1], TIMES, event),
            alone.predict_survival_function(DATA["x"][:1], TIMES),
            atol=1e-12,
        )


def test_the_columns_of_x_are_counted_and_nothing_else():
    model = KaplanMeier().fit([["a"], [None], ["b"]], ([1.0, 2.0, 3.0], [1, 0, 1]))
    np.testing.assert_allclose(
        model.predict_survival_function([["z"]], [0.5, 1.0, 3.0]), [[1, 2 / 3, 0]]
    )
    with pytest.raises(CovariateError, match="X has 2 features, but KaplanMeier is expecting 1"):
        model.predict([["z", "y"]])
