"""The hazard of power generalised Weibull times."""

import numpy as np
import torch

from helpers.primitive_references import number
from lifemix.primitives import PRIMITIVES


def test_power_generalised_weibull_has_a_bathtub():
    p = PRIMITIVES["powergeneralisedweibull"](number(np.log(0.5)), number(0.0), number(np.log(6.0)))
    t = torch.logspace(-3, 1, 200, dtype=torch.float64)
    hazard = (p.log_pdf(t) - p.log_survival(t)).exp()
    lowest = int(hazard.argmin())
    assert 0 < lowest < 199
    assert (hazard[: lowest + 1].diff() < 0).all()
    assert (hazard[lowest:].diff() > 0).all()
