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
    """Return labels as their positions and numbers as they are; missing values are NaN."""
    codes = X.copy()
    for name in X.select_dtypes("category"):
        codes[name] = X[name].cat.codes
    return codes.astype(float).mask(X.isna()).to_numpy()


def as_table(codes: np.ndarray, X: pd.DataFrame) -> pd.DataFrame:
    """Return the table of ``as_codes``, with the columns of ``X``."""
    table = pd.DataFrame(codes, columns=X.columns)
    for name in X.select_dtypes("category"):
        positions = table[name].fillna(-1).astype(int)
        table[name] = pd.Categorical.from_codes(positions, dtype=X[name].dtype)
    return table


def shap_values(
    function: Callable[[pd.DataFrame], np.ndarray], background: pd.DataFrame, rows: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the SHAP values (n_rows, n_columns), the base value and the predictions that they add up to."""
    explainer = shap.PermutationExplainer(
        lambda codes: function(as_table(codes, background)),
        shap.maskers.Independent(as_codes(background)),
        seed=0,
    )
    explanation = explainer(as_codes(rows), max_evals=2 * rows.shape[1] + 1, silent=True)
    return explanation.values, explanation.base_values, function(rows)


def main(
    n_background: int = 50, n_rows: int = 20, max_epochs: int = 200
) -> dict[str, tuple[np.ndarray, ...]]:
    """Explain a model of METABRIC with causes of death, and print what matters most."""
    data = datasets.load_metabric_causes()
    model = DeepSurvivalMachines(dropout=0.25, n_members=1, max_epochs=max_epochs)
    model.fit(data.X, data.y)
    sample = data.X.sample(n_background + n_rows, random_state=0)
    background, rows = sample[:n_background], sample[n_background:]

    def survival(X: pd.DataFrame) -> np.ndarray:
        return model.predict_survival_function(X, HORIZON)[:, 0]

    def death_of_breast_cancer(X: pd.DataFrame) -> np.ndarray:
        return model.predict_cumulative_incidence(X, HORIZON, event=1)[:, 0]

    functions = {
        "risk score (minus mean months)": model.predict,
        f"survival at {HORIZON:g} months": survival,
        f"death of breast cancer by {HORIZON:g} months": death_of_breast_cancer,
    }
    names = [data.features[name] for name in rows]
    results = {}
    for title, function in functions.items():
        results[title] = shap_values(function, background, rows)
        values, _, _ = results[title]
        mean_size = pd.Series(np.abs(values).mean(axis=0), index=names)
        print(f"\n{title}, mean size of the SHAP values:")
        print(mean_size.nlargest(5).round(4).to_string())
    return results


if __name__ == "__main__":
    main()
