"""Files of format 2, which release 0.2.0 wrote: they hold the rows of the training target, which are counted here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..state import SUMMARY, Reader, TargetState, Writer
from ..target_summary import TargetSummary

__all__ = ["upgrade"]

_ALL_ROWS = "training_target_"


def upgrade(content: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the content and arrays that a file of today would have."""
    writer = Writer()
    return _upgraded(content, Reader(arrays), writer), dict(arrays) | writer.arrays


def _upgraded(saved: Any, reader: Reader, writer: Writer) -> Any:
    """Replace the targets of all models inside; their times were taken as exact."""
    if isinstance(saved, list):
        return [_upgraded(item, reader, writer) for item in saved]
    if not isinstance(saved, dict):
        return saved
    if saved.get("class") == "DeepSurvivalMachines" and isinstance(saved.get("options"), dict):
        saved = saved | {"options": {"rounding": 0.0} | saved["options"]}
    fitted = saved.get("fitted")
    if set(saved) == {"class", "options", "fitted"} and isinstance(fitted, dict) and _ALL_ROWS in fitted:
        target = TargetState().read(fitted[_ALL_ROWS], reader.inner(), _ALL_ROWS)
        most = 0 if saved["class"] == "DeepSurvivalMachines" else len(target)  # the curves have a value at every time
        summary = TargetSummary.of(target, most)
        counted = {"training_summary_": SUMMARY.write_whole(summary, writer, "training_summary_ of format 2")}
        rest = {name: value for name, value in fitted.items() if name != _ALL_ROWS}
        saved = saved | {"fitted": counted | rest}
    return {name: _upgraded(value, reader, writer) for name, value in saved.items()}
