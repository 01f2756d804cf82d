from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from lifemix import make_target
from lifemix.baselines import DeepSurv
from lifemix.baselines.networks import seeded, train
from lifemix.errors import DivergedError, SettingError

NAN = float("nan")
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


def run(losses, **options):
    """Train a number that grows in each epoch; the validation losses are fixed in advance.

    Return the final number, its values by epoch, and the history.
    """
    network, values = Scalar(), []

    def validation():
        values.append(float(network.value.detach()))
        return torch.tensor(losses[len(values) - 1])

    model = SimpleNamespace(network_=network, **{**OPTIONS, **options})
    history = train(model, lambda rows: -network.value, validation, torch.arange(4))
    return float(network.value.detach()), values, history


def test_stops_after_patience_and_goes_back_to_the_best_epoch():
    final, values, history = run([3.0, 2.0, 1.0, 5.0, 1.5, 1.2, 0.1])
    assert history == pytest.approx([3.0, 2.0, 1.0, 5.0, 1.5, 1.2])
    assert final == values[2]
    final, values, _ = run([NAN, 2.0, NAN, NAN, NAN])
    assert final == values[1]
    with pytest.raises(DivergedError, match="no finite loss in 3 epochs with learning_rate=0.1"):
        run([NAN] * 20)


def test_stops_at_the_last_epoch_and_the_rate_decays_by_the_epoch():
    _, values, history = run([3.0, 2.0, 1.0], max_epochs=3, decay=1.0)
    assert len(history) == 3
    np.testing.assert_allclose(np.diff([0.0, *values]), [0.1, 0.1 / 2, 0.1 / 3], rtol=1e-3)


def test_seeded_restores_the_global_generator():
    before = torch.get_rng_state()
    draws = []
    for _ in range(2):
        with seeded(3):
            draws.append(torch.rand(3))
    assert torch.equal(*draws)
    assert torch.equal(torch.get_rng_state(), before)


def test_training_and_held_out_rows_need_an_event():
    y = make_target(np.arange(1.0, 11.0), np.r_[1, np.zeros(9, int)])
    with pytest.raises(SettingError, match="part needs at least one event; got none among its"):
        DeepSurv(preprocessor=None).fit(np.arange(10.0)[:, None], y)
