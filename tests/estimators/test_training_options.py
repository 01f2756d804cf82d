"""Every option of training does what it says: held-out rows, early stopping, losses, encoders, ensembles, the paper."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import WeibullFitter
from torch import nn

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators import fleet_groups
from lifemix.estimators.preparation import split_rows
from lifemix.network import ACTIVATIONS, Architecture
from lifemix.primitives import PRIMITIVES
from lifemix.target import as_target
from lifemix.training.optimizers import OPTIMIZERS

TIMES = [0.5, 2.0, 8.0]


def assert_probabilities(values):
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values <= 1).all()


@pytest.fixture
def jobs(monkeypatch):
    """Return a list that a fit fills with its jobs."""
    seen = []
    train = fleet_groups.train

    def spy(prepared, *others):
        seen.extend(prepared.jobs)
        return train(prepared, *others)

    monkeypatch.setattr(fleet_groups, "train", spy)
    return seen


# Held-out rows.


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 9)), min_size=30, max_size=80),
    st.integers(0, 2**31),
)
def test_held_out_rows_never_overlap_training_rows(rows, seed):
    event, time = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    event[:12], time[0] = [1, 2] * 6, 2.5  # nothing but 0 and 1 would look like events
    train, held_out = split_rows(as_target((time, event)), 0.3, seed)
    usable = np.flatnonzero((time > 0) | (event > 0))
    assert sorted([*train, *held_out]) == usable.tolist()
    assert len(held_out) == round(0.3 * len(usable))
    assert {1, 2} <= set(event[train]) & set(event[held_out])


def test_each_member_holds_out_other_rows(quick, single, jobs):
    quick(n_members=3, validation_fraction=0.25).fit(*single)
    held_out = [set(job.validation_rows.tolist()) for job in jobs]
    assert all(len(rows) == 60 for rows in held_out)
    assert not any(
        rows & set(job.train_rows.tolist()) for rows, job in zip(held_out, jobs, strict=True)
    )
    assert held_out[0] != held_out[1] != held_out[2]


def test_no_rows_held_out(quick, single, jobs):
    model = quick(validation_fraction=0, max_epochs=6, patience=1).fit(*single)
    assert jobs[0].train_rows.tolist() == list(range(240))
    assert len(jobs[0].validation_rows) == 0
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4, 5, 6]
    assert np.isnan([record["validation_loss"] for record in model.history_]).all()
    assert model.best_epoch_ == [6]


def test_given_rows_are_held_out_and_no_others(quick, single, jobs):
    X, y = single
    model = quick().fit(X[:180], y[:180], validation_data=(X[180:], y[180:]))
    assert jobs[0].train_rows.tolist() == list(range(180))
    assert jobs[0].validation_rows.tolist() == list(range(180, 240))
    assert model.last_event_time_ == y[:180]["time"][y[:180]["event"] > 0].max()


def test_given_rows_change_only_when_to_stop(quick, single):
    X, y = single
    first, second = (
        quick(max_epochs=3, patience=3).fit(X[:180], y[:180], validation_data=(X[rows], y[rows]))
        for rows in (slice(180, 200), slice(200, 240))
    )
    assert [record["train_loss"] for record in first.history_] == [
        record["train_loss"] for record in second.history_
    ]
    assert first.time_unit_ == second.time_unit_


# Early stopping.

OVERFIT = {
    "hidden": (32,),
    "learning_rate": 0.05,
    "max_epochs": 60,
    "patience": 4,
    "batch_size": 40,
}


def encoder(n_inputs=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(n_inputs, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))


def held_out_objective(model, X, y):
    """Recompute minus the held-out objective from the predicted components, for one event type."""
    distribution = model.predict_distribution(X)
    time = torch.as_tensor(y["time"])[:, None]
    components, weights = distribution.components, distribution.weights
    terms = np.where(
        y["event"][:, None] > 0,
        components.log_pdf(time).numpy(),
        components.log_survival(time).numpy(),
    )
    if model.objective == "elbo":
        rows = (weights * terms).sum(1)
    else:
        rows = np.log((weights * np.exp(terms)).sum(1))
    return -np.where(y["event"] > 0, rows, model.discount * rows).mean()


CASES = {
    "exact": {},
    "elbo": {"objective": "elbo"},
    "discount": {"discount": 0.5},
    "paper": {"objective": "elbo", "discount": 0.75, "primitive": "lognormal", "bias": False},
    "dropout": {"dropout": 0.3},
    "penalties": {"prior_strength": 0.1, "head_prior": 0.01, "weight_decay": 0.1},
    "module": {"encoder": encoder()},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_weights_of_the_best_epoch_are_restored(quick, single, jobs, case):
    model = quick(**(OVERFIT | case)).fit(*single)
    losses = [record["validation_loss"] for record in model.history_]
    assert model.best_epoch_ == [int(np.argmin(losses)) + 1]
    assert len(losses) == min(model.best_epoch_[0] + 4, 60)
    assert len(losses) < 60  # it did stop early
    rows = jobs[0].validation_rows.numpy()
    assert held_out_objective(model, single.X[rows], single.y[rows]) == pytest.approx(
        min(losses), rel=1e-5, abs=1e-6
    )


def test_held_out_loss_is_minus_the_mean_log_likelihood_in_the_users_unit(quick, competing, jobs):
    X, y = competing
    model = quick(max_epochs=5).fit(X, make_target(y["time"] * 365.25, y["event"]))
    rows = jobs[0].validation_rows.numpy()
    likelihood = model.log_likelihood(
        X[rows], make_target(y["time"][rows] * 365.25, y["event"][rows])
    )
    assert -likelihood / len(rows) == pytest.approx(
        min(r["validation_loss"] for r in model.history_), rel=1e-5
    )


def test_history_has_every_epoch_of_every_member(quick, single):
    model = quick(**OVERFIT, n_members=2).fit(*single)
    history = pd.DataFrame(model.history_)
    assert list(history.columns) == ["member", "epoch", "train_loss", "validation_loss"]
    assert np.isfinite(history.to_numpy()).all()
    for member, rows in history.groupby("member"):
        best = model.best_epoch_[member]
        assert rows["epoch"].tolist() == list(range(1, best + 5))
        assert rows["validation_loss"].idxmin() == rows.index[best - 1]
    assert history["train_loss"].iloc[10] < history["train_loss"].iloc[0]


@pytest.mark.parametrize("patience", [1, 3, 100])
def test_patience_is_respected(quick, single, patience):
    model = quick(**(OVERFIT | {"patience": patience, "max_epochs": 30})).fit(*single)
    assert len(model.history_) == min(30, model.best_epoch_[0] + patience)


def test_no_epoch_at_all_is_the_warm_start(quick, single):
    model = quick(max_epochs=0).fit(*single)
    assert model.history_ == []
    assert model.best_epoch_ == [0]
    survival = model.predict_survival_function(single.X, TIMES)
    assert_probabilities(survival)
    assert np.ptp(survival, axis=0).max() == 0


@pytest.mark.filterwarnings("ignore:no column varies")
@pytest.mark.parametrize(
    "settings", [{}, {"hidden": ()}, {"hidden": (5, 4)}, {"bias": False}, {"n_members": 2}], ids=str
)
def test_without_covariates_one_component_is_the_maximum_likelihood_fit(quick, single, settings):
    """Against lifelines' way of writing it: S(t) = exp(-(t / lambda) ** rho)."""
    y = single.y
    distribution = (
        quick(k=1, **settings).fit(np.ones((240, 2)), y).predict_distribution(np.ones((1, 2)))
    )
    fitted = WeibullFitter().fit(y["time"], y["event"])
    expected = np.exp(-((np.array(TIMES) / fitted.lambda_) ** fitted.rho_))
    np.testing.assert_allclose(distribution.survival(TIMES)[0], expected, atol=1e-5)


# Options.

OPTIONS = [
    *({"optimizer": name} for name in OPTIMIZERS),
    *({"activation": name} for name in ACTIVATIONS),
    *({"shift_activation": name} for name in ACTIVATIONS),
    *(
        {"primitive": name, "objective": objective}
        for name in PRIMITIVES
        for objective in ("exact", "elbo")
    ),
    {"primitive": "Log-Normal"},
    {"dropout": 0.5},
    {"weight_decay": 0.1},
    {"head_prior": 0.1},
    {"discount": 0.0},
    {"discount": 0.5},
    {"hidden": ()},
    {"hidden": (6, 5)},
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
    {"primitive": "weibull", "objective": "exact"},
    {"device": "cpu"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_runs_and_gives_probabilities(quick, competing, options):
    model = quick(**({"max_epochs": 2} | options)).fit(*competing)
    survival = model.predict_survival_function(competing.X[:20], TIMES)
    assert_probabilities(survival)
    incidences = [
        model.predict_cumulative_incidence(competing.X[:20], TIMES, event) for event in (1, 2)
    ]
    np.testing.assert_allclose(survival + sum(incidences), 1, atol=1e-6)
    assert np.isfinite(model.log_likelihood(*competing))
    assert np.isfinite(model.predict(competing.X[:20])).all()
    default = (
        quick(max_epochs=model.max_epochs)
        .fit(*competing)
        .predict_survival_function(competing.X[:20], TIMES)
    )
    assert (np.abs(survival - default).max() < 1e-7) == (options in SAME_AS_DEFAULT)


def test_discount_lowers_the_survival_that_censored_rows_vouch_for(quick, single):
    means = [
        quick(discount=discount, max_epochs=40)
        .fit(*single)
        .predict_survival_function(single.X, 8.0)
        .mean()
        for discount in (0.0, 0.5, 1.0)
    ]
    assert means[0] < means[1] < means[2]


def test_head_prior_takes_the_covariates_away(quick, single):
    free, held = (
        quick(head_prior=strength, max_epochs=60, validation_fraction=0)
        .fit(*single)
        .predict(single.X)
        for strength in (0.0, 100.0)
    )
    assert np.std(held) < 0.05 * np.std(free)


def test_weight_decay_shrinks_the_weights(quick, single):
    free, decayed = (
        quick(weight_decay=decay, max_epochs=30, patience=30, validation_fraction=0).fit(*single)
        for decay in (0.0, 5.0)
    )
    assert np.std(decayed.predict(single.X)) < 0.7 * np.std(free.predict(single.X))


def test_prior_holds_the_base_values_at_the_warm_start(quick, single):
    nothing = np.empty((240, 0))
    start = (
        quick(k=1, preprocessor=None)
        .fit(nothing, single.y)
        .predict_distribution(nothing[:1])
        .components
    )
    held = quick(
        hidden=(), preprocessor=None, prior_strength=1e3, max_epochs=150, validation_fraction=0
    )
    components = held.fit(nothing, single.y).predict_distribution(nothing[:1]).components
    for name in ("location", "log_precision"):
        np.testing.assert_allclose(
            getattr(components, name)[0], float(getattr(start, name)), atol=0.01
        )


def in_intervals(y):
    """Return a target whose every third event is known to an interval only: it takes the general path."""
    upper = np.where((y["event"] > 0) & (np.arange(len(y)) % 3 == 0), 1.5 * y["time"], np.nan)
    return make_target(y["time"], y["event"], upper=upper)


PATHS = {
    "fused": (lambda y: y, dict),
    "autograd": (in_intervals, dict),
    "module": (lambda y: y, lambda: {"encoder": encoder()[:1]}),
}
WHOLE = {
    "batch_size": 10_000,
    "validation_fraction": 0,
    "optimizer": "sgd",
    "learning_rate": 0.02,
    "preprocessor": None,
}


@pytest.mark.parametrize("prior", ["prior_strength", "head_prior"])
@pytest.mark.parametrize(("change", "options"), PATHS.values(), ids=PATHS)
def test_priors_do_not_grow_with_the_rows(quick, single, change, options, prior):
    """The same rows once, twice and five times have the same mean likelihood, so they must give the same model."""
    X, y = single.X[:100], change(single.y[:100])

    def fit(copies, strength):
        model = quick(**WHOLE, **options(), max_epochs=15, **{prior: strength})
        return model.fit(np.tile(X, (copies, 1)), np.tile(y, copies)).predict_survival_function(
            X, TIMES
        )

    once = fit(1, 0.5)
    for copies in (2, 5):
        np.testing.assert_allclose(fit(copies, 0.5), once, atol=2e-5)
        for other in (
            0.5 / copies,
            0.5 * copies,
        ):  # what a prior that shrinks or grows with the rows would be
            assert np.abs(fit(1, other) - once).max() > 1e-3


@pytest.mark.parametrize(("change", "options"), PATHS.values(), ids=PATHS)
def test_recorded_loss_has_the_penalties_times_their_strength(quick, single, change, options):
    X, y = single.X[:100], change(single.y[:100])

    def first_loss(copies, **strengths):
        settings = WHOLE | options() | strengths | {"learning_rate": 1e-12, "max_epochs": 1}
        return (
            quick(**settings)
            .fit(np.tile(X, (copies, 1)), np.tile(y, copies))
            .history_[0]["train_loss"]
        )

    for name in ("prior_strength", "head_prior"):
        penalties = {}
        for copies in (1, 3):
            plain, one, two = (
                first_loss(copies, **{name: strength}) for strength in (0.0, 1.0, 2.0)
            )
            assert two - plain == pytest.approx(2 * (one - plain), rel=1e-4)
            penalties[copies] = one - plain
        assert penalties[1] > 0.01
        assert penalties[3] == pytest.approx(penalties[1], rel=1e-4)


def test_tanh_keeps_the_lognormal_near_its_base_and_identity_does_not(quick, single):
    X = single.X * 50
    spans = []
    for shift_activation in (None, "tanh", "identity"):
        model = quick(
            primitive="lognormal", shift_activation=shift_activation, hidden=(), preprocessor=None
        )
        locations = (
            model.fit(single.X, single.y).predict_distribution(X).components.location.numpy()
        )
        spans.append(np.ptp(locations, axis=0).max())
    assert spans[0] == spans[1] <= 2 + 1e-6
    assert spans[2] > 2


# Encoders of the user's.

ENCODERS = {
    "linear": lambda: nn.Linear(3, 4),
    "batch normalisation and dropout": encoder,
    "lazy": lambda: nn.Sequential(nn.LazyLinear(5), nn.Tanh()),
    "double precision": lambda: nn.Linear(3, 4).double(),
    "no parameter": lambda: nn.Tanh(),
    "in training mode": lambda: encoder().train(),
}


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize("make", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoder_of_the_users(quick, competing, make):
    module = make()
    lazy = any(isinstance(part, nn.LazyLinear) for part in module.modules())
    before = {} if lazy else copy.deepcopy(module.state_dict())
    training = module.training
    model = quick(encoder=module, max_epochs=3).fit(*competing)
    assert model.encoder is module
    assert module.training == training
    assert all(torch.equal(module.state_dict()[name], values) for name, values in before.items())
    assert lazy == any(isinstance(part, nn.LazyLinear) for part in module.modules())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert_probabilities(model.predict_survival_function(competing.X, TIMES))
    again = quick(encoder=module, max_epochs=3).fit(*competing)
    np.testing.assert_array_equal(again.predict(competing.X), model.predict(competing.X))
    # The representation of a row does not depend on the rows beside it: evaluation, not training.
    np.testing.assert_allclose(
        model.transform(competing.X)[:7], model.transform(competing.X[:7]), rtol=1e-6, atol=1e-7
    )


def test_encoder_learns(quick, single):
    model = quick(encoder=encoder(), max_epochs=40).fit(*single)
    assert model.score(*single) > 0.75
    with torch.no_grad():
        start = model.encoder.eval()(
            torch.as_tensor(model.preprocessor_.transform(single.X), dtype=torch.float32)
        )
    assert np.abs(model.transform(single.X) - start.numpy()).max() > 0.1


def test_frozen_parameters_of_an_encoder_stay(quick, single):
    module = nn.Linear(3, 4).requires_grad_(False)
    model = quick(encoder=module, preprocessor=None, max_epochs=5, weight_decay=1.0).fit(*single)
    with torch.no_grad():
        expected = module(torch.as_tensor(single.X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(model.transform(single.X), expected, rtol=1e-6, atol=1e-7)
    assert (
        model.n_parameters_
        == quick(encoder=nn.Identity(), preprocessor=None)
        .fit(np.zeros((240, 4)) + np.arange(4), single.y)
        .n_parameters_
    )


def test_predictions_from_several_threads_do_not_disturb_each_other(quick, single):
    layers = [
        nn.Linear(3, 16),
        *(part for _ in range(4) for part in (nn.ReLU(), nn.Linear(16, 16))),
    ]
    model = quick(encoder=nn.Sequential(*layers), learning_rate=0.05, max_epochs=10).fit(*single)
    expected = model.transform(single.X)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: model.transform(single.X), range(200)))
    finally:
        sys.setswitchinterval(before)
    assert all(np.array_equal(result, expected) for result in results)


def test_encoder_members_differ(quick, single):
    model = quick(encoder=encoder(), n_members=2).fit(*single)
    mean, std = model.predict_survival_function(single.X, TIMES, return_std=True)
    np.testing.assert_allclose(mean, model.predict_survival_function(single.X, TIMES), atol=1e-12)
    assert std.max() > 1e-3


# Ensembles.


def test_ensemble_is_the_equal_mixture_of_its_members(quick, competing):
    X, y = competing
    ensemble = quick(n_members=3).fit(X, y)
    alone = [
        network.distribution(ensemble.preprocessor_.transform(X))
        for network in ensemble.network_.members()
    ]
    survival = np.stack([member.survival(TIMES) for member in alone])
    mean, std = ensemble.predict_survival_function(X, TIMES, return_std=True)
    np.testing.assert_allclose(mean, survival.mean(0), atol=1e-12)
    np.testing.assert_allclose(std, survival.std(0), atol=1e-12)
    np.testing.assert_allclose(
        ensemble.predict_survival_function(X, TIMES), survival.mean(0), atol=1e-12
    )
    assert (std.max(0) > 1e-3).all()
    total = mean.copy()
    for event in (1, 2):
        incidence = ensemble.predict_cumulative_incidence(X, TIMES, event)
        expected = np.mean([member.cumulative_incidence(TIMES, event) for member in alone], axis=0)
        np.testing.assert_allclose(incidence, expected, atol=1e-8)
        net = ensemble.predict_distribution(X).net(event).survival(TIMES)
        np.testing.assert_allclose(
            net, np.mean([m.net(event).survival(TIMES) for m in alone], axis=0), atol=1e-12
        )
        total += incidence
    np.testing.assert_allclose(total, 1, atol=1e-6)


def test_likelihood_of_an_ensemble_is_that_of_its_averaged_law(quick, competing):
    model = quick(n_members=3).fit(*competing)
    X, y = competing.X[:12], competing.y[:12]
    assert set(y["event"]) == {0, 1, 2}
    expected = 0.0
    for row, (event, time) in enumerate(y.tolist()):
        distribution = model.predict_distribution(X)[row]
        if event == 0:
            expected += np.log(distribution.survival(time)[0, 0])
        else:  # the density of the event is the derivative of its cumulative incidence
            low, high = distribution.cumulative_incidence([time * 0.9999, time * 1.0001], event)[0]
            expected += np.log((high - low) / (0.0002 * time))
    assert model.log_likelihood(X, y) == pytest.approx(expected, rel=1e-4)


def test_truncated_rows_weigh_the_members_by_their_survival_to_the_entry(quick, single):
    model = quick(n_members=3).fit(*single)
    entry = single.y["time"] / 2
    truncated = make_target(single.y["time"], single.y["event"], entry=entry)
    at_entry = model.log_likelihood(single.X, make_target(entry, np.zeros(240)))
    expected = model.log_likelihood(*single) - at_entry
    assert model.log_likelihood(single.X, truncated) == pytest.approx(expected, rel=1e-10)


def test_ensemble_of_one_is_the_single_model_and_the_first_of_more(quick, single):
    one = quick().fit(*single)
    mean, std = one.predict_survival_function(single.X, TIMES, return_std=True)
    np.testing.assert_allclose(mean, one.predict_survival_function(single.X, TIMES), atol=1e-12)
    assert (std == 0).all()
    more = quick(n_members=3).fit(*single)
    first = more.network_.members()[0].distribution(more.preprocessor_.transform(single.X))
    np.testing.assert_allclose(first.survival(TIMES), mean, atol=1e-4)


def test_ensemble_is_better_than_its_members_on_average(quick, single):
    X, y = single
    ensemble = quick(n_members=4, max_epochs=10).fit(X[:160], y[:160])
    target, matrix = as_target(y[160:]), ensemble.preprocessor_.transform(X[160:])
    members = [
        member.log_likelihood(matrix, target, np.ones(80)) for member in ensemble.network_.members()
    ]
    assert ensemble.log_likelihood(X[160:], y[160:]) >= np.mean(members)


# Case weights.


@pytest.mark.filterwarnings("ignore:no column varies")
@pytest.mark.parametrize("primitive", list(PRIMITIVES))
def test_weight_two_is_the_row_twice_where_nothing_is_random(quick, competing, primitive):
    y = competing.y
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    X = np.zeros((len(y), 1))
    weighted = quick(k=1, primitive=primitive).fit(X, y, sample_weight=weight)
    repeated = quick(k=1, primitive=primitive).fit(X[rows], y[rows])
    for event in (1, 2):
        np.testing.assert_allclose(
            weighted.predict_distribution(X[:1]).net(event).survival(TIMES),
            repeated.predict_distribution(X[:1]).net(event).survival(TIMES),
            atol=2e-6,
        )
    assert weighted.log_likelihood(X, y, sample_weight=weight) == pytest.approx(
        weighted.log_likelihood(X[rows], y[rows]), rel=1e-10
    )


def test_weights_pull_the_fit(quick, single):
    early = np.where(single.y["time"] < np.median(single.y["time"]), 10.0, 1.0)
    plain = quick(max_epochs=20).fit(*single).predict_survival_function(single.X, 2.0).mean()
    pulled = (
        quick(max_epochs=20)
        .fit(*single, sample_weight=early)
        .predict_survival_function(single.X, 2.0)
        .mean()
    )
    assert pulled < plain - 0.1


@pytest.mark.parametrize("size", [1e-3, 1e-50, 1e50])
def test_the_size_of_the_weights_does_not_matter(quick, single, size):
    ones = quick().fit(*single).predict(single.X)
    np.testing.assert_allclose(
        quick().fit(*single, sample_weight=np.full(240, size)).predict(single.X), ones, rtol=1e-3
    )


def test_rows_given_to_stop_on_count_alike_whatever_the_weights(quick, single):
    X, y = single
    model = quick().fit(
        X[:180], y[:180], np.linspace(0.1, 5.0, 180), validation_data=(X[180:], y[180:])
    )
    best = min(record["validation_loss"] for record in model.history_)
    assert -model.log_likelihood(X[180:], y[180:]) / 60 == pytest.approx(best, rel=1e-5)


NOT_SETTLED = {
    "discount": ({"discount": 0.5}, lambda y: y),
    "several components": ({"k": 2}, lambda y: y),
    "intervals of competing risks": ({}, in_intervals),
}


@pytest.mark.parametrize(("options", "change"), NOT_SETTLED.values(), ids=NOT_SETTLED)
def test_without_covariates_training_is_left_out_only_where_the_warm_start_is_the_maximum(
    quick, competing, options, change
):
    X, y = np.zeros((240, 1)), competing.y
    plain = {"k": 1, "preprocessor": None}
    assert quick(**plain).fit(X, y).history_ == []
    assert len(quick(**(plain | options)).fit(X, change(y)).history_) == 4


# The paper.


def test_paper_settings_are_those_of_its_text():
    """Section "Hyperparameters" of the experiments, and the equations of the model."""
    model = DeepSurvivalMachines.paper()
    assert model.optimizer == "adam"
    assert model.learning_rate in (1e-3, 1e-4)
    assert model.k in (4, 6, 8)
    assert model.discount in (1 / 2, 3 / 4, 1)
    assert model.prior_strength == 1e-8
    assert len(model.hidden) in (1, 2)
    assert set(model.hidden) <= {50, 100}
    assert model.activation == "relu6"
    assert model.objective == "elbo"
    assert model.bias is False
    assert (model.head_prior, model.dropout, model.weight_decay, model.n_members) == (0, 0, 0, 1)


@pytest.mark.parametrize("primitive", ["weibull", "lognormal"])
def test_paper_model_has_the_paper_s_parameters_and_no_others(single, primitive):
    model = DeepSurvivalMachines.paper(primitive, k=6, max_epochs=1).fit(*single)
    # Phi: 3 x 100; w, zeta, xi: 100 x 6 each; the bases of the two parameters: 6 each.
    assert model.n_parameters_ == 3 * 100 + 3 * 100 * 6 + 2 * 6


def test_paper_shifts_are_selu_for_weibull_and_tanh_for_lognormal(single):
    for primitive, act in (("weibull", "selu"), ("lognormal", "tanh")):
        default, named = (
            DeepSurvivalMachines.paper(primitive, shift_activation=name, max_epochs=2).fit(*single)
            for name in (None, act)
        )
        np.testing.assert_array_equal(default.predict(single.X), named.predict(single.X))


def test_selu_bounds_how_late_an_event_may_come_and_not_how_early():
    architecture = Architecture(1, (), 1, 1, "weibull", shift_activation="selu")
    row = architecture.start(torch.tensor([[0.5, 2.0]]), 0.0, np.random.default_rng(0))[None]
    views = architecture.layout.views(row)
    views["heads"].fill_(1.0)
    x = torch.tensor([[[-50.0], [0.0], [50.0]]], dtype=torch.float64)
    components = architecture.mixtures(views, x).components
    limit = 1.0507009873554805 * 1.6732632423543772
    np.testing.assert_allclose(
        components.log_scale[0, :, 0, 0], [2 + limit, 2, 2 - 50 * 1.0507009873554805]
    )
    np.testing.assert_allclose(
        components.log_shape[0, :, 0, 0], [0.5 - limit, 0.5, 0.5 + 50 * 1.0507009873554805]
    )


def test_paper_settings_can_be_overridden():
    model = DeepSurvivalMachines.paper(
        "lognormal", 8, learning_rate=1e-4, hidden=(50, 50), discount=0.5
    )
    assert (model.primitive, model.k, model.learning_rate, model.discount) == (
        "lognormal",
        8,
        1e-4,
        0.5,
    )
    assert (model.hidden, model.objective, model.bias) == ((50, 50), "elbo", False)
    with pytest.raises(TypeError, match="clusters"):
        DeepSurvivalMachines.paper(clusters=3)


# Representation.


def test_representation_has_the_width_and_the_names_of_the_last_layer(quick, mixed_table):
    X, y = mixed_table
    model = quick(hidden=(7, 5))
    representation = model.fit_transform(X, y)
    assert representation.shape == (240, 5)
    assert representation.min() >= 0  # ReLU6
    assert representation.max() <= 6
    np.testing.assert_array_equal(model.transform(X), representation)
    assert model.get_feature_names_out().tolist() == ["dsm0", "dsm1", "dsm2", "dsm3", "dsm4"]


def test_representation_of_an_ensemble_stands_side_by_side(quick, single):
    model = quick(n_members=2).fit(*single)
    matrix = model.preprocessor_.transform(single.X)
    parts = [member.represent(matrix) for member in model.network_.members()]
    np.testing.assert_allclose(model.transform(single.X), np.hstack(parts), atol=1e-6)
    assert len(model.get_feature_names_out()) == 16
    assert len(set(model.get_feature_names_out())) == 16


def test_representation_of_the_linear_model_is_its_input(quick, single):
    model = quick(hidden=()).fit(*single)
    np.testing.assert_allclose(
        model.transform(single.X), model.preprocessor_.transform(single.X), rtol=1e-6, atol=1e-7
    )


def test_set_output_gives_a_frame_with_the_index_of_the_table(quick, mixed_table):
    X = mixed_table.X.set_index(np.arange(240) + 1000)
    model = quick(hidden=(3,)).set_output(transform="pandas").fit(X, mixed_table.y)
    frame = model.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == X.index.tolist()
    assert frame.columns.tolist() == ["dsm0", "dsm1", "dsm2"]
