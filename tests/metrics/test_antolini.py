import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning
from lifemix.metrics import concordance, concordance_antolini


def test_equals_pycox_without_ties(references, sksurv_values):
    expected = sksurv_values["antolini"]
    times, shape, scale = (np.asarray(expected[name]) for name in ("times", "shape", "scale"))
    survival = np.exp(-((times / scale[:, None]) ** shape[:, None]))
    got = concordance_antolini(references["continuous"].y, survival, times)
    assert got == pytest.approx(expected["value"], abs=1e-12)


@pytest.mark.parametrize("truncated", [False, True])
@given(data=st.data())
def test_equals_the_double_loop(truncated, data):
    n = data.draw(st.integers(2, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    time, event = rng.integers(2, 9, n).astype(float), rng.integers(0, 3, n)
    entry = np.minimum(rng.integers(0, 4, n), time - 1) * truncated
    times = np.array([1.0, 3.0, 4.0, 7.5])
    survival = np.sort(rng.integers(0, 5, (n, 4)) / 4)[:, ::-1]
    agreeing = pairs = 0.0
    for i in range(n):
        if event[i] != 1 or time[i] > 7:
            continue
        column = np.searchsorted(times, time[i], side="right") - 1
        for j in range(n):
            if entry[j] < time[i] and (time[j] > time[i] or (time[j] == time[i] and event[j] != 1)):
                pairs += 1
                one, other = survival[i, column], survival[j, column]
                agreeing += 1.0 if one < other else 0.5 if one == other else 0.0
    assume(pairs)
    y = make_target(time, event, entry=entry)
    assert concordance_antolini(y, survival, times, horizon=7.0) == pytest.approx(
        agreeing / pairs, abs=1e-12
    )


def test_under_proportional_hazards_it_is_harrells_concordance(references):
    data = references["tied"]
    times = np.unique(data.y["time"])
    survival = np.exp(-0.05 * times * np.exp(data.risk)[:, None])
    assert concordance_antolini(data.y, survival, times) == pytest.approx(
        concordance(data.y, data.risk), abs=1e-12
    )


class TestLimits:
    Y = ([1.0, 2.0, 3.0], [1, 1, 0])

    def test_the_curves_must_reach_over_the_counted_events(self):
        survival = np.full((3, 2), 0.5)
        with pytest.raises(
            InputError, match=r"first to the last counted event, 1 to 2; got 1.5 to 4.*from 0"
        ):
            concordance_antolini(self.Y, survival, [1.5, 4.0])
        with pytest.raises(InputError, match="got 0 to 1.5"):
            concordance_antolini(self.Y, survival, [0.0, 1.5])
        assert concordance_antolini(self.Y, survival, [0.0, 1.5], horizon=1.5) == 0.5

    def test_bad_shapes_are_refused(self):
        with pytest.raises(
            InputError, match=r"survival must have shape \(3, 2\), rows by times; got \(2, 3\)"
        ):
            concordance_antolini(self.Y, np.full((2, 3), 0.5), [1.0, 2.0])
        with pytest.raises(InputError, match="strictly increasing"):
            concordance_antolini(self.Y, np.full((3, 2), 0.5), [2.0, 1.0])

    def test_without_a_comparable_pair(self):
        with pytest.warns(LifemixWarning, match="no pair is comparable: 0 of 2 rows"):
            assert np.isnan(concordance_antolini(([1.0, 2.0], [0, 0]), np.full((2, 1), 0.5), [0.0]))
