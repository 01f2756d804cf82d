from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from lifemix import make_target
from lifemix.baselines import DeepSurv
from lifemix.baselines.networks import seeded, train
from lifemix.errors import DivergedError, SettingError

OPTIONS = {
    "learning_rate": 0.1,
    "decay": 0.0,
    "weight_decay": 0.0,
    "batch_size": None,
    "max_epochs": 20,
    "patience": 3,
}


class Scalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))


def run(losses, **changes):
    """Train a number that grows in each epoch, with validation losses given beforehand."""
    network, seen = Scalar(), []

    def validation():
        seen.append(float(network.value.detach()))
        return torch.tensor(losses[len(seen) - 1])

    model = SimpleNamespace(network_=network, **{**OPTIONS, **changes})
    history = train(model, lambda rows: -network.value, validation, torch.arange(4))
    return float(network.value.detach()), seen, history


def test_stops_after_patience_and_goes_back_to_the_best_epoch():
    final, seen, history = run([3.0, 2.0, 1.0, 5.0, 1.5, 1.2, 0.1])
    assert history == pytest.approx([3.0, 2.0, 1.0, 5.0, 1.5, 1.2])
    assert final == seen[2]


def test_stops_at_the_last_epoch():
    _, _, history = run([3.0, 2.0, 1.0], max_epochs=3)
    assert len(history) == 3


def test_a_loss_that_is_not_a_number_is_never_the_best():
    final, seen, _ = run([float("nan"), 2.0, float("nan"), float("nan"), float("nan")])
    assert final == seen[1]
    with pytest.raises(
        DivergedError, match="training diverged: no finite loss in 3 epochs with learning_rate=0.1"
    ):
        run([float("nan")] * 20)


def test_the_rate_decays_by_the_epoch():
    _, seen, _ = run([3.0, 2.0, 1.0], max_epochs=3, decay=1.0)
    np.testing.assert_allclose(np.diff([0.0, *seen]), [0.1, 0.1 / 2, 0.1 / 3], rtol=1e-3)


def test_seeded_gives_the_global_generator_back():
    before = torch.get_rng_state()
    with seeded(3):
        one = torch.rand(3)
    with seeded(3):
        assert torch.equal(torch.rand(3), one)
    assert torch.equal(torch.get_rng_state(), before)


def test_both_parts_need_an_event():
    y = make_target(np.arange(1.0, 11.0), np.r_[1, np.zeros(9, int)])
    with pytest.raises(SettingError, match="part needs at least one event; got none among its"):
        DeepSurv(preprocessor=None).fit(np.arange(10.0)[:, None], y)
