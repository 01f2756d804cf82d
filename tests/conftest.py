"""Hypothesis without deadlines (machines are shared), and with fixed draws where a build must not depend on luck."""

import os

from hypothesis import settings

settings.register_profile("lifemix", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lifemix")
