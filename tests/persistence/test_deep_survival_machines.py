"""Deep Survival Machines in all their settings: saved and loaded with the same predictions bit for bit."""

import os

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

import lifemix
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.baselines import AalenJohansen, CauseSpecific, ModelAverage
from lifemix.errors import LifemixWarning, ModelFileError, SettingError
from lifemix.preprocessing import TabularPreprocessor
from lifemix.primitives import PRIMITIVES
from lifemix.training import Callback

TIMES = [0.0, 0.3, 1.0, 4.0, 50.0]


def quick(**settings):
    return DeepSurvivalMachines(**({"hidden": (6,), "k": 2, "max_epochs": 2, "learning_rate": 0.01} | settings))


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["age", "dose"])
    X["sex"] = np.where(rng.random(n) < 0.5, "F", "M")
    X.loc[rng.random(n) < 0.2, "dose"] = np.nan
    return X


def target(n=120, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    return make_target(rng.weibull(1.5, n) * 3, rng.integers(0, n_events + 1, n))


def numbers(n=120, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def encoder():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))


CASES = {
    "one risk, table": lambda: (quick(), table(), target()),
    "competing risks, table": lambda: (quick(primitive="lognormal"), table(), target(n_events=2)),
    "ensemble": lambda: (quick(n_members=3, dropout=0.2), table(), target(n_events=2)),
    "array": lambda: (quick(primitive="loglogistic"), numbers(), target()),
    "no preprocessor, array": lambda: (quick(preprocessor=None), numbers(), target()),
    "no preprocessor, table": lambda: (quick(preprocessor=None), table()[["age"]], target()),
    "own settings of ours": lambda: (
        quick(preprocessor=TabularPreprocessor(fill_values={"dose": 1.5}, scale=False)),
        table(),
        target(),
    ),
    "linear": lambda: (quick(hidden=()), numbers(), target()),
    "no held-out rows": lambda: (quick(validation_fraction=0), numbers(), target()),
    "no covariate": lambda: (quick(k=1, preprocessor=None), np.zeros((120, 1)), target()),
    "paper": lambda: (DeepSurvivalMachines.paper(max_epochs=1), numbers(), target()),
    "numpy settings": lambda: (
        quick(k=np.int64(2), dropout=np.float32(0.5), random_state=np.int64(3), device=torch.device("cpu"), hidden=[4]),
        numbers(),
        target(),
    ),
    "interval, truncation": lambda: (
        quick(random_state=np.random.default_rng(0)),
        numbers(4),
        make_target([2.0, 1, 3, 4], [1, 1, 0, 1], [0, 0.5, 0, 1], [3, np.nan, np.nan, np.nan]),
    ),
}


def assert_same_model(one, other, X, y):
    np.testing.assert_array_equal(other.predict_survival_function(X, TIMES), one.predict_survival_function(X, TIMES))
    np.testing.assert_array_equal(
        *(model.predict_distribution(X).cumulative_incidences(TIMES) for model in (other, one))
    )
    last = (X[:5], TIMES, one.n_events_)
    np.testing.assert_array_equal(other.predict_cumulative_incidence(*last), one.predict_cumulative_incidence(*last))
    np.testing.assert_array_equal(other.predict(X), one.predict(X))
    np.testing.assert_array_equal(other.transform(X), one.transform(X))
    assert other.log_likelihood(X, y) == one.log_likelihood(X, y)
    assert other.get_feature_names_out().tolist() == one.get_feature_names_out().tolist()
    for name in ("n_events_", "n_features_in_", "best_epoch_", "n_parameters_", "time_unit_", "last_event_time_"):
        assert getattr(other, name) == getattr(one, name), name
    assert str(other.history_) == str(one.history_)  # NaN is not equal to itself
    assert list(getattr(other, "feature_names_in_", [])) == list(getattr(one, "feature_names_in_", []))


@pytest.mark.filterwarnings("ignore:too few events")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_predictions_are_the_same_bit_for_bit(case, tmp_path):
    model, X, y = case()
    model.fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_model(model, again, X, y)
    assert os.listdir(tmp_path) == ["model"]
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_options_come_back(tmp_path):
    model = quick(discount=0.5, hidden=(4, 4), preprocessor=TabularPreprocessor(scale=False), t_max=1e6)
    save(model.fit(table(), target()), tmp_path / "model")
    before, after = model.get_params(deep=False), load(tmp_path / "model").get_params(deep=False)
    assert str(before.pop("preprocessor")) == str(after.pop("preprocessor"))
    assert after == before


def test_a_loaded_model_scores_and_can_be_fitted_again(tmp_path):
    model = quick().fit(table(), target())
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.score(table(seed=1), target(seed=1)) == pytest.approx(
        model.score(table(seed=1), target(seed=1)), abs=3e-3
    )
    assert_same_model(model, again.fit(table(), target()), table(), target())


@pytest.mark.parametrize("members", [1, 2])
def test_encoder_of_the_users(members, tmp_path):
    model = quick(encoder=encoder(), n_members=members).fit(numbers(), target())
    save(model, tmp_path / "model")
    fresh = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))
    state = {name: values.clone() for name, values in fresh.state_dict().items()}
    again = load(tmp_path / "model", encoder=fresh)
    assert_same_model(model, again, numbers(), target())
    assert all(torch.equal(values, state[name]) for name, values in fresh.state_dict().items())


def test_frozen_part_of_an_encoder_is_in_the_file(tmp_path):
    own = encoder()
    own[0].requires_grad_(False)
    model = quick(encoder=own).fit(numbers(), target())
    save(model, tmp_path / "model")
    fresh = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))
    fresh[0].requires_grad_(False)
    assert_same_model(model, load(tmp_path / "model", encoder=fresh), numbers(), target())


WRONG_ENCODERS = {
    "none": (None, ModelFileError, r"Use load\(path, encoder=\.\.\.\)"),
    "other widths": (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)), ModelFileError, "shape"),
    "other inputs": (nn.Linear(7, 4), SettingError, r"inputs of shape \[rows, 3\]"),
    "nothing frozen": (encoder(), ModelFileError, "shape"),
}


@pytest.mark.parametrize(("module", "error", "message"), WRONG_ENCODERS.values(), ids=WRONG_ENCODERS.keys())
def test_wrong_encoders_are_refused(module, error, message, tmp_path):
    own = encoder()
    own[0].requires_grad_(False)
    save(quick(encoder=own).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(error, match=message):
        load(tmp_path / "model", encoder=module)


def test_an_encoder_of_as_many_weights_but_another_shape_is_refused(tmp_path):
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.spare = nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return x @ self.weight

    own = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 4, bias=False))
    save(quick(encoder=own).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="Give a module of the shape that was saved"):
        load(tmp_path / "model", encoder=Other())


def test_an_encoder_for_a_model_without_one_is_refused(tmp_path):
    save(quick().fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="no encoder of its own; got Linear. Leave encoder out"):
        load(tmp_path / "model", encoder=nn.Linear(3, 4))


@pytest.mark.parametrize(
    "model",
    [CauseSpecific(quick(encoder=encoder())), ModelAverage([quick(encoder=encoder()), AalenJohansen()])],
    ids=["one per event", "one of several"],
)
def test_an_encoder_inside_another_model(model, tmp_path):
    model.fit(numbers(), target(n_events=2))
    save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"Use load\(path, encoder=\.\.\.\)"):
        load(tmp_path / "model")
    again = load(tmp_path / "model", encoder=encoder())
    for event in (1, 2):
        np.testing.assert_array_equal(
            again.predict_cumulative_incidence(numbers(), TIMES, event),
            model.predict_cumulative_incidence(numbers(), TIMES, event),
        )


def test_models_with_different_encoders_in_one_are_refused_when_saved(tmp_path):
    other = quick(encoder=nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    model = ModelAverage([quick(encoder=encoder()), other]).fit(numbers(), target())
    with pytest.raises(ModelFileError, match="could not be loaded again, so none was written"):
        save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_subclass_and_a_transformer_of_the_users_are_refused(tmp_path):
    class Mine(DeepSurvivalMachines):
        pass

    with pytest.raises(ModelFileError, match="got Mine. Pickle it with joblib"):
        save(Mine().set_params(max_epochs=1).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="StandardScaler cannot be written without pickle.*preprocessor=None"):
        save(quick(preprocessor=StandardScaler()).fit(numbers(), target()), tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_primitive_by_name_and_by_class(name, tmp_path):
    for primitive in (name, PRIMITIVES[name]):
        model = quick(primitive=primitive).fit(numbers(), target(n_events=2))
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.primitive == name
        assert_same_model(model, again, numbers()[:25], target(n_events=2)[:25])


def test_a_primitive_that_is_not_known_when_loading_says_import_it(tmp_path, monkeypatch):
    save(quick(primitive="owngompertz").fit(numbers(), target()), tmp_path / "model")
    monkeypatch.delitem(PRIMITIVES, "owngompertz")
    with pytest.raises(ModelFileError, match="unknown primitive; got 'owngompertz'.*import it first"):
        load(tmp_path / "model")


def test_a_function_as_shift_activation_is_refused(tmp_path):
    model = quick(shift_activation=torch.tanh).fit(numbers(), target())
    with pytest.raises(
        ModelFileError, match="shift_activation: a builtin.* cannot be written without pickle. Use an activation"
    ):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_function_as_activation_comes_back_from_the_user(tmp_path):
    model = quick(activation=torch.sin).fit(numbers(), target())
    save(model, tmp_path / "model")
    assert_same_model(model, load(tmp_path / "model", activation=torch.sin), numbers(), target())
    with pytest.raises(ModelFileError, match=r"activation of its own; got None. Use load\(path, activation=...\)"):
        load(tmp_path / "model")


def test_a_primitive_of_the_users_comes_back_from_the_user(tmp_path, monkeypatch):
    family = PRIMITIVES["owngompertz"]
    model = quick(primitive={family: 1, "weibull": 1}).fit(numbers(), target())
    save(model, tmp_path / "model")
    monkeypatch.delitem(PRIMITIVES, "owngompertz")
    with pytest.raises(ModelFileError, match="unknown primitive; got 'owngompertz'"):
        load(tmp_path / "model")
    assert_same_model(model, load(tmp_path / "model", primitive=family), numbers(), target())


def test_an_optimizer_of_torch_is_saved_by_its_name(tmp_path):
    model = quick(optimizer=torch.optim.RAdam).fit(numbers(), target())
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.optimizer is torch.optim.RAdam
    assert_same_model(model, again, numbers(), target())


def test_an_optimizer_of_the_users_is_left_out_with_a_warning(tmp_path):
    class Mine(torch.optim.SGD):
        pass

    model = quick(optimizer=Mine).fit(numbers(), target())
    with pytest.warns(LifemixWarning, match="optimizer=Mine is code of yours and not written"):
        save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.optimizer == "adam"
    assert_same_model(model, again, numbers(), target())


def test_callbacks_belong_to_a_session(tmp_path):
    model = quick(callbacks=[Callback()]).fit(numbers(), target())
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.callbacks is None
    assert_same_model(model, again, numbers(), target())


def test_a_history_with_infinite_losses_can_be_saved(tmp_path):
    model = quick().fit(numbers(), target())
    model.history_[0]["train_loss"] = np.inf
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").history_ == model.history_


def test_the_file_names_no_place_of_this_machine(tmp_path):
    model = quick(checkpoint=tmp_path / "checkpoints", encoder=nn.Sequential(nn.Linear(3, 2))).fit(numbers(), target())
    save(model, tmp_path / "model")
    raw = (tmp_path / "model").read_bytes()
    places = [tmp_path, os.getcwd(), os.path.dirname(lifemix.__file__), os.path.expanduser("~"), os.uname().nodename]
    assert not [place for place in map(str, places) if len(place) > 1 and place.encode() in raw]
    assert b"checkpoint" not in raw
