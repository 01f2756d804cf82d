"""The table of models: settings, factories, the tuned models and the true distribution."""

from operator import attrgetter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.models import MODELS, TrueSynthetic, deephit_settings
from experiments.protocol import DATA_SETS
from lifemix import DeepSurvivalMachines, datasets


@pytest.mark.parametrize(
    ("data", "options", "count"),
    [
        ("support", {"full_grid": False}, 144),
        ("ebmt", {"full_grid": False}, 32),
        ("ebmt", {}, 288),
        ("support", {"run": "quick"}, 6),
    ],
)
def test_dsm_has_the_papers_grid_and_a_ninth_of_it_with_competing_risks(data, options, count):
    assert len(MODELS["dsm"].candidates(data, **options)) == count


def test_every_setting_of_every_model_can_be_built():
    for model in filter(attrgetter("build"), MODELS.values()):
        data_sets = [data for data in DATA_SETS if model.is_for(data)]
        assert data_sets
        for data in data_sets:
            for setting in [*model.candidates(data)[:3], *model.candidates(data, "quick")[:3]]:
                assert hasattr(model.build(data, setting, 3), "fit")


@pytest.mark.parametrize(("data", "competing"), [("support", False), ("ebmt", True)])
def test_the_tuned_model_of_the_tables_is_that_of_the_package(data, competing):
    (setting,) = MODELS["tuned"].settings(data)
    model = MODELS["tuned"].build(data, setting, 0)
    assert str(model.get_params()) == str(DeepSurvivalMachines.tuned(competing).get_params())


def test_trees_are_averaged_in_with_the_discount_of_the_setting():
    settings = MODELS["tuned-trees"].settings("metabric")
    assert [setting["discount"] for setting in settings] == [1.0, 0.5]
    model = MODELS["tuned-trees"].build("metabric", settings[1], 3)
    assert model.discount == 0.5
    names = [type(estimator).__name__ for estimator in model.estimators]
    assert names == ["DeepSurvivalMachines", "GradientBoosting"]
    assert len(MODELS["tuned-trees"].settings("synthetic")) == 1


def test_deephit_settings_are_drawn_reproducibly():
    assert deephit_settings(10) == deephit_settings(10)
    assert len({str(setting) for setting in deephit_settings(10)}) == 10


def test_true_synthetic_is_the_distribution_of_the_data():
    data = datasets.make_synthetic(200, truth=True)
    times = np.array([0.0, 3.0, 40.0])
    model, survival = TrueSynthetic().fit(data.X, data.y), data.truth.rounded.survival(times)
    assert_allclose(model.predict_survival_function(data.X, times), survival)
    total = sum(model.predict_cumulative_incidence(data.X, times, event) for event in (1, 2))
    assert_allclose(total, 1 - survival, atol=1e-12)
    net = [model.predict_net_survival(data.X, times, event) for event in (1, 2)]
    assert_allclose(net[0] * net[1], survival)
    assert np.isfinite(model.predict_survival_function(data.X[:1] * 0, times)).all()
