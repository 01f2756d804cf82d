import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix import datasets, make_target
from lifemix.baselines import CoxPH
from lifemix.errors import InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import brier_score, integrated_brier_score
from lifemix.metrics.censoring import censoring_curve
from lifemix.splits import EventStratifiedKFold

SCORES = {"score_any": (None, 1), "score_1": (1, 1), "score_2": (2, 2)}


class TestReferences:
    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("kind", SCORES)
    def test_equals_risk_regression_in_r(self, name, kind, references, r_values):
        data, expected, (event, column) = references[name], r_values[name][kind], SCORES[kind]
        horizons = np.asarray(expected["horizons"])
        survival = 1 - data.incidence(column, len(horizons))
        got = brier_score(data.y, data.y, survival, horizons, event)
        np.testing.assert_allclose(got, expected["brier"], rtol=0, atol=1e-12)
        total = integrated_brier_score(data.y, data.y, survival, horizons, event, rule="step")
        assert total == pytest.approx(expected["ibs"][-1], abs=1e-12)

    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("train", ["own", "train"])
    @pytest.mark.parametrize("event", [1, 2])
    def test_compat_equals_scikit_survival(
        self, name, train, event, references, sksurv_values, horizons
    ):
        train = name if train == "own" else train
        data, expected = references[name], sksurv_values[f"{name}/{train}/{event}"]
        y_train, times = references[train].y, horizons[: len(expected["brier"])]
        survival = 1 - data.incidence(event, len(times))
        got = brier_score(y_train, data.y, survival, times, event, compat="sksurv")
        np.testing.assert_allclose(got, expected["brier"], rtol=0, atol=1e-12)
        total = integrated_brier_score(y_train, data.y, survival, times, event, compat="sksurv")
        assert total == pytest.approx(expected["integrated_brier"], abs=1e-12)

    @pytest.mark.parametrize(
        "times", [[50.0, 100.0], np.linspace(5.0, 150.0, 20)], ids=["two", "twenty"]
    )
    def test_cox_on_metabric_equals_scikit_survival(self, times):
        sksurv = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
        data = datasets.load_metabric()
        train, test = next(EventStratifiedKFold(5).split(data.X, data.y))
        model = CoxPH().fit(data.X.iloc[train], data.y[train])
        survival = model.predict_survival_function(data.X.iloc[test], times)
        pairs = list(zip(data.y["event"] > 0, data.y["time"], strict=True))
        y = np.array(pairs, dtype=[("event", bool), ("time", float)])
        expected = sksurv.integrated_brier_score(y[train], y[test], survival, times)
        # The default differs only in G(T-) for G(T).
        default = integrated_brier_score(data.y[train], data.y[test], survival, times)
        assert default == pytest.approx(expected, abs=1e-4)
        exact = integrated_brier_score(
            data.y[train], data.y[test], survival, times, compat="sksurv"
        )
        assert exact == pytest.approx(expected, abs=1e-12)


class TestDefinition:
    @given(st.integers(0, 10**6), st.integers(2, 60), st.booleans(), st.sampled_from([None, 1, 2]))
    def test_equals_the_sum_over_rows(self, seed, n, sksurv, event):
        rng = np.random.default_rng(seed)
        time, kind = rng.integers(1, 9, n).astype(float), rng.integers(0, 3, n)
        time, kind = np.append(time, [1.0, 1.0, 9.0]), np.append(kind, [1, 2, 0])
        horizons = np.array([2.0, 5.0, 7.5])
        survival = rng.random((n + 3, 3))
        own = kind > 0 if event is None else kind == event
        other = np.zeros(n + 3, bool) if event is None or sksurv else (kind > 0) & ~own
        curve = censoring_curve(time, ~own & ~other)
        chance = curve.at(time) if sksurv else curve.before(time)
        expected = []
        for column, t in enumerate(horizons):
            terms = []
            for i in range(n + 3):
                s = survival[i, column]
                if time[i] > t:
                    terms.append((1 - s) ** 2 / curve.at(np.array([t]))[0])
                elif own[i] or other[i]:
                    terms.append((s if own[i] else 1 - s) ** 2 / chance[i])
            expected.append(sum(terms) / (n + 3))
        got = brier_score(
            (time, kind),
            (time, kind),
            survival,
            horizons,
            event,
            compat="sksurv" if sksurv else None,
        )
        np.testing.assert_allclose(got, expected, rtol=1e-12)

    def test_weights_of_cases_are_taken_before_their_time_and_after_it_for_scikit_survival(self):
        y = ([1.0, 1.0, 2.0, 3.0], [1, 0, 0, 1])
        # G(1-) = 1, G(1) = 2/3; survival 1/2 for all, so every term is 1/4 of its weight.
        assert brier_score(y, y, [0.5] * 4, 1.0) == pytest.approx((1 + 2 * 3 / 2) / 16)
        assert brier_score(y, y, [0.5] * 4, 1.0, compat="sksurv") == pytest.approx(
            (3 / 2 + 2 * 3 / 2) / 16
        )

    def test_the_true_model_has_the_expected_score_under_heavy_censoring(self, rng):
        n, horizons = 100_000, np.array([0.3, 1.0])
        rate = np.exp(rng.normal(size=n))
        time, censoring = rng.exponential(1 / rate), rng.exponential(1.0, size=n)
        y = (np.minimum(time, censoring), (time <= censoring).astype(int))
        survival = np.exp(-rate[:, None] * horizons)
        expected = (survival * (1 - survival)).mean(axis=0)
        np.testing.assert_allclose(brier_score(y, y, survival, horizons), expected, atol=0.003)

    def test_the_true_incidence_has_the_expected_score(self, rng):
        n, horizon = 100_000, 0.8
        rates = np.exp(rng.normal(size=(n, 2)))
        times, censoring = rng.exponential(1 / rates), rng.exponential(1.5, size=n)
        first = times.min(axis=1)
        event = np.where(first <= censoring, times.argmin(axis=1) + 1, 0)
        total = rates.sum(axis=1)
        incidence = rates[:, 1] / total * (1 - np.exp(-total * horizon))
        y = (np.minimum(first, censoring), event)
        got = brier_score(y, y, 1 - incidence, horizon, event=2)
        assert got == pytest.approx((incidence * (1 - incidence)).mean(), abs=0.003)


class TestIntegral:
    @given(st.sets(st.floats(0.5, 99.0), min_size=2, max_size=8))
    def test_a_constant_score_integrates_to_itself_for_any_horizons(self, horizons):
        y = (np.arange(1.0, 101.0), np.ones(100, int))
        survival = np.full((100, len(horizons)), 0.5)
        assert integrated_brier_score(y, y, survival, sorted(horizons)) == pytest.approx(0.25)

    @given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.sampled_from(["trapezoid", "step"]))
    def test_the_time_unit_does_not_matter(self, seed, unit, rule):
        rng = np.random.default_rng(seed)
        time, event = (
            np.append(rng.integers(1, 50, 40), [2, 50]),
            np.append(rng.integers(0, 2, 40), [1, 0]),
        )
        horizons, survival = np.array([3.0, 10.0, 40.0]), rng.random((42, 3))
        y, scaled = (time.astype(float), event), (time * unit, event)
        expected = integrated_brier_score(y, y, survival, horizons, rule=rule)
        got = integrated_brier_score(scaled, scaled, survival, horizons * unit, rule=rule)
        assert got == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("compat", [None, "sksurv"])
    def test_the_step_rule_counts_no_error_before_the_first_horizon(self, compat):
        y = (np.arange(1.0, 101.0), np.ones(100, int))
        horizons, survival = np.linspace(10, 90, 9), np.full((100, 9), 0.5)
        value = integrated_brier_score(y, y, survival, horizons, compat=compat, rule="step")
        assert value == pytest.approx(0.25 * 80 / 90)

    @pytest.mark.parametrize("rule", [None, "simpson"])
    def test_unknown_rules_are_refused(self, rule):
        with pytest.raises(SettingError, match="rule must be"):
            integrated_brier_score(([1.0], [1]), ([1.0], [1]), [[0.5, 0.5]], [0.5, 1.0], rule=rule)


class TestShapes:
    Y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])

    def test_a_number_gives_a_float_and_an_array_an_array(self):
        assert isinstance(brier_score(self.Y, self.Y, [0.5] * 4, 2.0), float)
        assert brier_score(self.Y, self.Y, np.full((4, 1), 0.5), [2.0]).shape == (1,)
        assert brier_score(self.Y, self.Y, np.full((4, 3), 0.5), [2.0, 1.0, 3.0]).shape == (3,)

    def test_many_rows_and_horizons_cross_the_blocks(self, rng):
        n = 3000
        y = (rng.integers(1, 50, n).astype(float), rng.integers(0, 2, n))
        horizons = np.linspace(2, 40, 30)
        survival = rng.random((n, 30))
        together = brier_score(y, y, survival, horizons)
        one_by_one = [brier_score(y, y, survival[:, k], horizons[k]) for k in range(30)]
        np.testing.assert_allclose(together, one_by_one, rtol=1e-13)

    @pytest.mark.parametrize(
        ("survival", "horizons", "error", "message"),
        [
            (
                np.full((4, 2), 0.5),
                [1.0],
                InputError,
                r"survival must have shape \(4, 1\).*got \(4, 2\)",
            ),
            (np.full((3, 1), 0.5), [1.0], InputError, r"got \(3, 1\)"),
            (
                np.full((4, 1), 1.5),
                [1.0],
                InputError,
                r"survival must be probabilities.*got 1\.5 \(4 such values\)",
            ),
            (np.full((4, 1), np.nan), [1.0], InputError, "survival must be finite"),
            (
                np.full((4, 1), 0.5),
                [[1.0]],
                InputError,
                "horizons must be a number or a vector of at least one",
            ),
            (
                np.full((4, 0), 0.5),
                [],
                InputError,
                "horizons must be a number or a vector of at least one",
            ),
        ],
    )
    def test_bad_arguments_are_refused(self, survival, horizons, error, message):
        with pytest.raises(error, match=message):
            brier_score(self.Y, self.Y, survival, horizons)

    @pytest.mark.parametrize("horizons", [[1.0], [2.0, 1.0], [1.0, 1.0]])
    def test_the_integral_needs_increasing_horizons(self, horizons):
        with pytest.raises(SettingError, match="at least two, strictly increasing"):
            integrated_brier_score(self.Y, self.Y, np.full((4, len(horizons)), 0.5), horizons)

    def test_interval_and_truncated_rows_are_refused(self):
        with pytest.raises(TargetError, match="known only to an interval"):
            brier_score(self.Y, make_target([1.0], [1], upper=[2.0]), [0.5], 1.0)
        with pytest.raises(TargetError, match="observed from the origin"):
            brier_score(self.Y, make_target([1.0], [1], entry=[0.5]), [0.5], 1.0)


class TestLimits:
    TRAIN = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])

    def test_test_times_beyond_the_training_follow_up_do_not_matter_at_an_earlier_horizon(self):
        late = ([1.0, 2.0, 3.5, 100.0], [1, 1, 1, 1])
        early = ([1.0, 2.0, 3.5, 3.6], [1, 1, 1, 0])
        for compat in (None, "sksurv"):
            one, other = (
                brier_score(self.TRAIN, y, [0.2, 0.3, 0.6, 0.7], 3.0, compat=compat)
                for y in (late, early)
            )
            assert one == other

    def test_horizons_beyond_the_follow_up_are_nan_and_the_others_are_not(self):
        test = ([1.0, 2.0, 3.0, 6.0], [1, 1, 0, 0])
        with pytest.warns(
            LifemixWarning, match="at the horizons 5: both samples are followed up to 4 only.* NaN"
        ):
            got = brier_score(self.TRAIN, test, np.full((4, 2), 0.5), [2.0, 5.0])
        assert np.isfinite(got[0])
        assert np.isnan(got[1])
        with pytest.warns(LifemixWarning, match="not defined"):
            assert np.isnan(
                integrated_brier_score(self.TRAIN, test, np.full((4, 2), 0.5), [2.0, 5.0])
            )

    def test_controls_at_a_horizon_where_all_are_censored_have_no_weight(self):
        test = ([1.0, 2.0, 5.0], [1, 1, 0])  # G(4) = 0 in the training data
        with pytest.warns(LifemixWarning, match="not defined at the horizons 4"):
            assert np.isnan(brier_score(self.TRAIN, test, [0.5] * 3, 4.0))

    def test_a_case_whose_weight_is_infinite_for_scikit_survival(self):
        train = ([1.0, 2.0, 4.0, 4.0], [1, 1, 1, 0])  # G(4-) = 1, G(4) = 0
        test = ([2.0, 4.0, 4.0], [1, 1, 1])
        assert brier_score(train, test, [0.5] * 3, 4.0) == pytest.approx(0.25)
        with pytest.warns(LifemixWarning, match="not defined at the horizons 4"):
            assert np.isnan(brier_score(train, test, [0.5] * 3, 4.0, compat="sksurv"))

    def test_all_censored(self):
        with pytest.warns(
            LifemixWarning, match="no row of y_test has the event; the result is NaN"
        ):
            assert np.isnan(brier_score(self.TRAIN, ([3.0, 4.0], [0, 0]), [0.5, 0.5], 2.0))
        with pytest.warns(LifemixWarning, match="no row of y_test has the event"):
            assert np.isnan(brier_score(self.TRAIN, self.TRAIN, [0.5] * 4, 2.0, event=2))
