"""Compare ways to prepare SUPPORT for Cox regression with the paper's numbers.

Run ``python -m experiments.papers_cox`` (half a minute on one core): C^td and Brier score at the three horizons, means
over the five folds of the tables. The paper has 0.794 / 0.756 / 0.733 and 0.115 / 0.171 / 0.193.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from lifemix.baselines import CoxPH
from lifemix.preprocessing import TabularPreprocessor

from .protocol import Protocol, paper_preprocessor, times_of
from .reproduction import studies
from .scores import risks, scores_on_test

Change = Callable[[pd.DataFrame], pd.DataFrame]


def coded(X: pd.DataFrame) -> pd.DataFrame:
    """Return the table with categories as whole numbers in the order of the alphabet."""
    texts = X.select_dtypes(exclude="number").columns
    return X.assign(**{name: X[name].astype("category").cat.codes.astype(float) for name in texts})


def measured(protocol: Protocol, model: CoxPH, change: Change) -> list[str]:
    """Return the mean scores over the folds."""
    times, found = times_of(protocol), []
    for number in protocol.folds:
        fold = protocol.fold(number, 0.0)
        fold = replace(fold, X_train=change(fold.X_train), X_test=change(fold.X_test))
        model.fit(fold.X_train, fold.y_train)
        scores = scores_on_test(model, fold, times, risks(model, fold.X_test, times))
        found.append([scores["ctd"][0], scores["brier"][0]])
    return [" / ".join(f"{value:.3f}" for value in row) for row in np.mean(found, axis=0)]


def main() -> None:
    """Print one line per way."""
    protocol = studies("support")[0].protocol
    papers = paper_preprocessor("support")
    means = TabularPreprocessor(missing_indicators=False)
    ways: dict[str, tuple[CoxPH, Change]] = {
        "as in the tables": (CoxPH(preprocessor=papers), lambda X: X),
        "categories as whole numbers": (CoxPH(preprocessor=papers), coded),
        "means for all missing values": (CoxPH(preprocessor=means), lambda X: X),
        "ridge penalty 1,000": (CoxPH(penalty=1000.0, preprocessor=papers), lambda X: X),
        "ridge penalty 3,000": (CoxPH(penalty=3000.0, preprocessor=papers), lambda X: X),
        "without avtisst": (CoxPH(preprocessor=papers), lambda X: X.drop(columns="avtisst")),
    }
    for name, (model, change) in ways.items():
        concordance, brier = measured(protocol, model, change)
        print(f"{name:30} C^td {concordance}   Brier score {brier}")


if __name__ == "__main__":
    main()
