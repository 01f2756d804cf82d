"""Deep Survival Machines on histories: what a table can do, histories can."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score
from torch import nn

from lifemix import (
    DeepSurvivalMachines,
    FleetSearchCV,
    encoders,
    export,
    load,
    make_target,
    metrics,
    report,
    save,
)
from lifemix.baselines import CoxPH
from lifemix.errors import CovariateError, SettingError
from lifemix.histories import Histories, Sources


def cohort(n=120, n_events=1, seed=0):
    """Return visits with categories and missing values, a table beside them, and a target."""
    rng = np.random.default_rng(seed)
    parts = []
    for i in range(n):
        size = rng.integers(1, 6)
        marker = np.where(rng.random(size) < 0.2, np.nan, rng.normal(size=size))
        at = np.append(0.0, np.sort(rng.uniform(0, 3, size - 1)))
        parts.append(
            pd.DataFrame(
                {"id": i, "t": at, "marker": marker, "state": rng.choice(list("xy"), size)}
            )
        )
    histories = Histories.from_long(pd.concat(parts), "id", "t")
    clinic = pd.DataFrame({"age": rng.normal(60, 9, n), "sex": rng.choice(["f", "m"], n)})
    y = make_target(rng.exponential(4, n) + 0.01, rng.integers(0, n_events + 1, n))
    return clinic, histories, y


def quick(encoder=None, **settings):
    encoder = encoders.Recurrent(hidden=4) if encoder is None else encoder
    return DeepSurvivalMachines(
        encoder=encoder, **({"max_epochs": 2, "n_members": 1, "k": 2} | settings)
    )


@pytest.mark.parametrize(
    "encoder", [encoders.Recurrent(hidden=4, cell="lstm"), encoders.Attention(hidden=4)], ids=repr
)
@pytest.mark.parametrize("n_events", [1, 2])
def test_histories_beside_a_table_are_fitted_saved_and_loaded(encoder, n_events, tmp_path):
    clinic, histories, y = cohort(n_events=n_events)
    X = {"clinic": clinic, "visits": histories}
    model = quick(encoder, n_members=2).fit(X, y)
    curves = model.predict_survival_function(X, [1.0, 2.0])
    assert curves.shape == (len(histories), 2)
    assert len(model.network_.architectures) == 2
    first, second = (member.represent(model.preprocess(X)) for member in model.network_.members())
    assert np.abs(first - second).max() > 1e-3  # members have weights of their own
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_survival_function(X, [1.0, 2.0]), curves)
    assert again.encoder.get_params() == encoder.get_params()
    assert again.feature_names_in_.tolist() == [
        "clinic.age",
        "clinic.sex",
        "visits.marker",
        "visits.state",
    ]
    again.fit(X, y)
    np.testing.assert_array_equal(
        again.predict_survival_function(X, [1.0, 2.0]), curves
    )  # same seed, same result


def test_rows_do_not_depend_on_each_other():
    _, histories, y = cohort()
    model = quick().fit(histories, y)
    together = model.predict_survival_function(histories, [1.0])
    alone = np.concatenate(
        [model.predict_survival_function(histories[i], [1.0]) for i in range(10)]
    )
    np.testing.assert_allclose(together[:10], alone, atol=1e-6)


def test_an_array_of_steps_is_the_same_as_its_histories():
    values = np.random.default_rng(0).normal(size=(60, 4, 2))
    values[::3, 2:] = np.nan
    y = make_target(np.random.default_rng(1).exponential(size=60) + 0.01, np.arange(60) % 2)
    model = quick().fit(values, y)
    same = quick().fit(Histories.from_array(values), y)
    at = [0.5, 1.0]
    expected = model.predict_survival_function(values, at)
    np.testing.assert_array_equal(same.predict_survival_function(values, at), expected)
    longer = np.concatenate([np.zeros((60, 2, 2)), values], axis=1)  # longer than any in training
    assert np.isfinite(model.predict_survival_function(longer, at)).all()


def test_a_module_of_the_users_gets_arrays_in_their_shape(tmp_path):
    images = np.random.default_rng(0).normal(size=(60, 1, 6, 6))
    y = make_target(np.random.default_rng(1).exponential(size=60) + 0.01, np.arange(60) % 2)
    convolution = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    model = quick(convolution).fit(images, y)
    curves = model.predict_survival_function(images, [1.0])
    save(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        load(tmp_path / "m.safetensors", encoder=convolution).predict_survival_function(
            images, [1.0]
        ),
        curves,
    )
    with pytest.raises(SettingError, match=r"inputs of shape {'array': \['rows', 1, 6, 6\]}"):
        quick(nn.Linear(3, 2)).fit(images, y)
    with pytest.raises(
        CovariateError,
        match=r"source 'array': expected an array of shape \('n', 1, 6, 6\); got \(2, 1, 5, 5\)",
    ):
        model.predict(np.zeros((2, 1, 5, 5)))


def test_dynamic_prediction_learns_from_landmarks():
    """A marker that doubles the hazard from the visit at which it appears on: the curve from s on is found."""
    rng = np.random.default_rng(0)
    n = 600
    switched = rng.random(n) < 0.5
    frame = pd.DataFrame({"id": np.repeat(np.arange(n), 2), "t": np.tile([0.0, 1.0], n)})
    frame["marker"] = np.where(frame["t"] == 1.0, np.repeat(switched, 2), False).astype(float)
    before = rng.exponential(5.0, n)
    after = 1 + rng.exponential(np.where(switched, 0.7, 5.0))
    time = np.where(before < 1, before, after)
    y = make_target(time, np.ones(n, dtype=int))
    histories = Histories.from_long(frame, "id", "t")
    X, rows, _ = histories.landmarks(y, times=[0.0, 1.0])
    encoder = encoders.Recurrent(hidden=8, dropout=0.0)
    model = quick(encoder, max_epochs=20, batch_size=128, learning_rate=1e-2).fit(X, rows)
    new = Histories.from_long(
        pd.DataFrame({"id": [0, 0, 1, 1], "t": [0.0, 1.0] * 2, "marker": [0.0, 0.0, 0.0, 1.0]}),
        "id",
        "t",
    )
    survival = model.predict_distribution(new.until(1.0)).given(1.0).survival(2.0)[:, 0]
    np.testing.assert_allclose(survival, np.exp([-1 / 5, -1 / 0.7]), atol=0.08)


def test_searches_and_splits_take_histories():
    clinic, histories, y = cohort()
    X = Sources({"clinic": clinic, "visits": histories})
    search = FleetSearchCV(quick(), {"encoder__hidden": [2, 3]}, cv=2).fit(
        {"clinic": clinic, "visits": histories}, y
    )
    assert search.best_params_["encoder__hidden"] in (2, 3)
    assert search.predict(X).shape == (len(X),)
    scores = cross_val_score(quick(), X, y, groups=np.arange(len(X)) // 2, cv=GroupKFold(2))
    assert len(scores) == 2


def test_what_a_model_cannot_take_is_refused():
    clinic, histories, y = cohort()
    with pytest.raises(
        CovariateError, match=r"table of two dimensions; got <Histories of 120 subjects"
    ):
        DeepSurvivalMachines().fit(histories, y)
    with pytest.raises(CovariateError, match="Recurrent encodes sequences: X must be a Histories"):
        quick().fit(clinic, y)
    with pytest.raises(
        CovariateError, match=r"Recurrent encodes sequences.*got {'clinic': \('n', 3\)}"
    ):
        quick().fit({"clinic": clinic}, y)
    with pytest.raises(
        CovariateError, match=r"table of two dimensions; got <Histories.*histories.last\(\)"
    ):
        CoxPH().fit(histories, y)
    with pytest.raises(CovariateError, match=r"If a row is a sequence .*encoders.Recurrent"):
        CoxPH().fit(np.zeros((120, 3, 2)), y)
    model = quick().fit(histories, y)
    with pytest.raises(
        CovariateError, match="source 'visits': X must have the 2 columns of training; missing"
    ):
        model.predict(Histories.from_array(np.zeros((2, 2, 1)), columns=["marker"]))
    with pytest.raises(SettingError, match="a calculator asks for one row of a table"):
        report.write_calculator(model, "calculator.html")
    with pytest.raises(SettingError, match="a program takes rows of a table"):
        export.export_survival(model, [1.0])


def test_a_recurrent_model_finds_a_trend_that_the_last_visit_hides():
    rng = np.random.default_rng(0)

    def simulate(n):
        slope = rng.normal(size=n)
        at = np.linspace(0, 2, 5)
        values = rng.normal(size=(n, 1)) + slope[:, None] * (
            at - 2
        )  # the level at 2 knows nothing of the slope
        time = 2 + rng.exponential(3 * np.exp(-1.5 * slope))
        y = make_target(np.minimum(time, 8), time < 8, entry=np.full(n, 2.0))
        return Histories.from_array(values[..., None], times=at), y

    def auc(y, risk):
        rest = make_target(y["time"] - 2, y["event"])
        return float(np.ravel(metrics.auc_td(rest, rest, risk, 2.0))[0])

    (X, y), (new, y_new) = simulate(400), simulate(1000)
    settings = {"n_members": 1, "max_epochs": 60, "learning_rate": 3e-3, "batch_size": 128}
    recurrent = DeepSurvivalMachines(encoder=encoders.Recurrent(hidden=16), **settings).fit(X, y)
    last = DeepSurvivalMachines(**settings).fit(X.last(), y)
    found = auc(y_new, 1 - recurrent.predict_distribution(new).given(2.0).survival(4.0)[:, 0])
    blind = auc(y_new, 1 - last.predict_distribution(new.last()).given(2.0).survival(4.0)[:, 0])
    assert found > 0.8
    assert blind < 0.6


@pytest.mark.automatic
def test_encoders_have_few_members_each_trained_alone():
    _, histories, y = cohort(60)
    encoder = encoders.Recurrent(hidden=2)
    model = DeepSurvivalMachines(encoder=encoder, max_epochs=1).fit(histories, y)
    assert len(model.network_.members()) == model.settings_["n_members"] == 8
    assert "few because each encoder trains alone" in repr(model)
