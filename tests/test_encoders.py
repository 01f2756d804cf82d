"""Encoders of histories: padding, order, empty histories, declarations."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from lifemix.encoders import Attention, Recurrent, redrawn
from lifemix.errors import CovariateError, SettingError
from lifemix.histories import Block, Histories
from lifemix.preprocessing import SequencePreprocessor

ENCODERS = [
    Recurrent(hidden=6),
    Recurrent(hidden=6, cell="lstm", layers=2),
    Attention(hidden=8, heads=2, layers=2),
]


def sequences(n=6, seed=0):
    values = np.random.default_rng(seed).normal(size=(n, 5, 2))
    for i in range(n):
        values[i, 1 + i % 5 :] = np.nan
    return Histories.from_array(values)


def encode(encoder, histories, fitted):
    network = redrawn(encoder.build(fitted.blocks_), 3).eval()
    with torch.no_grad():
        return network(torch.from_numpy(fitted.transform(histories)))


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_padding_changes_nothing(encoder):
    histories = sequences()
    fitted = SequencePreprocessor().fit(histories)
    together = encode(encoder, histories, fitted)
    alone = torch.cat([encode(encoder, histories[i], fitted) for i in range(len(histories))])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_earlier_visits_matter(encoder):
    values = np.random.default_rng(0).normal(size=(2, 4, 1))
    values[1, -1] = values[0, -1]  # the same last visit
    histories = Histories.from_array(values)
    first, second = encode(encoder, histories, SequencePreprocessor().fit(histories))
    assert (first - second).abs().max() > 1e-3


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_empty_histories_have_features(encoder):
    histories = sequences()
    fitted = SequencePreprocessor().fit(histories)
    features = encode(encoder, histories.until(-1.0, empty="keep"), fitted)
    assert torch.isfinite(features).all()


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_declarations_are_cloned(encoder):
    copied = clone(encoder).set_params(hidden=4, dropout=0.0)
    assert copied.get_params()["hidden"] == 4
    assert encoder.get_params()["hidden"] != 4


def test_starting_weights_leave_the_global_generator_alone():
    blocks = (Block("visits", "visits", (3, 4), n_values=2),)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    redrawn(Recurrent(hidden=2).build(blocks), 1)
    assert (torch.rand(3) == expected).all()


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (Recurrent(hidden=0), "hidden must be a whole number of at least 1"),
        (Recurrent(cell="rnn"), "cell must be one of 'gru', 'lstm'; got 'rnn'"),
        (Recurrent(max_visits=0), "max_visits must be"),
        (Attention(hidden=6, heads=4), "heads must divide hidden; got heads=4 and hidden=6"),
        (Attention(dropout=1.0), "dropout must be a number from 0 to 0.95"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(encoder, message):
    with pytest.raises(SettingError, match=message):
        encoder.build((Block("visits", "visits", (3, 4), n_values=2),))


def test_sources_without_histories_are_refused():
    with pytest.raises(
        CovariateError, match=r"Recurrent encodes sequences.*got {'clinic': \('n', 3\)}"
    ):
        Recurrent().build((Block("clinic", "table", (3,)),))
