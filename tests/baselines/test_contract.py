"""What every model promises, over one registry of all of them."""

import pickle
import random
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, LifeMix, baselines, make_target
from lifemix.baselines import CauseSpecific, CoxPH
from lifemix.errors import CovariateError, InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import concordance, mean_concordance

BOOSTING = baselines.GradientBoosting(n_intervals=5, max_iter=20, min_samples_leaf=10)
FOREST = baselines.RandomSurvivalForest(n_trees=8, max_depth=4)
DEEPSURV = baselines.DeepSurv(hidden=(16,), max_epochs=8, batch_size=64)
DEEPHIT = baselines.DeepHit(
    shared_nodes=16, cause_nodes=16, n_times=10, max_epochs=8, batch_size=64, learning_rate=0.01
)
DSM = DeepSurvivalMachines(
    k=2, hidden=(8,), max_epochs=30, learning_rate=1e-2, n_members=2, validation_fraction=0
)
# Every model with the numbers of event types it is fitted to.
MODELS = {
    "CoxPH": (CoxPH(), [1]),
    "RandomSurvivalForest": (FOREST, [1]),
    "DeepSurv": (DEEPSURV, [1]),
    "DeepHit": (DEEPHIT, [1, 2]),
    "FineGray": (baselines.FineGray(), [1, 2]),
    "GradientBoosting": (BOOSTING, [1, 2]),
    "MartingaleForest": (baselines.MartingaleForest(n_trees=20), [1, 2]),
    "KaplanMeier": (baselines.KaplanMeier(), [1]),
    "AalenJohansen": (baselines.AalenJohansen(), [1, 2]),
    "CauseSpecific CoxPH": (CauseSpecific(CoxPH()), [1, 2]),
    "CauseSpecific product limit": (CauseSpecific(CoxPH(), rule="product_limit"), [2]),
    "CauseSpecific forest": (CauseSpecific(FOREST), [2]),
    "CauseSpecific DeepSurv": (CauseSpecific(DEEPSURV), [2]),
    "CauseSpecific DSM": (CauseSpecific(DSM), [1]),
    "DSM": (DSM, [1, 2]),
    "ModelAverage": (baselines.ModelAverage([BOOSTING, DSM], discount=0.5), [1, 2]),
    "LifeMix": (LifeMix({"trees": BOOSTING, "networks": DSM}, n_folds=2), [1, 2]),
}
WITHOUT_COVARIATES = ("KaplanMeier", "AalenJohansen")
RANDOM_ROWS = (
    "GradientBoosting",
    "MartingaleForest",
    "DSM",
    "CauseSpecific DSM",
    "ModelAverage",
    "LifeMix",
)
over_models = pytest.mark.parametrize(
    ("name", "n_events"), [(name, n) for name, (_, counts) in MODELS.items() for n in counts]
)
TIMES = np.array([0.0, 1e-9, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 1e3, 1e9])


def model_of(name):
    return clone(MODELS[name][0])


@cache
def data(n_events):
    """Return a table with categories and missing values, and times that depend on it."""
    rng = np.random.default_rng(5)
    n = 260
    a, b = rng.normal(size=(2, n))
    group = rng.choice(["low", "middle", "high"], n)
    risk = np.column_stack([a + (group == "high"), b])[:, :n_events]
    times, censoring = rng.exponential(np.exp(-risk) * 2), rng.uniform(0, 6, n)
    time = np.minimum(times.min(axis=1), censoring)
    event = np.where(time == censoring, 0, times.argmin(axis=1) + 1)
    time = np.ceil(time * 20) / 20
    time[:3], event[:3] = 0.0, [1, 0, n_events]  # events and a censoring at the origin
    X = pd.DataFrame({"a": a, "b": b, "group": pd.Categorical(group), "yes": rng.random(n) < 0.5})
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    X["group"] = X["group"].where(rng.random(n) > 0.1)
    return X, make_target(time, event)


def numbers(n_events):
    X, y = data(n_events)
    return np.column_stack([X["b"], X["yes"].astype(float)]), y


@cache
def fitted(name, n_events):
    return model_of(name).fit(*data(n_events))


def curves(model, X, times, n_events):
    incidences = [
        model.predict_cumulative_incidence(X, times, event=event + 1) for event in range(n_events)
    ]
    return np.stack([model.predict_survival_function(X, times), *incidences])


@over_models
def test_curves_are_monotone_and_add_up_to_one(name, n_events):
    X, _ = data(n_events)
    model = fitted(name, n_events)
    values = curves(model, X, TIMES, n_events)
    assert values.shape == (1 + n_events, len(X), len(TIMES))
    assert values.dtype == np.float64
    assert model.predict_survival_function(X[:7], 1.0).shape == (7, 1)
    assert (values[:, :, 0] == np.eye(1 + n_events)[0][:, None]).all()
    assert values.min() >= 0
    assert values.max() <= 1
    survival, incidences = values[0], values[1:]
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    assert (np.diff(incidences, axis=2) >= -1e-9).all()
    np.testing.assert_allclose(values.sum(axis=0), 1, atol=1e-9)


@over_models
def test_net_survival_equals_survival_for_one_event_type_and_is_above_it_for_several(
    name, n_events
):
    X, _ = data(n_events)
    model = fitted(name, n_events)
    if n_events == 2 and name in ("FineGray", "DeepHit"):
        assert not hasattr(model, "predict_net_survival")
        return
    nets = np.stack([model.predict_net_survival(X, TIMES, m + 1) for m in range(n_events)])
    survival = model.predict_survival_function(X, TIMES)
    if n_events == 1:
        np.testing.assert_array_equal(nets[0], survival)
    assert (nets[:, :, 0] == 1).all()
    assert (np.diff(nets, axis=2) <= 1e-12).all()
    assert (nets >= survival - 1e-9).all()
    if isinstance(model, baselines.base.DiscreteTimeModel):
        nets = [model.predict_net_survival(X, model.grid_, m + 1) for m in range(n_events)]
        survival = model.predict_survival_function(X, model.grid_)
        np.testing.assert_allclose(np.prod(nets, axis=0), survival, atol=1e-9)


@over_models
def test_neither_the_order_of_times_nor_the_other_rows_matter(name, n_events):
    X, _ = data(n_events)
    model, order, rows = fitted(name, n_events), np.array([7, 2, 2, 5, 0]), [3, 8]
    expected = curves(model, X, TIMES, n_events)[:, rows]
    with pytest.warns(LifemixWarning, match="times are not sorted; the results come in the order"):
        got = np.hstack([curves(model, X[i : i + 1], TIMES[order], n_events) for i in rows])
    np.testing.assert_allclose(got, expected[:, :, order], atol=1e-6)


@over_models
def test_copies_and_fits_with_the_same_seed_are_equal_and_have_no_side_effects(
    name, n_events, capsys
):
    def global_state():
        generators = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
        return random.getstate(), *generators

    (X, y), model, before = data(n_events), fitted(name, n_events), global_state()
    again, copy = model_of(name).fit(X, y), pickle.loads(pickle.dumps(model))
    for other in (again, copy):
        expected, got = (m.predict_survival_function(X, TIMES) for m in (model, other))
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert global_state() == before
    assert capsys.readouterr() == ("", "")
    unfitted = clone(model)
    assert not [attribute for attribute in vars(unfitted) if attribute.endswith("_")]
    with pytest.raises(NotFittedError):
        unfitted.predict_survival_function(X, TIMES)


@over_models
def test_models_learn_effects_and_are_calibrated_on_average(name, n_events):
    X, y = data(n_events)
    model, times = fitted(name, n_events), [0.5, 1.0, 2.0]
    risk = model.predict(X)
    score = model.score(X, y)
    if name in WITHOUT_COVARIATES:
        assert (np.ptp(risk), score) == (0, 0.5)
    else:
        assert concordance(make_target(y["time"], y["event"] > 0), risk) > 0.6
        assert 0.6 < score < 1
    expected = mean_concordance(
        lambda times, event: model.predict_cumulative_incidence(X, times, event),
        model.training_target_,
        y,
    )
    assert score == pytest.approx(expected, rel=1e-12)
    marginal = baselines.AalenJohansen().fit(X, y)
    mean, expected = (curves(m, X, times, n_events).mean(axis=1) for m in (model, marginal))
    np.testing.assert_allclose(mean, expected, atol=0.12)


@over_models
@pytest.mark.parametrize("preprocessor", [None, StandardScaler()], ids=["none", "transformer"])
def test_numbers_need_no_preprocessor_and_any_transformer_is_taken(name, n_events, preprocessor):
    model = model_of(name)
    settings = [key for key in model.get_params() if key.split("__")[-1] == "preprocessor"]
    if not settings:
        pytest.skip("uses no covariates")
    x, y = numbers(n_events)
    model.set_params(**{settings[0]: preprocessor}).fit(x, y)
    assert model.predict_survival_function(x, TIMES).shape == (len(x), len(TIMES))
    if preprocessor is None:
        x[2, 0] = np.nan
        with pytest.raises(CovariateError, match="X must be finite; got nan in row 2, column 0"):
            model.fit(x, y)


@over_models
def test_unsuitable_rows_are_refused(name, n_events):
    X, y = data(n_events)
    model = model_of(name)
    if name not in ("DSM", "LifeMix"):  # which take intervals
        with pytest.raises(TargetError, match="exact or right-censored times; got 1 rows with an"):
            model.fit(X[:2], make_target([1.0, 2.0], [1, 1], upper=[1.0, 3.0]))
    with pytest.raises(InputError, match="same rows; got 260 in X and 259 in y"):
        model.fit(X, y[:-1])
    with pytest.raises(TargetError, match="no row with 2"):
        model.fit(X, make_target(y["time"], np.r_[3, np.minimum(y["event"][1:], 1)]))
    if MODELS[name][1] == [1] and "CauseSpecific" not in name:
        with pytest.raises(TargetError, match=r"got the types 1\.\.2\. Wrap it as CauseSpecific"):
            model.fit(*data(2))
    model = fitted(name, n_events)
    with pytest.raises(TargetError, match=r"y has event 7; the training rows have 1\.\.\d only"):
        model.score(X, make_target(y["time"], np.full(len(y), 7)))
    with pytest.raises(CovariateError):
        model.predict(X[["a", "b"]])
    with pytest.raises(CovariateError, match="two dimensions"):
        model.predict(X["a"])


@over_models
def test_weights_count_like_copies_or_are_refused(name, n_events):
    x, y = numbers(n_events)
    model, weight = model_of(name), np.arange(len(x)) % 3
    # Efron's rule distinguishes tied copies from a weight.
    simple = {
        key: None if key.endswith("preprocessor") else "breslow"
        for key in model.get_params()
        if key.endswith(("preprocessor", "ties"))
    }
    model.set_params(**simple)
    try:
        weighted = clone(model).fit(x, y, sample_weight=weight)
    except SettingError as error:
        assert "does not take sample_weight" in str(error)  # noqa: PT017
        return
    if name in RANDOM_ROWS:
        heavy = clone(model).fit(x, y, sample_weight=np.where(y["event"] == 1, 5.0, 1.0))
        low, high = (m.predict_cumulative_incidence(x, [0.5]).mean() for m in (weighted, heavy))
        assert high > low + 0.05
        return
    rows = np.repeat(np.arange(len(x)), weight)
    copied = model.fit(x[rows], y[rows]).predict_survival_function(x, TIMES)
    np.testing.assert_allclose(weighted.predict_survival_function(x, TIMES), copied, atol=1e-9)


@over_models
def test_late_entry_is_used_or_refused(name, n_events):
    X, y = data(n_events)
    entry = np.where(np.arange(len(y)) % 2 == 0, y["time"] / 2, 0.0)
    try:
        model = model_of(name).fit(X, make_target(y["time"], y["event"], entry=entry))
    except TargetError as error:
        assert "cannot use late entry" in str(error)  # noqa: PT017
        return
    late, early = (m.predict_survival_function(X, 1.0) for m in (model, fitted(name, n_events)))
    assert np.abs(late - early).max() > 1e-3


@pytest.mark.parametrize(
    "name", ["RandomSurvivalForest", "DeepSurv", "DeepHit", "GradientBoosting"]
)
def test_another_seed_gives_another_model(name):
    X, y = data(1)
    other = model_of(name).set_params(random_state=1).fit(X, y)
    assert np.abs(other.predict(X) - fitted(name, 1).predict(X)).max() > 1e-6
