"""The table of models: settings, factories, the tuned models and the true distribution."""

import numpy as np
import pytest

from experiments.models import MODELS, TrueSynthetic, deephit_settings
from experiments.protocol import DATA_SETS
from lifemix import DeepSurvivalMachines, baselines, datasets


def test_dsm_has_the_papers_grid_and_a_ninth_of_it_with_competing_risks():
    dsm = MODELS["dsm"]
    sizes = [len(dsm.candidates(data, full_grid=False)) for data in ("support", "ebmt")]
    assert [*sizes, len(dsm.candidates("ebmt")), len(dsm.candidates("support", "quick"))] == [
        144,
        32,
        288,
        6,
    ]


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.build])
def test_every_setting_of_every_model_can_be_built(name):
    model = MODELS[name]
    data_sets = [data for data in DATA_SETS if model.is_for(data)]
    assert data_sets
    for data in data_sets:
        for run in ("full", "quick"):
            for setting in model.candidates(data, run)[:3]:
                assert hasattr(model.build(data, setting, 3), "fit")


@pytest.mark.parametrize(("data", "competing"), [("support", False), ("ebmt", True)])
def test_the_tuned_model_of_the_tables_is_that_of_the_package(data, competing):
    (setting,) = MODELS["tuned"].settings(data)
    ours = DeepSurvivalMachines.tuned(competing).get_params()
    theirs = MODELS["tuned"].build(data, setting, 0).get_params()
    assert {name: str(value) for name, value in ours.items()} == {
        name: str(value) for name, value in theirs.items()
    }


def test_trees_are_averaged_in_with_the_discount_of_the_setting():
    first, second = MODELS["tuned-trees"].settings("metabric")
    assert (first["discount"], second["discount"]) == (1.0, 0.5)
    model = MODELS["tuned-trees"].build("metabric", second, 3)
    assert model.discount == 0.5
    assert [type(estimator) for estimator in model.estimators] == [
        DeepSurvivalMachines,
        baselines.GradientBoosting,
    ]
    assert len(MODELS["tuned-trees"].settings("synthetic")) == 1


def test_deephit_settings_are_drawn_reproducibly():
    assert deephit_settings(10) == deephit_settings(10)
    assert len({str(setting) for setting in deephit_settings(10)}) == 10


def test_true_synthetic_is_the_distribution_of_the_data():
    data = datasets.make_synthetic(200, truth=True)
    times = np.array([0.0, 3.0, 40.0])
    model, truth = TrueSynthetic().fit(data.X, data.y), data.truth.rounded
    np.testing.assert_allclose(
        model.predict_survival_function(data.X, times), truth.survival(times)
    )
    total = sum(model.predict_cumulative_incidence(data.X, times, event) for event in (1, 2))
    np.testing.assert_allclose(total, 1 - truth.survival(times), atol=1e-12)
    net = [model.predict_net_survival(data.X, times, event) for event in (1, 2)]
    np.testing.assert_allclose(net[0] * net[1], truth.survival(times))
    assert np.isfinite(model.predict_survival_function(data.X[:1] * 0, times)).all()
