"""What the shift of the Weibull's parameters does to the Brier scores under artificial censoring.

SUPPORT, one setting for each level of censoring, five folds; with the paper's SELU, added to the log rate, and with an
unbounded shift. One row each, as a Markdown table.

Run: ``python -m experiments.papers_shift`` (a minute on one core).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines
from lifemix.estimators.fleet_groups import FitRequest, fit_many

from .protocol import DataSource, Protocol, paper_preprocessor, times_of
from .scores import risks, scores_on_test

CHOSEN: dict[float, dict[str, Any]] = {
    0.25: {"hidden": (100, 100), "learning_rate": 1e-3},
    0.5: {"hidden": (100,), "learning_rate": 1e-4},
}


def scores(protocol: Protocol, level: float, shift: str | None) -> dict[str, np.ndarray]:
    """Return C^td and Brier score at the horizons, of shape (folds, horizons)."""
    times, folds = times_of(protocol), [protocol.fold(number, level) for number in protocol.folds]
    fittings = [
        FitRequest(
            DeepSurvivalMachines.paper(
                **CHOSEN[level],
                discount=0.5,
                shift_activation=shift,
                preprocessor=paper_preprocessor("support"),
                random_state=fold.number,
            ),
            *fold.inner_train,
            fold.inner_validation,
        )
        for fold in folds
    ]
    found = []
    for done in fit_many(fittings):
        fold = folds[done.number]
        found.append(scores_on_test(done.model, fold, times, risks(done.model, fold.X_test, times)))
    return {name: np.array([one[name][0] for one in found]) for name in ("ctd", "brier")}


def main() -> None:
    """Print the table."""
    protocol = Protocol(DataSource("support"))
    print(
        "| extra censoring | shift of the log parameters | C^td | Brier score |\n|---|---|---|---|"
    )
    for level in CHOSEN:
        for name, shift in (("SELU, on the log rate", None), ("unbounded", "identity")):
            cells = [
                " / ".join(
                    f"{mean:.3f} ± {spread / len(values) ** 0.5:.3f}"
                    for mean, spread in zip(values.mean(0), values.std(0, ddof=1), strict=True)
                )
                for values in scores(protocol, level, shift).values()
            ]
            print(f"| {level:.0%} | {name} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
