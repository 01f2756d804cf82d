"""The unit of time that a model learns, and where an event at time 0 is taken to have happened."""

import re

import numpy as np
import pytest

from lifemix import make_target
from lifemix.errors import TargetError
from lifemix.estimators.fitted_network import TimeScale
from lifemix.target import as_target

NAN = np.nan
# time, event, upper; unit, first event
CASES = {
    "median of the event times": (([1.0, 2.0, 9.0, 100.0], [1, 1, 1, 0], None), 2.0, 1.0),
    "the lower of two in the middle": (([1.0, 2.0, 4.0, 9.0], [1, 2, 1, 2], None), 2.0, 1.0),
    "an interval counts at its middle": (([2.0, 4.0, 5.0], [1, 1, 1], [4.0, NAN, NAN]), 4.0, 4.0),
    "the first event is an exact one": (([0.0, 3.0, 5.0], [1, 1, 1], [1.0, NAN, NAN]), 3.0, 3.0),
    "unless there is none": (([0.0, 2.0], [1, 1], [1.0, 4.0]), 0.5, 0.5),
    "events at time 0 do not count": (([0.0, 0.0, 3.0], [1, 1, 1], None), 3.0, 3.0),
}


@pytest.mark.parametrize(("columns", "unit", "first"), CASES.values(), ids=CASES)
def test_unit_and_first_event(columns, unit, first):
    time, event, upper = columns
    assert TimeScale.learn(as_target(make_target(time, event, upper=upper))) == TimeScale(
        unit, first
    )


def test_events_at_time_0_alone_are_refused():
    with pytest.raises(
        TargetError, match="all events happened at time 0; got no positive event time"
    ):
        TimeScale.learn(as_target(make_target([0.0, 1.0], [1, 0])))


@pytest.mark.parametrize("event", [0, 1])
@pytest.mark.parametrize("far", [1e32, 1e39, 1e300])
def test_a_time_beyond_single_precision_is_refused_with_its_row(far, event, quick, mixed_table):
    y = mixed_table.y.copy()
    y["time"][7], y["event"][7] = far, event
    expected = re.escape(f"got {far} at row 7 (1 such rows). Is it a code for unknown?")
    with pytest.raises(TargetError, match=expected):
        quick().fit(mixed_table.X, y)
    with pytest.raises(TargetError, match="code for unknown"):
        quick().fit(mixed_table.X, mixed_table.y, validation_data=(mixed_table.X, y))


def test_a_time_far_beyond_all_others_gives_finite_losses(quick, mixed_table):
    y = mixed_table.y.copy()
    y["time"][7], y["event"][7] = 1e20, 1
    model = quick().fit(mixed_table.X, y)
    assert np.isfinite([record["train_loss"] for record in model.history_]).all()
