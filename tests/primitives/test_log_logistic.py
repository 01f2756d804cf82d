"""Log-logistic times have a mean for shapes above 1."""

import numpy as np
import pytest

from helpers.primitive_references import number
from lifemix.distribution import MixtureDistribution
from lifemix.primitives import LogLogistic, Mixture


@pytest.mark.parametrize(("log_shape", "is_finite"), [(0.0, False), (-0.5, False), (0.1, True)])
def test_log_logistic_mean_is_infinite_for_shapes_up_to_one(log_shape, is_finite):
    zero = number([[0.0]])
    d = MixtureDistribution(Mixture(zero, LogLogistic(zero + log_shape, zero)))
    assert np.isfinite(d.mean()) == is_finite
    assert np.isfinite(d.given(1.0).mean()) == is_finite
