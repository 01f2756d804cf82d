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
from lifemix.errors import CovariateError, InputError, LifemixWarning, SettingError, TargetError
from lifemix.metrics import concordance, concordance_td

DEEPSURV = baselines.DeepSurv(hidden=(16,), max_epochs=8, batch_size=64)
DEEPHIT = baselines.DeepHit(
    shared_nodes=16, cause_nodes=16, n_times=10, max_epochs=8, batch_size=64, learning_rate=0.01
)
BOOSTING = baselines.GradientBoosting(n_intervals=5, max_iter=20, min_samples_leaf=10)
FOREST = baselines.RandomSurvivalForest(n_trees=8, max_depth=4)
MARTINGALE_FOREST = baselines.MartingaleForest(n_trees=20)

OURS = DeepSurvivalMachines(
    k=2, hidden=(8,), max_epochs=30, learning_rate=1e-2, n_members=2, validation_fraction=0
)

MIX = LifeMix({"trees": BOOSTING, "networks": OURS}, n_folds=2)

ONE_KIND = {
    "CoxPH": baselines.CoxPH(),
    "CoxPH breslow penalty": baselines.CoxPH(ties="breslow", penalty=1.0),
    "RandomSurvivalForest": FOREST,
    "DeepSurv": DEEPSURV,
    "DeepHit": DEEPHIT,
    "FineGray": baselines.FineGray(),
    "CauseSpecific": baselines.CauseSpecific(baselines.CoxPH()),
    "GradientBoosting": BOOSTING,
    "MartingaleForest": MARTINGALE_FOREST,
    "KaplanMeier": baselines.KaplanMeier(),
    "AalenJohansen": baselines.AalenJohansen(),
    "DeepSurvivalMachines": OURS,
    "CauseSpecific DeepSurvivalMachines": baselines.CauseSpecific(OURS),
    "ModelAverage Boosting DeepSurvivalMachines": baselines.ModelAverage(
        [BOOSTING, OURS], discount=0.5
    ),
    "LifeMix": MIX,
}
SEVERAL_KINDS = {
    "FineGray": baselines.FineGray(),
    "DeepHit": DEEPHIT,
    "GradientBoosting": BOOSTING,
    "MartingaleForest": MARTINGALE_FOREST,
    "AalenJohansen": baselines.AalenJohansen(),
    "CauseSpecific CoxPH": baselines.CauseSpecific(baselines.CoxPH()),
    "CauseSpecific CoxPH product limit": baselines.CauseSpecific(
        baselines.CoxPH(), rule="product_limit"
    ),
    "CauseSpecific forest": baselines.CauseSpecific(FOREST),
    "CauseSpecific DeepSurv": baselines.CauseSpecific(DEEPSURV),
    "DeepSurvivalMachines": OURS,
    "ModelAverage Boosting DeepSurvivalMachines": baselines.ModelAverage(
        [BOOSTING, OURS], discount=0.5
    ),
    "LifeMix": MIX,
}
CASES = [
    *(pytest.param(name, 1, id=f"{name}-1") for name in ONE_KIND),
    *(pytest.param(name, 2, id=f"{name}-2") for name in SEVERAL_KINDS),
]
over_models = pytest.mark.parametrize(("name", "kinds"), CASES)

TIMES = np.array([0.0, 1e-9, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 1e3, 1e9])


def model_of(name, kinds):
    return clone((ONE_KIND if kinds == 1 else SEVERAL_KINDS)[name])


@cache
def data(kinds):
    """Return a table with categories and missing values, and times that depend on it."""
    rng = np.random.default_rng(5)
    n = 260
    a, b = rng.normal(size=(2, n))
    group = rng.choice(["low", "middle", "high"], n)
    times = rng.exponential(np.exp(-np.column_stack([a + (group == "high"), b])[:, :kinds]) * 2)
    censoring = rng.uniform(0, 6, n)
    time = np.minimum(times.min(axis=1), censoring)
    event = np.where(time == censoring, 0, times.argmin(axis=1) + 1)
    time = np.ceil(time * 20) / 20
    time[:3], event[:3] = (
        0.0,
        [1, 0, kinds],
    )  # the origin: an event there, and a row that carries nothing
    X = pd.DataFrame({"a": a, "b": b, "group": pd.Categorical(group), "yes": rng.random(n) < 0.5})
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    X["group"] = X["group"].where(rng.random(n) > 0.1)
    return X, make_target(time, event)


@cache
def fitted(name, kinds):
    return model_of(name, kinds).fit(*data(kinds))


def curves(model, X, times, kinds):
    incidences = [
        model.predict_cumulative_incidence(X, times, event=m) for m in range(1, kinds + 1)
    ]
    return model.predict_survival_function(X, times), incidences


@over_models
def test_curves_have_one_row_a_subject_and_one_column_a_time(name, kinds):
    X, _ = data(kinds)
    survival, incidences = curves(fitted(name, kinds), X[:7], TIMES, kinds)
    assert survival.shape == incidences[0].shape == (7, len(TIMES))
    assert survival.dtype == np.float64
    assert fitted(name, kinds).predict_survival_function(X[:7], 1.0).shape == (7, 1)
    assert fitted(name, kinds).predict(X[:7]).shape == (7,)


@over_models
def test_curves_are_monotone_from_one_and_zero(name, kinds):
    X, _ = data(kinds)
    survival, incidences = curves(fitted(name, kinds), X, TIMES, kinds)
    assert (survival[:, 0] == 1).all()
    assert survival.min() >= 0
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    for incidence in incidences:
        assert (incidence[:, 0] == 0).all()
        assert incidence.max() <= 1
        assert (np.diff(incidence, axis=1) >= -1e-9).all()


@over_models
def test_incidences_and_survival_add_up_to_one(name, kinds):
    X, _ = data(kinds)
    survival, incidences = curves(fitted(name, kinds), X, TIMES, kinds)
    assert np.sum(incidences, axis=0).max() <= 1 + 1e-12
    np.testing.assert_allclose(np.sum(incidences, axis=0) + survival, 1, atol=1e-9)


INCIDENCES_ALONE = ("FineGray", "DeepHit")


@over_models
def test_net_survival_is_survival_from_one_kind_and_above_that_from_all(name, kinds):
    X, _ = data(kinds)
    model = fitted(name, kinds)
    if kinds == 2 and name in INCIDENCES_ALONE:
        assert not hasattr(model, "predict_net_survival")
        return
    nets = [model.predict_net_survival(X, TIMES, event) for event in range(1, kinds + 1)]
    survival = model.predict_survival_function(X, TIMES)
    if kinds == 1:
        np.testing.assert_array_equal(nets[0], survival)
    for net in nets:
        assert (net[:, 0] == 1).all()
        assert (np.diff(net, axis=1) <= 1e-12).all()
        assert (net >= survival - 1e-9).all()
    with pytest.raises(InputError, match="event"):
        model.predict_net_survival(X, TIMES, kinds + 1)


@over_models
def test_times_may_come_in_any_order(name, kinds):
    X, _ = data(kinds)
    model, order = fitted(name, kinds), np.array([7, 2, 2, 5, 0])
    survival, incidences = curves(model, X[:5], TIMES[:8], kinds)
    with pytest.warns(
        LifemixWarning, match="times are not sorted; the results come in the order given"
    ):
        again, incidences_again = curves(model, X[:5], TIMES[order], kinds)
    np.testing.assert_allclose(again, survival[:, order], atol=1e-12)
    np.testing.assert_allclose(incidences_again[-1], incidences[-1][:, order], atol=1e-12)


@over_models
def test_a_prediction_does_not_depend_on_the_other_rows(name, kinds):
    X, _ = data(kinds)
    model = fitted(name, kinds)
    alone = np.vstack([model.predict_survival_function(X[i : i + 1], TIMES) for i in (3, 8)])
    np.testing.assert_allclose(alone, model.predict_survival_function(X, TIMES)[[3, 8]], atol=1e-6)


@over_models
def test_same_seed_same_model_and_nothing_global_is_touched(name, kinds, capsys):
    X, y = data(kinds)
    before = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    again = model_of(name, kinds).fit(X, y)
    np.testing.assert_array_equal(
        again.predict_survival_function(X, TIMES),
        fitted(name, kinds).predict_survival_function(X, TIMES),
    )
    np.testing.assert_array_equal(again.predict(X), fitted(name, kinds).predict(X))
    assert before == (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )
    assert capsys.readouterr() == ("", "")


@over_models
def test_high_risk_means_early_events(name, kinds):
    X, y = data(kinds)
    risk = fitted(name, kinds).predict(X)
    any_event = make_target(y["time"], y["event"] > 0)
    if name in ("KaplanMeier", "AalenJohansen"):
        assert np.ptp(risk) == 0
    else:
        assert concordance(any_event, risk) > 0.6


@over_models
def test_score_is_the_mean_concordance(name, kinds):
    """At the quartiles of the training times of each event type, with the censoring of training."""
    X, y = data(kinds)
    model = fitted(name, kinds)
    score, values = model.score(X, y), []
    for event in range(1, kinds + 1):
        for horizon in np.quantile(
            model.training_target_.time[model.training_target_.event == event], [0.25, 0.5, 0.75]
        ):
            risk = model.predict_cumulative_incidence(X, horizon, event)[:, 0]
            values.append(concordance_td(model.training_target_, y, risk, horizon, event))
    assert score == pytest.approx(np.mean(values), rel=1e-12)
    if name in ("KaplanMeier", "AalenJohansen"):
        assert score == 0.5
    else:
        assert 0.6 < score < 1


@over_models
def test_the_constructor_only_stores_and_clone_forgets_the_fit(name, kinds):
    model = clone(fitted(name, kinds))
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    X, _ = data(kinds)
    with pytest.raises(NotFittedError):
        model.predict_survival_function(X, TIMES)
    fresh = model_of(name, kinds).get_params(deep=False)
    assert {k: str(v) for k, v in model.get_params(deep=False).items()} == {
        k: str(v) for k, v in fresh.items()
    }


@over_models
def test_models_survive_pickling(name, kinds):
    X, _ = data(kinds)
    again = pickle.loads(pickle.dumps(fitted(name, kinds)))
    np.testing.assert_array_equal(
        again.predict_survival_function(X, TIMES),
        fitted(name, kinds).predict_survival_function(X, TIMES),
    )


@over_models
@pytest.mark.parametrize("preprocessor", [None, StandardScaler()], ids=["none", "transformer"])
def test_numbers_need_no_preprocessor_and_any_transformer_will_do(name, kinds, preprocessor):
    model = model_of(name, kinds)
    settings = [key for key in model.get_params() if key.split("__")[-1] == "preprocessor"]
    if not settings:
        pytest.skip("uses no covariates")
    X, y = data(kinds)
    numbers = np.column_stack([X["b"], X["yes"].astype(float)])
    model.set_params(**{settings[0]: preprocessor}).fit(numbers, y)
    assert model.predict_survival_function(numbers, TIMES).shape == (len(X), len(TIMES))
    if preprocessor is None:
        with pytest.raises(CovariateError, match="X must be finite; got nan in row 2, column 0"):
            model.fit(np.where(np.arange(len(X))[:, None] == 2, np.nan, numbers), y)


@over_models
def test_bad_targets_are_refused(name, kinds):
    X, y = data(kinds)
    model = model_of(name, kinds)
    if name not in ("DeepSurvivalMachines", "LifeMix"):  # which take intervals
        with pytest.raises(
            TargetError, match="needs exact or right-censored times; got 1 rows with an upper bound"
        ):
            model.fit(X[:2], make_target([1.0, 2.0], [1, 1], upper=[1.0, 3.0]))
    with pytest.raises(InputError, match="same rows; got 260 in X and 259 in y"):
        model.fit(X, y[:-1])
    with pytest.raises(TargetError, match="all 260 rows are censored; expected some events"):
        model.fit(X, make_target(y["time"], np.zeros(len(y), int)))
    with pytest.raises(TargetError, match="no row with 2"):
        model.fit(X, make_target(y["time"], np.r_[3, np.minimum(y["event"][1:], 1)]))
    with pytest.raises(TargetError, match="Give one of"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(TargetError, match=r"y has event 7; the training rows have 1\.\.\d only"):
        fitted(name, kinds).score(X, make_target(y["time"], np.full(len(y), 7)))


@over_models
def test_bad_requests_are_refused(name, kinds):
    X, _ = data(kinds)
    model = fitted(name, kinds)
    for times, got in (([-1.0], "got -1.0"), ([1.0, np.nan], "got nan"), ([[1.0]], "got shape")):
        with pytest.raises(InputError, match=f"times must .*{got}"):
            model.predict_survival_function(X, times)
    for event in (0, kinds + 1, True, "1"):
        with pytest.raises(InputError, match=rf"event must be a whole number in 1\.\.{kinds}"):
            model.predict_cumulative_incidence(X, TIMES, event=event)
    with pytest.raises(CovariateError):
        model.predict(X[["a", "b"]])
    with pytest.raises(CovariateError, match="two dimensions"):
        model.predict(X["a"])


@over_models
def test_weights_count_like_copies_or_are_refused(name, kinds):
    X, y = data(kinds)
    model = model_of(name, kinds)
    weight = np.arange(len(X)) % 3
    try:
        model.fit(X, y, sample_weight=weight)
    except SettingError as error:
        assert "does not take sample_weight" in str(error)  # noqa: PT017
        return
    for bad, message in (
        (weight[:-1], "one value per row"),
        (-weight, r"finite and >= 0; got -1\.0 at row 1"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(X, y, sample_weight=bad)
    if any(
        part in name for part in ("Boosting", "Martingale", "DeepSurvivalMachines", "LifeMix")
    ):  # random draws
        return
    numbers = np.column_stack([X["b"], X["yes"].astype(float)])
    simple = {
        "preprocessor": None,
        "ties": "breslow",
    }  # Efron's rule tells tied copies from a weight
    keys = {
        key: simple[key.split("__")[-1]]
        for key in model.get_params()
        if key.split("__")[-1] in simple
    }
    plain = clone(model.set_params(**keys))
    copies = np.repeat(np.arange(len(X)), weight)
    weighted = model.fit(numbers, y, sample_weight=weight).predict_survival_function(numbers, TIMES)
    copied = plain.fit(numbers[copies], y[copies]).predict_survival_function(numbers, TIMES)
    np.testing.assert_allclose(weighted, copied, atol=1e-9)


@over_models
def test_late_entry_is_used_or_refused(name, kinds):
    X, y = data(kinds)
    entry = np.where(np.arange(len(y)) % 2 == 0, y["time"] / 2, 0.0)
    late = make_target(y["time"], y["event"], entry=entry)
    try:
        model = model_of(name, kinds).fit(X, late)
    except TargetError as error:
        assert "cannot use late entry" in str(error)  # noqa: PT017
        return
    late_survival = model.predict_survival_function(X, [0.5, 1.0])
    assert (
        np.abs(late_survival - fitted(name, kinds).predict_survival_function(X, [0.5, 1.0])).max()
        > 1e-3
    )


@pytest.mark.parametrize(
    "name", [name for name in ONE_KIND if name not in SEVERAL_KINDS and "CauseSpecific" not in name]
)
def test_models_of_one_kind_say_how_to_take_several(name):
    X, y = data(2)
    with pytest.raises(
        TargetError, match=r"models one event type; got the types 1\.\.2\. Wrap it as CauseSpecific"
    ):
        model_of(name, 1).fit(X, y)


@pytest.mark.parametrize(
    "model", [FOREST, DEEPSURV, DEEPHIT, BOOSTING], ids=lambda model: type(model).__name__
)
def test_another_seed_gives_another_model(model):
    X, y = data(1)
    other = clone(model).set_params(random_state=1).fit(X, y)
    name = type(model).__name__
    assert np.abs(other.predict(X) - fitted(name, 1).predict(X)).max() > 1e-6
