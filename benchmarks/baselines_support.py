"""The baselines on one fold of SUPPORT: concordance and Brier score at the 25, 50 and 75 % event times.

Run: python -m benchmarks.baselines_support [--search]    (about 2 minutes on one core; with --search about 4)
"""

import argparse
import time
import warnings

from lifemix.baselines import (
    CoxPH,
    DeepHit,
    DeepSurv,
    GradientBoosting,
    KaplanMeier,
    MartingaleForest,
    RandomSurvivalForest,
    select_model,
)
from lifemix.baselines.forest import PAPER_TREES
from lifemix.datasets import load_support
from lifemix.errors import LifemixWarning
from lifemix.experiments.learners import deephit_settings
from lifemix.metrics import brier_score, concordance_td
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons

PREPARED = TabularPreprocessor(fill_values=dict(SUPPORT_NORMAL_VALUES), missing_indicators=False)

FIXED = {
    "Kaplan-Meier": [KaplanMeier()],
    "Cox": [CoxPH(preprocessor=PREPARED)],
    "DeepSurv, published settings": [DeepSurv.paper("support", preprocessor=PREPARED)],
    "DeepSurv, defaults": [DeepSurv(preprocessor=PREPARED)],
    "DeepHit, the paper's choice": [DeepHit.paper("support", preprocessor=PREPARED)],
    "DeepHit, the same on equal intervals": [DeepHit.paper("support", grid="equidistant", preprocessor=PREPARED)],
    "forest, depth 4, 100 trees": [RandomSurvivalForest.paper(100, preprocessor=PREPARED)],
    "forest, no depth limit": [RandomSurvivalForest(preprocessor=PREPARED)],
    "martingale forest, 100 trees": [MartingaleForest(100, preprocessor=PREPARED)],
    "gradient boosting": [GradientBoosting(preprocessor=PREPARED)],
    "gradient boosting, with missing indicators": [GradientBoosting()],
}
SEARCHED = {
    "DeepHit, best of ten": [DeepHit(**setting, preprocessor=PREPARED) for setting in deephit_settings(10)],
    "forest, depth 4, tuned": [RandomSurvivalForest.paper(n, preprocessor=PREPARED) for n in PAPER_TREES],
    "forest, no depth limit, tuned": [
        RandomSurvivalForest(min_samples_leaf=leaf, preprocessor=PREPARED) for leaf in (3, 10, 30)
    ],
}


def fit(candidates, X, y):
    if len(candidates) == 1:
        return candidates[0].fit(X, y)
    best = candidates[select_model(candidates, X, y).index]
    return best.fit(X, y)


def main(search: bool, only: str) -> None:
    data = load_support()
    training, test = next(EventStratifiedKFold(5, random_state=0).split(data.X, data.y))
    y_train, y_test = data.y[training], data.y[test]
    at = horizons(data.y)
    print(
        "| model | C^td 25 % | 50 % | 75 % | Brier 25 % | 50 % | 75 % | fit, CPU s |\n|---|---|---|---|---|---|---|---|"
    )
    for name, candidates in {**FIXED, **(SEARCHED if search else {})}.items():
        if only not in name:
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)  # a level of a category that a part of the rows lacks
            model = fit(candidates, data.X.iloc[training], y_train)
            seconds = time.process_time() - start
            survival = model.predict_survival_function(data.X.iloc[test], at)
        concordances = [concordance_td(y_train, y_test, 1 - survival[:, i], t) for i, t in enumerate(at)]
        values = [*concordances, *brier_score(y_train, y_test, survival, at)]
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--search", action="store_true", help="also choose settings on held-out rows, as the paper does"
    )
    parser.add_argument("--only", default="", help="only the models whose name contains this")
    arguments = parser.parse_args()
    main(arguments.search, arguments.only)
