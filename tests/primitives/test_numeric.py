"""Quantiles and integrals without a closed form."""

import math

import pytest
import torch

from helpers.custom_primitives import members
from helpers.primitive_references import ALL
from lifemix.primitives import Primitive, numeric


@ALL
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_times_of_levels_are_found_where_steps_are_lost_in_rounding(family, dtype, tolerance):
    levels = -torch.tensor([1e-30, 1e-9, 1e-3, 0.1, 0.6931, 1.0, 5.0, 50.0], dtype=dtype)
    points = torch.cartesian_prod(
        torch.tensor([-3.0, 0.0, 3.0], dtype=dtype), torch.linspace(-1.5, 3, 10, dtype=dtype)
    )
    p = members(family, *points.T[:, :, None])
    t = Primitive.inverse_log_survival(p, levels)  # those of the families' own are not asked
    is_finite = torch.isfinite(t) & (t < math.exp(0.99 * numeric.LOG_TIME_LIMITS[dtype]))
    assert is_finite.double().mean() > 0.9
    log_cdf = numeric.log_of_complement(levels, torch.log(-levels))
    by_survival = (p.log_survival(t) - levels).abs() / (1 + levels.abs())
    by_cdf = (p.log_cdf(t) - log_cdf).abs() / (1 + log_cdf.abs())
    assert torch.minimum(by_survival, by_cdf)[is_finite].max() < tolerance
