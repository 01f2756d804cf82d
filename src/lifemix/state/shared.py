"""What all models have learned: the target of training, and how a table becomes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import CovariateError, ModelFileError
from ..preprocessing import Passthrough, SequencePreprocessor, TabularPreprocessor
from ..target import Target
from ..target_summary import Cells, TargetSummary
from .sequences import read_sequence_settings, read_sequences, write_sequence_settings, write_sequences
from .store import Reader, Size, Writer, malformed
from .values import (
    BoolValue,
    FloatArray,
    FloatValue,
    IfPresent,
    IntArray,
    IntValue,
    JsonValue,
    ListOf,
    NumbersByName,
    ObjectOf,
    OneOf,
    StateKind,
    TextValue,
    read_fields,
)

__all__ = ["SUMMARY", "PreprocessorState", "SequenceSettingsState", "SettingsState", "TargetState"]


def _cells(codes: Size) -> StateKind:
    return ObjectOf(
        Cells,
        left=FloatArray("cells", least=0.0),
        right=FloatArray("cells", least=0.0),
        counts=IntArray("cells", codes, least=0),
        last=FloatArray(codes, least=0.0, missing=True),
    )


class SummaryState(ObjectOf):
    """The counts of a training target, with as many event times as the model's class keeps."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return what is written of each field."""
        return self.write_whole(value.bounded(writer.owner.most_event_times), writer, place)

    def write_whole(self, value: TargetSummary, writer: Writer, place: str) -> Any:
        """Return the same with all event times that there are."""
        return super().write(value, writer, place)


SUMMARY = SummaryState(
    TargetSummary,
    times=_cells("codes"),
    lower=_cells("codes"),
    upper=_cells(1),
    entry=_cells(1),
    quartiles=FloatArray("codes", 3, least=0.0),
    last_event_time=FloatValue(least=0.0),
    event_times=IfPresent(FloatArray("kept", least=0.0)),
    merged=IfPresent(IntArray("kept", least=1)),
)
"""What is written of a training target."""

_TARGET: Mapping[str, StateKind] = {
    "event": IntArray("rows", least=0),
    "time": FloatArray("rows", least=0.0),
    "entry": FloatArray("rows", least=0.0),
    "upper": FloatArray("rows", least=0.0, missing=True),
}
_PASSTHROUGH: Mapping[str, StateKind] = {"kind": TextValue(), "names": ListOf(TextValue()), "named": BoolValue()}
_TABULAR: Mapping[str, StateKind] = {
    "kind": TextValue(),
    "settings": JsonValue(),
    "columns": ListOf(JsonValue()),
    "named": BoolValue(),
}
_SETTINGS: Mapping[str, StateKind] = {
    "fill_values": IfPresent(NumbersByName()),
    "missing_indicators": BoolValue(),
    "scale": BoolValue(),
    "max_levels": IntValue(1),
    "numbers": OneOf("scaled", "piecewise"),
    "bins": IntValue(2),
}
_COLUMN: Mapping[str, StateKind] = {
    "name": TextValue(),
    "kind": OneOf("numeric", "categorical", "constant", "empty"),
    "fill": JsonValue(),
    "mean": FloatValue(),
    "scale": FloatValue(least=float(np.finfo(np.float64).tiny)),
    "levels": IfPresent(ListOf(TextValue())),
    "indicator": BoolValue(),
    "knots": IfPresent(ListOf(FloatValue())),
    "usual": IfPresent(ListOf(FloatValue(), 3)),
    "whole": BoolValue(),
    "missing": FloatValue(0.0, 1.0),
}


class TargetState:
    """A training target, as files of formats 1 and 2 have it: every event type up to the last happens in some row."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the names of the columns."""
        return {name: kind.write(getattr(value, name), writer, f"{place}.{name}") for name, kind in _TARGET.items()}

    def read(self, saved: object, reader: Reader, place: str) -> Target:
        """Return the target."""
        target = Target(**read_fields(saved, _TARGET, reader.inner(), place))
        types = np.unique(target.event[target.event > 0])
        if not len(types) or types[-1] != len(types):
            raise malformed(f"{place}.event", "event types 1..M without gaps", types[:20].tolist())
        if (target.upper <= target.time).any() or (target.entry > target.time).any():
            raise malformed(place, "a target with entry <= time < upper", "another")
        return target


class PreprocessorState:
    """A fitted preprocessor of ours; one of the user's cannot be written."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return all that it has learned."""
        if type(value) is TabularPreprocessor:
            return {"kind": "tabular", **value.to_state()}
        if type(value) is Passthrough:
            return {"kind": "passthrough", "names": value.names, "named": bool(value.named)}
        if type(value) is SequencePreprocessor:
            return write_sequences(value, SettingsState(), writer, place)
        raise ModelFileError(
            f"a {type(value).__name__} cannot be written without pickle. Transform X before fit and use "
            "preprocessor=None, or preprocessor='auto'; or pickle the model with joblib."
        )

    def read(
        self, saved: object, reader: Reader, place: str
    ) -> TabularPreprocessor | Passthrough | SequencePreprocessor:
        """Return the fitted preprocessor."""
        kind = saved.get("kind") if isinstance(saved, dict) else None
        if kind == "passthrough":
            fields = read_fields(saved, _PASSTHROUGH, reader, place)
            return Passthrough(fields["names"], fields["named"])
        if kind == "sequences" and isinstance(saved, dict):
            return read_sequences(saved, SettingsState(), self, reader, place)
        if kind != "tabular":
            raise malformed(f"{place}.kind", "one of ['passthrough', 'sequences', 'tabular']", kind)
        fields = read_fields(saved, _TABULAR, reader, place)
        SettingsState().read(fields["settings"], reader, f"{place}.settings")
        for column in fields["columns"]:
            _check_column(column, reader, f"{place}.columns")
        try:
            return TabularPreprocessor.from_state(fields)
        except CovariateError as error:
            raise ModelFileError(f"{place}: {error} Save the model again.") from None


class SettingsState:
    """A ``TabularPreprocessor`` that is not fitted: its settings."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the settings."""
        return {name: kind.write(getattr(value, name), writer, f"{place}.{name}") for name, kind in _SETTINGS.items()}

    def read(self, saved: object, reader: Reader, place: str) -> TabularPreprocessor:
        """Return the transformer."""
        return TabularPreprocessor(**read_fields(saved, _SETTINGS, reader, place))


class SequenceSettingsState:
    """A ``SequencePreprocessor`` that is not fitted: its settings."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the settings."""
        return write_sequence_settings(value, SettingsState(), writer, place)

    def read(self, saved: object, reader: Reader, place: str) -> SequencePreprocessor:
        """Return the preprocessor."""
        return read_sequence_settings(saved, SettingsState(), reader, place)


def _check_column(saved: object, reader: Reader, place: str) -> None:
    """Refuse what ``Column`` could hold but ``transform`` could not use."""
    column = read_fields(saved, _COLUMN, reader, place)
    levels, knots, fill = column["levels"] or [], column["knots"], column["fill"]
    text = isinstance(fill, str)
    fits = {
        "numeric": not isinstance(fill, bool) and isinstance(fill, (int, float)),
        "categorical": text and fill in levels,
        "constant": text or isinstance(fill, (int, float)),
        "empty": fill is None,
    }
    if not fits[column["kind"]] or len(set(levels)) < len(levels):
        raise malformed(f"{place}.{column['name']}", "filled with a number or one of its levels", (fill, levels))
    if knots is not None and (len(knots) < 2 or (np.diff(np.asarray(knots) / 2) <= 0).any()):
        raise malformed(f"{place}.{column['name']}.knots", "two or more ascending numbers", knots)
