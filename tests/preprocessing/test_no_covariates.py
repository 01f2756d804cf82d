"""Columns that ``fit`` refuses: free text, and copies of the outcome."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, LifeMix, make_target
from lifemix.baselines import CoxPH, GradientBoosting, KaplanMeier
from lifemix.errors import CovariateError

N_ROWS = 60
MODELS = [
    DeepSurvivalMachines(max_epochs=1, n_members=1),
    CoxPH(),
    GradientBoosting(),
    LifeMix({"Cox": CoxPH(), "curve": KaplanMeier()}, n_folds=2),
]


def table(n_rows=N_ROWS, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.normal(60, 10, n_rows), **columns})


def outcome(n_rows=N_ROWS):
    rng = np.random.default_rng(1)
    return rng.exponential(5, n_rows) + 0.1, (rng.random(n_rows) < 0.6).astype(int)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_free_text_is_refused(model):
    notes = [f"note {row} on the patient" for row in range(N_ROWS)]
    with pytest.raises(
        CovariateError,
        match=r"'note' must hold categories; got [36]0 different texts in [36]0 rows.*Drop",
    ):
        model.fit(table(note=notes), make_target(*outcome()))


@pytest.mark.parametrize("n_rows", [19, 20])
@pytest.mark.parametrize("n_repeated", [1, 3])
def test_free_text_means_20_rows_of_which_95_percent_differ(n_rows, n_repeated):
    notes = [f"note {max(row, n_repeated - 1)}" for row in range(n_rows)]
    X, y = table(n_rows, note=notes), make_target(*outcome(n_rows))
    if n_rows == 20 and n_repeated == 1:
        with pytest.raises(CovariateError, match="different texts"):
            CoxPH(penalty=1.0).fit(X, y)
    else:
        CoxPH(penalty=1.0).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("field", ["time", "event"])
def test_a_copy_of_the_outcome_is_refused(model, field):
    time, event = outcome()
    copied = {"time": time, "event": event}[field]
    with pytest.raises(
        CovariateError, match=f"column 'leak' of X equals the {field} of y in all 60 rows"
    ):
        model.fit(table(leak=copied), make_target(time, event))


@pytest.mark.parametrize("leak", ["float32", "boolean", "any event", "array"])
def test_copies_of_another_type_are_refused(leak):
    time, event = outcome()
    event = event * np.where(np.arange(N_ROWS) % 2, 2, 1)
    columns = {
        "float32": time.astype(np.float32),
        "boolean": event > 0,
        "any event": 1.0 * (event > 0),
        "array": time,
    }
    X = table(leak=columns[leak])
    with pytest.raises(CovariateError, match="equals the (time|event > 0) of y"):
        DeepSurvivalMachines(max_epochs=1, n_members=1).fit(
            X.to_numpy() if leak == "array" else X, make_target(time, event)
        )


def test_columns_that_are_not_copies_are_accepted():
    time, event = outcome()
    almost = time.copy()
    almost[-1] += 1
    X = table(almost=almost, constant=1.0)
    CoxPH(penalty=1.0).fit(X, make_target(time, event))
    CoxPH(penalty=1.0).fit(
        X, make_target(time, np.ones(N_ROWS, dtype=int))
    )  # every row has the event
    CoxPH(penalty=1.0).fit(table(19, leak=time[:19]), make_target(time[:19], event[:19]))
