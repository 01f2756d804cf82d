"""D-calibration: is the predicted survival at the subjects' own times uniform, as that of a true model would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from ..checks import Whole
from ..errors import InputError
from .inputs import Floats, check_event, check_probabilities, observed, status

__all__ = ["DCalibration", "d_calibration"]


@dataclass(frozen=True, eq=False)
class DCalibration:
    """A test of calibration: a small ``p_value`` speaks against the model.

    ``counts``, shape (bins,): the subjects whose survival fell into each of the equal parts of [0, 1], from 0 up.
    """

    statistic: float
    p_value: float
    counts: Floats


def d_calibration(y: Any, survival: ArrayLike, event: int | None = None, *, bins: int = 10) -> DCalibration:
    """Pearson's test that predicted survival at the time of the event is uniform (Haider et al., 2020).

    A subject with an event counts in the part that holds S_i(T_i). One censored at T_i would have had S uniform on
    [0, S_i(T_i)], and is spread accordingly: (S - a) / S to the part [a, b) that holds S, (b - a) / S to each below.
    statistic = sum (count - n / bins)^2 / (n / bins), chi-squared with bins - 1 degrees of freedom.

    survival: (n,), each row's predicted survival at its own time; of a left-truncated row given its entry, S(T) /
    S(entry).
    event: None for any event. With ``event=m`` other events are censorings, and survival is the net survival of m.
    """
    target = observed(y, "y", truncation=True)
    kind = status(target, check_event(event))
    values = np.clip(check_probabilities(survival, "survival"), 0.0, 1.0)  # takes off what rounding may have added
    if values.shape != (len(target),):
        raise InputError(f"survival must have one value per row, ({len(target)},): S_i(T_i); got shape {values.shape}.")
    Whole(2)("bins", bins)
    seen = kind == 1
    part = np.minimum((values * bins).astype(np.int64), bins - 1)
    counts = np.bincount(part[seen], minlength=bins) + _spread(values[~seen], bins)
    expected = len(target) / bins
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return DCalibration(statistic, float(chi2.sf(statistic, bins - 1)), counts)


def _spread(survival: Floats, bins: int) -> Floats:
    """Return what the censored rows add to each part; a row whose survival is 0 belongs to the lowest."""
    lower = np.arange(bins) / bins
    positive = survival[survival > 0]
    inside = np.clip(positive[:, None] - lower, 0, 1 / bins)  # (n, bins): the length of [0, S] in each part
    shares = (inside / positive[:, None]).sum(axis=0)
    shares[0] += np.sum(survival == 0)
    return np.asarray(shares)
