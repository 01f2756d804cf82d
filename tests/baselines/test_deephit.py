import sys

import numpy as np
import pytest
import torch
from pycox.models import DeepHitSingle, loss
from pycox.models.data import pair_rank_mat

from lifemix import make_target
from lifemix.baselines import AalenJohansen, DeepHit, DeepSurv
from lifemix.baselines._deephit_network import intervals, pairs
from lifemix.baselines._grid import interval_ends
from lifemix.errors import MissingExtraError, SettingError
from lifemix.target import as_target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 3))
TIMES = RNG.exponential(np.exp(-X[:, :2]))
CENSORING = RNG.uniform(0, 3, 800)
TIME = np.minimum(TIMES.min(axis=1), CENSORING)
EVENT = np.where(TIME == CENSORING, 0, TIMES.argmin(axis=1) + 1)
Y = make_target(TIME, EVENT)
TINY = {"shared_nodes": 16, "cause_nodes": 8, "n_times": 12, "batch_size": 64, "preprocessor": None}


@pytest.fixture(scope="module")
def model():
    return DeepHit(learning_rate=0.01, max_epochs=15, **TINY).fit(X, Y)


def test_pairs_are_those_of_pycox():
    index, event = RNG.integers(0, 5, 40), RNG.integers(0, 3, 40)
    expected = pair_rank_mat(index, event)
    got = pairs(torch.from_numpy(index), torch.from_numpy(event)).numpy()
    np.testing.assert_array_equal(got, expected)


def test_events_count_where_they_fall_and_censored_rows_where_they_were_seen_last():
    grid = np.array([1.0, 2.0, 3.0])
    target = as_target(([0.5, 1.0, 1.5, 3.0, 0.5, 1.0, 1.5, 9.0], [1, 1, 2, 1, 0, 0, 0, 0]))
    assert intervals(grid, target).tolist() == [0, 0, 1, 2, -1, 0, 0, 2]


def test_grids_end_at_the_last_event_time():
    target = as_target(([1.0, 2.0, 2.0, 4.0, 8.0, 10.0], [1, 1, 2, 1, 1, 0]))
    np.testing.assert_allclose(interval_ends(target, 4, "equidistant"), [2, 4, 6, 8])
    np.testing.assert_allclose(interval_ends(target, 5, "quantiles"), [2, 4, 8])


def test_interpolation_is_that_of_pycox():
    y = make_target(TIME, EVENT > 0)
    single = DeepHit(max_epochs=3, grid="equidistant", **TINY).fit(X, y)

    class FromZero(torch.nn.Module):
        """The same distribution with one more point at time 0, where pycox's grids begin, that has no mass."""

        def __init__(self):
            super().__init__()
            self.network = single.network_

        def forward(self, x):
            scores = self.network(x)[:, 0]
            return torch.cat([torch.full((len(x), 1), -1e9), scores], dim=1)

    grid = np.append(0.0, single.grid_)
    pycox = DeepHitSingle(FromZero(), duration_index=grid)
    expected = pycox.interpolate(10, scheme="const_pdf").predict_surv_df(X[:20].astype("float32"))
    got = single.predict_survival_function(X[:20], expected.index.to_numpy())
    np.testing.assert_allclose(got, expected.to_numpy().T, atol=1e-5)


@pytest.mark.parametrize(("kinds", "name"), [(1, "DeepHitSingleLoss"), (2, "DeepHitLoss")])
def test_alpha_of_the_paper_becomes_that_of_pycox(kinds, name, monkeypatch):
    seen = []
    original = getattr(loss, name)

    def recorder(alpha, sigma):
        seen.append((alpha, sigma))
        return original(alpha, sigma)

    monkeypatch.setattr(loss, name, recorder)
    DeepHit(alpha=3.0, sigma=0.2, max_epochs=1, **TINY).fit(
        X, make_target(TIME, np.minimum(EVENT, kinds))
    )
    assert seen == [(0.25, 0.2)]


def test_without_the_ranking_loss_it_is_calibrated_on_the_whole(model):
    model = DeepHit(alpha=1e-4, learning_rate=0.01, max_epochs=30, **TINY).fit(X, Y)
    at = np.quantile(TIME[EVENT > 0], [0.2, 0.4, 0.6, 0.8])
    floor = AalenJohansen().fit(X, Y)
    for event in (1, 2):
        mean = model.predict_cumulative_incidence(X, at, event).mean(axis=0)
        np.testing.assert_allclose(
            mean, floor.predict_cumulative_incidence(X[:1], at, event)[0], atol=0.05
        )


def test_each_kind_is_read_from_its_own_covariate(model):
    low, high = np.zeros((2, 1, 3))
    high[0, 0] = 1.5
    change = [
        model.predict_cumulative_incidence(high, [0.5], event)
        - model.predict_cumulative_incidence(low, [0.5], event)
        for event in (1, 2)
    ]
    assert change[0] > 0.1
    assert change[1] < 0.02


def test_the_representation_holds_the_last_layers_of_all_kinds(model):
    hidden = model.transform(X[:5])
    assert hidden.shape == (5, 2 * 8)
    outputs = model.network_.eval()(torch.from_numpy(X[:5]).float()).detach().numpy()
    second = hidden[:, 8:] @ model.network_.outputs[1].weight.detach().numpy().T
    np.testing.assert_allclose(
        second + model.network_.outputs[1].bias.detach().numpy(), outputs[:, 1], atol=1e-5
    )


def test_the_papers_table():
    model = DeepHit.paper("metabric", max_epochs=2)
    assert (model.shared_layers, model.shared_nodes, model.cause_layers, model.cause_nodes) == (
        3,
        100,
        1,
        100,
    )
    assert (model.activation, model.alpha, model.max_epochs) == ("tanh", 5.0, 2)
    assert DeepHit.paper("support").cause_nodes == 300
    assert DeepHit.paper("synthetic").shared_nodes == 300
    assert DeepHit.paper("seer").alpha == 0.5
    with pytest.raises(SettingError, match="dataset must be one of .*; got 'lung'"):
        DeepHit.paper("lung")


def test_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycox.models.loss", None)
    with pytest.raises(MissingExtraError, match=r"DeepHit needs pycox.*lifemix\[baselines\]"):
        DeepHit().fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": "log"}, "grid must be one of 'quantiles', 'equidistant'; got 'log'"),
        ({"activation": "sine"}, "activation must be one of"),
        ({"n_times": 0}, "n_times must be a whole number of at least 1; got 0"),
        ({"alpha": 0.0}, r"alpha must be a number above 0; got 0\.0"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        DeepHit(**options).fit(X, Y)


@pytest.mark.parametrize(
    "model", [DeepHit(**TINY, max_epochs=1), DeepSurv(hidden=(4,), max_epochs=1, preprocessor=None)]
)
def test_arrays_that_must_not_be_written_to_are_taken(model):
    """As pandas 3 gives them; PyTorch warns of such arrays, and warnings are errors here."""
    rng = np.random.default_rng(0)
    X, y = (
        rng.normal(size=(80, 3)),
        make_target(rng.exponential(size=80) + 0.1, rng.integers(0, 2, 80)),
    )
    X.flags.writeable = False
    assert model.fit(X, y).predict_survival_function(X, [0.5, 1.0]).shape == (80, 2)
    assert len(model.transform(X)) == 80
