"""The same settings and the same seed give the predictions that version 0.1.0 gave: see ``references/predictions``."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines
from references.predictions.make import CASES, EVERY_SETTING, model_of, predictions

STORED = json.loads(
    (Path(__file__).parents[1] / "references" / "predictions" / "predictions.json").read_text()
)["cases"]
LATER = {
    "callbacks",
    "cure",
    "rounding",
}  # settings that version 0.1.0 did not have; their defaults change nothing


@pytest.mark.parametrize("name", STORED)
def test_a_fit_predicts_what_it_predicted_in_version_0_1_0(name):
    found, stored = predictions(name), STORED[name]
    assert found.pop("best_epoch") == stored["best_epoch"]
    for part, values in found.items():
        np.testing.assert_allclose(values, stored[part], rtol=1e-5, atol=1e-5, err_msg=part)


def test_every_setting_is_written_out_and_every_case_is_stored():
    settings = set(inspect.signature(DeepSurvivalMachines).parameters)
    assert settings - LATER == set(EVERY_SETTING)
    assert list(STORED) == list(CASES)


def test_the_paper_s_cases_have_the_paper_s_settings():
    for name, primitive in (("paper", "weibull"), ("paper, lognormal", "lognormal")):
        model, paper = model_of(name), DeepSurvivalMachines.paper(primitive)
        for setting in (
            "objective",
            "shift_activation",
            "bias",
            "activation",
            "prior_strength",
            "optimizer",
            "k",
        ):
            assert getattr(model, setting) == getattr(paper, setting), setting
