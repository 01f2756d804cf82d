"""D-calibration: the predicted survival at the subjects' own event times should be uniform on [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from .._types import FloatArray
from ..checks import Whole
from ..errors import InputError
from ..target import TargetLike
from .inputs import check_event, check_probabilities, observed, status

__all__ = ["DCalibration", "d_calibration"]


@dataclass(frozen=True, eq=False)
class DCalibration:
    """A test of calibration; a small ``p_value`` is evidence of miscalibration.

    Attributes
    ----------
    statistic : float
        Pearson's chi-squared statistic, with ``bins - 1`` degrees of freedom.
    p_value : float
        Probability of a statistic at least as large for a calibrated model.
    counts : float array of shape (bins,)
        Number of subjects whose survival fell into each of the equal parts of [0, 1], from 0 up.
    """

    statistic: float
    p_value: float
    counts: FloatArray


def d_calibration(
    y: TargetLike, survival: ArrayLike, event: int | None = None, *, bins: int = 10
) -> DCalibration:
    """Pearson's test that predicted survival at the time of the event is uniform (D-calibration).

    A subject with an event counts in the bin that holds ``S_i(T_i)``. One censored at ``T_i`` would have had S uniform
    on ``[0, S_i(T_i)]``, and is spread accordingly: ``(S - a) / S`` to the bin ``[a, b)`` that holds S, ``(b - a) /
    S`` to each bin below. The statistic is ``sum (count - n / bins)^2 / (n / bins)``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n,)
        Each row's predicted survival at its own time; for a left-truncated row given its entry, ``S(T) / S(entry)``.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored, and survival is the net survival
        of m.
    bins : int, default 10
        Number of equal parts of [0, 1].

    Returns
    -------
    DCalibration
        ``statistic``, ``p_value`` and ``counts``. A small p-value is evidence of miscalibration.

    See Also
    --------
    lifemix.plots.d_calibration : the picture.

    References
    ----------
    Haider, Hoehn, Davis and Greiner (2020). Effective ways to build and evaluate individual survival distributions.
    Journal of Machine Learning Research 21(85), 1-63. https://jmlr.org/papers/v21/18-772.html

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> time = np.linspace(0.1, 4.0, 40)
    >>> y = make_target(time, np.ones(40, dtype=int))
    >>> result = metrics.d_calibration(y, survival=1 - time / 4.1, bins=4)
    >>> print(result.counts, round(result.p_value, 3))
    [10. 10. 10. 10.] 1.0
    """
    target = observed(y, "y", truncation=True)
    kind = status(target, check_event(event))
    values = np.clip(
        check_probabilities(survival, "survival"), 0.0, 1.0
    )  # takes off what rounding may have added
    if values.shape != (len(target),):
        raise InputError(
            f"survival must have one value per row, ({len(target)},): S_i(T_i); got shape {values.shape}."
        )
    Whole(2)("bins", bins)
    seen = kind == 1
    part = np.minimum((values * bins).astype(np.int64), bins - 1)
    counts = np.bincount(part[seen], minlength=bins) + _spread(values[~seen], bins)
    expected = len(target) / bins
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return DCalibration(statistic, float(chi2.sf(statistic, bins - 1)), counts)


def _spread(survival: FloatArray, bins: int) -> FloatArray:
    """Return what the censored rows add to each bin; a row whose survival is 0 belongs to the lowest."""
    lower = np.arange(bins) / bins
    positive = survival[survival > 0]
    inside = np.clip(
        positive[:, None] - lower, 0, 1 / bins
    )  # (n, bins): the length of [0, S] in each part
    shares = (inside / positive[:, None]).sum(axis=0)
    shares[0] += np.sum(survival == 0)
    return np.asarray(shares)
