"""SYNTHETIC, the paper's simulated competing risks: generator, reader of its file, truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from ..errors import CovariateError, SettingError
from ..target import make_target
from .base import Dataset

__all__ = ["LIMIT", "SyntheticTruth", "load_synthetic", "make_synthetic", "synthetic_means"]

LIMIT = 200.0  # draws with a later time of either event are rejected


# Maximum likelihood estimates from the true times of the original file (largest standard error
# 0.08).
_GAMMA_1 = np.array([4.388, 1.012, 5.524, 7.847])
_GAMMA_2 = np.array([5.225, 8.591, 9.999, 5.088])
_GAMMA_3 = np.array([1.018, 0.438, 5.764, 6.985])

_FEATURES = {
    **{f"feature{i}": "shared by both events, through a square" for i in range(1, 5)},
    **{f"feature{i}": "acts on event 1" for i in range(5, 9)},
    **{f"feature{i}": "acts on event 2" for i in range(9, 13)},
}
_CITATION = (
    "Alaa and van der Schaar (2017). Deep multi-task Gaussian processes for survival analysis with "
    "competing risks. NeurIPS. Lee, Zame, Yoon and van der Schaar (2018). DeepHit. AAAI."
)


def make_synthetic(
    n: int = 30_000,
    random_state: int | np.random.Generator | None = 0,
    *,
    truth: bool = False,
    integer_times: bool = True,
) -> Dataset:
    """Simulate the paper's competing risks: 12 covariates, two event types, half censored.

    With ``x3`` = feature1-4, ``x1`` = feature5-8, ``x2`` = feature9-12 and ``m_j = (g3'x3)^2 +
    g_j'x_j``, the time of event j is exponential with *mean* ``m_j``; draws with some ``m_j <= 0``
    or some time >= 200 are rejected. The earlier event is observed, at its time rounded to an
    integer. ``n // 2`` rows, chosen at random, are censored at a time uniform on the integers
    0..time. This recipe reproduces the DeepHit project's file; the ``g`` were estimated from it.

    Parameters
    ----------
    n : int, default 30000
        Number of rows.
    random_state : int, Generator or None, default 0
        Random seed.
    truth : bool, default False
        Whether to return the distribution of every row, a ``SyntheticTruth``, as the field
        ``truth``.
    integer_times : bool, default True
        False leaves the times unrounded and censors uniformly on [0, time).

    Returns
    -------
    Dataset
        Twelve numeric covariates, two competing event types.

    References
    ----------
    Alaa and van der Schaar (2017). Deep multi-task Gaussian processes for survival analysis with
    competing risks. Advances in Neural Information Processing Systems 30.

    Lee, Zame, Yoon and van der Schaar (2018). DeepHit: a deep learning approach to survival
    analysis with competing risks. Proceedings of the AAAI Conference on Artificial Intelligence 32.
    https://doi.org/10.1609/aaai.v32i1.11842

    Examples
    --------
    >>> from lifemix import datasets
    >>> data = datasets.make_synthetic(100, random_state=0)
    >>> data.X.shape, data.counts[0]
    ((100, 12), 50)
    """
    if n < 1:
        raise SettingError(f"n must be at least 1; got {n}.")
    rng = np.random.default_rng(random_state)
    x, means, times = _draw(n, rng)
    event = times.argmin(axis=1) + 1
    time = times.min(axis=1)
    if integer_times:
        time = np.rint(time)
    censored = rng.permutation(n) < n // 2
    censoring = (
        rng.integers(0, time.astype(np.int64) + 1) if integer_times else time * rng.random(n)
    )
    return _dataset(
        pd.DataFrame(x, columns=list(_FEATURES)),
        time=np.where(censored, censoring, time),
        event=np.where(censored, 0, event),
        source="simulated by lifemix.datasets.make_synthetic",
        licence="simulated, free of terms",
        truth=SyntheticTruth(means, make_target(time, event)) if truth else None,
    )


def load_synthetic(path: str | PathLike[str]) -> Dataset:
    """Read the DeepHit project's file ``synthetic_comprisk.csv`` from the user's disk.

    The columns ``true_time`` and ``true_label`` are the outcome before censoring: never in ``X``.

    Parameters
    ----------
    path : path
        The CSV file.

    Returns
    -------
    Dataset
        Twelve numeric covariates, two competing event types.

    Raises
    ------
    CovariateError
        Where the file lacks one of the columns.

    Examples
    --------
    The columns of that file, with simulated rows:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> simulated = datasets.make_synthetic(20)
    >>> frame = simulated.X.assign(time=simulated.y["time"], label=simulated.y["event"])
    >>> path = Path(tempfile.mkdtemp()) / "synthetic_comprisk.csv"
    >>> frame.to_csv(path, index=False)
    >>> datasets.load_synthetic(path).X.shape
    (20, 12)
    """
    frame = pd.read_csv(path)
    absent = [name for name in ("time", "label", *_FEATURES) if name not in frame.columns]
    if absent:
        raise CovariateError(
            "the file must have the columns time, label, feature1..feature12 of the DeepHit "
            f"project; {absent} are not among {list(frame.columns)}. Give the path of "
            "synthetic_comprisk.csv."
        )
    return _dataset(
        frame[list(_FEATURES)],
        time=frame["time"].to_numpy(),
        event=frame["label"].to_numpy(),
        source="synthetic_comprisk.csv of the DeepHit project, the user's copy",
        licence="the DeepHit project states none",
        truth=None,
    )


def synthetic_means(x: FloatArray) -> FloatArray:
    """Return the means of the two exponential times, (n, 2), for covariates ``x``, (n, 12)."""
    square = (x[:, :4] @ _GAMMA_3) ** 2
    return np.column_stack([square + x[:, 4:8] @ _GAMMA_1, square + x[:, 8:] @ _GAMMA_2])


def _draw(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return covariates (n, 12), means (n, 2) and times (n, 2) of both events."""
    accepted: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    missing = n
    while missing > 0:
        x = rng.standard_normal((2 * missing + 10, 12))  # about 62 % are accepted
        means = synthetic_means(x)
        times = means * rng.standard_exponential(means.shape)
        is_accepted = (means > 0).all(axis=1) & (times < LIMIT).all(axis=1)
        rows = np.flatnonzero(is_accepted)[:missing]
        accepted.append((x[rows], means[rows], times[rows]))
        missing -= len(rows)
    x, means, times = (np.concatenate(blocks) for blocks in zip(*accepted, strict=True))
    return x, means, times


def _dataset(
    X: pd.DataFrame,
    time: NDArray[np.number],
    event: NDArray[np.integer],
    source: str,
    licence: str,
    truth: SyntheticTruth | None,
) -> Dataset:
    return Dataset(
        name="SYNTHETIC",
        X=X,
        y=make_target(time, event),
        features=_FEATURES,
        time_unit="",
        event_names={1: "event 1", 2: "event 2"},
        source=source,
        citation=_CITATION,
        licence=licence,
        description=(
            "Two competing exponential risks whose means share a square of four covariates. Half "
            "of the rows are censored, uniformly before their event: such censoring depends on the "
            "time of the event."
        ),
        truth=truth,
    )


@dataclass(frozen=True, eq=False)
class SyntheticTruth:
    """The true survival and incidence of every row given its covariates.

    Given x the two times are independent exponentials with means m_1, m_2, both truncated to [0,
    200), since draws beyond were rejected. With a_j = 1 / m_j, L = 200 and A_j = 1 - exp(-a_j L)::

        S_j(t) = (exp(-a_j t) - exp(-a_j L)) / A_j                       net survival
        S(t)   = S_1(t) S_2(t)
        F_1(t) = {a_1 / (a_1 + a_2) (1 - exp(-(a_1 + a_2) t)) - exp(-a_2 L) (1 - exp(-a_1 t))} /
        (A_1 A_2)

    and F_2 likewise; F_1 + F_2 + S = 1. This is the distribution in continuous time. Times rounded
    to integers follow another one: the rounded time is <= t when the time itself is <= floor(t) +
    1/2. ``rounded`` is that distribution, the one to use for the best reachable scores on rounded
    times; at t = 0 its survival is already below 1.

    Censoring in these data is uniform on [0, time] and so depends on the time: a model fitted to
    the censored rows does not estimate these functions without bias, however many rows there are,
    and weights by the inverse probability of censoring are biased too. Scores computed from ``y``
    have no such bias.

    Methods take a number or an array of times and return shape (n, n_times).

    Attributes
    ----------
    means : float array of shape (n, 2)
        The means of the two exponentials.
    y : structured array of shape (n,)
        The target before censoring.
    is_rounded : bool, default False
        Whether the times are rounded to integers.
    """

    means: FloatArray  # (n, 2)
    y: NDArray[np.void]
    is_rounded: bool = False

    @property
    def rounded(self) -> SyntheticTruth:
        """The distribution of the times rounded to integers."""
        return replace(self, is_rounded=True)

    def survival(self, times: ArrayLike) -> FloatArray:
        """Return P(no event by t | x)."""
        return self.net_survival(times, 1) * self.net_survival(times, 2)

    def net_survival(self, times: ArrayLike, event: int) -> FloatArray:
        """Return P(T_event > t | x), as if the other event did not exist."""
        rate, _ = self._rates(event)
        t = self._clip(times)
        survival: FloatArray = (
            np.exp(-rate * t) * np.expm1(rate * (t - LIMIT)) / np.expm1(-rate * LIMIT)
        )
        return survival

    def cumulative_incidence(self, times: ArrayLike, event: int) -> FloatArray:
        """Return P(T <= t, the event is this one | x)."""
        rate, rival_rate = self._rates(event)
        t = self._clip(times)
        total = rate + rival_rate
        untruncated = -rate / total * np.expm1(-total * t)
        beyond_limit = np.exp(-rival_rate * LIMIT) * np.expm1(-rate * t)
        truncation = np.expm1(-rate * LIMIT) * np.expm1(-rival_rate * LIMIT)
        incidence: FloatArray = (untruncated + beyond_limit) / truncation
        return incidence

    def _rates(self, event: int) -> tuple[FloatArray, FloatArray]:
        if event not in (1, 2):
            raise SettingError(f"event must be 1 or 2; got {event!r}.")
        rates = 1.0 / self.means
        return rates[:, [event - 1]], rates[:, [2 - event]]

    def _clip(self, times: ArrayLike) -> FloatArray:
        """Return times as a row vector, clipped to where survival is between 0 and 1."""
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))[None, :]
        if self.is_rounded:
            t = np.floor(t) + 0.5
        return np.clip(t, 0.0, LIMIT)
