"""The other packages of ``fit``, each as it is: pycox's networks and loops, scikit-survival's Cox.

All take a matrix of numbers, hold out the same share of the rows where they stop early, and have ``fit(X, y)``,
``predict_survival_function(X, times)`` and ``epochs_`` (None where there are none). The forest is
``lifemix.baselines.RandomSurvivalForest``: scikit-survival's trees, but curves that fit into memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from lifemix.splits import train_validation_split
from lifemix.target import as_target

__all__ = ["PycoxDeepHit", "PycoxDeepSurv", "SksurvCox"]

Floats = NDArray[np.float64]


class _Pycox:
    """One hidden layer of 100 with batch normalisation and dropout 0.1 (pycox's examples), Adam 1e-3, batch 100."""

    def __init__(
        self, hidden: int = 100, batch_size: int = 100, max_epochs: int = 200, patience: int = 10
    ) -> None:
        self.hidden, self.batch_size, self.max_epochs, self.patience = (
            hidden,
            batch_size,
            max_epochs,
            patience,
        )

    def fit(self, X: Floats, y: Any) -> _Pycox:
        """Hold out 15 % of the rows, train until they have not become better for ``patience`` epochs."""
        import torchtuples

        target = as_target(y)
        x, time = X.astype(np.float32), target.time.astype(np.float32)
        training, held_out = train_validation_split(target, None, 0.15, 0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            labels, held_labels = self._labels(time, target.event, training, held_out)
            self._model = self._make(x.shape[1], torchtuples)
            log = self._model.fit(
                x[training],
                labels,
                self.batch_size,
                self.max_epochs,
                [torchtuples.callbacks.EarlyStopping(patience=self.patience)],
                verbose=False,
                val_data=(x[held_out], held_labels),
            )
        self.epochs_ = len(log.to_pandas())
        self.n_parameters_ = sum(values.numel() for values in self._model.net.parameters())
        self._finish()
        return self

    def _labels(self, time: Any, event: Any, training: Any, held_out: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def _make(self, n_inputs: int, torchtuples: Any) -> Any:
        raise NotImplementedError

    def _network(self, n_inputs: int, n_outputs: int, torchtuples: Any, bias: bool) -> Any:
        make = torchtuples.practical.MLPVanilla
        return make(
            n_inputs, [self.hidden], n_outputs, batch_norm=True, dropout=0.1, output_bias=bias
        )

    def _finish(self) -> None:
        """Do what belongs to the fit after training."""


class PycoxDeepSurv(_Pycox):
    """pycox's ``CoxPH``: DeepSurv with mini-batches."""

    def _labels(self, time: Any, event: Any, training: Any, held_out: Any) -> tuple[Any, Any]:
        happened = event.astype(np.float32)
        return (time[training], happened[training]), (time[held_out], happened[held_out])

    def _make(self, n_inputs: int, torchtuples: Any) -> Any:
        from pycox.models import CoxPH

        return CoxPH(self._network(n_inputs, 1, torchtuples, False), torchtuples.optim.Adam(1e-3))

    def _finish(self) -> None:
        self._model.compute_baseline_hazards()

    def predict_survival_function(self, X: Floats, times: ArrayLike) -> Floats:
        """Return the step functions of pycox at the times."""
        frame = self._model.predict_surv_df(X.astype(np.float32))
        place = np.searchsorted(frame.index.to_numpy(), np.asarray(times), side="right") - 1
        values = frame.to_numpy()
        return np.where(place[:, None] < 0, 1.0, values[np.maximum(place, 0)]).T.astype(np.float64)


class PycoxDeepHit(_Pycox):
    """pycox's ``DeepHitSingle`` on 100 equidistant times, alpha 0.2, sigma 0.1, curves interpolated."""

    def _labels(self, time: Any, event: Any, training: Any, held_out: Any) -> tuple[Any, Any]:
        from pycox.models import DeepHitSingle

        self._grid = DeepHitSingle.label_transform(100)
        labels = self._grid.fit_transform(time[training], event[training])
        return labels, self._grid.transform(time[held_out], event[held_out])

    def _make(self, n_inputs: int, torchtuples: Any) -> Any:
        from pycox.models import DeepHitSingle

        network = self._network(n_inputs, self._grid.out_features, torchtuples, True)
        return DeepHitSingle(
            network,
            torchtuples.optim.Adam(1e-3),
            alpha=0.2,
            sigma=0.1,
            duration_index=self._grid.cuts,
        )

    def predict_survival_function(self, X: Floats, times: ArrayLike) -> Floats:
        """Return pycox's curves, linear between its times."""
        frame = self._model.predict_surv_df(X.astype(np.float32))
        grid = frame.index.to_numpy(dtype=np.float64)
        return np.stack([np.interp(times, grid, curve) for curve in frame.to_numpy().T])


class SksurvCox:
    """scikit-survival's ``CoxPHSurvivalAnalysis``; a small ridge, as all levels of a category are collinear."""

    epochs_ = None

    def fit(self, X: Floats, y: Any) -> SksurvCox:
        """Fit by Newton's method."""
        from sksurv.linear_model import CoxPHSurvivalAnalysis
        from sksurv.util import Surv

        target = as_target(y)
        self._model = CoxPHSurvivalAnalysis(alpha=1e-2, ties="efron")
        self._model.fit(X, Surv.from_arrays(target.event > 0, target.time))
        self.n_parameters_ = X.shape[1]
        return self

    def predict_survival_function(self, X: Floats, times: ArrayLike) -> Floats:
        """Return its step functions at the times."""
        curves = self._model.predict_survival_function(X, return_array=True)
        place = np.searchsorted(self._model.unique_times_, np.asarray(times), side="right") - 1
        return np.where(place < 0, 1.0, curves[:, np.maximum(place, 0)])
