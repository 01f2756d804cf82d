"""Where each source of the inputs stands in a row of numbers, as the network gets it.

A table takes one number per column. The visits of a subject take three numbers (how many there are, the time at which
the history is looked at, the time since the last visit) and then, visit by visit, the features of each: its time, the
gap to the visit before, the values, and 1 for every value that was missing. An array takes its numbers in C order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["HEAD", "TIME_FEATURES", "Block"]

HEAD = 3  # count, time of the landmark, time since the last visit
TIME_FEATURES = 2  # time, gap


@dataclass(frozen=True)
class Block:
    """The part of a packed row that belongs to one source.

    Attributes
    ----------
    name : str
        The name of the source.
    kind : {"table", "visits", "array"}
        What it holds.
    shape : tuple of int
        Of a table ``(width,)``; of visits ``(most visits, features)``; of an array the shape of one row.
    n_values : int
        Of visits, how many of the features are values; those of time come before, the marks of missing values behind.

    Examples
    --------
    >>> from lifemix.histories import Block
    >>> Block("visits", "visits", (5, 6), n_values=3).width
    33
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    n_values: int = 0

    @property
    def width(self) -> int:
        """How many numbers it takes."""
        return math.prod(self.shape) + (HEAD if self.kind == "visits" else 0)
