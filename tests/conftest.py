"""Primitives of the tests' own; Hypothesis without deadlines (machines are shared), and with fixed draws in builds."""

import os

from hypothesis import settings

import own_primitives  # noqa: F401, registered before tests are collected, which run over all that are

settings.register_profile("lifemix", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lifemix")
