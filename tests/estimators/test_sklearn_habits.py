"""DeepSurvivalMachines behaves as scikit-learn's users expect."""

import contextlib
import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines
from lifemix.splits import EventStratifiedKFold

TIMES = [0.5, 2.0, 8.0]


def test_constructor_only_stores():
    given = {
        name: object()
        for name in inspect.signature(DeepSurvivalMachines.__init__).parameters
        if name != "self"
    }
    model = DeepSurvivalMachines(**given)
    assert vars(model) == given
    assert all(getattr(model, name) is value for name, value in given.items())


def test_every_option_of_the_design_is_a_parameter():
    names = set(DeepSurvivalMachines().get_params())
    assert names >= {
        *(
            "primitive",
            "k",
            "hidden",
            "objective",
            "discount",
            "n_members",
            "random_state",
            "activation",
            "dropout",
        ),
        *(
            "weight_decay",
            "prior_strength",
            "learning_rate",
            "batch_size",
            "max_epochs",
            "patience",
        ),
        *("validation_fraction", "preprocessor", "encoder", "device", "verbose"),
    }


def test_clone_has_the_parameters_and_not_the_fit(quick, single):
    model = quick(k=3, discount=0.5, hidden=[4, 4]).fit(*single)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "n_events_")
    with pytest.raises(NotFittedError):
        copy.predict(single.X)


def test_set_params_and_get_params_are_inverse():
    model = DeepSurvivalMachines().set_params(k=7, hidden=(), preprocessor=None)
    assert (model.k, model.hidden, model.preprocessor) == (7, (), None)
    assert DeepSurvivalMachines(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(clusters=3)


@pytest.mark.parametrize("cv", [2, EventStratifiedKFold(2)], ids=["folds", "folds by event"])
def test_grid_search_takes_a_structured_target(quick, competing, cv):
    search = GridSearchCV(quick(), {"k": [1, 2], "discount": [0.5]}, cv=cv).fit(*competing)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.k == search.best_params_["k"]
    assert 0 <= search.score(*competing) <= 1


@pytest.mark.parametrize("cv", [3, EventStratifiedKFold(3)], ids=["folds", "folds by event"])
def test_cross_validation_finds_the_signal(quick, single, cv):
    scores = cross_val_score(quick(max_epochs=30), *single, cv=cv)
    assert scores.shape == (3,)
    assert scores.mean() > 0.75


def test_score_is_the_mean_concordance_at_the_training_quartiles(quick, competing):
    from lifemix.metrics import concordance_td
    from lifemix.splits import horizons

    X, y = competing
    train, test = slice(0, 160), slice(160, None)
    model = quick().fit(X[train], y[train])
    expected = [
        concordance_td(
            y[train], y[test], model.predict_cumulative_incidence(X[test], t, event)[:, 0], t, event
        )
        for event in (1, 2)
        for t in horizons(y[train], (0.25, 0.5, 0.75), event)
    ]
    assert model.score(X[test], y[test]) == pytest.approx(np.mean(expected), abs=1e-12)


def test_predict_ranks_by_the_restricted_mean(quick, single):
    model = quick().fit(*single)
    last = single.y["time"][single.y["event"] > 0].max()
    np.testing.assert_array_equal(
        model.predict(single.X), -model.predict_distribution(single.X).rmst(last)
    )


def test_last_step_of_a_pipeline(quick, single):
    pipeline = make_pipeline(StandardScaler(), quick(preprocessor=None))
    pipeline.fit(*single, deepsurvivalmachines__sample_weight=np.ones(len(single.y)))
    assert pipeline.predict(single.X).shape == (len(single.X),)
    assert pipeline.score(*single) > 0.5
    assert pipeline.transform(single.X).shape == (len(single.X), 8)
    grid = GridSearchCV(pipeline, {"deepsurvivalmachines__k": [1, 2]}, cv=2).fit(*single)
    assert grid.best_params_["deepsurvivalmachines__k"] in (1, 2)


def test_names_and_number_of_features(quick, mixed_table, single):
    model = quick().fit(*mixed_table)
    assert model.n_features_in_ == mixed_table.X.shape[1]
    assert model.feature_names_in_.tolist() == mixed_table.X.columns.tolist()
    model.fit(*single)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


ROUND_TRIPS = {"pickle": lambda model, path: pickle.loads(pickle.dumps(model))}


def _through_joblib(model, path):
    joblib.dump(model, path / "model.joblib")
    return joblib.load(path / "model.joblib")


ROUND_TRIPS["joblib"] = _through_joblib


@pytest.mark.parametrize("round_trip", ROUND_TRIPS.values(), ids=ROUND_TRIPS.keys())
@pytest.mark.parametrize("members", [1, 2])
def test_pickling_keeps_the_predictions(quick, mixed_table, tmp_path, round_trip, members):
    model = quick(n_members=members).fit(*mixed_table)
    again = round_trip(model, tmp_path)
    X = mixed_table.X
    np.testing.assert_array_equal(
        again.predict_survival_function(X, TIMES), model.predict_survival_function(X, TIMES)
    )
    assert again.score(*mixed_table) == model.score(*mixed_table)
    assert again.history_ == model.history_


def test_pickling_keeps_an_encoder_of_the_users(quick, single):
    model = quick(encoder=torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))).fit(
        *single
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(single.X), model.predict(single.X))


@pytest.mark.parametrize("settings", [{}, {"dropout": 0.3}, {"n_members": 2}], ids=str)
def test_seed_decides_everything(quick, single, settings):
    def predict(seed):
        return quick(random_state=seed, **settings).fit(*single).predict(single.X)

    first = predict(5)
    np.testing.assert_array_equal(predict(5), first)
    assert np.abs(predict(6) - first).max() > 1e-4


def test_refit_forgets_the_first_fit(quick, single, competing):
    model = quick().fit(*competing)
    np.testing.assert_array_equal(
        model.fit(*single).predict(single.X), quick().fit(*single).predict(single.X)
    )


def test_no_seed_is_fresh_each_time_and_generators_move_on(quick, single):
    for random_state in (None, np.random.RandomState(0), np.random.default_rng(0)):
        model = quick(random_state=random_state)
        assert (
            np.abs(
                model.fit(*single).predict(single.X) - model.fit(*single).predict(single.X)
            ).max()
            > 1e-4
        )


@pytest.mark.parametrize(
    "encoder", [None, torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(3, 4))]
)
def test_global_random_state_is_left_alone(quick, single, encoder):
    np.random.seed(3)
    torch.manual_seed(3)
    expected = np.random.random(3), torch.rand(3)
    np.random.seed(3)
    torch.manual_seed(3)
    quick(dropout=0.2 if encoder is None else 0.0, encoder=encoder).fit(*single).predict(single.X)
    np.testing.assert_array_equal(np.random.random(3), expected[0])
    assert torch.equal(torch.rand(3), expected[1])


def test_other_global_seed_same_fit(quick, single):
    encoder = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(3, 4))
    predictions = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        predictions.append(quick(encoder=encoder).fit(*single).predict(single.X))
    np.testing.assert_array_equal(*predictions)


def test_silent_unless_asked(quick, single, capfd):
    quick().fit(*single).predict(single.X)
    assert capfd.readouterr() == ("", "")


def test_verbose_shows_a_bar_on_stderr(quick, single, capfd):
    plain = quick().fit(*single).predict(single.X)
    shown = quick(verbose=True).fit(*single).predict(single.X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "training" in err
    assert "100%" in err
    assert "epoch 4" in err
    np.testing.assert_array_equal(plain, shown)


def test_verbose_does_not_depend_on_a_terminal(quick, single):
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
        quick(verbose=True).fit(*single)
    assert "held-out loss" in stream.getvalue()


def test_inputs_are_not_changed(quick, mixed_table):
    X, y = mixed_table.X.copy(), mixed_table.y.copy()
    weight = np.ones(len(y))
    quick().fit(X, y, weight, validation_data=(X[:50], y[:50])).predict(X)
    pd.testing.assert_frame_equal(X, mixed_table.X)
    np.testing.assert_array_equal(y, mixed_table.y)
    np.testing.assert_array_equal(weight, 1)
