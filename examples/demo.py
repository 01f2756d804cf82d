"""The main job on the bundled SUPPORT data: check the table, fit, compare models on held-out patients, write two pages.

Run: ``python examples/demo.py [FOLDER]``; ``make demo`` does so.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from lifemix import DeepSurvivalMachines, datasets, metrics, report
from lifemix.baselines import CoxPH, MartingaleForest
from lifemix.splits import EventStratifiedKFold, horizons

TITLE = "SUPPORT: survival of seriously ill hospital patients"


def main(folder: Path) -> None:
    data = datasets.load_support()
    train, test = next(EventStratifiedKFold(5).split(data.X, data.y))
    X_train, y_train = data.X.iloc[train], data.y[train]
    X_test, y_test = data.X.iloc[test], data.y[test]
    days = horizons(y_train)

    print(f"{len(train):,} patients for training, {len(test):,} held out. Findings in the table:\n")
    for finding in report.check_table(X_train, y_train, horizons=days):
        print(f"- {finding}")

    models = {
        "DeepSurvivalMachines": DeepSurvivalMachines(verbose=True),
        "CoxPH": CoxPH(),
        "MartingaleForest": MartingaleForest(),
    }
    scores = {}
    for name, model in models.items():
        print(f"\nFitting {name} ...", flush=True)
        model.fit(X_train, y_train)
        table = metrics.evaluate(model, y_train, X_test, y_test, days)
        scores[name] = table.dropna(subset="horizon").set_index(["metric", "horizon"])["value"]
    comparison = pd.DataFrame(scores).round(3)
    print("\nHeld-out patients, by days since study entry")
    print("(concordance_td and auc: higher is better; brier: lower is better):\n")
    print(comparison.to_string())

    folder.mkdir(parents=True, exist_ok=True)
    model = models["DeepSurvivalMachines"]
    pages = [
        report.write_report(
            model, X_test, y_test, folder / "report.html", title=TITLE, time_unit="days"
        ),
        report.write_calculator(
            model, folder / "calculator.html", title=TITLE, time_unit="days", data=X_train
        ),
    ]
    print("\nOpen in a browser:", *pages, sep="\n  ")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
