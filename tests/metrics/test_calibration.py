import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from helpers.metric_samples import ExponentialModel, draw_exponential
from lifemix import make_target
from lifemix.baselines import FineGray
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import (
    aalen_johansen,
    calibration_curve,
    d_calibration,
    integrated_calibration_index,
    kaplan_meier,
)
from lifemix.metrics.calibration import smooth_risk, spline_basis
from lifemix.target import as_target


@pytest.fixture(scope="module", params=[1, None], ids=["event 1", "any event"])
def truth(request):
    """A target, the true risk up to 0.7, and the event type it belongs to."""
    X, y = draw_exponential(np.random.default_rng(7), 40_000, 2)
    risk = ExponentialModel().predict_cumulative_incidence(X, [0.7], event=1)
    if request.param is None:
        risk = 1 - ExponentialModel().predict_survival_function(X, [0.7])
    return y, np.minimum(risk[:, 0], 1 - 1e-6), request.param


class TestCurve:
    def test_groups_have_kaplan_meier_and_aalen_johansen_risks(self, references, horizons):
        data = references["tied"]
        risk, t = data.incidence(1, 3)[:, 2], horizons[2]
        curve = calibration_curve(data.y, risk, t, bins=4)
        single = calibration_curve(data.y, risk, t, event=None, bins=4, level=0.8)
        assert curve.count.sum() == len(risk)
        assert (np.diff(curve.predicted) > 0).all()
        first = risk <= np.quantile(risk, 0.25)
        y = (data.y["time"][first], data.y["event"][first])
        assert curve.predicted[0] == pytest.approx(risk[first].mean())
        assert curve.observed[0] == pytest.approx(float(aalen_johansen(y).at(t)))
        assert single.observed[0] == pytest.approx(1 - float(kaplan_meier(y).at(t)))
        limits = aalen_johansen(y, None, variance="greenwood", level=0.8).limits_at(t)
        np.testing.assert_allclose([single.lower[0], single.upper[0]], limits)

    def test_a_true_model_lies_on_the_diagonal(self, truth):
        y, risk, event = truth
        curve = calibration_curve(y, risk, 0.7, event)
        assert len(curve.count) == 10
        np.testing.assert_allclose(curve.observed, curve.predicted, atol=0.03)
        assert ((curve.lower <= curve.predicted) & (curve.predicted <= curve.upper)).sum() >= 7

    def test_equal_risks_stay_together(self):
        y = (np.arange(1.0, 9.0), np.ones(8, int))
        assert calibration_curve(y, [0.2] * 8, 4.0).observed.tolist() == [0.5]
        assert calibration_curve(y, [0.2] * 6 + [0.9] * 2, 4.0, bins=4).count.tolist() == [6, 2]

    def test_truncated_rows_are_at_risk_after_entry(self):
        y = make_target([2.0, 3.0, 5.0], [1, 1, 0], entry=[0.0, 2.0, 0.0])
        curve = calibration_curve(y, [0.5] * 3, 4.0, bins=1)
        assert curve.observed[0] == pytest.approx(1 - 0.5 * 0.5)

    def test_a_group_without_follow_up_is_nan(self):
        y = ([1.0, 2.0, 5.0, 6.0], [1, 0, 1, 0])
        with pytest.warns(LifemixWarning, match="group 1 was followed up to 2, not to the horizon"):
            curve = calibration_curve(y, [0.9, 0.8, 0.1, 0.2], 4.0, bins=2)
        assert np.isnan(curve.observed).tolist() == [False, True]


class TestIntegratedIndex:
    @pytest.mark.parametrize(("kind", "event"), [("ici_any", None), ("ici_1", 1)])
    def test_equals_cox_and_fine_gray_splines_in_r(
        self, name, kind, event, references, r_values, horizons
    ):
        data = references[name]
        for column, value in zip((1, 2), r_values[name][kind], strict=True):
            risk = data.incidence(1, 3)[:, column]
            got = integrated_calibration_index(data.y, risk, horizons[column], event)
            assert got == pytest.approx(value, abs=1e-8)

    def test_tied_times_are_treated_as_by_fine_gray(self, rng):
        y = (rng.integers(1, 9, 400).astype(float), rng.integers(0, 3, 400))
        risk = rng.uniform(0.1, 0.8, 400)
        basis = spline_basis(np.log(-np.log1p(-risk)))
        model = FineGray(coherent=False, preprocessor=None).fit(basis, make_target(*y))
        expected = model.predict_cumulative_incidence(basis, [5.0], event=1)[:, 0]
        np.testing.assert_allclose(smooth_risk(as_target(y), risk, 5.0, 1), expected, atol=1e-6)

    def test_the_index_is_the_distance_from_the_true_risk(self, truth):
        y, risk, event = truth
        assert integrated_calibration_index(y, risk, 0.7, event) < 0.02
        half = integrated_calibration_index(y, risk / 2, 0.7, event)
        assert half == pytest.approx(risk.mean() / 2, abs=0.02)
        smooth = smooth_risk(as_target(y), risk**2, 0.7, event)
        assert np.abs(smooth - risk).mean() < 0.02

    def test_few_levels_of_risk(self, rng):
        y = (np.arange(1.0, 1001.0), np.ones(1000, int))
        constant = integrated_calibration_index(y, np.full(1000, 0.1), 500.0)
        assert constant == pytest.approx(0.4, abs=0.001)
        y = as_target((rng.exponential(np.repeat([1.0, 4.0], 3000)), np.ones(6000, int)))
        smooth = smooth_risk(y, np.repeat([0.5, 0.3], 3000), 1.0, None)
        np.testing.assert_allclose(smooth[[0, -1]], 1 - np.exp([-1, -0.25]), atol=0.03)

    def test_extreme_risks_do_not_break_the_fit(self, rng):
        rate = np.exp(rng.normal(size=500))
        y, risk = (rng.exponential(1 / rate), np.ones(500, int)), -np.expm1(-rate)
        risk[:4] = 1 - 1e-7, 2e-8, 2e-8, 2e-8
        assert integrated_calibration_index(y, risk, 1.0) < 0.1
        risk[:2] = 0, 1
        with pytest.warns(LifemixWarning, match="2 predicted risks are 0, 1"):
            assert integrated_calibration_index(y, risk, 1.0) < 0.1

    def test_a_likelihood_without_a_maximum_is_nan(self):
        y = (np.arange(1.0, 21.0), [1] * 10 + [0] * 10)
        risk = np.linspace(0.9, 0.1, 20)  # the events come exactly in order of risk
        with pytest.warns(LifemixWarning, match="its likelihood has no maximum"):
            assert np.isnan(integrated_calibration_index(y, risk, 10.0))

    def test_the_spline_is_linear_beyond_its_outer_knots(self, rng):
        x = np.sort(rng.normal(size=400))
        basis = spline_basis(x)
        assert basis.shape == (400, 2)
        for tail in (x < np.quantile(x, 0.1), x > np.quantile(x, 0.9)):
            slope = np.diff(basis[tail], axis=0) / np.diff(x[tail])[:, None]
            np.testing.assert_allclose(slope, slope[:1].repeat(len(slope), 0), rtol=1e-5, atol=1e-8)
        assert spline_basis(np.full(5, 2.0)).shape == (5, 0)


class TestDCalibration:
    @pytest.mark.parametrize("event", [None, 1])
    @given(
        st.lists(
            st.tuples(st.sampled_from([0.0, 0.05, 0.1, 0.37, 0.5, 1.0]), st.integers(0, 2)),
            min_size=1,
            max_size=40,
        ),
        st.sampled_from([2, 5, 10]),
    )
    def test_equals_the_original_definition(self, event, rows, bins):
        counts = np.zeros(bins)
        for s, kind in rows:
            group = min(int(s * bins), bins - 1)
            if (kind > 0) if event is None else (kind == event):
                counts[group] += 1
            elif s == 0:
                counts[0] += 1
            else:
                counts[group] += (s - group / bins) / s
                counts[:group] += 1 / bins / s
        survival, kinds = np.array(rows).T
        result = d_calibration((np.ones(len(rows)), kinds.astype(int)), survival, event, bins=bins)
        np.testing.assert_allclose(result.counts, counts, atol=1e-12)
        expected = chisquare(counts)
        assert result.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert result.p_value == pytest.approx(expected.pvalue, abs=1e-9)

    @pytest.mark.parametrize("case", ["censored", "truncated", "net"])
    def test_tells_the_true_model_from_a_wrong_one(self, case, rng):
        time, other = rng.exponential(1.0, 10_000), rng.exponential(0.7, 10_000)
        first, y = np.minimum(time, other), None
        if case == "truncated":  # subjects are judged by survival since their entry
            late = time > other
            y = make_target(time[late], np.ones(late.sum(), int), entry=other[late])
            right, wrong = np.exp(-(time - other)[late]), np.exp(-time[late])
        else:  # other events are censorings for one event
            y = (first, np.where(time < other, 1, 2 * (case == "net")))
            right = np.exp(-first)
            wrong = right**1.3
        assert d_calibration(y, right, 1).p_value > 0.001
        assert d_calibration(y, wrong, 1).p_value < 1e-6
        if case == "net":
            assert d_calibration(y, right).p_value < 1e-6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((calibration_curve, [3.0, 0.1], 1.0), InputError, "risk must be probabilities"),
        ((calibration_curve, [0.1, 0.2], 1.0, 1, 0), SettingError, "bins must be a whole number"),
        ((d_calibration, np.full((2, 2), 0.5)), InputError, r"one value per row.*got shape \(2, 2"),
        ((d_calibration, [0.5, -0.1]), InputError, "probabilities"),
        ((d_calibration, [0.5, 0.5], 1, 1), SettingError, "bins must be .* at least 2; got 1"),
    ],
)
def test_unsuitable_arguments_are_refused(arguments, error, message):
    function, *values = arguments
    names = ["risk", "horizon", "event", "bins"]
    if function is d_calibration:
        names = ["survival", "event", "bins"]
    with pytest.raises(error, match=message):
        function(([1.0, 2.0], [1, 0]), **dict(zip(names, values, strict=False)))
