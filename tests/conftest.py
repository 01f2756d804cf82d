"""Small settings and primitives of the tests' own; Hypothesis without deadlines, and with fixed draws in builds."""

import os

import pytest
from hypothesis import settings

import own_primitives  # noqa: F401, registered before tests are collected, which run over all that are
from lifemix.estimators.automatic import ONE_NETWORK

settings.register_profile("lifemix", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lifemix")


@pytest.fixture(autouse=True)
def small_settings(request, monkeypatch):
    """Let settings that follow from the table be small ones, whatever the table; marked ``automatic``: the true ones.

    The ensemble is the point of few tests, and would take most of the time of all of them.
    """
    if request.node.get_closest_marker("automatic") is None:
        monkeypatch.setattr("lifemix.estimators.automatic.choose", lambda *_: dict(ONE_NETWORK))
