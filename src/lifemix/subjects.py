"""Which rows belong to one subject: identifiers of any kind become integer codes.

Equal identifiers have equal codes, in this call and in any other, so that the subjects of two targets can be compared.
A whole number is its own code; any other identifier is hashed to 64 bits. Two of ten million identifiers then share a
code with a probability of 3 in a million.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._types import IntArray
from .errors import TargetError

__all__ = ["TrainingRows", "first_appearance", "subject_codes"]

Hashes = NDArray[np.uint64]
_LARGEST_EXACT = 2.0**53  # from there on a float no longer tells whole numbers apart


def subject_codes(values: Any, name: str = "subject") -> IntArray:
    """Return the codes of one-dimensional identifiers: numbers, texts, or anything that can be hashed."""
    array = _one_dimensional(values, name)
    missing = pd.isna(array)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise TargetError(
            f"{name} must be known in every row; got {array[row]} at row {row} ({int(missing.sum())} such rows). "
            "Give a row whose subject is unknown a value of its own, or leave it out."
        )
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    if (
        array.dtype.kind == "f"
        and (np.abs(array) < _LARGEST_EXACT).all()
        and (array == np.floor(array)).all()
    ):
        return array.astype(np.int64)
    try:
        numbers, labels = pd.factorize(array)
    except TypeError:
        raise TargetError(
            f"{name} must be identifiers that can be hashed; got {type(array[0]).__name__}. Use numbers or texts."
        ) from None
    return _label_codes(labels)[numbers]


def first_appearance(codes: IntArray) -> tuple[IntArray, int]:
    """Number the subjects 0, 1, 2 ... in the order of their first rows; return the number of each row, and how many."""
    numbers, labels = pd.factorize(codes)
    return numbers.astype(np.int64, copy=False), len(labels)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Hashes of the rows that a model was fitted to, and of their subjects; in memory only, no file contains them.

    Attributes
    ----------
    subjects : sorted array of shape (n_subjects,)
        One hash per subject.
    rows : sorted array of shape (n_rows,)
        One hash per row, of its subject and its outcome.
    """

    subjects: Hashes
    rows: Hashes

    @classmethod
    def of(cls, subject: IntArray, *outcome: NDArray[Any]) -> Self:
        """Hash the subjects of rows, and the rows themselves by subject and outcome (event, time, entry, upper)."""
        return cls(np.unique(_row_hashes(subject)), np.sort(_row_hashes(subject, *outcome)))

    def count_other_rows(self, subject: IntArray, *outcome: NDArray[Any]) -> int:
        """Return how many of these rows are no training rows, although their subjects have training rows."""
        rows = _row_hashes(subject, *outcome)
        if _all_differ(self.rows) and _all_differ(np.sort(rows)):
            is_training_row = np.isin(rows, self.rows)
        else:  # rows with the same subject and outcome cannot be identified one by one
            is_training_row = np.full(len(rows), np.array_equal(np.sort(rows), self.rows))
        return int((np.isin(_row_hashes(subject), self.subjects) & ~is_training_row).sum())


def _row_hashes(*columns: NDArray[Any]) -> Hashes:
    hashes = pd.util.hash_pandas_object(pd.DataFrame(dict(enumerate(columns))), index=False)
    return np.asarray(hashes, dtype=np.uint64)


def _all_differ(ascending: Hashes) -> bool:
    return bool((ascending[1:] != ascending[:-1]).all())


def _one_dimensional(values: Any, name: str) -> NDArray[Any]:
    array = values if isinstance(values, np.ndarray) else pd.Series(values).to_numpy()
    if array.ndim != 1:
        raise TargetError(f"{name} must be one-dimensional; got shape {array.shape}.")
    return array


def _label_codes(labels: Any) -> IntArray:
    texts = np.array([str(label) for label in labels], dtype=object)
    codes = pd.util.hash_array(texts, categorize=False).view(np.int64)
    for i, label in enumerate(labels):
        if _is_whole(label):
            codes[i] = int(label)
    return codes


def _is_whole(label: Any) -> bool:
    if isinstance(label, (int, np.integer)):
        return abs(int(label)) < 2**63
    if isinstance(label, (float, np.floating)):
        return abs(float(label)) < _LARGEST_EXACT and float(label).is_integer()
    return False
