"""The knots of a spline."""

import numpy as np
import torch

from helpers.primitive_references import number
from lifemix.primitives import PRIMITIVES


def test_knots_of_a_spline_are_weighted_quantiles_and_apart_where_times_are_tied():
    family = PRIMITIVES["spline"]
    knots = torch.stack(
        family.learn_fixed(torch.arange(1000).double().flip(0), torch.ones(1000).double())
    )
    np.testing.assert_allclose(knots, [9, 249, 499, 749, 989])
    weighted = torch.stack(family.learn_fixed(number([0.0, 1.0, 2.0]), number([0.4, 0.2, 0.4])))
    np.testing.assert_allclose(weighted, [0.0, 0.05, 1.0, 2.0, 2.05])
