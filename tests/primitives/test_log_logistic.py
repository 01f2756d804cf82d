"""Log-logistic times have a mean for shapes above 1."""

import numpy as np
import torch

from lifemix.primitives import PRIMITIVES
from primitive_references import make, number


def test_log_logistic_mean_is_infinite_for_shapes_up_to_one():
    family = PRIMITIVES["loglogistic"]
    assert make(family, 0.0, 0.0).mean() == np.inf
    assert make(family, 0.0, -0.5).mean() == np.inf
    assert make(family, 0.0, -0.5).mean_beyond(number(1.0)) == np.inf
    assert torch.isfinite(make(family, 0.0, 0.1).mean())
