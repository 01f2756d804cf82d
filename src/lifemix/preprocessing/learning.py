"""What is learned from the columns of a training table: plain numbers in blocks, other columns one by one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .blocks import number_blocks, number_places
from .columns import Column, learn_levels
from .numbers import learn_numbers
from .reading import TableData, column_at

__all__ = ["learn_columns"]


def learn_columns(
    table: pd.DataFrame | TableData,
    fills: Mapping[str, float],
    scale: bool,
    indicators: bool,
    max_levels: int,
    bins: int,
) -> list[Column]:
    """Learn every column; ``bins`` > 0 encodes numbers piecewise."""
    names = [str(name) for name in table.columns]
    places = number_places(table)
    learned: dict[int, Column] = {}
    for _, some, values in number_blocks(table, places):
        own = places[some].tolist()
        found = learn_numbers(
            [names[place] for place in own], values, fills, scale, indicators, bins
        )
        learned.update(zip(own, found, strict=True))
    for place in np.setdiff1d(np.arange(len(names)), places).tolist():
        data = column_at(table, place)
        if data.numbers is not None:
            (learned[place],) = learn_numbers(
                [data.name], data.numbers[None], fills, scale, indicators, bins
            )
        else:
            learned[place] = learn_levels(data, fills.get(data.name), indicators, max_levels)
    return [learned[place] for place in range(len(names))]
