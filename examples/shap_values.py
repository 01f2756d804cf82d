"""SHAP values of a model: of the risk score, and of survival at a horizon, on a table with categories and gaps.

SHAP works on matrices of numbers, so labels become codes for it, and the table again before the model sees them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import shap

from lifemix import DeepSurvivalMachines, datasets

HORIZON = 120.0  # months


def as_codes(X: pd.DataFrame) -> np.ndarray:
    """Return labels as their positions and numbers as they are; what is missing is NaN."""
    codes = {
        name: column.cat.codes if column.dtype == "category" else column
        for name, column in X.items()
    }
    matrix = pd.DataFrame(codes).astype(float)
    return matrix.mask(X.isna()).to_numpy()


def as_table(codes: np.ndarray, like: pd.DataFrame) -> pd.DataFrame:
    """Return the table whose ``as_codes`` this is."""
    columns = {}
    for place, (name, column) in enumerate(like.items()):
        values = codes[:, place]
        if column.dtype == "category":
            values = pd.Categorical.from_codes(
                np.nan_to_num(values, nan=-1).astype(int), dtype=column.dtype
            )
        columns[name] = values
    return pd.DataFrame(columns)


def shap_values(
    function: Callable[[pd.DataFrame], np.ndarray], background: pd.DataFrame, rows: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the SHAP values (n_rows, n_columns), the base value and the predictions that they add up to."""
    explainer = shap.PermutationExplainer(
        lambda codes: function(as_table(codes, background)),
        shap.maskers.Independent(as_codes(background)),
        seed=0,
    )
    found = explainer(as_codes(rows), max_evals=2 * rows.shape[1] + 1, silent=True)
    return found.values, found.base_values, function(rows)


def main(
    n_background: int = 50, n_rows: int = 20, max_epochs: int = 200
) -> dict[str, tuple[np.ndarray, ...]]:
    """Explain a model of METABRIC with causes of death, and print what matters most."""
    data = datasets.load_metabric_causes()
    model = DeepSurvivalMachines(dropout=0.25, n_members=1, max_epochs=max_epochs).fit(
        data.X, data.y
    )
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(data.X), n_background + n_rows, replace=False)
    background, rows = data.X.iloc[chosen[:n_background]], data.X.iloc[chosen[n_background:]]
    functions = {
        "risk score (minus mean months)": model.predict,
        f"survival at {HORIZON:g} months": lambda X: model.predict_survival_function(X, HORIZON)[
            :, 0
        ],
        f"death of breast cancer by {HORIZON:g} months": lambda X: (
            model.predict_cumulative_incidence(X, HORIZON, 1)[:, 0]
        ),
    }
    results = {}
    for what, function in functions.items():
        results[what] = shap_values(function, background, rows)
        size = pd.Series(
            np.abs(results[what][0]).mean(0), index=[data.features[name] for name in rows.columns]
        )
        print(f"{what}, mean size of the SHAP values:")
        print(size.sort_values(ascending=False).head(5).round(4).to_string(), end="\n\n")
    return results


if __name__ == "__main__":
    main()
