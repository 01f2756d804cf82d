"""Step curves in time: whole in memory; in a file at the event times, or at some of them where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np

from .store import Reader, Writer, malformed
from .values import FloatArray, TupleOf

__all__ = ["StepCurve", "TimedStepCurve"]


class StepCurve:
    """A curve at the model's ``event_times_``, from ``start`` before the first, with values from ``least`` to ``most``.

    A file has it at the event times that are kept: at most ``most_event_times`` of the model's class.
    """

    def __init__(self, start: float, least: float = 0.0, most: float = np.inf) -> None:
        self.start, self.values = start, FloatArray("event_times", least=least, most=most)

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name of the array."""
        return self.values.write(_kept(writer, writer.owner.event_times_, value, self.start), writer, place)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the values at all event times."""
        return reader.owner.training_summary_.between(self.values.read(saved, reader, place), self.start)


class TimedStepCurve:
    """A tuple: the times of one type of event, and a curve at them that starts at 0 and does not descend."""

    def __init__(self) -> None:
        self.pair = TupleOf(FloatArray("times", least=0.0), FloatArray("times", least=0.0, most=np.inf))

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the names of the arrays."""
        times, values = value
        summary = _summary(writer)
        if summary.merged is not None:
            times, values = summary.event_times, _kept(writer, times, values, 0.0)
        return self.pair.write((times, values), writer, place)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the tuple."""
        summary = reader.owner.training_summary_
        times, values = self.pair.read(saved, reader, place)
        if summary.merged is None:
            return times, values
        if not np.array_equal(times, summary.event_times):
            raise malformed(place, "a curve at the event times that are kept", times)
        return summary.steps, summary.between(values, 0.0)


def _summary(writer: Writer) -> Any:
    """Return what is written of the training target."""
    return writer.owner.training_summary_.bounded(writer.owner.most_event_times)


def _kept(writer: Writer, times: Any, values: Any, start: float) -> Any:
    """Return a step curve at the event times that are kept."""
    summary = _summary(writer)
    if summary.merged is None:
        return values
    return np.append(start, values)[np.searchsorted(times, summary.event_times, side="right")]
