"""What goes into an exported program: the columns of a table of numbers, or the matrix that the preprocessor gives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SettingError
from ..preprocessing import AsItIs, TabularPreprocessor
from ..preprocessing.columns import Column

__all__ = ["preparation"]


class _Columns(nn.Module):
    """Fill, scale and mark what is missing, as ``TabularPreprocessor`` does with columns of numbers."""

    fill: Tensor
    mean: Tensor
    scale: Tensor
    order: Tensor

    def __init__(self, columns: tuple[Column, ...]) -> None:
        super().__init__()
        numbers = [(column.fill, column.mean, column.scale) for column in map(_without_effect_as_zero, columns)]
        fill, mean, scale = (torch.tensor(part, dtype=torch.float64) for part in zip(*numbers, strict=True))
        self.register_buffer("fill", fill)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        order = []
        for place, column in enumerate(columns):
            order += [place] if column.kind == "numeric" else []
            order += [len(columns) + place] if column.indicator else []
        self.register_buffer("order", torch.tensor(order, dtype=torch.int64))

    def forward(self, table: Tensor) -> Tensor:
        """Return the matrix that goes into the network, ``[rows, inputs]``."""
        missing = torch.isnan(table)
        scaled = (torch.where(missing, self.fill, table) - self.mean) / self.scale
        return torch.cat([scaled, missing.to(scaled)], dim=1).index_select(1, self.order)


def _without_effect_as_zero(column: Column) -> Column:
    return column if column.kind == "numeric" else Column(column.name, column.kind, fill=0.0)


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
    if isinstance(preprocessor, AsItIs):
        return nn.Identity(), "table", list(preprocessor.names)
    return _Columns(preprocessor.columns_), "table", [column.name for column in preprocessor.columns_]


def _obstacle(preprocessor: Any) -> str:
    """Return what keeps the preprocessor out of a program, or nothing."""
    if type(preprocessor) is AsItIs:
        return ""
    if type(preprocessor) is not TabularPreprocessor:
        return f"a {type(preprocessor).__name__}"
    labels = [column.name for column in preprocessor.columns_ if column.levels is not None]
    return f"categories in {labels}" if labels else ""


def _names_of_matrix(preprocessor: Any, n_inputs: int) -> list[str]:
    if hasattr(preprocessor, "get_feature_names_out"):
        return [str(name) for name in preprocessor.get_feature_names_out()]
    return [f"input {i + 1}" for i in range(n_inputs)]
