"""Rows that can be selected as scikit-learn's splits and searches select them, whatever a row is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from .._types import IndexArray
from ..errors import InputError

__all__ = ["SelectableRows"]


class SelectableRows(ABC):
    """Inputs of which ``rows[numbers]``, ``rows.iloc[numbers]`` and ``rows.take(numbers)`` are the same for some rows.

    A subclass sets ``shape`` and returns the rows of given numbers by ``_taken``.
    """

    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        return self.take([rows] if isinstance(rows, (int, np.integer)) else rows)

    @property
    def iloc(self) -> Self:
        """The same, for ``.iloc[rows]`` as scikit-learn selects rows."""
        return self

    def take(self, rows: Any, axis: int = 0) -> Self:
        """Return some rows.

        Parameters
        ----------
        rows : slice, row numbers or mask
            Which rows; one may come several times.
        axis : int, default 0
            Only rows can be taken; scikit-learn gives the axis.

        Returns
        -------
        the same type
            Of these rows.

        """
        if axis != 0:
            raise InputError(
                f"only rows can be taken, axis 0; got axis {axis}. Select columns when it is made."
            )
        return self._taken(
            np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        )

    @abstractmethod
    def _taken(self, rows: IndexArray) -> Self:
        """Return the rows of these numbers."""
