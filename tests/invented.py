"""Cells and records made up by a random generator, in the form that a run gives them; no results of anything."""

import numpy as np

from experiments.cells import Cell
from experiments.pages import RunFacts
from experiments.records import Record
from experiments.selection import select

SINGLE = ("tuned", "dsm", "cph", "rsf", "deepsurv", "deephit", "forest", "boosting", "floor")
COMPETING = ("tuned", "dsm", "cs-cph", "cs-rsf", "fg", "deephit", "floor", "truth")
SELECTIONS = {"dsm": ("paper", "nested"), "rsf": ("paper", "nested"), "cs-rsf": ("paper", "nested")}


def cell(data, model, measure, event, horizon, censoring, selection, values):
    return Cell.of((data, measure, event, horizon, censoring), model, selection, values)


def table_cells(data="support", n_events=1, folds=5, levels=(0.0, 0.25, 0.5), seed=0):
    """Return cells of all models: concordance and both Brier scores."""
    rng = np.random.default_rng(seed)
    horizons = (0.25, 0.5, 0.75) if n_events == 1 else (0.25, 0.5, 0.75, 1.0)
    luck = rng.normal(0, 0.006, folds)  # of a fold, the same for all models
    cells = []
    for number, model in enumerate(SINGLE if n_events == 1 else COMPETING):
        for selection in SELECTIONS.get(model, ("fixed",)):
            for event in range(1, n_events + 1):
                for step, horizon in enumerate(horizons):
                    for level in levels:
                        place = (event, horizon, level, selection)
                        skill = 0.84 - 0.05 * step - 0.006 * number - 0.01 * level
                        skill = (
                            0.5 if model == "floor" else skill + (0.03 if model == "truth" else 0)
                        )
                        noise = luck + rng.normal(0, 0.003, folds)
                        cells.append(cell(data, model, "ctd", *place, skill + noise))
                        brier = 0.10 + 0.04 * step + 0.003 * number + 0.05 * level - noise / 2
                        cells.append(cell(data, model, "brier", *place, brier))
                        if level:
                            cells.append(
                                cell(data, model, "brier_original", *place, brier - 0.04 * level)
                            )
    return cells


def records(data="support", n_events=1, folds=5, seed=0):
    """Return records of all models with calibration curves."""
    rng = np.random.default_rng(seed)
    found = []
    for number, model in enumerate(SINGLE if n_events == 1 else COMPETING):
        for fold in range(folds):
            curves = [
                [_curve(rng, number, step) for step in range(3 if n_events == 1 else 4)]
                for _ in range(n_events)
            ]
            size = (
                None if model in ("rsf", "cs-rsf", "forest", "floor") else 50 * 10 ** (number % 4)
            )
            seconds = float(rng.gamma(5, 0.1) * 3 ** (number % 5))
            scores = {"ctd": [[0.5]]}
            costs = {"seconds": seconds, "parameters": size}
            found.append(
                Record(
                    data,
                    model,
                    {"k": 4},
                    0.0,
                    fold,
                    0,
                    "full",
                    scores,
                    scores,
                    calibration=curves,
                    **costs,
                )
            )
    return found


def selected(data="support", n_events=1):
    """Return what stands for the models: their records, each with one setting."""
    return select(records(data, n_events))


def _curve(rng, number, step):
    predicted = np.sort(rng.uniform(0.02, 0.3 + 0.2 * step, 10))
    return [
        predicted.tolist(),
        np.clip(predicted * (1 + 0.03 * number) + rng.normal(0, 0.02, 10), 0, 1).tolist(),
    ]


def transfer_cells(seed=0):
    """Return cells of the experiment on transfer: the tuned models and every shape."""
    rng = np.random.default_rng(seed)
    cells = []
    for number, model in enumerate(("dsm", "deephit", "deepsurv", "kpca", "nnmf", "vae")):
        for selection in (
            "paper",
            "nested",
            *(f"{layers}x{nodes}" for layers in (1, 2) for nodes in (25, 50, 100)),
        ):
            values = 0.77 - 0.02 * number + rng.normal(0, 0.004, 5)
            cells.append(cell("transfer", model, "concordance", 2, 1.0, 0.0, selection, values))
    cells.append(
        cell(
            "transfer", "truth", "concordance", 2, 1.0, 0.0, "fixed", 0.76 + rng.normal(0, 0.004, 5)
        )
    )
    return cells


def scaling_cells(seed=0):
    """Return cells of training times and parameters, and of the growth with the rows."""
    rng = np.random.default_rng(seed)
    cells = []
    for data, rows in (("metabric", 1500), ("support", 7000)):
        for number, model in enumerate(("tuned", "dsm", "cph", "rsf", "deepsurv", "deephit")):
            for share in (1, 2, 4):
                seconds = rows / share / 1000 * 2**number * rng.uniform(0.9, 1.1, 5)
                selection = "fixed" if share == 1 else f"n={rows // share}"
                cells.append(cell(data, model, "seconds", 1, 1.0, 0.0, selection, seconds))
                if share == 1:
                    cells.append(cell(data, model, "seconds", 1, 1.0, 0.0, f"n={rows}", seconds))
            if model != "rsf":
                cells.append(
                    cell(
                        data,
                        model,
                        "parameters",
                        1,
                        1.0,
                        0.0,
                        "fixed",
                        np.full(5, 30 * 4.0**number),
                    )
                )
    return cells


def facts(experiment="support", run="full", **options):
    """Return facts with times for SUPPORT and SYNTHETIC."""
    known = {
        "seconds": 4321.0,
        "folds": {"support": 5, "synthetic": 5},
        "horizons": {"support": [[14, 58, 252]], "synthetic": [[3, 11, 30, 192], [3, 11, 30, 190]]},
        "units": {"support": "days"},
    }
    return RunFacts(experiment, f"python -m experiments {experiment}", run, **(known | options))
