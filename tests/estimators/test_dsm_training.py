"""What the options of training do: held-out rows, early stopping, penalties, callbacks, the paper."""

import numpy as np
import pandas as pd
import pytest
import torch
from lifelines import WeibullFitter
from sklearn.base import clone
from torch import nn

from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target
from lifemix.errors import CovariateError, InputError, LifemixError, TargetError
from lifemix.estimators import fleet_groups
from lifemix.network import ACTIVATIONS, Architecture
from lifemix.primitives import PRIMITIVES
from lifemix.training import Callback
from lifemix.training.optimizers import OPTIMIZERS

TIMES = [0.5, 2.0, 8.0]


@pytest.fixture
def jobs(monkeypatch):
    """Return a list that a fit fills with its jobs."""
    collected = []
    train = fleet_groups.train

    def collect(prepared, *others):
        collected.extend(prepared.jobs)
        return train(prepared, *others)

    monkeypatch.setattr(fleet_groups, "train", collect)
    return collected


# Held-out rows.


def test_each_member_holds_out_other_rows(quick, single, jobs):
    quick(n_members=3, validation_fraction=0.25).fit(*single)
    held_out = [frozenset(job.validation_rows.tolist()) for job in jobs]
    assert len(set(held_out)) == 3
    for job, rows in zip(jobs, held_out, strict=True):
        assert len(rows) == 60
        assert sorted([*rows, *job.train_rows.tolist()]) == list(range(240))


def test_without_held_out_rows_all_epochs_run(quick, single, jobs):
    model = quick(validation_fraction=0, max_epochs=6, patience=1).fit(*single)
    assert jobs[0].train_rows.tolist() == list(range(240))
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4, 5, 6]
    assert np.isnan([record["validation_loss"] for record in model.history_]).all()
    assert model.best_epoch_ == [6]


def test_validation_data_decide_only_when_to_stop(quick, single, jobs):
    X, y = single
    weight = np.linspace(0.1, 5.0, 180)
    first, second = (
        quick(patience=4).fit(X[:180], y[:180], weight, validation_data=(X[rows], y[rows]))
        for rows in (slice(180, 200), slice(200, 240))
    )
    assert jobs[0].train_rows.tolist() == list(range(180))
    losses = [[record["train_loss"] for record in model.history_] for model in (first, second)]
    assert losses[0] == losses[1]
    assert first.last_event_time_ == y[:180]["time"][y[:180]["event"] > 0].max()
    best = min(record["validation_loss"] for record in second.history_)
    assert -second.log_likelihood(X[200:], y[200:]) / 40 == pytest.approx(best, rel=1e-5)


BAD_VALIDATION = {
    "no pair": (lambda X, y: X, InputError, r"must be a pair \(X, y\); got DataFrame"),
    "lengths": (lambda X, y: (X[:5], y), InputError, "must have the same rows; got 5 in X"),
    "column missing": (lambda X, y: (X[["age"]], y), CovariateError, r"missing \['dose'"),
    "unknown event": (
        lambda X, y: (X, make_target(y["time"], y["event"] * 2, paths=False)),
        LifemixError,
        "2",
    ),
    "no rows": (lambda X, y: (X[:0], y[:0]), TargetError, "no rows"),
    "nothing to learn": (
        lambda X, y: (X, make_target(0 * y["time"], 0 * y["event"])),
        TargetError,
        "must not be censored at time 0 in all rows",
    ),
}


@pytest.mark.parametrize(
    ("change", "error", "message"), BAD_VALIDATION.values(), ids=BAD_VALIDATION
)
def test_bad_validation_data_are_refused(quick, mixed_table, change, error, message):
    with pytest.raises(error, match=message):
        quick().fit(*mixed_table, validation_data=change(*mixed_table))


# Early stopping.

OVERFIT = {"hidden": (32,), "learning_rate": 0.05, "max_epochs": 60, "batch_size": 40}


def held_out_objective(model, X, y):
    """Recompute minus the held-out objective from the predicted components, for one event type."""
    distribution = model.predict_distribution(X)
    time = torch.as_tensor(y["time"])[:, None]
    components, weights = distribution.components, distribution.weights
    log_pdf, log_survival = (
        getattr(components, name)(time).numpy() for name in ("log_pdf", "log_survival")
    )
    terms = np.where(y["event"][:, None] > 0, log_pdf, log_survival)
    if model.objective == "elbo":
        rows = (weights * terms).sum(1)
    else:
        rows = np.log((weights * np.exp(terms)).sum(1))
    return -np.where(y["event"] > 0, rows, model.discount * rows).mean()


def module():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))


CASES = {
    "exact, patience of 1": {"patience": 1},
    "elbo": {"objective": "elbo"},
    "discount": {"discount": 0.5},
    "paper": {"objective": "elbo", "discount": 0.75, "primitive": "lognormal", "bias": False},
    "dropout": {"dropout": 0.3},
    "penalties": {"prior_strength": 0.1, "head_prior": 0.01, "weight_decay": 0.1},
    "module": {"encoder": module()},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_weights_of_the_best_epoch_are_restored(quick, single, jobs, case):
    model = quick(**(OVERFIT | {"patience": 4} | case)).fit(*single)
    losses = [record["validation_loss"] for record in model.history_]
    assert model.best_epoch_ == [int(np.argmin(losses)) + 1]
    assert len(losses) == model.best_epoch_[0] + model.patience < 60
    rows = jobs[0].validation_rows.numpy()
    objective = held_out_objective(model, single.X[rows], single.y[rows])
    assert objective == pytest.approx(min(losses), rel=1e-5, abs=1e-6)


def test_the_history_is_in_the_unit_of_the_user_and_has_every_epoch(quick, competing, jobs):
    X, y = competing
    days = make_target(y["time"] * 365.25, y["event"])
    model = quick(**OVERFIT, patience=4, n_members=2).fit(X, days)
    history = pd.DataFrame(model.history_)
    assert list(history.columns) == ["member", "epoch", "train_loss", "validation_loss"]
    for member, records in history.groupby("member"):
        best = model.best_epoch_[member]
        assert records["epoch"].tolist() == list(range(1, best + 5))
        assert records["validation_loss"].idxmin() == records.index[best - 1]
    alone = quick(max_epochs=5).fit(X, days)
    rows = jobs[2].validation_rows.numpy()
    loss = min(record["validation_loss"] for record in alone.history_)
    assert -alone.log_likelihood(X[rows], days[rows]) / len(rows) == pytest.approx(loss, rel=1e-5)


@pytest.mark.filterwarnings("ignore:no column varies")
@pytest.mark.parametrize(
    "settings", [{}, {"hidden": ()}, {"bias": False}, {"n_members": 2}], ids=str
)
def test_the_warm_start_is_the_maximum_likelihood_fit(quick, single, settings):
    """Of lifelines: S(t) = exp(-(t / lambda) ** rho)."""
    y = single.y
    fitted = WeibullFitter().fit(y["time"], y["event"])
    expected = np.exp(-((np.array(TIMES) / fitted.lambda_) ** fitted.rho_))
    for X, options in ((np.ones((240, 2)), {}), (single.X, {"max_epochs": 0})):
        model = quick(k=1, **(settings | options)).fit(X, y)
        survival = model.predict_survival_function(X[:2], TIMES)
        np.testing.assert_allclose(survival, [expected] * 2, atol=1e-5)


def in_intervals(y):
    """Return a target with every third event in an interval, which takes the general path."""
    upper = np.where((y["event"] > 0) & (np.arange(len(y)) % 3 == 0), 1.5 * y["time"], np.nan)
    return make_target(y["time"], y["event"], upper=upper)


@pytest.mark.parametrize(
    ("options", "change"),
    [({"discount": 0.5}, np.copy), ({"k": 2}, np.copy), ({}, in_intervals)],
    ids=["discount", "components", "intervals"],
)
def test_training_is_skipped_only_if_the_warm_start_is_the_maximum(
    quick, competing, options, change
):
    X, y = np.zeros((240, 1)), competing.y
    plain = {"k": 1, "preprocessor": None}
    assert quick(**plain).fit(X, y).history_ == []
    assert len(quick(**(plain | options)).fit(X, change(y)).history_) == 4


# Options.

OPTIONS = [
    *({"optimizer": name} for name in OPTIMIZERS),
    *({"activation": name} for name in ACTIVATIONS),
    *({"shift_activation": name} for name in ACTIVATIONS),
    *({"primitive": name} for name in PRIMITIVES),
    *({"primitive": name, "objective": "elbo"} for name in PRIMITIVES),
    {"dropout": 0.5},
    {"weight_decay": 0.1},
    {"head_prior": 0.1},
    {"discount": 0.0},
    {"hidden": ()},
    {"hidden": (6, 5, 4), "dropout": 0.2},
    {"bias": False},
    {"k": 1},
    {"k": 8},
    {"batch_size": 1, "max_epochs": 1},
    {"batch_size": 10_000},
    {"device": "cpu"},
]
SAME_AS_DEFAULT = [
    {"optimizer": "adam"},
    {"activation": "relu6"},
    {"activation": "relu"},  # nothing reaches 6 here
    {"shift_activation": "identity"},
    {"primitive": "weibull"},
    {"device": "cpu"},
]


@pytest.fixture(scope="module")
def default_survival(quick, competing):
    X = competing.X[:20]
    return quick(max_epochs=2).fit(*competing).predict_survival_function(X, TIMES)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_changes_the_model(quick, competing, options, default_survival):
    model = quick(**({"max_epochs": 2} | options)).fit(*competing)
    X = competing.X[:20]
    survival = model.predict_survival_function(X, TIMES)
    incidences = model.predict_cumulative_incidences(X, TIMES)
    assert ((survival >= 0) & (incidences >= 0)).all()
    np.testing.assert_allclose(survival + incidences.sum(0), 1, atol=1e-6)
    assert np.isfinite(model.log_likelihood(*competing))
    assert np.isfinite(model.predict(X)).all()
    is_same = np.abs(survival - default_survival).max() < 1e-7
    assert is_same == (options in SAME_AS_DEFAULT)


def test_discount_lowers_survival(quick, single):
    means = [
        quick(discount=discount, max_epochs=30)
        .fit(*single)
        .predict_survival_function(single.X, 8.0)
        .mean()
        for discount in (0.0, 0.5, 1.0)
    ]
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize(
    ("strong", "ratio"), [({"head_prior": 100.0}, 0.05), ({"weight_decay": 5.0}, 0.7)], ids=str
)
def test_penalties_take_the_covariates_away(quick, single, strong, ratio):
    plain, penalised = (
        quick(max_epochs=40, validation_fraction=0, **options).fit(*single).predict(single.X)
        for options in ({}, strong)
    )
    assert np.std(penalised) < ratio * np.std(plain)


def test_the_prior_keeps_the_base_values_at_the_warm_start(quick, single):
    X = np.empty((240, 0))
    bases = []
    for options in ({"k": 1}, {"prior_strength": 1e3, "max_epochs": 60}):
        model = quick(hidden=(), preprocessor=None, validation_fraction=0, **options)
        components = model.fit(X, single.y).predict_distribution(X[:1]).components
        bases.append(torch.stack([components.location[0], components.log_precision[0]]))
    np.testing.assert_allclose(bases[1], bases[0].expand(2, 2), atol=0.01)


PATHS = {
    "analytic": (np.copy, dict),
    "autograd": (in_intervals, dict),
    "module": (np.copy, lambda: {"encoder": module()[:1]}),
}
ONE_BATCH = {
    "batch_size": 10_000,
    "validation_fraction": 0,
    "optimizer": "sgd",
    "learning_rate": 0.02,
    "preprocessor": None,
}


@pytest.mark.parametrize("prior", ["prior_strength", "head_prior"])
@pytest.mark.parametrize(("change", "options"), PATHS.values(), ids=PATHS)
def test_priors_do_not_depend_on_the_number_of_rows(quick, single, change, options, prior):
    """A table and three copies of it have the same mean likelihood: the model must be the same."""
    X, y = single.X[:100], change(single.y[:100])

    def fit(n_copies, strength, **settings):
        model = quick(**(ONE_BATCH | options() | {"max_epochs": 15, prior: strength} | settings))
        return model.fit(np.tile(X, (n_copies, 1)), np.tile(y, n_copies))

    expected = fit(1, 0.5).predict_survival_function(X, TIMES)
    copied = fit(3, 0.5).predict_survival_function(X, TIMES)
    np.testing.assert_allclose(copied, expected, atol=2e-5)
    for strength in (0.5 / 3, 0.5 * 3):  # a prior that shrinks or grows with the rows
        other = fit(1, strength).predict_survival_function(X, TIMES)
        assert np.abs(other - expected).max() > 1e-3
    losses = [
        fit(3, strength, learning_rate=1e-12, max_epochs=1).history_[0]["train_loss"]
        for strength in (0.0, 1.0, 2.0)
    ]
    assert losses[1] - losses[0] > 0.01
    assert losses[2] - losses[0] == pytest.approx(2 * (losses[1] - losses[0]), rel=1e-4)


# Callbacks.


class Recorder(Callback):
    """Record the calls."""

    def __init__(self, stop_after=None, fail_after=None):
        self.stop_after, self.fail_after, self.calls = stop_after, fail_after, []

    def on_fit_start(self, state):
        self.calls.append(("fit start", state.epoch, state.n_running))

    def on_epoch_start(self, state):
        self.calls.append(("epoch start", state.epoch, state.n_running))

    def on_epoch_end(self, state):
        self.calls.append(("epoch end", state.epoch, state.n_running))
        assert len(state.history) == state.epoch * state.n_models
        if state.epoch == self.stop_after:
            state.stop()
        if state.epoch == self.fail_after:
            raise RuntimeError("no")

    def on_fit_end(self, state):
        self.calls.append(("fit end", state.epoch, state.n_running))


def test_callbacks_are_called_around_fit_and_epochs(quick, single):
    recorder = Recorder()
    model = quick(n_members=2, patience=10, callbacks=[recorder]).fit(*single)
    expected = [("fit start", 0, 2)]
    for epoch in range(4):
        expected += [("epoch start", epoch, 2), ("epoch end", epoch + 1, 2 if epoch < 3 else 0)]
    assert recorder.calls == [*expected, ("fit end", 4, 0)]
    plain = quick(n_members=2, patience=10).fit(*single)
    assert torch.equal(plain.network_.parameters, model.network_.parameters)
    assert len(clone(model).callbacks) == 1


def test_a_callback_stops_the_training_at_the_best_epoch_so_far(quick, single):
    stopped = quick(n_members=2, callbacks=[Recorder(stop_after=2)]).fit(*single)
    short = quick(max_epochs=2, n_members=2).fit(*single)
    assert torch.equal(stopped.network_.parameters, short.network_.parameters)


def test_a_checkpoint_is_written_before_a_callback_fails(quick, fitted, single, tmp_path):
    with pytest.raises(RuntimeError, match="no"):
        quick(checkpoint=tmp_path, callbacks=[Recorder(fail_after=2)]).fit(*single)
    assert list(tmp_path.iterdir())
    resumed = quick(checkpoint=tmp_path).fit(*single)
    assert torch.equal(resumed.network_.parameters, fitted["single"].network_.parameters)


def test_a_search_calls_back_in_the_last_fit_alone(quick, single):
    starts = []

    class Counter(Callback):
        def on_fit_start(self, state):
            starts.append(state.epoch)

    FleetSearchCV(quick(callbacks=[Counter()]), {"k": [1, 2]}, cv=2).fit(*single)
    assert starts == [0]


# The paper.


def test_the_settings_of_the_paper():
    """Section "Hyperparameters" of the experiments, and the equations of the model."""
    model = DeepSurvivalMachines.paper()
    assert model.learning_rate in (1e-3, 1e-4)
    assert model.k in (4, 6, 8)
    assert model.discount in (1 / 2, 3 / 4, 1)
    assert model.hidden in ((50,), (100,), (50, 50), (100, 100))
    assert (model.optimizer, model.activation, model.objective) == ("adam", "relu6", "elbo")
    assert (model.bias, model.prior_strength) == (False, 1e-8)
    assert (model.head_prior, model.dropout, model.weight_decay, model.n_members) == (0, 0, 0, 1)
    other = DeepSurvivalMachines.paper("lognormal", 8, hidden=(50, 50))
    assert (other.primitive, other.k, other.hidden, other.bias) == ("lognormal", 8, (50, 50), False)
    with pytest.raises(TypeError, match="clusters"):
        DeepSurvivalMachines.paper(clusters=3)


@pytest.mark.parametrize(("primitive", "shift"), [("weibull", "selu"), ("lognormal", "tanh")])
def test_the_model_of_the_paper(single, primitive, shift):
    default, named = (
        DeepSurvivalMachines.paper(primitive, 6, shift_activation=name, max_epochs=2).fit(*single)
        for name in (None, shift)
    )
    # Phi: 3 x 100; w, zeta, xi: 100 x 6 each; the bases of the two parameters: 6 each.
    assert default.n_parameters_ == 3 * 100 + 3 * 100 * 6 + 2 * 6
    np.testing.assert_array_equal(default.predict(single.X), named.predict(single.X))


def test_shifts_are_bounded_as_in_the_paper(quick, single):
    spans = {}
    for shift in (None, "tanh", "identity"):
        model = quick(primitive="lognormal", shift_activation=shift, hidden=(), preprocessor=None)
        location = model.fit(*single).predict_distribution(single.X * 50).components.location
        spans[shift] = np.ptp(location.numpy(), axis=0).max()
    assert spans[None] == spans["tanh"] <= 2 + 1e-6 < spans["identity"]
    architecture = Architecture(1, (), 1, 1, "weibull", shift_activation="selu")
    row = architecture.start(torch.tensor([[0.5, 2.0]]), 0.0, np.random.default_rng(0))[None]
    views = architecture.layout.views(row)
    views["heads"].fill_(1.0)
    x = torch.tensor([[[-50.0], [0.0], [50.0]]], dtype=torch.float64)
    log_scale = architecture.mixtures(views, x).components.log_scale[0, :, 0, 0]
    scale, alpha = 1.0507009873554805, 1.6732632423543772  # of SELU
    np.testing.assert_allclose(log_scale, [2 + scale * alpha, 2, 2 - 50 * scale])
