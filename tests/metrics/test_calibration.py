import numpy as np
import pytest

from lifemix import make_target
from lifemix.baselines import FineGray
from lifemix.errors import InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import (
    aalen_johansen,
    calibration_curve,
    integrated_calibration_index,
    kaplan_meier,
)
from lifemix.metrics.calibration import smooth_risk, spline_basis
from lifemix.target import as_target


def draw(rng, n, horizon):
    """Two competing exponential times, censored; the true risk of each event up to the horizon."""
    rates = np.exp(rng.normal(size=(n, 2)) * 0.6)
    times, censoring = rng.exponential(1 / rates), rng.exponential(1.5, n)
    first = times.min(axis=1)
    event = np.where(first <= censoring, times.argmin(axis=1) + 1, 0)
    total = rates.sum(axis=1)
    own = rates[:, 0] / total * (1 - np.exp(-total * horizon))
    return (np.minimum(first, censoring), event), own, 1 - np.exp(-total * horizon)


class TestCurve:
    def test_groups_hold_the_kaplan_meier_and_aalen_johansen_risks(self, references, horizons):
        data = references["tied"]
        risk = data.incidence(1, 3)[:, 2]
        curve = calibration_curve(data.y, risk, horizons[2], bins=4)
        single = calibration_curve(data.y, risk, horizons[2], event=None, bins=4, level=0.8)
        assert curve.count.sum() == len(risk)
        assert (np.diff(curve.predicted) > 0).all()
        first = risk <= np.quantile(risk, 0.25)
        y = (data.y["time"][first], data.y["event"][first])
        assert curve.predicted[0] == pytest.approx(risk[first].mean())
        assert curve.observed[0] == pytest.approx(float(aalen_johansen(y).at(horizons[2])))
        assert single.observed[0] == pytest.approx(1 - float(kaplan_meier(y).at(horizons[2])))
        limits = aalen_johansen(y, None, variance="greenwood", level=0.8).limits_at(horizons[2])
        assert (single.lower[0], single.upper[0]) == pytest.approx(tuple(map(float, limits)))

    def test_a_true_model_lies_on_the_diagonal(self, rng):
        y, own, any_event = draw(rng, 40_000, 0.7)
        for risk, event in ((own, 1), (any_event, None)):
            curve = calibration_curve(y, risk, 0.7, event)
            assert len(curve.count) == 10
            np.testing.assert_allclose(curve.observed, curve.predicted, atol=0.03)
            inside = (curve.lower <= curve.predicted) & (curve.predicted <= curve.upper)
            assert inside.sum() >= 7

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
        with pytest.warns(
            LifemixWarning, match="group 1 was followed up to 2, not to the horizon 4; .* NaN"
        ):
            curve = calibration_curve(y, [0.9, 0.8, 0.1, 0.2], 4.0, bins=2)
        assert np.isnan(curve.observed).tolist() == [False, True]

    def test_bad_arguments_are_refused(self):
        y = ([1.0, 2.0], [1, 0])
        with pytest.raises(InputError, match="risk must be probabilities"):
            calibration_curve(y, [3.0, 0.1], 1.0)
        with pytest.raises(InputError, match="one value per row"):
            calibration_curve(y, [0.1], 1.0)
        with pytest.raises(SettingError, match="bins must be a whole number of at least 1; got 0"):
            calibration_curve(y, [0.1, 0.2], 1.0, bins=0)


class TestIntegratedIndex:
    @pytest.mark.parametrize("name", ["tied", "continuous"])
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
        time, event = rng.integers(1, 9, 400).astype(float), rng.integers(0, 3, 400)
        risk = rng.uniform(0.1, 0.8, 400)
        basis = spline_basis(np.log(-np.log1p(-risk)))
        model = FineGray(coherent=False, preprocessor=None).fit(basis, make_target(time, event))
        expected = model.predict_cumulative_incidence(basis, [5.0], event=1)[:, 0]
        np.testing.assert_allclose(
            smooth_risk(as_target((time, event)), risk, 5.0, 1), expected, atol=1e-6
        )

    def test_a_true_model_has_a_small_index_and_a_wrong_one_its_distance(self, rng):
        y, own, any_event = draw(rng, 20_000, 0.7)
        for risk, event in ((own, 1), (any_event, None)):
            assert integrated_calibration_index(y, risk, 0.7, event) < 0.02
            wrong = 0.5 * risk
            got = integrated_calibration_index(y, wrong, 0.7, event)
            assert got == pytest.approx(np.abs(risk - wrong).mean(), abs=0.02)

    def test_the_smooth_curve_finds_the_true_risk(self, rng):
        y, own, _ = draw(rng, 20_000, 0.7)
        smooth = smooth_risk(as_target(y), own**2, 0.7, 1)
        assert np.abs(smooth - own).mean() < 0.02

    def test_a_constant_risk_is_compared_with_the_overall_risk(self):
        y = (np.arange(1.0, 1001.0), np.ones(1000, int))
        got = integrated_calibration_index(y, np.full(1000, 0.1), 500.0)
        assert got == pytest.approx(0.4, abs=0.001)

    def test_two_levels_of_risk(self, rng):
        time = np.concatenate([rng.exponential(1.0, 3000), rng.exponential(4.0, 3000)])
        risk = np.repeat([0.5, 0.3], 3000)
        smooth = smooth_risk(as_target((time, np.ones(6000, int))), risk, 1.0, None)
        np.testing.assert_allclose(smooth[[0, -1]], 1 - np.exp([-1, -0.25]), atol=0.03)

    def test_risks_of_zero_and_one_are_moved_inside_with_a_warning(self, rng):
        time = rng.exponential(1.0, 200)
        risk = np.clip(rng.normal(0.5, 0.3, 200), 0, 1)
        with pytest.warns(
            LifemixWarning, match=f"{int(np.isin(risk, [0, 1]).sum())} predicted risks are 0, 1"
        ):
            value = integrated_calibration_index((time, np.ones(200, int)), risk, 1.0)
        assert 0 < value < 1

    def test_a_likelihood_without_a_maximum_is_nan(self):
        y = (np.arange(1.0, 21.0), [1] * 10 + [0] * 10)
        risk = np.linspace(0.9, 0.1, 20)  # the events come exactly in order of risk
        with pytest.warns(
            LifemixWarning, match="could not be fitted: its likelihood has no maximum"
        ):
            assert np.isnan(integrated_calibration_index(y, risk, 10.0))

    def test_an_outlying_risk_does_not_break_the_fit(self, rng):
        n = 500
        rate = np.exp(rng.normal(size=n))
        risk = 1 - np.exp(-rate)
        risk[0] = 1 - 1e-7
        risk[1:4] = 2e-8
        y = (rng.exponential(1 / rate), np.ones(n, int))
        assert integrated_calibration_index(y, risk, 1.0) < 0.1

    def test_limits(self):
        y = ([1.0, 2.0, 3.0], [0, 0, 2])
        with pytest.warns(LifemixWarning, match="no row has the event"):
            assert np.isnan(integrated_calibration_index(y, [0.1, 0.2, 0.3], 2.0))
        with pytest.warns(LifemixWarning, match="horizon 7 lies beyond the follow-up, 3"):
            assert np.isnan(integrated_calibration_index(y, [0.1, 0.2, 0.3], 7.0))
        with pytest.raises(TargetError, match="observed from the origin"):
            integrated_calibration_index(make_target([2.0], [1], entry=[1.0]), [0.1], 2.0)


def test_the_spline_is_linear_beyond_its_outer_knots(rng):
    x = np.sort(rng.normal(size=400))
    basis = spline_basis(x)
    assert basis.shape == (400, 2)
    for side in (x < np.quantile(x, 0.1), x > np.quantile(x, 0.9)):
        slope = np.diff(basis[side], axis=0) / np.diff(x[side])[:, None]
        np.testing.assert_allclose(
            slope, np.broadcast_to(slope[0], slope.shape), rtol=1e-5, atol=1e-8
        )
    assert spline_basis(np.full(5, 2.0)).shape == (5, 0)
