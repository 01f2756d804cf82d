import numpy as np
import pytest

from lifemix import make_target, metrics
from lifemix.baselines import AalenJohansen, KaplanMeier
from lifemix.errors import CovariateError


@pytest.mark.parametrize("late_and_weighted", [False, True])
def test_kaplan_meier_equals_r(late_and_weighted, competing):
    y, weight, name = competing.any_event, None, "kaplan_meier"
    if late_and_weighted:
        y = make_target(competing.time, competing.event > 0, competing.entry)
        weight, name = competing.weight, "kaplan_meier_weighted_truncated"
    model = KaplanMeier().fit(competing.x, y, weight)
    curves = model.predict_survival_function(competing.x[:2], competing.times)
    np.testing.assert_allclose(curves, [competing.nonparametric[name]] * 2, atol=1e-12)


@pytest.mark.parametrize("name", ["", "_weighted", "_truncated"])
def test_aalen_johansen_equals_r(name, competing):
    entry = competing.entry if name == "_truncated" else None
    y = make_target(competing.time, competing.event, entry)
    weight = competing.weight if name == "_weighted" else None
    model = AalenJohansen().fit(competing.x, y, weight)
    x, times = competing.x[:1], competing.times
    curves = [model.predict_survival_function(x, times)]
    curves += [model.predict_cumulative_incidence(x, times, event) for event in (1, 2, 3)]
    expected = competing.nonparametric[f"aalen_johansen{name}"]
    np.testing.assert_allclose(np.concatenate(curves), expected, atol=1e-12)
    if not name:
        curve = metrics.aalen_johansen(y, 2)
        incidence = model.predict_cumulative_incidence(x, curve.time, 2)[0]
        np.testing.assert_allclose(incidence, curve.estimate, atol=1e-12)


@pytest.mark.parametrize("event", [1, 2, 3])
def test_net_survival_is_kaplan_meier_with_other_events_censored(event, competing):
    models = []
    for model, kind in ((AalenJohansen(), competing.event), (KaplanMeier(), None)):
        codes = np.equal(competing.event, event) if kind is None else kind
        y = make_target(competing.time, codes, competing.entry)
        models.append(model.fit(competing.x, y, competing.weight))
    net = models[0].predict_net_survival(competing.x[:1], competing.times, event)
    expected = models[1].predict_survival_function(competing.x[:1], competing.times)
    np.testing.assert_allclose(net, expected, atol=1e-12)


def test_columns_are_counted_but_not_read():
    model = KaplanMeier().fit([["a"], [None], ["b"]], ([1.0, 2.0, 3.0], [1, 0, 1]))
    survival = model.predict_survival_function([["z"]], [0.5, 1.0, 3.0])
    np.testing.assert_allclose(survival, [[1, 2 / 3, 0]])
    with pytest.raises(CovariateError, match="X has 2 features, but KaplanMeier is expecting 1"):
        model.predict([["z", "y"]])
