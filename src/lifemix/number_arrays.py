"""What a user gave as numbers, in double precision: nothing masked, dated or complex becomes a number silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._types import FloatArray
from .errors import InputError

__all__ = ["as_array", "as_numbers", "refuse_masked", "shown"]


def as_numbers(values: object, name: str, error: type[InputError] = InputError) -> FloatArray:
    """Return an array of numbers, NaN where a value is missing.

    Parameters
    ----------
    values : array-like
        What a user gave.
    name : str
        What messages call it.
    error : type, default InputError
        Of what is raised.

    Returns
    -------
    array of float
        Of the same shape; the given one where it is of that type already.
    """
    refuse_masked(values, name, error)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "mMc":
            complete = array if array.dtype.kind != "O" else np.where(pd.isna(array), np.nan, array)
            return complete.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise error(
            f"{name} must be numbers; got {_some(values)} ({wrong}). Convert it to numbers first."
        ) from None
    fix = (
        "Take the real part"
        if array.dtype.kind == "c"
        else "Divide the differences by a unit, say a day"
    )
    raise error(f"{name} must be numbers; got {_some(array)}. {fix}.")


def as_array(table: Any) -> NDArray[Any]:
    """Return an array in which numbers beside texts stay numbers: of a nested list NumPy makes texts of all of them.

    Parameters
    ----------
    table : array or nested sequence
        What a user gave.

    Returns
    -------
    array
        The given one where it is one.
    """
    array = np.asanyarray(table)
    made_texts = array.dtype.kind in "US" and isinstance(table, (list, tuple))
    return np.asarray(table, dtype=object) if made_texts else array


def _some(values: Any) -> str:
    """Return the type and the first values of an array, or anything else as it is."""
    if not hasattr(values, "dtype"):
        return shown(values)
    array = np.asarray(values)
    return f"{array.dtype} such as {shown(array.reshape(-1)[:3].astype(object).tolist())}"


def refuse_masked(values: object, name: str, error: type[InputError] = InputError) -> None:
    """Refuse an array with masked values: other arrays would show what is under the mask.

    Parameters
    ----------
    values : any
        What a user gave.
    name : str
        What messages call it.
    error : type, default InputError
        Of what is raised.
    """
    count = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if count:
        raise error(
            f"{name} must not be masked; got a masked array with {count} masked values. Write {name}.filled(np.nan) "
            "if they are missing, np.asarray(...) of it if the mask means nothing."
        )


def shown(value: Any) -> str:
    """Return a value as a message shows it; whole numbers of thousands of digits have no text.

    Parameters
    ----------
    value : any
        What a user gave.

    Returns
    -------
    str
        At most 60 characters.
    """
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a number of thousands of digits"
