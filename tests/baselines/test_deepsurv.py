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
TIME = np.ceil(RNG.exponential(np.exp(X[:, 1] - X[:, 0] ** 2)) * 50) / 50
CENSORING = np.ceil(RNG.uniform(0, 3, 600) * 50) / 50
Y = make_target(np.minimum(TIME, CENSORING), TIME <= CENSORING)


@pytest.fixture(scope="module")
def model():
    return DeepSurv(hidden=(32, 16), batch_size=64, max_epochs=40, preprocessor=None).fit(X, Y)


def test_learns_a_risk_that_is_not_linear(model):
    rng = np.random.default_rng(1)
    X_test = rng.normal(size=(500, 3))
    risk = X_test[:, 0] ** 2 - X_test[:, 1]
    y = make_target(rng.exponential(np.exp(-risk)), np.ones(500, int))
    assert concordance(y, model.predict(X_test)) > concordance(y, risk) - 0.05
    assert min(model.history_) < model.history_[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_equals_pycox(seed):
    loss = pytest.importorskip("pycox.models.loss")
    rng = np.random.default_rng(seed)
    risk = torch.tensor(rng.normal(size=200), dtype=torch.float32)
    time = torch.tensor(np.ceil(rng.exponential(size=200) * 10))  # with ties
    event = torch.tensor(rng.random(200) < 0.6).float()
    expected = float(loss.cox_ph_loss(risk, time, event))
    assert float(cox_loss(risk, time, event)) == pytest.approx(expected, abs=1e-5)
    assert float(cox_loss(risk, time, torch.zeros(200))) == 0.0


def test_survival_equals_pycox_for_the_same_network(model):
    pycox = pytest.importorskip("pycox.models").CoxPH(model.network_)
    inputs = X.astype("float32")
    pycox.compute_baseline_hazards(inputs, (Y["time"], Y["event"].astype("float32")))
    expected = pycox.predict_surv_df(inputs[:20])
    survival = model.predict_survival_function(X[:20], expected.index.to_numpy())
    np.testing.assert_allclose(survival, expected.to_numpy().T, atol=1e-5)


def test_the_representation_is_the_input_of_the_output_layer(model):
    hidden = model.transform(X[:10])
    assert hidden.shape == (10, 16)
    outputs = hidden @ model.network_.output.weight.detach().numpy()[0]
    np.testing.assert_allclose(np.diff(outputs), np.diff(model.predict(X[:10])), atol=1e-5)


def test_published_settings():
    names = ["hidden", "activation", "dropout", "learning_rate", "l2", "decay", "batch_size"]
    expected = {
        "support": [(44,), "selu", 0.2553, 0.0473, 8.12, 0.00257, None],
        "metabric": [(41,), "selu", 0.1601, 0.0103, 10.89, 0.00417, None],
    }
    for dataset, values in expected.items():
        model = DeepSurv.paper(dataset, max_epochs=3)
        assert [getattr(model, name) for name in names] == values
        assert model.max_epochs == 3
        model.fit(X, Y)
    with pytest.raises(SettingError, match="one of 'support', 'metabric'; got 'seer'"):
        DeepSurv.paper("seer")


def test_l2_shrinks_the_output_weights():
    models = [DeepSurv(hidden=(8,), l2=l2, max_epochs=20).fit(X, Y) for l2 in (0.0, 1000.0)]
    free, shrunk = (model.network_.output.weight.detach().square().sum() for model in models)
    assert shrunk < free / 2
