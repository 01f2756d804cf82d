import numpy as np
import pytest
import torch

from lifemix import make_target
from lifemix.baselines import DeepSurv
from lifemix.baselines.deepsurv import cox_loss
from lifemix.errors import SettingError
from lifemix.metrics import concordance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
RISK = X[:, 0] ** 2 - X[:, 1]
TIME = np.ceil(RNG.exponential(np.exp(-RISK)) * 50) / 50
CENSORING = np.ceil(RNG.uniform(0, 3, 600) * 50) / 50
Y = make_target(np.minimum(TIME, CENSORING), TIME <= CENSORING)


@pytest.fixture(scope="module")
def model():
    return DeepSurv(hidden=(32, 16), batch_size=64, max_epochs=40, preprocessor=None).fit(X, Y)


def test_learns_a_risk_that_is_not_linear(model):
    rng = np.random.default_rng(1)
    new = rng.normal(size=(500, 3))
    truth = new[:, 0] ** 2 - new[:, 1]
    y = make_target(rng.exponential(np.exp(-truth)), np.ones(500, int))
    best = concordance(y, truth)
    assert concordance(y, model.predict(new)) > best - 0.05
    assert min(model.history_) < model.history_[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_that_of_pycox(seed):
    loss = pytest.importorskip("pycox.models.loss", reason="compares the loss with pycox's")
    rng = np.random.default_rng(seed)
    risk = torch.tensor(rng.normal(size=200), dtype=torch.float32)
    time = torch.tensor(np.ceil(rng.exponential(size=200) * 10))  # with ties
    event = torch.tensor(rng.random(200) < 0.6).float()
    expected = float(loss.cox_ph_loss(risk, time, event))
    assert float(cox_loss(risk, time, event)) == pytest.approx(expected, abs=1e-5)
    assert float(cox_loss(risk, time, torch.zeros(200))) == 0.0


def test_survival_is_that_of_pycox_for_the_same_network(model):
    models = pytest.importorskip("pycox.models", reason="compares curves with pycox's")
    pycox = models.CoxPH(model.network_)
    inputs, target = X.astype("float32"), (Y["time"], Y["event"].astype("float32"))
    pycox.compute_baseline_hazards(inputs, target)
    expected = pycox.predict_surv_df(inputs[:20])
    times = expected.index.to_numpy()
    np.testing.assert_allclose(
        model.predict_survival_function(X[:20], times), expected.to_numpy().T, atol=1e-5
    )


def test_the_representation_is_what_the_output_layer_reads(model):
    hidden = model.transform(X[:10])
    assert hidden.shape == (10, 16)
    outputs = hidden @ model.network_.output.weight.detach().numpy()[0]
    np.testing.assert_allclose(np.diff(outputs), np.diff(model.predict(X[:10])), atol=1e-5)


def test_published_settings():
    model = DeepSurv.paper("support", max_epochs=3)
    assert (model.hidden, model.activation, model.dropout) == ((44,), "selu", 0.2553)
    assert (model.learning_rate, model.l2, model.decay, model.batch_size) == (
        0.0473,
        8.12,
        0.00257,
        None,
    )
    assert model.max_epochs == 3
    model.fit(X, Y)
    metabric = DeepSurv.paper("metabric")
    assert (metabric.hidden, metabric.dropout, metabric.learning_rate) == ((41,), 0.1601, 0.0103)
    assert (metabric.l2, metabric.decay) == (10.89, 0.00417)
    with pytest.raises(
        SettingError, match="dataset must be one of 'support', 'metabric'; got 'seer'"
    ):
        DeepSurv.paper("seer")


def test_l2_holds_the_output_weights_back():
    norms = [
        DeepSurv(hidden=(8,), l2=l2, max_epochs=30)
        .fit(X, Y)
        .network_.output.weight.detach()
        .square()
        .sum()
        .item()
        for l2 in (0.0, 1000.0)
    ]
    assert norms[1] < norms[0] / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": (4, 0)}, "hidden must be a sequence of widths such as .*; got \\(4, 0\\)"),
        ({"activation": "sine"}, "activation must be one of 'relu6', 'relu', .*; got 'sine'"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1"),
        (
            {"validation_fraction": 0.0},
            "validation_fraction must be a number above 0 and at most 0.9",
        ),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        DeepSurv(**options).fit(X, Y)
