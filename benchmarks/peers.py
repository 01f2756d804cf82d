"""Other packages as they are: pycox's networks with their training loops, scikit-survival's Cox."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torchtuples
from numpy.typing import ArrayLike
from pycox.models import CoxPH, DeepHitSingle
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from lifemix._types import FloatArray
from lifemix.splits import train_validation_split
from lifemix.target import as_target


class _PycoxModel:
    """A network as in pycox's examples: one hidden layer of 100, batch normalisation, dropout 0.1.

    Adam with learning rate 1e-3, batches of 100, at most 200 epochs; training stops after ten epochs without a better
    loss on 15 % of the rows.
    """

    def fit(self, X: FloatArray, y: Any) -> _PycoxModel:
        """Fit with pycox's loop."""
        target = as_target(y)
        x = X.astype(np.float32)
        time = target.time.astype(np.float32)
        training, validation = train_validation_split(target, None, 0.15, 0)
        training_labels = self._labels(time[training], target.event[training])
        validation_labels = self._labels(time[validation], target.event[validation])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self._model = self._make_model(x.shape[1])
            log = self._model.fit(
                x[training],
                training_labels,
                batch_size=100,
                epochs=200,
                callbacks=[torchtuples.callbacks.EarlyStopping(patience=10)],
                verbose=False,
                val_data=(x[validation], validation_labels),
            )
        self.epochs_ = len(log.to_pandas())
        return self

    def _labels(self, time: FloatArray, event: Any) -> tuple[Any, Any]:
        return time, event.astype(np.float32)

    def _make_model(self, n_inputs: int) -> Any:
        raise NotImplementedError

    def _network(self, n_inputs: int, n_outputs: int, output_bias: bool) -> Any:
        return torchtuples.practical.MLPVanilla(
            n_inputs, [100], n_outputs, batch_norm=True, dropout=0.1, output_bias=output_bias
        )


class PycoxDeepSurv(_PycoxModel):
    """pycox's ``CoxPH``: DeepSurv with mini-batches."""

    def _make_model(self, n_inputs: int) -> Any:
        network = self._network(n_inputs, 1, False)
        return CoxPH(network, torchtuples.optim.Adam(1e-3))

    def predict_survival_function(self, X: FloatArray, times: ArrayLike) -> FloatArray:
        """Return pycox's step functions at the times."""
        self._model.compute_baseline_hazards()
        curves = self._model.predict_surv_df(X.astype(np.float32))
        return step_values(curves.index.to_numpy(), curves.to_numpy().T, times)


class PycoxDeepHit(_PycoxModel):
    """pycox's ``DeepHitSingle`` on 100 equidistant times, alpha 0.2, sigma 0.1, curves interpolated."""

    _grid: Any = None

    def _labels(self, time: FloatArray, event: Any) -> tuple[Any, Any]:
        if self._grid is None:
            self._grid = DeepHitSingle.label_transform(100)
            return self._grid.fit_transform(time, event)
        return self._grid.transform(time, event)

    def _make_model(self, n_inputs: int) -> Any:
        return DeepHitSingle(
            self._network(n_inputs, self._grid.out_features, True),
            torchtuples.optim.Adam(1e-3),
            alpha=0.2,
            sigma=0.1,
            duration_index=self._grid.cuts,
        )

    def predict_survival_function(self, X: FloatArray, times: ArrayLike) -> FloatArray:
        """Return pycox's curves, linear between its times."""
        curves = self._model.predict_surv_df(X.astype(np.float32))
        grid = curves.index.to_numpy(dtype=np.float64)
        interpolated = [np.interp(times, grid, curves[row]) for row in curves]
        return np.stack(interpolated)


class SksurvCox:
    """scikit-survival's ``CoxPHSurvivalAnalysis``; a small ridge, because all levels of a category are collinear."""

    def fit(self, X: FloatArray, y: Any) -> SksurvCox:
        """Fit by Newton's method."""
        target = as_target(y)
        structured_target = Surv.from_arrays(target.event > 0, target.time)
        self._model = CoxPHSurvivalAnalysis(alpha=1e-2, ties="efron")
        self._model.fit(X, structured_target)
        return self

    def predict_survival_function(self, X: FloatArray, times: ArrayLike) -> FloatArray:
        """Return its step functions at the times."""
        curves = self._model.predict_survival_function(X, return_array=True)
        return step_values(self._model.unique_times_, curves, times)


def step_values(grid: FloatArray, curves: FloatArray, times: ArrayLike) -> FloatArray:
    """Return survival curves that are constant from each time of the grid to the next, at other times."""
    from_zero = np.insert(curves.astype(np.float64), 0, 1.0, axis=1)
    return from_zero[:, np.searchsorted(grid, times, side="right")]
