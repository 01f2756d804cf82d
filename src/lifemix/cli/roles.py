"""Which column is what: the time, the event, identifiers, covariates; kept in the model's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from ..errors import CovariateError, SettingError

__all__ = ["Roles", "check_columns", "no_such_column"]

_SHOWN = 30


@dataclass(frozen=True)
class Roles:
    """The columns of a table by what they are for; ``missing`` are marks of missing values."""

    time: str | None = None
    event: str | None = None
    entry: str | None = None
    upper: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    time_unit: str = ""

    @property
    def outcome(self) -> dict[str, str]:
        """The columns that make the target, by role."""
        roles = {"--time": self.time, "--event": self.event, "--entry": self.entry, "--upper": self.upper}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def apart(self) -> list[str]:
        """The columns that are no covariates."""
        return [*self.outcome.values(), *([self.id] if self.id else []), *self.drop]

    def override(self, **given: Any) -> Roles:
        """Return the roles with those replaced that the user has given."""
        return replace(self, **{name: value for name, value in given.items() if value})

    def resolve(self, columns: Sequence[str]) -> Roles:
        """Return the roles for a table, lists written with commas taken apart; refuse columns that it does not have."""
        known = set(columns)
        lists = {name: _split(getattr(self, name), known) for name in ("drop", "keep", "categorical")}
        roles = replace(self, drop=lists["drop"], keep=lists["keep"], categorical=lists["categorical"])
        named = [*roles.outcome.items(), *([("--id", roles.id)] if roles.id else [])]
        named += [(f"--{name}", column) for name in lists for column in lists[name]]
        check_columns(columns, named)
        _check_different(roles)
        return roles

    def to_state(self) -> dict[str, Any]:
        """Return the roles in JSON's types."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Roles:
        """Return the roles whose ``to_state`` was saved."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in state.items() if k in known}
        return cls(**values)


def _split(names: Sequence[str], known: set[str]) -> tuple[str, ...]:
    parts = [[name] if name in known else [part.strip() for part in name.split(",")] for name in names]
    return tuple(dict.fromkeys(part for names in parts for part in names if part))


def check_columns(columns: Sequence[str], named: Sequence[tuple[str, str]]) -> None:
    """Refuse names of columns that the table does not have; each comes with the option that gave it."""
    for option, column in named:
        if column not in columns:
            raise CovariateError(no_such_column(column, columns, option))


def no_such_column(column: str, columns: Sequence[str], option: str) -> str:
    """Return the message about a column that is not there."""
    near = get_close_matches(column.lower(), [name.lower() for name in columns], n=1)
    meant = [name for name in columns if near and name.lower() == near[0]]
    hint = f" Did you mean {meant[0]!r}?" if meant else ""
    shown = ", ".join(columns[:_SHOWN]) + (f", ... ({len(columns)} in all)" if len(columns) > _SHOWN else "")
    return f"the table has no column {column!r} ({option}).{hint} It has: {shown}."


def _check_different(roles: Roles) -> None:
    seen: dict[str, str] = {}
    for option, column in (roles.outcome | ({"--id": roles.id} if roles.id else {})).items():
        if column in seen:
            raise SettingError(f"{seen[column]} and {option} are the same column, {column!r}; give different ones.")
        seen[column] = option
    both = [name for name in roles.drop if name in roles.keep or name in roles.outcome.values()]
    if both:
        raise SettingError(
            f"the column {both[0]!r} is to be dropped and used at once. Leave out one of the two options."
        )
