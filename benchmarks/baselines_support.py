"""The baselines on one fold of SUPPORT: concordance and Brier score at the 25, 50 and 75 % event times.

Run: python -m benchmarks.baselines_support    (about 2 minutes on one core)
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
)
from lifemix.datasets import load_support
from lifemix.errors import LifemixWarning
from lifemix.metrics import brier_score, concordance_td
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons

PREPARED = TabularPreprocessor(fill_values=dict(SUPPORT_NORMAL_VALUES), missing_indicators=False)

MODELS = {
    "Kaplan-Meier": KaplanMeier(),
    "Cox": CoxPH(preprocessor=PREPARED),
    "DeepSurv, published settings": DeepSurv.paper("support", preprocessor=PREPARED),
    "DeepSurv, defaults": DeepSurv(preprocessor=PREPARED),
    "DeepHit, the paper's choice": DeepHit.paper("support", preprocessor=PREPARED),
    "DeepHit, the same on equal intervals": DeepHit.paper(
        "support", grid="equidistant", preprocessor=PREPARED
    ),
    "forest, depth 4, 100 trees": RandomSurvivalForest.paper(100, preprocessor=PREPARED),
    "forest, no depth limit": RandomSurvivalForest(preprocessor=PREPARED),
    "martingale forest, 100 trees": MartingaleForest(100, preprocessor=PREPARED),
    "gradient boosting": GradientBoosting(preprocessor=PREPARED),
    "gradient boosting, with missing indicators": GradientBoosting(),
}


def main(only: str) -> None:
    data = load_support()
    training, test = next(EventStratifiedKFold(5, random_state=0).split(data.X, data.y))
    y_train, y_test = data.y[training], data.y[test]
    at = horizons(data.y)
    print(
        "| model | C^td 25 % | 50 % | 75 % | Brier 25 % | 50 % | 75 % | fit, CPU s |\n|---|---|---|---|---|---|---|---|"
    )
    for name, model in MODELS.items():
        if only not in name:
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LifemixWarning
            )  # a level of a category that a part of the rows lacks
            model.fit(data.X.iloc[training], y_train)
            seconds = time.process_time() - start
            survival = model.predict_survival_function(data.X.iloc[test], at)
        concordances = [
            concordance_td(y_train, y_test, 1 - survival[:, i], t) for i, t in enumerate(at)
        ]
        values = [*concordances, *brier_score(y_train, y_test, survival, at)]
        print(
            f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only the models whose name contains this")
    main(parser.parse_args().only)
