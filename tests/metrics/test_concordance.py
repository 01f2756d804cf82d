import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import concordance, concordance_td
from lifemix.metrics.censoring import censoring_curve

EVENTS = {"concordance_any": None, "concordance_1": 1}


@st.composite
def samples(draw, max_event=1, min_size=2):
    """Small samples full of ties: (time, event, risk)."""
    cell = st.tuples(st.integers(1, 8), st.integers(0, max_event), st.integers(-3, 3))
    rows = draw(st.lists(cell, min_size=min_size, max_size=40))
    time, event, risk = (np.array(column) for column in zip(*rows, strict=True))
    return time.astype(float), event, risk / 2.0


def by_double_loop(train, test, risk, horizon, competing="censored", sksurv=False):
    """The definition, pair by pair: (time, event) pairs with event 1 in question and 2 another."""
    (train_time, train_event), (time, event) = train, test
    if competing == "censored":
        train_event, event = np.where(train_event == 1, 1, 0), np.where(event == 1, 1, 0)
    curve = censoring_curve(train_time, train_event == 0)
    chance = curve.at(time) if sksurv else curve.before(time)
    agreeing = pairs = 0.0
    for i in range(len(time)):
        if event[i] != 1 or not (time[i] < horizon if sksurv else time[i] <= horizon):
            continue
        for j in range(len(time)):
            if time[j] > time[i] or (time[j] == time[i] and event[j] != 1):
                weight = 1 / chance[i] ** 2
            elif event[j] == 2:
                weight = 1 / (chance[i] * chance[j])
            else:
                continue
            pairs += weight
            agreeing += weight * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return agreeing / pairs if pairs else np.nan


class TestReferences:
    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("kind", EVENTS)
    def test_equals_survival_concordance_in_r(self, name, kind, references, r_values, horizons):
        data, expected, event = references[name], r_values[name][kind], EVENTS[kind]
        assert concordance(data.y, data.risk, event) == pytest.approx(
            expected["harrell"], abs=1e-12
        )
        assert concordance(data.truncated, data.risk, event) == pytest.approx(
            expected["truncated"], abs=1e-12
        )
        assert concordance_td(data.y, data.y, data.risk, None, event) == pytest.approx(
            expected["uno"], abs=1e-12
        )
        reached = horizons[horizons <= data.y["time"].max()]
        assert len(reached) >= 4
        for horizon, value in zip(reached, expected["td"], strict=False):
            assert concordance_td(data.y, data.y, data.risk, horizon, event) == pytest.approx(
                value, abs=1e-12
            )

    def test_wolbers_equals_fine_gray_weights_in_r(self, references, r_values, horizons):
        data = references["tied"]
        for horizon, value in zip(horizons, r_values["tied"]["wolbers"], strict=True):
            got = concordance_td(data.y, data.y, data.risk, horizon, competing="wolbers")
            assert got == pytest.approx(value, abs=1e-12)

    @pytest.mark.parametrize("name", ["tied", "continuous"])
    @pytest.mark.parametrize("train", ["own", "train"])
    @pytest.mark.parametrize("event", [1, 2])
    def test_compat_equals_scikit_survival(
        self, name, train, event, references, sksurv_values, horizons
    ):
        data, y_train = references[name], references[name if train == "own" else "train"].y
        expected = sksurv_values[f"{name}/{name if train == 'own' else 'train'}/{event}"]
        assert concordance(data.y, data.risk, event) == pytest.approx(
            expected["harrell"], abs=1e-12
        )
        for horizon, value in zip(horizons, expected["concordance"], strict=False):
            got = concordance_td(y_train, data.y, data.risk, horizon, event, compat="sksurv")
            assert got == pytest.approx(value, abs=1e-12)

    @settings(max_examples=60, deadline=None)
    @given(
        sample=samples(), seed=st.integers(0, 10**6), scale=st.sampled_from([1.0, 1.3e-8, 2.7e-9])
    )
    def test_compat_equals_scikit_survival_with_near_ties(self, sample, seed, scale):
        metrics = pytest.importorskip("sksurv.metrics")
        from sksurv.util import Surv

        time, event, risk = (
            np.append(column, last) for column, last in zip(sample, (9.0, 0, 0.0), strict=True)
        )
        # No difference equals the tolerance, 1e-8, up to rounding.
        risk = risk * scale + np.random.default_rng(seed).choice([0.0, 4.5e-9, 2.5e-8], len(risk))
        horizon = float(np.median(time)) + 0.5
        assume(((event == 1) & (time < horizon)).any())
        y = Surv.from_arrays(event == 1, time)
        expected = metrics.concordance_index_ipcw(y, y, risk, tau=horizon)[0]
        assert concordance_td(y, y, risk, horizon, compat="sksurv") == pytest.approx(
            expected, abs=1e-12
        )


class TestDefinition:
    @given(train=samples(), test=samples(), horizon=st.integers(1, 8), sksurv=st.booleans())
    def test_equals_the_double_loop(self, train, test, horizon, sksurv):
        y_train = np.append(train[0], 9.0), np.append(train[1], 0)
        expected = by_double_loop(y_train, test[:2], test[2], horizon, sksurv=sksurv)
        assume(not np.isnan(expected))
        got = concordance_td(
            y_train, test[:2], test[2], horizon, compat="sksurv" if sksurv else None
        )
        assert got == pytest.approx(expected, abs=1e-12)

    @given(sample=samples(max_event=2), competing=st.sampled_from(["censored", "wolbers"]))
    def test_competing_events_equal_the_double_loop(self, sample, competing):
        time, event, risk = sample
        expected = by_double_loop((time, event), (time, event), risk, 5, competing)
        assume(not np.isnan(expected) and time.max() >= 5)
        got = concordance_td((time, event), (time, event), risk, 5, competing=competing)
        assert got == pytest.approx(expected, abs=1e-12)

    @given(sample=samples(max_event=2))
    def test_wolbers_without_weights_keeps_rivals_at_risk(self, sample):
        time, event, risk = sample
        # A rival that stays at risk for ever is one censored at the end of time.
        endless = np.where(event == 2, 100.0, time)
        kept = np.where(event == 2, 0, event)
        later = (endless[None, :] > time[:, None]) | (
            (endless[None, :] == time[:, None]) & (kept != 1)[None, :]
        )
        pairs = later & (kept == 1)[:, None]
        assume(pairs.any())
        share = (risk[None, :] < risk[:, None]) + 0.5 * (risk[None, :] == risk[:, None])
        expected = (pairs * share).sum() / pairs.sum()
        assert concordance((time, event), risk, competing="wolbers") == pytest.approx(
            expected, abs=1e-12
        )

    def test_an_event_at_the_horizon_counts_but_not_for_scikit_survival(self):
        # Rows: events at 2 (agreeing) and at 4 (disagreeing), the last one censored at 6.
        y, risk = ([2.0, 4.0, 6.0], [1, 1, 0]), [3.0, 1.0, 2.0]
        assert concordance_td(y, y, risk, 4.0) == pytest.approx(2 / 3)
        assert concordance_td(y, y, risk, 4.0, compat="sksurv") == 1.0

    def test_weights_are_taken_just_before_the_event_and_after_it_for_scikit_survival(self):
        # One censoring at 3, one of four at risk: G(3-) = 1, G(3) = 2/3 since the event at 3 has left.
        time, event, risk = [3.0, 3.0, 5.0, 7.0], [1, 0, 1, 0], [2.0, 1.0, 0.0, 1.0]
        y = (time, event)
        # The event at 3 agrees with all 3 later rows, that at 5 disagrees with the last one; G(5-) = G(5) = 2/3.
        assert concordance_td(y, y, risk, 6.0) == pytest.approx(3 / (3 + 9 / 4))
        assert concordance_td(y, y, risk, 6.0, compat="sksurv") == pytest.approx(
            3 * 9 / 4 / (4 * 9 / 4)
        )

    def test_two_events_at_one_time_are_no_pair_and_tied_risks_count_half(self):
        assert concordance(([1.0, 1.0, 2.0], [1, 1, 0]), [5.0, 0.0, 0.0]) == pytest.approx(1.5 / 2)

    def test_entry_after_an_event_makes_no_pair(self):
        y = make_target([2.0, 5.0, 6.0], [1, 1, 0], entry=[0.0, 2.0, 1.0])
        # At 2 only the third row was there (the second enters at 2, after the event); at 5 the third row.
        assert concordance(y, [1.0, 9.0, 5.0]) == pytest.approx(1 / 2)

    def test_an_event_at_time_zero_is_compared_with_those_there_from_the_start(self):
        y = make_target([0.0, 2.0, 3.0], [1, 0, 0], entry=[0.0, 0.0, 1.0])
        assert concordance(y, [3.0, 1.0, 9.0]) == 1.0  # the third row entered later


class TestProperties:
    @given(sample=samples())
    def test_minus_the_risk_gives_one_minus_the_concordance(self, sample):
        time, event, risk = sample
        value = by_double_loop((time, event), (time, event), risk, 8)
        assume(not np.isnan(value) and time.max() == 8)
        y = (time, event)
        assert concordance_td(y, y, risk, 8) + concordance_td(y, y, -risk, 8) == pytest.approx(1)
        assert concordance_td(y, y, np.exp(risk), 8) == concordance_td(y, y, risk, 8)
        assert concordance_td(y, y, np.zeros(len(risk)), 8) == pytest.approx(0.5)

    @given(sample=samples(max_event=2), seed=st.integers(0, 10**6))
    def test_row_order_does_not_matter(self, sample, seed):
        time, event, risk = sample
        assume(
            not np.isnan(by_double_loop((time, event), (time, event), risk, 5)) and time.max() >= 5
        )
        rows = np.random.default_rng(seed).permutation(len(time))
        for competing in ("censored", "wolbers"):
            shuffled = (time[rows], event[rows])
            one = concordance_td((time, event), (time, event), risk, 5, competing=competing)
            other = concordance_td(shuffled, shuffled, risk[rows], 5, competing=competing)
            assert one == pytest.approx(other, abs=1e-13)

    def test_without_rivals_both_senses_agree(self, references):
        data = references["tied"]
        y = (data.y["time"], data.y["event"] > 0)
        one, other = (
            concordance_td(y, y, data.risk, 12.0, competing=c) for c in ("censored", "wolbers")
        )
        assert one == pytest.approx(other, abs=1e-14)

    def test_weights_undo_the_censoring(self, rng):
        n, horizon = 100_000, 1.0
        x = rng.normal(size=n)
        time = rng.exponential(
            np.exp(-x) * (0.3 + (x > 0))
        )  # not proportional, so that censoring matters
        censoring = rng.exponential(0.7, size=n)
        full = concordance((time, np.ones(n, int)), x, horizon=horizon)
        y = (np.minimum(time, censoring), (time <= censoring).astype(int))
        weighted = concordance_td(y, y, x, horizon)
        assert weighted == pytest.approx(full, abs=0.006)
        assert abs(concordance(y, x, horizon=horizon) - full) > 2 * abs(weighted - full)


class TestLimits:
    Y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    RISK = (4.0, 3.0, 2.0, 1.0)

    def test_test_times_beyond_the_training_follow_up_do_not_matter_at_an_earlier_horizon(self):
        y_test = ([1.0, 2.0, 3.0, 40.0, 50.0], [1, 0, 1, 1, 2])
        risk = [4.0, 3.0, 2.0, 1.0, 0.0]
        for options in ({}, {"compat": "sksurv"}, {"competing": "wolbers"}):
            assert concordance_td(self.Y, y_test, risk, 3.5, **options) == 1.0

    def test_events_beyond_the_training_follow_up_have_no_weight(self):
        y_test = ([1.0, 10.0, 20.0], [1, 1, 0])
        with pytest.warns(
            LifemixWarning, match="1 events before the horizon have no weight .the first at 10.*NaN"
        ):
            assert np.isnan(concordance_td(self.Y, y_test, [3, 2, 1], 15.0))

    def test_horizon_beyond_all_follow_up(self):
        with pytest.warns(
            LifemixWarning, match="horizon 9 lies beyond the follow-up, which ends at 4; .* NaN"
        ):
            assert np.isnan(concordance_td(self.Y, self.Y, self.RISK, 9.0))
        with pytest.warns(LifemixWarning, match="beyond the follow-up"):
            assert np.isnan(concordance(self.Y, self.RISK, horizon=9.0))
        assert concordance_td(self.Y, self.Y, self.RISK, None) == 1.0

    @pytest.mark.parametrize("options", [{}, {"compat": "sksurv"}, {"competing": "wolbers"}])
    @pytest.mark.parametrize(
        "y_test",
        [([1.0, 2.0], [0, 0]), ([2.0, 2.0], [1, 1]), ([3.0, 3.5], [1, 1])],
        ids=["censored", "tied", "late"],
    )
    def test_without_a_comparable_pair(self, y_test, options):
        with pytest.warns(LifemixWarning, match="no pair is comparable"):
            assert np.isnan(concordance_td(self.Y, y_test, [1, 2], 2.5, **options))

    def test_a_single_row(self):
        with pytest.warns(LifemixWarning, match="no pair is comparable"):
            assert np.isnan(concordance(([1.0], [1]), [0.3]))

    def test_interval_and_truncated_rows_are_refused(self):
        interval = make_target([1.0, 2.0], [1, 1], upper=[1.5, np.nan])
        truncated = make_target([1.0, 2.0], [1, 1], entry=[0.5, 0.0])
        with pytest.raises(TargetError, match="got 1 events known only to an interval"):
            concordance(interval, [1, 2])
        with pytest.raises(TargetError, match="y_test must have exact"):
            concordance_td(self.Y, interval, [1, 2], 1.0)
        with pytest.raises(
            TargetError, match="y_train must be observed from the origin.*got 1 left-truncated rows"
        ):
            concordance_td(truncated, self.Y, self.RISK, 1.0)
        with pytest.raises(TargetError, match="observed from the origin"):
            concordance(truncated, [1, 2], competing="wolbers")

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            (
                {"risk": [1.0, 2.0]},
                InputError,
                r"risk must have one value per row, shape \(4,\); got shape \(2,\)",
            ),
            (
                {"risk": [1.0, np.nan, 2, 3]},
                InputError,
                r"risk must be finite; got nan \(1 such values\)",
            ),
            ({"risk": ["a", "b", "c", "d"]}, InputError, "risk must be numbers"),
            ({"horizon": -1.0}, InputError, r"horizon must be finite and >= 0; got -1\.0"),
            ({"horizon": np.inf}, InputError, "horizon must be finite"),
            ({"horizon": [1.0, 2.0]}, InputError, "horizon must be one number"),
            ({"horizon": "x"}, InputError, "horizon must be numbers; got 'x'"),
            ({"event": 0}, InputError, "event must be a whole number >= 1; got 0"),
            ({"event": True}, InputError, "event must be a whole number >= 1; got True"),
            ({"event": 1.5}, InputError, r"got 1\.5"),
            ({"compat": "R"}, SettingError, "compat must be one of None, 'sksurv'; got 'R'"),
            (
                {"competing": "no"},
                SettingError,
                "competing must be one of 'censored', 'wolbers'; got 'no'",
            ),
            (
                {"competing": "wolbers", "compat": "sksurv"},
                SettingError,
                "does not support competing='wolbers'",
            ),
        ],
    )
    def test_bad_arguments_are_refused(self, changes, error, message):
        arguments = {"risk": self.RISK, "horizon": 3.0, **changes}
        with pytest.raises(error, match=message):
            concordance_td(self.Y, self.Y, **arguments)
