"""The door for X of models with an encoder: what is no table becomes an object whose rows can be selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd

from .sequences import Histories
from .sources import ArrayRows, Sources

__all__ = ["InputLike", "as_input"]

InputLike: TypeAlias = Histories | Sources | ArrayRows
"""Inputs that are no table."""


def as_input(X: Any) -> Any:
    """Return a dict of sources and an array of more than two dimensions as objects with rows; others unchanged.

    Parameters
    ----------
    X : any
        What a model is given.

    Returns
    -------
    Sources, ArrayRows, or X itself
        With ``shape``, ``len`` and ``iloc``.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import as_input
    >>> as_input({"clinic": np.zeros((2, 3)), "images": np.zeros((2, 8, 8))})
    <Sources of 2 rows: clinic, images>
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        return Sources(X)
    if (
        not isinstance(X, (Histories, Sources, ArrayRows, pd.DataFrame))
        and len(getattr(X, "shape", ())) > 2
    ):
        return ArrayRows(X)
    return X
