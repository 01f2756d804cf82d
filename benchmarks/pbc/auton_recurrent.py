"""auton-survival's Deep Recurrent Survival Machines, from the same wheel as ``benchmarks/auton.py``.

It learns, at every visit, the time that remains; the risk in (s, s + w] of a patient whose last visit was at v is
``1 - S(s + w - v) / S(s - v)``. Its inputs are what our encoder gets: values carried forward and standardised, marks of
missing values, time, gap, and the columns that do not change, repeated at every visit.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lifemix.preprocessing import SequencePreprocessor

from ..auton import load
from .data import Cohort

__all__ = ["AutonRecurrent"]

# A part of the grid in its notebook on this table; the candidate with the best likelihood of held-out patients is kept.
_GRID = [
    {"k": 6, "distribution": distribution, "hidden": 50, "typ": typ, "layers": 1}
    for distribution in ("Weibull", "LogNormal")
    for typ in ("LSTM", "GRU")
]
_HELD_OUT = 0.125  # an eighth of the training patients, as 10 of 80 % there


class AutonRecurrent:
    """The model with the best validation likelihood of the grid; ``quick`` tries one candidate."""

    def __init__(self, train: Cohort, seed: int, quick: bool = False) -> None:
        module, _ = load(stopping=True)
        self.prepared = SequencePreprocessor().fit({"clinic": train.clinic, "visits": train.visits})
        x, times = self._sequences(train)
        remaining = _rows([train.target.time[i] - own for i, own in enumerate(times)])
        events = _rows(
            [np.full(len(own), float(train.target.event[i])) for i, own in enumerate(times)]
        )
        order = np.random.default_rng(seed).permutation(len(x))
        held, fit = np.split(order, [round(_HELD_OUT * len(x))])
        best = np.inf
        for settings in _GRID[:1] if quick else _GRID:
            model = module.DeepRecurrentSurvivalMachines(random_seed=seed, **settings)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model.fit(x[fit], remaining[fit], events[fit], iters=100, learning_rate=1e-3)
                loss = _held_out_loss(module, model, x[held], remaining[held], events[held])
            if loss < best:
                best, self.model, self.settings = loss, model, settings

    def __call__(self, cohort: Cohort, s: float, w: float) -> np.ndarray:
        """Return the risk of each patient alive at s."""
        known = Cohort(cohort.clinic, cohort.visits.until(s), cohort.target)
        x, _ = self._sequences(known)
        since = s - known.visits.last_times
        grid = np.unique(np.concatenate([since, since + w]))
        curves = self.at_last(x, grid)
        now, later = (
            curves[np.arange(len(x)), np.searchsorted(grid, at)] for at in (since, since + w)
        )
        return 1 - later / now

    def at_last(self, x: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the survival curves at the last visit of each patient, ``[patients, times]``; 1 at time 0."""
        last = np.cumsum([len(own) for own in x]) - 1
        asked = np.maximum(times, 1e-6).tolist()
        return np.asarray(self.model.predict_survival(x, asked))[last]

    def at_visits(self, cohort: Cohort, horizons: np.ndarray) -> np.ndarray:
        """Return one minus the survival curves at every visit, ``[visits, horizons]``."""
        x, _ = self._sequences(cohort)
        return 1 - np.asarray(self.model.predict_survival(x, horizons.tolist()))

    def _sequences(self, cohort: Cohort) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the inputs of every visit, a matrix per patient, and the times of the visits."""
        matrix = self.prepared.transform({"clinic": cohort.clinic, "visits": cohort.visits}).astype(
            np.float64
        )
        table, visits = self.prepared.blocks_
        count = matrix[:, table.width].astype(int)
        steps = matrix[:, table.width + 3 :].reshape(len(matrix), *visits.shape)
        fixed = matrix[:, : table.width]
        long = cohort.visits.to_long()
        times = [
            own.to_numpy()[-n:]
            for (_, own), n in zip(long.groupby("row")["time"], count, strict=True)
        ]
        return _rows(
            [np.hstack([steps[i, :n], np.tile(fixed[i], (n, 1))]) for i, n in enumerate(count)]
        ), times


def _rows(parts: list[np.ndarray]) -> np.ndarray:
    array = np.empty(len(parts), dtype=object)
    array[:] = parts
    return array


def _held_out_loss(module: Any, model: Any, x: Any, t: Any, e: Any) -> float:
    """Return the mean negative log-likelihood of held-out visits, by the package's own formulas."""
    import torch

    x, t, e = model._preprocess_training_data(x, t, e, 0, (x, t[:], e[:]), 0)[:3]
    flat = [values.flatten()[~torch.isnan(values.flatten())] for values in (t, e)]
    with torch.no_grad():
        return float(
            module.losses.conditional_loss(model.torch_model, x, *flat, elbo=False, risk="1")
        ) / len(flat[0])
