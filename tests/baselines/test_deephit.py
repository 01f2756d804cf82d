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
def test_the_loss_equals_pycox(n_events, alpha, sigma):
    """The paper's alpha weighs the ranking loss; pycox's is ``1 / (1 + alpha)``."""
    losses = pytest.importorskip("pycox.models.loss")
    from pycox.models.data import pair_rank_mat

    rng = np.random.default_rng(n_events)
    scores = torch.tensor(rng.normal(size=(60, n_events, 8)), dtype=torch.float32)
    interval, event = rng.integers(0, 8, 60), rng.integers(0, n_events + 1, 60)
    pairs = torch.from_numpy(pair_rank_mat(interval, event))
    rows = torch.from_numpy(interval), torch.from_numpy(event)
    if n_events == 1:
        pycox_loss, pycox_scores = losses.DeepHitSingleLoss, scores[:, 0]
    else:
        pycox_loss, pycox_scores = losses.DeepHitLoss, scores
    expected = float(pycox_loss(1 / (1 + alpha), sigma)(pycox_scores, *rows, pairs))
    assert float(deephit_loss(scores, *rows, alpha, sigma)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.001])
def test_the_loss_is_finite_and_has_a_gradient_for_certain_predictions(sigma):
    scores = torch.full((2, 1, 3), -200.0)
    scores[:, 0, 0] = 200.0
    scores.requires_grad_()
    loss = deephit_loss(scores, torch.tensor([2, 0]), torch.tensor([1, 0]), 0.5, sigma)
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()
    assert scores.grad.abs().max() > 0.1


def test_events_count_in_their_interval_and_censored_rows_in_the_last_observed(monkeypatch):
    """Grid 1, 2, 3; rows censored before the first end of an interval carry no information."""
    batches = []

    def record(scores, interval, event, alpha, sigma):
        batches.append(sorted(zip(interval.tolist(), event.tolist(), strict=True)))
        return scores.sum() * 0.0

    monkeypatch.setattr("lifemix.baselines.deephit.deephit_loss", record)
    time, event = [0.5, 1.0, 2.0, 3.0, 0.5, 1.0, 1.5, 9.0], [1, 1, 2, 1, 0, 0, 0, 0]
    options = {**TINY, "n_times": 3, "max_epochs": 1, "batch_size": 32}
    model = DeepHit(**options).fit(X[:32], make_target(time * 4, event * 4))
    np.testing.assert_allclose(model.grid_, [1.0, 2.0, 3.0])
    assert sum(map(len, batches)) == 28
    assert set(batches[0]) | set(batches[1]) == {(0, 1), (1, 2), (2, 1), (0, 0), (2, 0)}


def test_grids_end_at_the_last_event_time():
    target = as_target(([1.0, 2.0, 2.0, 4.0, 8.0, 10.0], [1, 1, 2, 1, 1, 0]))
    np.testing.assert_allclose(interval_ends(target, 5), [2, 4, 8])


def test_interpolation_equals_pycox():
    models = pytest.importorskip("pycox.models")
    single = DeepHit(max_epochs=3, **TINY).fit(X, make_target(TIME, EVENT > 0))

    class FromZero(torch.nn.Module):
        """The distribution with a point without mass at time 0, where pycox's grids begin."""

        def __init__(self):
            super().__init__()
            self.network = single.network_

        def forward(self, x):
            return torch.cat([torch.full((len(x), 1), -1e9), self.network(x)[:, 0]], dim=1)

    pycox = models.DeepHitSingle(FromZero(), duration_index=np.append(0.0, single.grid_))
    expected = pycox.interpolate(10, scheme="const_pdf").predict_surv_df(X[:20].astype("float32"))
    survival = single.predict_survival_function(X[:20], expected.index.to_numpy())
    np.testing.assert_allclose(survival, expected.to_numpy().T, atol=1e-5)


def test_without_the_ranking_loss_the_mean_is_calibrated():
    model = DeepHit(alpha=1e-4, learning_rate=0.01, max_epochs=20, **TINY).fit(X, Y)
    times, marginal = np.quantile(TIME[EVENT > 0], [0.2, 0.4, 0.6, 0.8]), AalenJohansen().fit(X, Y)
    for event in (1, 2):
        mean = model.predict_cumulative_incidence(X, times, event).mean(axis=0)
        expected = marginal.predict_cumulative_incidence(X[:1], times, event)[0]
        np.testing.assert_allclose(mean, expected, atol=0.05)


def test_each_event_type_depends_on_its_covariate(model):
    x = np.array([[0.0, 0, 0], [1.5, 0, 0]])
    first, second = (np.diff(model.predict_cumulative_incidence(x, [0.5], m).T) for m in (1, 2))
    assert first > 0.1
    assert second < 0.02


def test_the_representation_holds_the_last_layers_of_all_event_types(model):
    hidden = model.transform(X[:5])
    assert hidden.shape == (5, 2 * 8)
    outputs = model.network_.eval()(torch.from_numpy(X[:5]).float())[:, 1]
    second = model.network_.outputs[1](torch.from_numpy(hidden[:, 8:]).float())
    np.testing.assert_allclose(second.detach(), outputs.detach(), atol=1e-5)


def test_published_settings():
    model = DeepHit.paper("metabric", max_epochs=2)
    layers = (model.shared_layers, model.shared_nodes, model.cause_layers, model.cause_nodes)
    assert layers == (3, 100, 1, 100)
    assert (model.activation, model.alpha, model.max_epochs) == ("tanh", 5.0, 2)
    assert DeepHit.paper("support").cause_nodes == 300
    assert DeepHit.paper("synthetic").shared_nodes == 300
    assert DeepHit.paper("seer").alpha == 0.5
    with pytest.raises(SettingError, match="dataset must be one of .*; got 'lung'"):
        DeepHit.paper("lung")


@pytest.mark.parametrize("estimator", [DeepHit, DeepSurv])
def test_read_only_arrays_are_taken(estimator):
    """As pandas 3 has them; PyTorch warns of such arrays, and warnings are errors here."""
    x = X[:80].copy()
    x.flags.writeable = False
    model = estimator(max_epochs=1, preprocessor=None).fit(x, make_target(TIME, EVENT > 0)[:80])
    assert model.predict_survival_function(x, [0.5, 1.0]).shape == (80, 2)
    assert len(model.transform(x)) == 80
