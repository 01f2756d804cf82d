"""Units of time: how many days each has, and times written with one, such as 30d or 1y."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import SettingError

__all__ = ["DAYS", "TimeList", "unit_days"]

DAYS = {"hours": 1 / 24, "days": 1.0, "weeks": 7.0, "months": 365.25 / 12, "years": 365.25}
_SHORT = {
    "h": "hours",
    "d": "days",
    "w": "weeks",
    "wk": "weeks",
    "m": "months",
    "mo": "months",
    "mon": "months",
}
_SHORT |= {"y": "years", "yr": "years", "yrs": "years", "a": "years"}
_TIME = re.compile(r"([-+.\deE]*?[\d.])\s*([a-zA-Z]*)")


def unit_days(unit: str) -> float | None:
    """Return how many days a unit has; None for one that is not known."""
    word = unit.strip().lower()
    name = _SHORT.get(word) or (word if word in DAYS else f"{word}s")
    return DAYS.get(name)


@dataclass(frozen=True)
class TimeList:
    """Times as the user gave them: numbers in the unit of the data, or with a unit of their own."""

    values: tuple[tuple[float, str], ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str] | None, option: str = "--times") -> TimeList:
        """Read the times of an option, which may be repeated or hold several separated by commas."""
        parts = [part.strip() for text in texts or () for part in text.split(",")]
        return cls(tuple(_read(part, option) for part in parts))

    def within(self, unit: str) -> list[float]:
        """Return the times in the unit of the data, sorted and each once."""
        own = unit_days(unit) if unit else None
        times = set()
        for number, given in self.values:
            days = unit_days(given) if given else None
            if days is not None and own is None:
                what = (
                    f"is {unit!r}, which is none of {', '.join(DAYS)}" if unit else "is not known"
                )
                raise SettingError(
                    f"--times {number:g}{given} cannot be used: the unit of the model's times {what}. Give plain "
                    "numbers, or say the unit with --unit when you fit."
                )
            times.add(number if days is None or own is None else number * days / own)
        return sorted(times)


def _read(part: str, option: str) -> tuple[float, str]:
    found = _TIME.fullmatch(part)
    try:
        number = float(found[1]) if found else float(part)
    except ValueError:
        raise SettingError(
            f"{option} must be numbers, such as {option} 1,2,5, or have units, such as {option} 30d,1y; got {part!r}."
        ) from None
    unit = found[2] if found else ""
    if unit and unit_days(unit) is None:
        raise SettingError(
            f"{option}: unknown unit {unit!r} in {part!r}; expected d, w, m or y ({', '.join(DAYS)})."
        )
    if not 0 <= number <= 1e300:
        raise SettingError(f"{option} must lie between 0 and 1e+300; got {part}.")
    return number, unit
