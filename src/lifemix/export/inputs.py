"""What goes into an exported program: the columns of a table of numbers, or the matrix that the preprocessor gives."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SettingError
from ..preprocessing import Passthrough, TabularPreprocessor
from ..preprocessing.columns import Column

__all__ = ["preparation"]


class _Columns(nn.Module):
    """Fill, scale (or encode by bins) and mark what is missing, as ``TabularPreprocessor`` does with numbers.

    Every number that a column becomes is ``(x cut to low..high - start) / width - middle`` of the filled column x.
    """

    fill: Tensor
    source: Tensor
    low: Tensor
    high: Tensor
    start: Tensor
    width: Tensor
    middle: Tensor
    order: Tensor

    def __init__(self, columns: tuple[Column, ...]) -> None:
        super().__init__()
        fills = [column.fill if column.kind == "numeric" else 0.0 for column in columns]
        self.register_buffer("fill", torch.tensor(fills, dtype=torch.float64))
        pieces = [
            (place, *piece) for place, column in enumerate(columns) for piece in _pieces(column)
        ]
        self.register_buffer(
            "source", torch.tensor([piece[0] for piece in pieces], dtype=torch.int64)
        )
        for name, place in {"low": 1, "high": 2, "start": 3, "width": 4, "middle": 5}.items():
            self.register_buffer(
                name, torch.tensor([piece[place] for piece in pieces], dtype=torch.float64)
            )
        order, done = [], 0
        for place, column in enumerate(columns):
            width = len(_pieces(column))
            order += list(range(done, done + width)) + (
                [len(pieces) + place] if column.indicator else []
            )
            done += width
        self.register_buffer("order", torch.tensor(order, dtype=torch.int64))

    def forward(self, table: Tensor) -> Tensor:
        """Return the matrix that goes into the network, ``[rows, inputs]``."""
        missing = torch.isnan(table)
        filled = torch.where(missing, self.fill, table).index_select(1, self.source)
        cut = torch.minimum(torch.maximum(filled, self.low), self.high)
        values = (cut - self.start) / self.width - self.middle
        return torch.cat([values, missing.to(values)], dim=1).index_select(1, self.order)


def _pieces(column: Column) -> list[tuple[float, float, float, float, float]]:
    """Return low, high, start, width and middle of every number that a column of numbers becomes."""
    if column.kind != "numeric":
        return []
    if column.knots is None:
        return [(-math.inf, math.inf, column.mean, column.scale, 0.0)]
    return [(left, right, left, right - left, 0.5) for left, right in pairwise(column.knots)]


def preparation(preprocessor: Any, inputs: str, n_inputs: int) -> tuple[nn.Module, str, list[str]]:
    """Return what turns the program's inputs into the network's, which kind they are, and their names."""
    if inputs not in ("auto", "table", "matrix"):
        raise SettingError(f"inputs must be 'auto', 'table' or 'matrix'; got {inputs!r}.")
    obstacle = _obstacle(preprocessor)
    if inputs == "table" and obstacle:
        raise SettingError(
            f"a program takes tables of numbers only, and this model has {obstacle}. Use inputs='matrix' and give the "
            "program what model.preprocessor_.transform(X) gives."
        )
    if inputs == "matrix" or obstacle:
        return nn.Identity(), "matrix", _names_of_matrix(preprocessor, n_inputs)
    if isinstance(preprocessor, Passthrough):
        return nn.Identity(), "table", list(preprocessor.names)
    return (
        _Columns(preprocessor.columns_),
        "table",
        [column.name for column in preprocessor.columns_],
    )


def _obstacle(preprocessor: Any) -> str:
    """Return what keeps the preprocessor out of a program, or nothing."""
    if type(preprocessor) is Passthrough:
        return ""
    if type(preprocessor) is not TabularPreprocessor:
        return f"a {type(preprocessor).__name__}"
    labels = [column.name for column in preprocessor.columns_ if column.levels is not None]
    return f"categories in {labels}" if labels else ""


def _names_of_matrix(preprocessor: Any, n_inputs: int) -> list[str]:
    if hasattr(preprocessor, "get_feature_names_out"):
        return [str(name) for name in preprocessor.get_feature_names_out()]
    return [f"input {i + 1}" for i in range(n_inputs)]
