"""What is learned from columns of numbers, many at once: fill, mean, scale, usual values, knots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray
from .columns import Column
from .piecewise import learn_knots
from .reading import refuse_infinite

__all__ = ["is_constant", "learn_numbers", "moments", "usual_of", "usual_values"]

_ROUNDING = 10 * float(np.finfo(np.float64).eps)
_SHORT_RANGE = 20
_TINY = float(np.finfo(np.float64).tiny)
_FAR = 300  # powers of two from 1 within which squares neither overflow nor vanish
_SHARES = (0.01, 0.5, 0.99)  # of the values, below the usual ones
_LONG = 2**16  # values of a column from which three of them are looked for among a few
_SAMPLE = 2**12  # values by which these few are found


def learn_numbers(
    names: Sequence[str],
    values: FloatArray,
    fills: Mapping[str, float],
    scale: bool,
    indicators: bool,
    bins: int = 0,
) -> list[Column]:
    """Learn columns of numbers ``[columns, rows]``, NaN where missing; ``bins`` > 0 encodes them piecewise.

    A column gives the same numbers whatever columns stand beside it.
    """
    least, most = values.min(axis=1), values.max(axis=1)
    complete = np.isfinite(least) & np.isfinite(most)
    learned: dict[int, Column] = {}
    if complete.any():
        x = values if complete.all() else values[complete]
        own = [names[i] for i in np.flatnonzero(complete).tolist()]
        center, spread = moments(x, np.maximum(np.abs(least), np.abs(most))[complete])
        given = [fills.get(name) for name in own]
        fill = [float(c if f is None else f) for f, c in zip(given, center.tolist(), strict=True)]
        found = _columns(own, x, fill, center, spread, scale, bins)
        learned.update(zip(np.flatnonzero(complete).tolist(), found, strict=True))
    for places in _alike(np.flatnonzero(~complete), values):
        own = [names[place] for place in places]
        given = [fills.get(name) for name in own]
        if any(fill is not None for fill in given):
            found = [
                _learn_filled(name, values[place], fill, scale, indicators, bins)
                for name, place, fill in zip(own, places, given, strict=True)
            ]
        else:
            found = _learn_incomplete(own, values[places], scale, indicators, bins)
        learned.update(zip(places, found, strict=True))
    return [learned[place] for place in range(len(names))]


def _alike(places: IndexArray, values: FloatArray) -> list[list[int]]:
    """Return places of columns in groups with as many missing values each."""
    if len(places) == 0:
        return []
    counts = np.isnan(values[places]).sum(axis=1)
    return [places[counts == count].tolist() for count in np.unique(counts)]


def _learn_filled(
    name: str, x: FloatArray, fill: float | None, scale: bool, indicator: bool, bins: int
) -> Column:
    """Learn one column whose missing values may have a given fill."""
    missing = np.isnan(x)
    if fill is None or missing.all():
        return _learn_incomplete([name], x[None], scale, indicator, bins)[0]
    refuse_infinite(name, x)
    values = np.where(missing, fill, x)
    center, spread = moments(values[None], np.abs(values).max(keepdims=True))
    share = int(missing.sum()) / len(x)
    return _columns(
        [name], x[~missing][None], [float(fill)], center, spread, scale, bins, indicator, share
    )[0]


def _learn_incomplete(
    names: Sequence[str], x: FloatArray, scale: bool, indicator: bool, bins: int
) -> list[Column]:
    """Learn columns ``[columns, rows]`` with as many missing values each."""
    if np.isinf(x).any():
        for name, values in zip(names, x, strict=True):
            refuse_infinite(name, values)
    observed = x[~np.isnan(x)].reshape(len(x), -1)
    n_observed, n_rows = observed.shape[1], x.shape[1]
    if n_observed == 0:
        return [Column(name, "empty", missing=1.0) for name in names]
    center, spread = moments(observed, np.abs(observed).max(axis=1))
    spread = spread * float(np.sqrt(n_observed / n_rows))
    missing = (n_rows - n_observed) / n_rows
    return _columns(
        names, observed, center.tolist(), center, spread, scale, bins, indicator, missing
    )


def _columns(
    names: Sequence[str],
    x: FloatArray,
    fills: Sequence[float],
    center: FloatArray,
    spread: FloatArray,
    scale: bool,
    bins: int,
    indicator: bool = False,
    missing: float = 0.0,
) -> list[Column]:
    """Return what was learned from columns with the seen values ``x``."""
    constant = [is_constant(*pair) for pair in zip(center.tolist(), spread.tolist(), strict=True)]
    columns = []
    usual, whole = ([], []) if all(constant) else _usual_of_many(x)
    for i, (name, fill) in enumerate(zip(names, fills, strict=True)):
        if constant[i]:
            columns.append(
                Column(name, "constant", fill=fill, indicator=indicator, missing=missing)
            )
            continue
        mean, divisor = (float(center[i]), float(spread[i])) if scale else (0.0, 1.0)
        knots = learn_knots(x[i], bins) if bins > 0 else None
        columns.append(
            Column(
                name,
                "numeric",
                fill,
                mean,
                divisor,
                None,
                indicator,
                knots,
                usual[i],
                whole[i],
                missing,
            )
        )
    return columns


def is_constant(center: float, spread: float) -> bool:
    """Tell whether a column is constant up to rounding, by its mean and standard deviation."""
    return spread <= _ROUNDING * abs(center) or spread < _TINY


def usual_of(sample: FloatArray, least: float, most: float, whole: bool) -> tuple[float, ...]:
    """Return ``usual_values`` of a column by a sample, its extremes and whether it holds whole numbers only."""
    places = [round(share * (len(sample) - 1)) for share in _SHARES]
    low, middle, high = np.partition(sample, sorted(set(places)))[places].tolist()
    if low == high or (whole and most / 2 - least / 2 <= _SHORT_RANGE / 2):
        low, high = least, most
    return low, middle, high


def usual_values(observed: FloatArray) -> tuple[tuple[float, ...], bool]:
    """Return three of the sorted values, at the shares 0.01, 0.5 and 0.99, and whether all values are whole numbers.

    The outer two are the smallest and the largest for whole numbers over a short range, and where they would be equal.
    """
    usual, whole = _usual_of_many(observed[None])
    return usual[0], whole[0]


def _usual_of_many(x: FloatArray) -> tuple[list[tuple[float, ...]], list[bool]]:
    n = x.shape[1]
    places = [round(share * (n - 1)) for share in _SHARES]
    if n < _LONG:
        low, middle, high = np.partition(x, sorted(set(places)), axis=1)[:, places].T
    else:
        low, middle, high = np.array([_values_at(row, places) for row in x]).T
    least, most = x.min(axis=1), x.max(axis=1)
    whole = _whole(x[:, :64])
    if whole.any():
        whole[whole] = [_whole(row) for row in x[whole]]
    ends = (low == high) | (whole & (most / 2 - least / 2 <= _SHORT_RANGE / 2))
    usual = np.stack([np.where(ends, least, low), middle, np.where(ends, most, high)], axis=1)
    return list(map(tuple, usual.tolist())), whole.tolist()


def _whole(x: FloatArray) -> BoolArray:
    return np.asarray((x == np.rint(x)).all(axis=-1))


def _values_at(x: FloatArray, places: Sequence[int]) -> list[float]:
    """Return some of the sorted values of a long column."""
    sample = np.sort(x[:: len(x) // _SAMPLE])
    return [_value_at(x, place, sample) for place in places]


def _value_at(x: FloatArray, place: int, sample: FloatArray) -> float:
    """Return one of the sorted values; it lies between two values of a sorted sample, or nearly always."""
    share = place / (len(x) - 1)
    around = 5 * np.sqrt(len(sample) * share * (1 - share)) + 2
    low = sample[max(0, int(share * len(sample) - around))]
    high = sample[min(len(sample) - 1, int(share * len(sample) + around))]
    among = x[(x >= low) & (x <= high)]
    order = place - int(np.count_nonzero(x < low))
    if 0 <= order < len(among):
        return float(np.partition(among, order)[order])
    return float(np.partition(x, place)[place])


def moments(x: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each row of ``[columns, rows]``, whose largest absolute value is known.

    They are the same for ``x * 2**k`` up to that factor, without overflow.
    """
    if x.shape[1] >= _LONG and len(x) > 1:  # one after the other in the same memory
        each = [moments(x[i : i + 1], largest[i : i + 1]) for i in range(len(x))]
        return np.concatenate([mean for mean, _ in each]), np.concatenate(
            [spread for _, spread in each]
        )
    exponent = np.frexp(largest)[1]
    exponent[np.abs(exponent) < _FAR] = 0
    if exponent.any():
        x = np.ldexp(x, -exponent[:, None])
    mean = x.mean(axis=1)
    deviation = x - mean[:, None]
    mean += deviation.mean(axis=1)
    np.subtract(x, mean[:, None], out=deviation)
    np.multiply(deviation, deviation, out=deviation)
    spread = np.sqrt(deviation.mean(axis=1))
    return np.ldexp(mean, exponent), np.ldexp(spread, exponent)
