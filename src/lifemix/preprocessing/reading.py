"""What the columns of a table hold, worked out once: numbers or levels, missing values, number of distinct values.

``TableData`` is a table that keeps what was read of it. Every estimator takes one in place of a DataFrame, and a
part of its rows (``table.iloc[rows]``) reads nothing again: whoever looks at the same table several times, as the
command line does (columns, doctor, search, fit, refit), pays for the reading once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import BoolArray, FloatArray, IndexArray
from ..errors import CovariateError
from ..histories import InputLike

__all__ = [
    "FEW",
    "ColumnData",
    "TableData",
    "TableLike",
    "column_at",
    "few_labels",
    "holds_plain_numbers",
    "read_columns",
    "refuse_infinite",
    "to_floats",
]

Rows = slice | IndexArray | BoolArray

FEW = 16  # rows that are read one by one
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_MISSING = (type(None), type(pd.NA), type(pd.NaT))
_UNMISTAKABLE = {str, float, type(None)}  # types whose equal values have equal text


class ColumnData:
    """One column of a table: numbers (NaN where missing), or codes of levels (-1 where missing).

    Each property is worked out when it is first asked for, and kept; a part of the rows asks the whole column, and has
    its kind.
    """

    def __init__(
        self,
        name: str,
        values: pd.Series[Any] | FloatArray,
        whole_column: ColumnData | None = None,
        rows: Rows = slice(None),
    ) -> None:
        self.name = name
        self._values, self._whole_column, self._rows = values, whole_column, rows

    @classmethod
    def of_numbers(cls, name: str, numbers: FloatArray) -> ColumnData:
        """Return a column of numbers that are known to be finite, or NaN where missing."""
        column = cls(name, numbers)
        column.kind, column.numbers = "numeric", numbers
        return column

    @cached_property
    def values(self) -> pd.Series[Any]:
        """The column as it was given."""
        if self._whole_column is not None:
            return self._whole_column.values.iloc[self._rows]
        return (
            pd.Series(self._values, copy=False)
            if isinstance(self._values, np.ndarray)
            else self._values
        )

    @cached_property
    def kind(self) -> Literal["numeric", "categorical"]:
        """Whether it holds numbers (booleans are 0 and 1) or labels; a column without any value counts as numbers."""
        if self._whole_column is not None:
            return self._whole_column.kind
        if holds_plain_numbers(self.values.dtype) or self.missing.all():
            return "numeric"
        return "numeric" if _holds_numbers(self.name, self.values) else "categorical"

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The values as float64 with NaN where missing; None where it holds labels."""
        if self.kind == "categorical":
            return None
        if self._whole_column is not None:
            whole = self._whole_column.numbers
            return None if whole is None else whole[self._rows]
        if not holds_plain_numbers(self.values.dtype) and self.missing.all():
            return np.full(len(self.values), np.nan)
        return to_floats(self.name, self.values)

    @property
    def codes(self) -> IndexArray | None:
        """The place of each row's level among ``levels``, -1 where missing; None where it holds numbers."""
        return self.coded[0] if self.kind == "categorical" else None

    @property
    def levels(self) -> tuple[str, ...]:
        """The different labels as text, those of these rows only; () where it holds numbers."""
        return self.coded[1] if self.kind == "categorical" else ()

    @cached_property
    def coded(self) -> tuple[IndexArray, tuple[str, ...]]:
        """The codes and levels that the column has, or would have if its numbers were labels."""
        if self._whole_column is None:
            return _factorize(self.name, self.values)
        codes, levels = self._whole_column.coded
        codes = codes[self._rows]
        present = np.flatnonzero(np.bincount(codes + 1, minlength=len(levels) + 1)[1:])
        if len(present) == len(levels):
            return codes, levels
        place = np.full(len(levels) + 1, -1, dtype=np.intp)  # one more, for the missing
        place[present] = np.arange(len(present))
        return place[codes], tuple(levels[i] for i in present)

    @cached_property
    def missing(self) -> BoolArray:
        """Where the value is missing."""
        known = self.__dict__
        if known.get("numbers") is not None:
            return np.isnan(known["numbers"])
        if "coded" in known:
            return np.asarray(known["coded"][0] < 0)
        if self._whole_column is not None:
            return self._whole_column.missing[self._rows]
        return np.asarray(self.values.isna().to_numpy(bool))

    @property
    def seen(self) -> FloatArray:
        """The numbers that are not missing; none where it holds labels."""
        return np.empty(0) if self.numbers is None else self.numbers[~self.missing]

    @cached_property
    def distinct(self) -> int:
        """How many different values it has, the missing apart."""
        return len(self.levels) if self.kind == "categorical" else len(np.unique(self.seen))

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers only."""
        seen = self.seen
        return self.kind == "numeric" and bool((seen == np.rint(seen)).all())

    @property
    def n_inputs(self) -> int:
        """The degrees of freedom that a model gets: 1, or the levels but one; one more where values are missing."""
        if self.distinct < 2:
            return int(self.missing.any() and self.distinct > 0)
        return (1 if self.kind == "numeric" else len(self.levels) - 1) + int(self.missing.any())

    def as_numbers(self) -> FloatArray:
        """Return the numbers of a column that must hold some; a pandas Categorical of numbers does too."""
        if self.numbers is not None:
            return self.numbers
        values = self.values
        if isinstance(values.dtype, pd.CategoricalDtype):
            return ColumnData(self.name, values.astype(values.cat.categories.dtype)).as_numbers()
        labels = values[values.map(lambda value: isinstance(value, str)).to_numpy(bool)]
        example = repr((labels if len(labels) else values.dropna()).iloc[0])
        raise CovariateError(
            f"column {self.name!r} held numbers in training; got {values.dtype} values such as {example}. "
            "Convert it, or use NaN where the value is unknown."
        )

    def take(self, rows: Rows) -> ColumnData:
        """Return the column at some rows."""
        return ColumnData(self.name, self._values, self, rows)


class TableData:
    """A table that keeps what was read of its columns, so that several fits and checks read each column once.

    Every estimator, measure and check takes it in place of a DataFrame; ``table.iloc[rows]`` and ``table[names]`` are
    parts of it that share the reading.

    Parameters
    ----------
    frame : DataFrame
        The table; its column names must differ from each other.
    named : bool, default True
        Whether the names were given, or made up for an array.

    Attributes
    ----------
    data : tuple
        One object per column with ``name``, ``kind``, ``numbers`` or ``codes`` and ``levels``, ``missing``,
        ``distinct``, ``whole``, each worked out when it is first asked for.
    columns : list of str
        The names of the columns.
    shape : tuple of int
        The number of rows and columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import TableData
    >>> table = TableData(pd.DataFrame({"age": [61, 48, None], "sex": ["f", "m", "f"]}))
    >>> [(column.name, column.kind, column.distinct) for column in table.data]
    [('age', 'numeric', 2), ('sex', 'categorical', 2)]
    >>> table.iloc[[0, 2]].data[1].levels
    ('f',)

    """

    def __init__(self, frame: pd.DataFrame, named: bool = True) -> None:
        self._keep(tuple(read_columns(frame)), len(frame), named)
        self.frame = frame

    @classmethod
    def of_columns(cls, data: Sequence[ColumnData], length: int, named: bool = True) -> TableData:
        """Return the table of columns that were read elsewhere.

        Parameters
        ----------
        data : sequence of columns
            As ``data`` has them.
        length : int
            The number of rows.
        named : bool, default True
            Whether the names were given, or made up for an array.

        Returns
        -------
        TableData

        """
        table = object.__new__(cls)
        table._keep(tuple(data), length, named)
        return table

    def _keep(self, data: tuple[ColumnData, ...], length: int, named: bool) -> None:
        self.data, self.named = data, named
        self.columns = [column.name for column in data]
        self.shape = length, len(data)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        return pd.DataFrame({column.name: column.values for column in self.data}, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, names: list[str]) -> TableData:
        place = {column.name: column for column in self.data}
        return self._part([place[name] for name in names], len(self))

    @property
    def iloc(self) -> _RowsOf:
        """Rows by number, as ``table.iloc[rows]``."""
        return _RowsOf(self)

    def take(self, rows: Any, axis: int = 0) -> TableData:
        """Return some rows.

        Parameters
        ----------
        rows : slice, row numbers or mask
            Which rows.
        axis : int, default 0
            Only rows can be taken; scikit-learn gives the axis.

        Returns
        -------
        TableData

        """
        if axis != 0:
            raise NotImplementedError("columns are taken by name: table[names].")
        chosen: Rows = rows if isinstance(rows, slice) else np.arange(len(self))[np.asarray(rows)]
        length = len(range(len(self))[chosen]) if isinstance(chosen, slice) else len(chosen)
        return self._part([column.take(chosen) for column in self.data], length)

    def _part(self, data: list[ColumnData], length: int) -> TableData:
        return TableData.of_columns(data, length, self.named)


def read_columns(table: pd.DataFrame | TableData) -> Iterator[ColumnData]:
    """Yield the columns of a table; what is read of them is kept where the table keeps it, else let go."""
    if isinstance(table, TableData):
        yield from table.data
    else:
        yield from (ColumnData(str(name), values) for name, values in table.items())


def column_at(table: pd.DataFrame | TableData, place: int) -> ColumnData:
    """Return one column of a table."""
    if isinstance(table, TableData):
        return table.data[place]
    name = table.columns[place]
    return ColumnData(str(name), table[name])


class _RowsOf:
    """What ``iloc`` is: rows in square brackets."""

    def __init__(self, table: TableData) -> None:
        self._table = table

    def __getitem__(self, rows: Any) -> TableData:
        return self._table.take(rows)


def holds_plain_numbers(dtype: Any) -> bool:
    """Tell whether a type is one of NumPy's numbers, booleans included."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def _holds_numbers(name: str, values: pd.Series[Any]) -> bool:
    """Tell a column of numbers (booleans are 0 and 1) from one of labels; a pandas Categorical always holds labels."""
    dtype = values.dtype
    if holds_plain_numbers(dtype):
        return True
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    if pd.api.types.is_object_dtype(dtype):
        return _objects_are_numbers(name, values)
    if pd.api.types.is_complex_dtype(dtype):
        raise CovariateError(
            f"Complex data not supported: column {name!r} is {dtype}. Give real numbers."
        )
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return True
    if pd.api.types.is_string_dtype(dtype):
        return False
    raise _wrong_type(name, str(dtype))


def _objects_are_numbers(name: str, values: pd.Series[Any]) -> bool:
    """Return whether objects are numbers and booleans only; raise if one is neither these nor text nor missing."""
    types = {kind for kind in set(map(type, values.array)) if not issubclass(kind, _MISSING)}
    if all(issubclass(kind, (*_NUMBERS, Decimal)) for kind in types):
        return True
    _refuse_objects(name, values.array, types)
    return False


def _refuse_objects(name: str, objects: Iterable[Any], types: set[type]) -> None:
    """Raise ``CovariateError`` if one of the types cannot be a level: a date, a Decimal, a tuple, ..."""
    forbidden = tuple(
        kind for kind in types if not issubclass(kind, (str, pd.Interval, *_NUMBERS, *_MISSING))
    )
    if forbidden:
        example = next(value for value in objects if isinstance(value, forbidden))
        raise _wrong_type(name, f"{type(example).__name__} objects such as {example!r:.60}")


def _wrong_type(name: str, received: str) -> CovariateError:
    return CovariateError(
        f"column {name!r} must hold numbers, booleans or labels; got {received}. Turn dates into numbers, such as days "
        "since a common origin, and other types into numbers or text."
    )


def to_floats(name: str, values: pd.Series[Any]) -> FloatArray:
    """Return a column of numbers as float64 with NaN where missing; infinite values are refused."""
    if pd.api.types.is_object_dtype(values.dtype):
        values = values.where(values.notna(), np.nan).astype(np.float64)
    if isinstance(values.dtype, np.dtype):
        numbers: FloatArray = values.to_numpy().astype(np.float64, copy=False)
    else:
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    refuse_infinite(name, numbers)
    return numbers


def refuse_infinite(name: str, numbers: FloatArray) -> None:
    """Raise ``CovariateError`` where a column has an infinite number."""
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise CovariateError(
            f"column {name!r} must be finite; got infinity ({numbers[row]}) at row {row} ({int(infinite.sum())} such "
            "rows). Replace it by a number, or by NaN where the value is unknown."
        )


def _factorize(name: str, values: pd.Series[Any]) -> tuple[IndexArray, tuple[str, ...]]:
    """Return the index of the level of each row (missing: -1), and the distinct levels as text.

    Values with the same text are one level: 3 and 3.0 are both ``"3"``, True is ``"True"`` and not ``"1"``.
    """
    if len(values) <= FEW and (few := few_labels(values)) is not None:
        places = {
            text: i
            for i, text in enumerate(dict.fromkeys(text for text in few if text is not None))
        }
        return np.array(
            [-1 if text is None else places[text] for text in few], dtype=np.intp
        ), tuple(places)
    if values.isna().all():
        return np.full(len(values), -1, dtype=np.intp), ()
    codes, uniques = pd.factorize(_distinguishable(name, values))
    texts = [_level_text(level) for level in uniques]
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    if len(place) < len(texts):
        codes = np.array([*(place[text] for text in texts), -1], dtype=np.intp)[codes]
    return codes, tuple(place)


def _distinguishable(name: str, values: pd.Series[Any]) -> Any:
    """Return values for ``pd.factorize``: objects as text if equal ones, such as True and 1, can be two levels."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories = values.cat.categories
        _refuse_objects(name, categories, set(map(type, categories)))
    elif pd.api.types.is_object_dtype(values.dtype):
        types = set(map(type, values.array))
        _refuse_objects(name, values.array, types)
        if not types <= _UNMISTAKABLE:
            texts = [None if pd.isna(value) else _level_text(value) for value in values.array]
            return np.array(texts, dtype=object)
    else:
        _holds_numbers(name, values)  # raises for dates
    return values


def few_labels(values: pd.Series[Any]) -> list[str | None] | None:
    """Return the labels of a few rows, None where missing; None if some are no text."""
    array = values.array
    if isinstance(array, pd.Categorical):
        categories = array.categories
        labels = [None if code < 0 else categories[code] for code in array.codes.tolist()]
    else:
        labels = list(array)
    if not all(label is None or isinstance(label, str) for label in labels):
        return None
    return [None if label is None else _level_text(label) for label in labels]


def _level_text(level: Any) -> str:
    if isinstance(level, str):
        return str.__str__(level)  # the characters, also of an Enum
    if isinstance(level, _NUMBERS) and not isinstance(level, (bool, np.bool_)):
        return str(int(level)) if float(level).is_integer() else str(float(level))
    return str(level)


# What every model takes as covariates: a table of its own, a DataFrame or an array of two dimensions.
TableLike: TypeAlias = TableData | pd.DataFrame | ArrayLike | InputLike | Mapping[str, Any]
