import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from lifemix import make_target
from lifemix.errors import LifemixWarning, SettingError, TargetError
from lifemix.metrics import aalen_johansen, kaplan_meier, nelson_aalen

FIELDS = ("time", "estimate", "standard_error", "lower", "upper", "at_risk")


def numbers(values):
    return np.array(
        [np.nan if value in (None, "Inf", "NaN") else value for value in values], dtype=float
    )


@st.composite
def targets(draw, truncated=False):
    rows = draw(
        st.lists(
            st.tuples(st.integers(2, 9), st.integers(0, 2), st.integers(0, 3)),
            min_size=2,
            max_size=40,
        )
    )
    time, event, entry = (np.array(column) for column in zip(*rows, strict=True))
    entry = np.minimum(entry, time - 1) if truncated else np.zeros(len(time))
    return make_target(time.astype(float), event, entry=entry.astype(float))


class TestReferences:
    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("kind", ["km_loglog", "km_log", "km_plain", "km_truncated"])
    def test_kaplan_meier_and_nelson_aalen_equal_survfit_in_r(
        self, name, kind, references, r_values
    ):
        data, expected = references[name], r_values[name]["curves"][kind]
        y = data.truncated if kind == "km_truncated" else data.y
        transform = {"km_log": "log", "km_plain": "plain"}.get(kind, "log-log")
        curve = kaplan_meier(y, transform=transform)
        for field in FIELDS:
            theirs = numbers(expected[field])
            if (
                field in ("lower", "upper") and transform == "log-log"
            ):  # R has NaN before the first event, we have 1
                theirs = np.where(curve.estimate == 1, 1.0, theirs)
            np.testing.assert_allclose(
                getattr(curve, field), theirs, rtol=0, atol=1e-12, err_msg=field
            )
        hazard = nelson_aalen(y)
        np.testing.assert_allclose(hazard.estimate, expected["hazard"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            hazard.standard_error, expected["hazard_standard_error"], rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("event", [1, 2])
    def test_aalen_johansen_equals_cuminc_in_r(self, name, event, references, r_values):
        expected = r_values[name]["curves"]
        curve = aalen_johansen(references[name].y, event)
        np.testing.assert_array_equal(curve.time, expected["cuminc_time"])
        np.testing.assert_allclose(curve.estimate, expected[f"cuminc{event}"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            curve.standard_error**2, expected[f"cuminc{event}_var"], rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("name", ["tied", "continuous"])
    def test_aalen_johansen_equals_survfit_in_r(self, name, references, r_values):
        data, expected = references[name], r_values[name]["curves"]
        curve = aalen_johansen(data.y, variance="greenwood")
        np.testing.assert_allclose(curve.estimate, expected["aj"]["estimate"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            curve.standard_error, expected["aj"]["standard_error"], rtol=0, atol=1e-12
        )
        late = aalen_johansen(data.truncated)
        np.testing.assert_array_equal(late.time, expected["aj_truncated"]["time"])
        np.testing.assert_allclose(
            late.estimate, expected["aj_truncated"]["estimate"], rtol=0, atol=1e-12
        )

    def test_limits_of_the_incidence_equal_scikit_survival(self, references, sksurv_values):
        expected = sksurv_values["incidence"]
        curve = aalen_johansen(references["continuous"].y)
        for field in ("estimate", "lower", "upper"):
            np.testing.assert_allclose(
                getattr(curve, field)[:-1], expected[field][:-1], rtol=0, atol=1e-12
            )


class TestIdentities:
    @given(targets(truncated=True))
    @pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
    def test_incidences_and_survival_add_up_to_one(self, y):
        total = (
            aalen_johansen(y, 1).estimate + aalen_johansen(y, 2).estimate + kaplan_meier(y).estimate
        )
        np.testing.assert_allclose(total, 1, atol=1e-12)

    @given(targets(truncated=True))
    @pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
    def test_for_one_kind_of_event_aalen_johansen_is_kaplan_meier(self, y):
        incidence, survival = aalen_johansen(y, None, variance="greenwood"), kaplan_meier(y)
        np.testing.assert_allclose(incidence.estimate, 1 - survival.estimate, atol=1e-12)
        alive = survival.estimate > 1e-3
        np.testing.assert_allclose(
            incidence.standard_error[alive], survival.standard_error[alive], rtol=1e-5
        )

    @given(targets(truncated=True), st.sampled_from(["log-log", "log", "plain"]))
    @pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
    def test_limits_lie_about_the_estimate_and_widen_with_the_level(self, y, transform):
        for curves in (kaplan_meier, aalen_johansen):
            wide, narrow = (curves(y, level=level, transform=transform) for level in (0.99, 0.8))
            known = ~np.isnan(wide.standard_error)
            for outer, inner in ((wide.lower, narrow.lower), (-wide.upper, -narrow.upper)):
                assert (outer[known] <= inner[known] + 1e-12).all()
            assert (narrow.lower[known] <= narrow.estimate[known] + 1e-12).all()
            assert (narrow.upper[known] >= narrow.estimate[known] - 1e-12).all()
            assert ((wide.lower[known] >= 0) & (wide.upper[known] <= 1)).all()

    @given(targets())
    def test_entry_at_the_origin_changes_nothing(self, y):
        again = make_target(y["time"], y["event"], entry=np.zeros(len(y)))
        np.testing.assert_array_equal(kaplan_meier(again).estimate, kaplan_meier(y).estimate)

    def test_other_events_are_censorings_where_an_event_is_given(self, references):
        y = references["tied"].y
        net = kaplan_meier(y, event=1)
        np.testing.assert_allclose(
            net.estimate, kaplan_meier((y["time"], y["event"] == 1)).estimate
        )
        hazards = [nelson_aalen(y, event).estimate for event in (1, 2)]
        np.testing.assert_allclose(sum(hazards), nelson_aalen(y).estimate)


def test_left_truncation_is_undone(rng):
    n = 60_000
    time, entry = rng.exponential(1.0, n), rng.exponential(0.7, n) * (rng.random(n) < 0.7)
    other = rng.exponential(2.0, n)
    first = np.minimum(time, other)
    seen = first > entry
    y = make_target(first[seen], np.where(time < other, 1, 2)[seen], entry=entry[seen])
    t = np.array([0.2, 0.7, 1.5])
    np.testing.assert_allclose(kaplan_meier(y).at(t), np.exp(-1.5 * t), atol=0.015)
    np.testing.assert_allclose(aalen_johansen(y, 1).at(t), (1 - np.exp(-1.5 * t)) / 1.5, atol=0.015)
    np.testing.assert_allclose(nelson_aalen(y, 2).at(t), t / 2, atol=0.03)
    assert (
        np.abs(kaplan_meier((first[seen], np.ones(seen.sum(), int))).at(t) - np.exp(-1.5 * t)).max()
        > 0.05
    )


@pytest.mark.parametrize("truncated", [False, True])
def test_standard_errors_are_the_spread_of_the_estimates(truncated, rng):
    t, draws = 0.8, []
    for _ in range(400):
        times = rng.exponential([1.0, 2.0], (200, 2))
        censoring, entry = rng.exponential(2.0, 200), rng.exponential(0.3, 200) * truncated
        first = np.minimum(times.min(axis=1), censoring)
        event = np.where(first == censoring, 0, times.argmin(axis=1) + 1)
        seen = (first > entry) & (first > 0.05)  # enough are at risk when the first event comes
        y = make_target(
            first[seen], event[seen], entry=np.minimum(entry[seen], 0.05 + 0.5 * entry[seen])
        )
        curves = (
            kaplan_meier(y),
            aalen_johansen(y),
            aalen_johansen(y, variance="greenwood"),
            nelson_aalen(y),
        )
        draws.append(
            [(c.at(t), c.standard_error[np.searchsorted(c.time, t, "right") - 1]) for c in curves]
        )
    estimates, errors = np.asarray(draws).transpose(2, 0, 1)
    np.testing.assert_allclose(errors.mean(axis=0), estimates.std(axis=0), rtol=0.12)


class TestValues:
    Y = ([1.0, 2.0, 2.0, 4.0, 5.0], [1, 1, 0, 0, 1])

    def test_by_hand(self):
        curve = kaplan_meier(self.Y, transform="plain", level=0.9)
        np.testing.assert_allclose(curve.time, [1, 2, 4, 5])
        np.testing.assert_allclose(curve.estimate, [4 / 5, 3 / 5, 3 / 5, 0])
        np.testing.assert_array_equal(curve.at_risk, [5, 4, 2, 1])
        np.testing.assert_array_equal(curve.events, [1, 1, 0, 1])
        error = np.sqrt(0.6**2 * (1 / 20 + 1 / 12))
        assert curve.standard_error[1] == pytest.approx(error)
        assert curve.lower[1] == pytest.approx(0.6 - norm.ppf(0.95) * error)
        assert np.isnan([curve.standard_error[-1], curve.lower[-1], curve.upper[-1]]).all()

    def test_values_at_times(self):
        curve = kaplan_meier(self.Y)
        np.testing.assert_allclose(curve.at([[0.0, 1.0], [1.9, 2.0]]), [[1, 0.8], [0.8, 0.6]])
        assert curve.at(4.5) == pytest.approx(0.6)
        assert curve.limits_at(0.5) == (1.0, 1.0)
        with pytest.warns(LifemixWarning, match="1 times lie beyond the last of the sample, 5"):
            assert np.isnan(curve.at([1.0, 5.5])).tolist() == [False, True]
        assert nelson_aalen(self.Y).at(0.5) == 0

    def test_an_event_at_the_origin(self):
        assert kaplan_meier(([0.0, 1.0], [1, 0])).estimate.tolist() == [0.5, 0.5]

    def test_all_censored_stays_at_one(self):
        curve = kaplan_meier(([1.0, 2.0], [0, 0]))
        assert curve.estimate.tolist() == curve.lower.tolist() == curve.upper.tolist() == [1.0, 1.0]
        assert aalen_johansen(([1.0, 2.0], [0, 0])).upper.tolist() == [0.0, 0.0]

    def test_a_risk_set_that_empties_early_is_reported(self):
        y = make_target([2.0, 5.0, 6.0], [1, 1, 0], entry=[0.0, 3.0, 3.0])
        with pytest.warns(LifemixWarning, match="all subjects at risk at 2 have an event then"):
            assert kaplan_meier(y).estimate.tolist() == [0, 0, 0]

    def test_bad_arguments_are_refused(self):
        with pytest.raises(
            SettingError, match="transform must be one of 'plain', 'log', 'log-log'; got 'logit'"
        ):
            kaplan_meier(self.Y, transform="logit")
        with pytest.raises(SettingError, match="level must lie between 0 and 1.*got 95"):
            nelson_aalen(self.Y, level=95)
        with pytest.raises(SettingError, match="variance must be one of"):
            aalen_johansen(self.Y, variance="delta")
        with pytest.raises(TargetError, match="known only to an interval"):
            kaplan_meier(make_target([1.0], [1], upper=[2.0]))


@given(targets())
def test_scaling_time_scales_the_curve(y):
    assume(len(y) > 2)
    one, other = kaplan_meier(y), kaplan_meier(make_target(y["time"] * 7, y["event"]))
    np.testing.assert_array_equal(one.estimate, other.estimate)
    np.testing.assert_allclose(one.time * 7, other.time)
