"""Other ways to stop, to schedule and to shrink, on the choosing tables: ``python -m benchmarks.unseen.trials WHICH``.

stopping: on tables of fewer than 1,000 rows. Each member of the default holds out rows of its own and keeps the epoch
that is best on them. Others: a common epoch by the mean held-out loss of all members; parts to hold out that cover the
table equally often; the number of epochs found so, then a second fit to all rows.

schedules: on tables of 2,000 rows and more. One cycle of the learning rate over a fixed number of epochs, batches of
512 or 1,024.

shrinkage: on the small tables. Weight decay, more dropout, fewer components, and a network beside a linear model: the
parameters depend on the last layer and, linearly, on the covariates themselves.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import wilcoxon
from torch import nn

from lifemix import DeepSurvivalMachines
from lifemix.training import Callback

from ..harness import RESULTS, one_thread
from .comparison import BETTER, by_table
from .records import Models, current, missing, run

__all__ = ["TRIALS", "compared"]

SMALL = (
    "prostate",
    "zinc",
    "vlbw",
    "pharmacoSmoking",
    "hepatoCellular",
    "nki70",
    "pbc",
    "follic",
    "retinopathy",
    "micro.censure",
    "dataOvarian1",
    "Z243",
    "cgd",
    "NSBCD",
)
LARGE = (
    "Framingham",
    "smarto",
    "dataDIVAT1",
    "UnempDur",
    "acath",
    "prostateSurvival",
    "support",
    "ebmt",
)
_PATIENCE = 10


class CommonEpoch(Callback):
    """All members keep the parameters of the epoch at which their mean held-out loss is least."""

    def on_fit_start(self, state: Any) -> None:
        """Begin anew."""
        self.best, self.since, self.epoch = math.inf, 0, 0

    def on_epoch_end(self, state: Any) -> None:
        """Keep the parameters of all members, or stop."""
        fleet = state.fleet
        loss = float(np.mean([fit.validation_loss[-1] for fit in fleet.fits]))
        self.since += 1
        if loss < self.best:
            self.best, self.since, self.epoch = loss, 0, state.epoch
            self.kept = fleet.architecture.layout.unpack(
                fleet.parameters.flat, len(fleet.jobs)
            ).clone()
        if self.since >= _PATIENCE:
            fleet.best = self.kept
            state.stop()


class EqualParts(Callback):
    """The rows that members hold out cover the table equally often: parts of a sixth, dealt out anew for every six."""

    def __init__(self, seed: int, parts: int = 6) -> None:
        self.seed, self.parts = seed, parts

    def on_fit_start(self, state: Any) -> None:
        """Give every member other rows."""
        fleet = state.fleet
        rows = torch.cat([fleet.jobs[0].train_rows, fleet.jobs[0].validation_rows]).sort().values
        event = fleet.data.observed.event[rows].numpy()
        rng = np.random.default_rng(self.seed)
        for number, job in enumerate(fleet.jobs):
            if number % self.parts == 0:
                order = rng.permutation(len(rows))
                order = order[np.argsort(event[order], kind="stable")]
                part = np.empty(len(rows), dtype=int)
                part[order] = np.arange(len(rows)) % self.parts
            held = torch.as_tensor(part == number % self.parts)
            fleet.jobs[number] = replace(job, train_rows=rows[~held], validation_rows=rows[held])


class Refit:
    """The default, fitted to find the number of epochs, then fitted to all rows for so many."""

    def __init__(self, seed: int, common: bool) -> None:
        self.seed, self.common = seed, common

    def fit(self, X: Any, y: Any) -> Refit:
        """Fit twice."""
        watch = CommonEpoch()
        settings = {"callbacks": [watch], "patience": 200} if self.common else {}
        first = DeepSurvivalMachines(random_state=self.seed, **settings).fit(X, y)
        epochs = watch.epoch if self.common else round(float(np.median(first.best_epoch_)))
        self.model = DeepSurvivalMachines(
            random_state=self.seed, validation_fraction=0, max_epochs=epochs
        ).fit(X, y)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)


class OneCycle(Callback):
    """The learning rate rises from 1/10 of its peak for 3/10 of the epochs, then falls to 1/100 of it, as cosines."""

    def __init__(self, peak: float, epochs: int) -> None:
        self.peak, self.epochs = peak, epochs

    def on_epoch_start(self, state: Any) -> None:
        """Set the rate of an epoch."""
        place = (state.epoch + 0.5) / self.epochs
        low, share = (0.1, place / 0.3) if place < 0.3 else (0.01, (1 - place) / 0.7)
        rate = self.peak * (low + (1 - low) * (1 - math.cos(math.pi * share)) / 2)
        state.fleet.settings = replace(state.fleet.settings, learning_rate=rate)


def one_cycle(peak: float, epochs: int, batch_size: int) -> Callable[[bool, int], Any]:
    """Return what makes the default with such a schedule."""
    return lambda competing, seed: DeepSurvivalMachines(
        random_state=seed,
        batch_size=batch_size,
        learning_rate=peak,
        max_epochs=epochs,
        patience=epochs,
        callbacks=[OneCycle(peak, epochs)],
    )


class BesideLinear(nn.Module):
    """The layers of the default, with its dropout, and the covariates beside their output."""

    def __init__(self, width: int = 50, dropout: float = 0.3) -> None:
        super().__init__()
        first, second = nn.LazyLinear(width, bias=False), nn.Linear(width, width, bias=False)
        self.layers = nn.Sequential(
            first, nn.Tanh(), nn.Dropout(dropout), second, nn.Tanh(), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return both."""
        return torch.cat([self.layers(x), x], dim=-1)


def _beside_linear(seed: int) -> Any:
    settings = {
        "n_members": 16,
        "batch_size": 256,
        "learning_rate": 3e-3,
        "patience": 10,
    }  # as the default has them
    return _default(seed, encoder=BesideLinear(), **settings)


def _default(seed: int, *callbacks: Callback, **settings: Any) -> Any:
    return DeepSurvivalMachines(random_state=seed, callbacks=list(callbacks), **settings)


DEFAULT = {"dsm": lambda competing, seed: _default(seed)}
TRIALS: dict[str, tuple[tuple[str, ...], dict[str, Callable[[bool, int], Any]]]] = {
    "stopping": (
        SMALL,
        DEFAULT
        | {
            "common epoch": lambda competing, seed: _default(seed, CommonEpoch(), patience=200),
            "equal parts": lambda competing, seed: _default(seed, EqualParts(seed)),
            "equal parts, common epoch": lambda competing, seed: _default(
                seed, EqualParts(seed), CommonEpoch(), patience=200
            ),
            "refit, median epoch": lambda competing, seed: Refit(seed, common=False),
            "refit, common epoch": lambda competing, seed: Refit(seed, common=True),
        },
    ),
    "schedules": (
        LARGE,
        DEFAULT
        | {
            "batch 512, one cycle of 15 to 1e-2": one_cycle(1e-2, 15, 512),
            "batch 512, one cycle of 25 to 1e-2": one_cycle(1e-2, 25, 512),
            "batch 1024, one cycle of 15 to 2e-2": one_cycle(2e-2, 15, 1024),
            "batch 1024, one cycle of 25 to 1e-2": one_cycle(1e-2, 25, 1024),
            "batch 1024, 8e-3": lambda competing, seed: _default(
                seed, batch_size=1024, learning_rate=8e-3
            ),
        },
    ),
    "shrinkage": (
        SMALL,
        DEFAULT
        | {
            "weight decay 0.01": lambda competing, seed: _default(seed, weight_decay=0.01),
            "weight decay 0.1": lambda competing, seed: _default(seed, weight_decay=0.1),
            "dropout 0.5": lambda competing, seed: _default(seed, dropout=0.5),
            "1 component": lambda competing, seed: _default(seed, k=1),
            "2 components": lambda competing, seed: _default(seed, k=2),
            "beside a linear model": lambda competing, seed: _beside_linear(seed),
        },
    ),
}


def compared(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how every variant does against the default: tables ahead, mean gain, Wilcoxon's p, CPU seconds."""
    rows = []
    seconds = by_table(frame, "fit_seconds")
    for model in seconds.columns.drop("dsm"):
        row: dict[str, Any] = {
            "variant": model,
            "times the CPU seconds": (seconds[model] / seconds["dsm"]).median(),
        }
        for score in ("ibs", "c"):
            means = by_table(frame[frame["model"].isin(["dsm", model])], score)
            gain = BETTER[score] * (means[model] - means["dsm"])
            if score == "ibs":
                gain = 100 * gain / means["dsm"]
            row |= {
                f"{score} ahead": f"{int((gain > 0).sum())} of {len(gain)}",
                f"{score} gain": gain.mean(),
            }
            row |= {f"{score} worst": gain.min(), f"{score} p": float(wilcoxon(gain).pvalue)}
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is not recorded yet, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen.trials", description=__doc__)
    parser.add_argument("which", choices=TRIALS)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--tables", help="only these tables")
    options = parser.parse_args()
    one_thread()
    names, variants = TRIALS[options.which]
    names = tuple(options.tables.split(",")) if options.tables else names
    path = RESULTS / f"unseen-{options.which}.jsonl"
    models = Models(variants, dict.fromkeys(variants, "1"))
    run(path, missing(path, names, variants, options.folds, known=models), models=models)
    pd.set_option("display.width", 250, "display.max_columns", 20)
    frame = current(path, names, variants, models)
    for score in ("ibs", "c", "fit_seconds"):
        print(f"\n{score}\n", by_table(frame, score).round(4).to_string(), sep="")
    print("", compared(frame).round(4).to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
