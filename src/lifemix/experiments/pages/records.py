"""What a page takes from the records of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = ["RecordLike", "chosen_records"]

WAYS = ("nested", "fixed", "paper")


class RecordLike(Protocol):
    """What a page takes from the record of one model with one setting on one fold.

    calibration: for each kind of event and horizon ``[predicted, observed]``, one value a group of subjects, or None.
    """

    @property
    def data(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def setting(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def censoring(self) -> float: ...  # noqa: D102
    @property
    def fold(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def parameters(self) -> int | None: ...  # noqa: D102
    @property
    def calibration(self) -> Any: ...  # noqa: D102


def chosen_records(records: Sequence[RecordLike], chosen: Sequence[Mapping[str, Any]]) -> list[RecordLike]:
    """Return the records of the settings that were chosen, nested where there was a choice.

    Where no choice is told, those of models that have one record a fold: of several, none stands for the model.
    """
    if not chosen:
        found = Counter((r.data, r.model, r.censoring, r.fold) for r in records)
        unclear = {place[:2] for place, times in found.items() if times > 1}
        return [r for r in records if (r.data, r.model) not in unclear]
    wanted: dict[tuple[str, str, float, int], Mapping[str, Any]] = {}
    for way in reversed(WAYS):
        for one in chosen:
            if one["selection"] == way:
                settings = one["settings"] if len(one["settings"]) > 1 else one["settings"] * len(one["folds"])
                for fold, setting in zip(one["folds"], settings, strict=True):
                    wanted[one["data"], one["model"], one["censoring"], fold] = setting
    return [r for r in records if _same(wanted.get((r.data, r.model, r.censoring, r.fold)), r.setting)]


def _same(wanted: Mapping[str, Any] | None, setting: Mapping[str, Any]) -> bool:
    """Compare settings; a tuple and a list are the same, since JSON knows only one of them."""
    if wanted is None or set(wanted) != set(setting):
        return False
    return all(_plain(value) == _plain(setting[name]) for name, value in wanted.items())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
