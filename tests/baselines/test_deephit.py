import numpy as np
import pytest
import torch

from lifemix import make_target
from lifemix.baselines import AalenJohansen, DeepHit, DeepSurv
from lifemix.baselines.base import interval_ends
from lifemix.baselines.deephit import deephit_loss
from lifemix.errors import SettingError
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


@pytest.mark.parametrize("n_events", [1, 2, 3])
@pytest.mark.parametrize(("alpha", "sigma"), [(0.5, 0.1), (3.0, 0.2), (0.1, 1.0)])
def test_the_loss_is_that_of_pycox(n_events, alpha, sigma):
    """The paper's alpha weighs the ranking loss; pycox's is ``1 / (1 + alpha)``."""
    losses = pytest.importorskip("pycox.models.loss", reason="compares the losses with pycox's")
    from pycox.models.data import pair_rank_mat

    rng = np.random.default_rng(n_events)
    scores = torch.tensor(rng.normal(size=(60, n_events, 8)), dtype=torch.float32)
    interval = rng.integers(0, 8, 60)
    event = rng.integers(0, n_events + 1, 60)
    pairs = torch.from_numpy(pair_rank_mat(interval, event))
    interval, event = torch.from_numpy(interval), torch.from_numpy(event)
    name = "DeepHitSingleLoss" if n_events == 1 else "DeepHitLoss"
    pycox_scores = scores[:, 0] if n_events == 1 else scores
    pycox_loss = getattr(losses, name)(1.0 / (1.0 + alpha), sigma)
    expected = float(pycox_loss(pycox_scores, interval, event, pairs))
    result = float(deephit_loss(scores, interval, event, alpha, sigma))
    assert result == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.001])
def test_the_loss_is_finite_and_has_a_gradient_for_sure_predictions(sigma):
    scores = torch.full((2, 1, 3), -200.0)
    scores[:, 0, 0] = 200.0
    scores.requires_grad_()
    loss = deephit_loss(scores, torch.tensor([2, 0]), torch.tensor([1, 0]), 0.5, sigma)
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()
    assert scores.grad.abs().max() > 0.1


def test_events_count_where_they_fall_and_censored_rows_where_they_were_observed_last(monkeypatch):
    """Grid 1, 2, 3; rows censored before the first end of an interval carry no information."""
    batches = []

    def record(scores, interval, event, alpha, sigma):
        batches.append(sorted(zip(interval.tolist(), event.tolist(), strict=True)))
        return scores.sum() * 0.0

    monkeypatch.setattr("lifemix.baselines.deephit.deephit_loss", record)
    time, event = [0.5, 1.0, 2.0, 3.0, 0.5, 1.0, 1.5, 9.0], [1, 1, 2, 1, 0, 0, 0, 0]
    y = make_target(time * 4, event * 4)
    options = {**TINY, "n_times": 3, "max_epochs": 1, "batch_size": 32}
    model = DeepHit(**options).fit(X[:32], y)
    np.testing.assert_allclose(model.grid_, [1.0, 2.0, 3.0])
    assert sum(map(len, batches)) == 28
    assert set(batches[0]) | set(batches[1]) == {(0, 1), (1, 2), (2, 1), (0, 0), (2, 0)}


def test_grids_end_at_the_last_event_time():
    target = as_target(([1.0, 2.0, 2.0, 4.0, 8.0, 10.0], [1, 1, 2, 1, 1, 0]))
    np.testing.assert_allclose(interval_ends(target, 5), [2, 4, 8])


def test_interpolation_is_that_of_pycox():
    models = pytest.importorskip("pycox.models", reason="compares curves with pycox's")
    y = make_target(TIME, EVENT > 0)
    single = DeepHit(max_epochs=3, **TINY).fit(X, y)

    class FromZero(torch.nn.Module):
        """The same distribution with one more point at time 0, where pycox's grids begin, that has no mass."""

        def __init__(self):
            super().__init__()
            self.network = single.network_

        def forward(self, x):
            scores = self.network(x)[:, 0]
            return torch.cat([torch.full((len(x), 1), -1e9), scores], dim=1)

    grid = np.append(0.0, single.grid_)
    pycox = models.DeepHitSingle(FromZero(), duration_index=grid)
    expected = pycox.interpolate(10, scheme="const_pdf").predict_surv_df(X[:20].astype("float32"))
    got = single.predict_survival_function(X[:20], expected.index.to_numpy())
    np.testing.assert_allclose(got, expected.to_numpy().T, atol=1e-5)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
