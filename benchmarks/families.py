"""Held-out log-likelihood of every family, of mixed mixtures and of the spline, on the folds of the experiments.

Run: python -m benchmarks.families [--data NAMES] [--models NAMES]. One network per fit, the same settings for all: four
components in all, one hidden layer of 100, batches of 128 at a learning rate of 1e-3, no dropout, early stopping by
15 % of the training rows. The folds of one data set train together. A record per fit is kept in
``results/families.jsonl``, what is there is not computed again; the tables go into docs/families.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.line_files import LineFile
from experiments.protocol import DataSource, Protocol
from lifemix import DeepSurvivalMachines
from lifemix.estimators.fleet_groups import FitRequest, fit_many
from lifemix.estimators.settings import ONE_NETWORK

from .harness import RESULTS, one_thread

FOLDS = {"support": 5, "metabric": 10, "flchain": 5, "ebmt": 5}
SINGLE = (
    "weibull",
    "lognormal",
    "loglogistic",
    "exponential",
    "gompertz",
    "burr",
    "power-generalised-weibull",
    "gamma",
    "generalised-gamma",
)
MIXED: dict[str, Any] = {
    "spline": "spline",
    "weibull + lognormal": {"weibull": 2, "lognormal": 2},
    "weibull + spline": {"weibull": 2, "spline": 2},
    "lognormal + spline": {"lognormal": 2, "spline": 2},
}
COUNTS = (1, 2, 3, 6, 8, 12)  # of Weibull components, beside the four of "weibull"
MODELS: dict[str, tuple[Any, int]] = (
    {name: (name, 4) for name in SINGLE}
    | {name: (primitive, 4) for name, primitive in MIXED.items()}
    | {f"weibull, k={k}": ("weibull", k) for k in COUNTS}
)
PATH = RESULTS / "families.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "families.md"
BEGIN, END = (
    "<!-- held out: begin, written by `python -m benchmarks.families` -->",
    "<!-- held out: end -->",
)


@dataclass(frozen=True)
class Score:
    """One fit: the mean log-likelihood of test rows, and the objective on the rows of early stopping."""

    data: str
    model: str
    fold: int
    log_likelihood: float
    validation_loss: float
    epochs: int
    cpu_seconds: float


def records(path: Path = PATH) -> LineFile[Score]:
    """Open the records."""
    return LineFile(path, lambda values: Score(**values))


def compute(data: str, model: str) -> list[Score]:
    """Fit a model to all folds of a data set, as one fleet."""
    primitive, k = MODELS[model]
    n_folds = FOLDS[data]
    protocol = Protocol(DataSource(data), n_folds, tuple(range(n_folds)))
    folds = [protocol.fold(number, 0.0) for number in range(n_folds)]
    requests = [
        FitRequest(DeepSurvivalMachines(primitive, k=k, **ONE_NETWORK), fold.X_train, fold.y_train)
        for fold in folds
    ]
    scores = []
    for result in fit_many(requests):
        if result.error is not None:
            raise result.error
        fold, fitted = folds[result.number], result.model
        mean = fitted.log_likelihood(fold.X_test, fold.y_test) / len(fold.y_test)
        held = min(record["validation_loss"] for record in fitted.history_)
        epochs = len(fitted.history_)
        scores.append(
            Score(
                data,
                model,
                result.number,
                float(mean),
                float(held),
                epochs,
                round(result.seconds, 2),
            )
        )
    return scores


def matrix(
    known: Sequence[Score], data: str, field: str = "log_likelihood"
) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of the models that are whole on a data set, one per fold."""
    found = {}
    for model in MODELS:
        own = {
            one.fold: getattr(one, field) for one in known if (one.data, one.model) == (data, model)
        }
        if len(own) == FOLDS[data]:
            found[model] = np.array([own[fold] for fold in sorted(own)])
    return found


def difference(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """Return the mean of paired differences and its standard error."""
    gap = mine - theirs
    return f"{gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.4f}"


def family_table(known: Sequence[Score]) -> str:
    """Return the table of families: the best single family whole, the others as differences from it."""
    lines = [
        "| | " + " | ".join(name.upper() for name in FOLDS) + " |",
        "|---" * (1 + len(FOLDS)) + "|",
    ]
    scores = {data: matrix(known, data) for data in FOLDS}
    best = {
        data: max(
            (one for one in found if one in SINGLE),
            key=lambda one: float(found[one].mean()),
            default=None,
        )
        for data, found in scores.items()
    }
    for model in (*SINGLE, *MIXED):
        cells = []
        for data, found in scores.items():
            reference = best[data]
            if model not in found or reference is None:
                cells.append("")
            elif model == reference:
                cells.append(f"**{found[model].mean():.4f}**")
            else:
                cells.append(difference(found[model], found[reference]))
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def count_table(known: Sequence[Score]) -> str:
    """Return the table of numbers of components, and what the rows of early stopping would choose."""
    names = {k: "weibull" if k == 4 else f"weibull, k={k}" for k in sorted((*COUNTS, 4))}
    header = [f"k = {k}" for k in names] + ["chosen", "chosen − best", "chosen − 4"]
    lines = ["| | " + " | ".join(header) + " |", "|---" * (1 + len(header)) + "|"]
    for data in FOLDS:
        found, held = matrix(known, data), matrix(known, data, "validation_loss")
        if not all(name in found for name in names.values()):
            continue
        table = np.stack([found[name] for name in names.values()])
        choice = np.stack([held[name] for name in names.values()]).argmin(0)
        chosen = table[choice, np.arange(FOLDS[data])]
        best = table[table.mean(1).argmax()]
        cells = [f"{row.mean():.4f}" for row in table] + [f"{chosen.mean():.4f}"]
        cells += [difference(chosen, best), difference(chosen, found["weibull"])]
        lines.append(f"| {data.upper()} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def between_markers(page: Path, begin: str, end: str, body: str) -> None:
    """Replace what stands between two markers of a page."""
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(
            f"expected the markers {begin} and {end} once each in {page.name}; put them back."
        )
    head, rest = text.split(begin)
    page.write_text(f"{head}{begin}\n\n{body}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")


def write(known: Sequence[Score], page: Path = PAGE) -> None:
    """Put the tables between the markers of the page."""
    between_markers(
        page,
        BEGIN,
        END,
        f"{family_table(known)}\n\nThe number of components:\n\n{count_table(known)}",
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.families", description=__doc__)
    parser.add_argument("--data", default=",".join(FOLDS), help="data sets, separated by commas")
    parser.add_argument(
        "--models", default=";".join(MODELS), help="models, separated by semicolons"
    )
    options = parser.parse_args()
    one_thread()
    store = records()
    for model in options.models.split(";"):
        for data in options.data.split(","):
            if any((one.data, one.model) == (data, model) for one in store.records):
                continue
            scores = compute(data, model)
            store.append(asdict(one) for one in scores)
            store.records += scores
            print(f"{data}, {model}: {matrix(store.records, data)[model].mean():.4f}", flush=True)
    write(store.records)
    print(family_table(store.records), count_table(store.records), sep="\n\n")


if __name__ == "__main__":
    main()
