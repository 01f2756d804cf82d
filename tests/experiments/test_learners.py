"""The models of the tables, and what was moved here from ``lifemix.baselines``."""

from importlib import import_module

import pytest

from lifemix import baselines
from lifemix.baselines import DeepHit
from lifemix.experiments.learners import DEEPHIT_CHOICES, deephit_settings


def test_the_search_draws_ten_settings_from_the_lists():
    settings = deephit_settings()
    assert len(settings) == 10
    assert settings == deephit_settings(10, 0) != deephit_settings(10, 1)
    for setting in settings:
        assert all(setting[name] in values for name, values in DEEPHIT_CHOICES.items())
        DeepHit(**setting)
    drawn = deephit_settings(300)
    assert all({setting[name] for setting in drawn} == set(values) for name, values in DEEPHIT_CHOICES.items())


@pytest.mark.parametrize("name", ["KernelPCA", "NNMF", "TrueSynthetic", "VAE", "deephit_settings"])
def test_the_baselines_name_the_new_home(name):
    with pytest.raises(AttributeError, match=rf"from lifemix.experiments.\w+ import {name}$") as error:
        getattr(baselines, name)
    module = str(error.value).split("from ")[1].split(" import")[0]
    assert callable(getattr(import_module(module), name))
