"""The models of the tables."""

from experiments.learners import DEEPHIT_CHOICES, deephit_settings
from lifemix.baselines import DeepHit


def test_the_search_draws_ten_settings_from_the_lists():
    settings = deephit_settings()
    assert len(settings) == 10
    assert settings == deephit_settings(10, 0) != deephit_settings(10, 1)
    for setting in settings:
        assert all(setting[name] in values for name, values in DEEPHIT_CHOICES.items())
        DeepHit(**setting)
    drawn = deephit_settings(300)
    assert all(
        {setting[name] for setting in drawn} == set(values)
        for name, values in DEEPHIT_CHOICES.items()
    )
