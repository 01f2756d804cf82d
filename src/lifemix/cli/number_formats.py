"""Numbers as people write them: decimal points and commas, thousands, currencies and percent signs, column by column.

What a column of text means is worked out from its own values, then from the other columns of the file: where one has
decimal commas, ``4.920`` in another is four thousand and more. Where neither tells, nothing is guessed: the column is
a problem, and the user says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import SettingError
from .table_options import TableOptions

__all__ = ["NumberColumns", "looks_like_number", "read_numbers"]

_SPACES = "' ’\u00a0\u202f\u2009"
_SIGN = r"€|\$|£|¥|₹|CHF|EUR|USD|GBP|SEK|NOK|DKK|kr\.?|Fr\.?|%"
_TEXT = re.compile(
    rf"(?P<front>[-+−]?)\s*(?P<before>{_SIGN})?\s*(?P<minus>[-+−]?)"
    rf"(?P<body>[\d.,][\d.,{_SPACES}]*?(?:[eE][-+]?\d+)?)\s*(?P<after>{_SIGN})?"
)
_FORMS = {
    decimal: re.compile(
        rf"(?:\d+|\d{{1,3}}(?:[{re.escape(thousands)}{_SPACES}]\d{{3}})+)?(?:{re.escape(decimal)}\d*)?(?:[eE][-+]?\d+)?"
    )
    for decimal, thousands in ((".", ","), (",", "."))
}
_NAMES = {".": "point", ",": "comma"}
_LOOK = 200  # different values of a text column that are looked at first
Mark = str
Texts = Sequence[str]


@dataclass
class NumberColumns:
    """How the numbers of a file's columns are written: the decimal mark by column, and what could not be told."""

    marks: dict[str, Mark] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        commas = [name for name, mark in self.marks.items() if mark == ","]
        shown = ", ".join(commas[:5]) + (f" and {len(commas) - 5} more" if len(commas) > 5 else "")
        return f", decimal comma in {shown}" if commas else ""


@dataclass(frozen=True)
class _Body:
    """A text without sign and currency: its digits and marks, and the marks under which it is a number."""

    text: str
    negative: bool
    sign: str

    def value(self, decimal: Mark) -> float | None:
        """Return the number that it is with a decimal mark; None where it is none."""
        if not _FORMS[decimal].fullmatch(self.text) or not any(map(str.isdigit, self.text)):
            return None
        thousands = "," if decimal == "." else "."
        digits = re.sub(f"[{re.escape(thousands)}{_SPACES}]", "", self.text).replace(decimal, ".")
        return -float(digits) if self.negative else float(digits)


def _body(text: str) -> _Body | None:
    found = _TEXT.fullmatch(text.strip())
    if not found or (found["front"] and found["minus"]) or (found["before"] and found["after"]):
        return None
    minus = (found["front"] or found["minus"]) in ("-", "−")
    body = _Body(found["body"], minus, found["before"] or found["after"] or "")
    return body if any(body.value(mark) is not None for mark in _FORMS) else None


def looks_like_number(text: str) -> bool:
    """Tell whether a text is a number, with any decimal mark, thousands, currency or percent sign."""
    return _body(text) is not None


@dataclass(frozen=True, eq=False)
class _NumberTexts:
    """The different texts of a column, each of which is a number with some decimal mark."""

    name: str
    codes: NDArray[np.intp]
    bodies: list[_Body]

    @classmethod
    def of(cls, name: str, values: pd.Series[Any]) -> _NumberTexts | None:
        """Return the texts of a column; None where some are no numbers."""
        codes, texts = pd.factorize(values.map(str, na_action="ignore"))
        if not len(texts) or any(_body(text) is None for text in texts[:_LOOK]):
            return None
        bodies = [_body(text) for text in texts]
        known = [body for body in bodies if body is not None]
        return cls(name, codes, known) if len(known) == len(bodies) else None

    def values(self, mark: Mark) -> NDArray[np.float64] | None:
        """Return the different numbers, with one decimal mark; None where some are no numbers with it."""
        found = [body.value(mark) for body in self.bodies]
        return None if None in found else np.array(found, dtype=np.float64)

    @property
    def possible(self) -> set[Mark]:
        """The decimal marks with which all texts are numbers; both where it makes no difference."""
        return {mark for mark in _FORMS if self.values(mark) is not None}

    @property
    def same_either_way(self) -> bool:
        """Whether both decimal marks give the same numbers, as in whole numbers."""
        return len(self.possible) == 2 and np.array_equal(*(self.values(mark) for mark in _FORMS))  # type: ignore[arg-type]

    @property
    def example(self) -> str:
        """A text that both marks can read, but not alike."""
        return next(body.text for body in self.bodies if body.value(".") != body.value(","))

    @property
    def mixed_signs(self) -> str:
        """What is wrong with the currencies and percent signs; "" where nothing is."""
        signs = sorted({body.sign for body in self.bodies})
        money = [sign for sign in signs if sign not in ("", "%")]
        if "%" in signs and len(signs) > 1:
            return f"column {self.name!r} has percent signs in some rows only"
        return f"column {self.name!r} has several currencies: {', '.join(money)}" if len(money) > 1 else ""

    def numbers(self, mark: Mark) -> NDArray[np.float64]:
        """Return one number per row, NaN where missing."""
        values = self.values(mark)
        assert values is not None
        return np.append(values, np.nan)[self.codes]


def read_numbers(
    frame: pd.DataFrame,
    options: TableOptions,
    usual: Mapping[str, Mark],
    reread: Callable[[list[str]], pd.DataFrame] | None = None,
) -> tuple[pd.DataFrame, NumberColumns]:
    """Return a table with its columns of written numbers as numbers, and how they were written.

    ``usual`` are the decimal marks of an earlier table with these columns, for where nothing else tells. ``reread``
    gives columns as text that were read as numbers with a decimal point; they may have been something else.
    """
    given = _given_marks(options)
    as_text = {options.id, *options.categorical}
    texts = {name: frame[name] for name in frame.columns if _is_text(frame[name]) and name not in as_text}
    found = _number_texts(texts.items())
    if reread is not None and (any("." not in each.possible for each in found) or "," in given.values()):
        floats = [str(name) for name in frame.columns if frame[name].dtype.kind == "f" and name not in as_text]
        found += _number_texts((name, column) for name, column in reread(floats).items())
    columns, changed = NumberColumns(), {}
    evidence = {next(iter(each.possible)) for each in found if len(each.possible) == 1}
    others = (frame[name] for name in frame.columns if name not in {each.name for each in found})
    points = any(values.dtype.kind == "f" and (values.dropna() % 1 != 0).any() for values in others)
    for each in found:
        mark, problem = _decide(each, given, evidence | ({"."} if points else set()), usual.get(each.name, ""))
        if problem:
            columns.problems[each.name] = problem
        elif mark:
            columns.marks[each.name] = mark
            changed[each.name] = each.numbers(mark)
    return frame.assign(**changed) if changed else frame, columns


def _number_texts(columns: Iterable[tuple[Any, pd.Series[Any]]]) -> list[_NumberTexts]:
    read = (_NumberTexts.of(str(name), values) for name, values in columns)
    return [each for each in read if each is not None]


def _is_text(values: pd.Series[Any]) -> bool:
    dtype = values.dtype
    return bool(pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)) and not isinstance(
        dtype, pd.CategoricalDtype
    )


def _decide(each: _NumberTexts, given: Mapping[str, Mark], seen: set[Mark], usual: Mark) -> tuple[Mark, str]:
    """Return the decimal mark of a column, or why it cannot be told."""
    if each.mixed_signs:
        return "", each.mixed_signs
    told = given.get(each.name, given.get("", ""))
    possible = each.possible
    if not possible:
        one = next(body.text for body in each.bodies if body.value(".") is None)
        other = next(body.text for body in each.bodies if body.value(",") is None)
        return "", f"column {each.name!r} has numbers written in two ways, such as {one!r} and {other!r}"
    if told:
        if told not in possible:
            wrong = next(body.text for body in each.bodies if body.value(told) is None)
            return "", f"column {each.name!r} has {wrong!r}, which has no decimal {_NAMES[told]} (--decimal {told})"
        return told, ""
    if len(possible) == 1 or each.same_either_way:
        return min(possible, key=".,".index), ""
    if len(seen) == 1:
        return next(iter(seen)), ""
    if usual:
        return usual, ""
    if not seen and "." in each.example:
        return ".", ""  # the usual mark, and nothing in the file has another
    return "", (
        f"column {each.name!r} has numbers such as {each.example!r}, in which the mark may stand for decimals or for "
        f"thousands (say which: --decimal '{each.name}=.' or --decimal '{each.name}=,')"
    )


def _given_marks(options: TableOptions) -> dict[str, Mark]:
    """Return the decimal marks that the user has given, by column; "" stands for the whole file."""
    marks: dict[str, Mark] = {}
    for option, texts in (("--thousands", options.thousands), ("--decimal", options.decimal)):
        for text in texts:
            name, mark = _split_mark(text, option)
            if option == "--thousands":
                mark = {",": ".", ".": ","}.get(mark, "")
            if mark:
                marks[name] = mark
    return marks


def _split_mark(text: str, option: str) -> tuple[str, Mark]:
    name, _, mark = text.rpartition("=")
    mark = {"point": ".", "comma": ",", "space": " "}.get(mark, mark)
    allowed = ".," if option == "--decimal" else "., '"
    if len(mark) != 1 or mark not in allowed:
        raise SettingError(
            f"{option} must be a mark such as {option} , or, for one column, {option} 'weight=,'; got {text!r}."
        )
    return name, mark
