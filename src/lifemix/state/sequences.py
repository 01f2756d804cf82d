"""How a fitted ``SequencePreprocessor`` is written: its settings, and what it learned of each source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..preprocessing import SequencePreprocessor, TabularPreprocessor
from ..preprocessing.packing import ArrayPart, Part, TablePart, VisitsPart
from .store import Reader, Writer, malformed
from .values import BoolValue, FloatValue, IfPresent, IntValue, JsonValue, ListOf, StateKind, TextValue, read_fields

__all__ = ["read_sequence_settings", "read_sequences", "write_sequence_settings", "write_sequences"]

_SMALLEST = float(np.finfo(np.float64).tiny)
_MOST_PLACES = 2**26  # in a row: a file that says more is no model's
_TABLE: Mapping[str, StateKind] = {"kind": TextValue(), "table": JsonValue()}
_ARRAY: Mapping[str, StateKind] = {"kind": TextValue(), "shape": ListOf(IntValue(0))}
_VISITS: Mapping[str, StateKind] = {
    "kind": TextValue(),
    "table": JsonValue(),
    "masked": ListOf(IntValue(0)),
    "max_visits": IntValue(1),
    "time_scale": FloatValue(least=_SMALLEST),
    "gap_scale": FloatValue(least=_SMALLEST),
}
_SETTINGS: Mapping[str, StateKind] = {
    "table": IfPresent(JsonValue()),
    "max_visits": IfPresent(IntValue(1)),
    "sequences": BoolValue(),
}


def write_sequence_settings(value: SequencePreprocessor, table: StateKind, writer: Writer, place: str) -> Any:
    """Return the settings; ``table`` writes those of a ``TabularPreprocessor``."""
    own = None if value.table is None else table.write(value.table, writer, place)
    most = None if value.max_visits is None else int(value.max_visits)
    return {"table": own, "max_visits": most, "sequences": bool(value.sequences)}


def read_sequence_settings(saved: object, table: StateKind, reader: Reader, place: str) -> SequencePreprocessor:
    """Return the preprocessor with saved settings, not fitted."""
    fields = read_fields(saved, _SETTINGS, reader, place)
    own = None if fields["table"] is None else table.read(fields["table"], reader, f"{place}.table")
    return SequencePreprocessor(own, fields["max_visits"], fields["sequences"])


def write_sequences(value: SequencePreprocessor, settings: StateKind, writer: Writer, place: str) -> Any:
    """Return all that was learned, source by source."""
    return {
        "kind": "sequences",
        "settings": write_sequence_settings(value, settings, writer, place),
        "parts": [[name, _write_part(part)] for name, part in value.parts_.items()],
    }


def _write_part(part: Part) -> Any:
    if isinstance(part, TablePart):
        return {"kind": "table", "table": part.table.to_state()}
    if isinstance(part, ArrayPart):
        return {"kind": "array", "shape": [int(size) for size in part.shape]}
    assert isinstance(part, VisitsPart)
    return {
        "kind": "visits",
        "table": part.table.to_state(),
        "masked": list(part.masked),
        "max_visits": part.max_visits,
        "time_scale": part.time_scale,
        "gap_scale": part.gap_scale,
    }


def read_sequences(
    saved: Mapping[str, Any], settings: StateKind, fitted: StateKind, reader: Reader, place: str
) -> SequencePreprocessor:
    """Return the fitted preprocessor; ``settings`` and ``fitted`` read a ``TabularPreprocessor``."""
    kinds: dict[str, StateKind] = {"kind": TextValue(), "settings": JsonValue(), "parts": ListOf(JsonValue())}
    fields = read_fields(saved, kinds, reader, place)
    new = read_sequence_settings(fields["settings"], settings, reader, f"{place}.settings")
    new.parts_ = {}
    for pair in fields["parts"]:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)) or pair[0] in new.parts_:
            raise malformed(f"{place}.parts", "pairs of different names and what was learned", pair)
        new.parts_[pair[0]] = _read_part(pair[1], fitted, reader, f"{place}.{pair[0]}")
    width = sum(block.width for block in new.blocks_)
    if not new.parts_ or width > _MOST_PLACES:
        raise malformed(f"{place}.parts", f"sources of at most {_MOST_PLACES} numbers", width)
    return new


def _read_part(saved: Any, fitted: StateKind, reader: Reader, place: str) -> Part:
    kind = saved.get("kind") if isinstance(saved, dict) else None
    if kind == "array":
        return ArrayPart(tuple(read_fields(saved, _ARRAY, reader, place)["shape"]))
    if kind == "table":
        fields = read_fields(saved, _TABLE, reader, place)
        return TablePart(_read_table(fields["table"], fitted, reader, place))
    if kind != "visits":
        raise malformed(f"{place}.kind", "one of ['array', 'table', 'visits']", kind)
    fields = read_fields(saved, _VISITS, reader, place)
    table = _read_table(fields["table"], fitted, reader, place)
    masked = tuple(fields["masked"])
    if list(masked) != sorted(set(masked)) or (masked and masked[-1] >= len(table.columns_)):
        raise malformed(f"{place}.masked", "ascending numbers of columns", masked)
    return VisitsPart(table, masked, fields["max_visits"], fields["time_scale"], fields["gap_scale"])


def _read_table(saved: Any, fitted: StateKind, reader: Reader, place: str) -> TabularPreprocessor:
    state = saved | {"kind": "tabular"} if isinstance(saved, dict) else saved
    table: TabularPreprocessor = fitted.read(state, reader, f"{place}.table")
    return table
