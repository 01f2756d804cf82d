"""Histories: repeated measurements of each subject, with their times, alone or beside a table.

A history is what is known of a subject up to some time; ``Histories.until`` cuts it there, ``Histories.landmarks``
makes the rows from which a model learns to predict from any time on. Models with an encoder for sequences
(``lifemix.encoders``) take them as X.
"""

from __future__ import annotations

from .blocks import Block
from .inputs import InputLike, as_input
from .landmarks import Landmarks
from .sequences import Histories
from .sources import ArrayRows, Sources

__all__ = ["ArrayRows", "Block", "Histories", "InputLike", "Landmarks", "Sources", "as_input"]
