"""Log-normal times far in the tails."""

import numpy as np
import torch
from scipy import stats

from helpers.primitive_references import make, number
from lifemix.primitives import LogNormal


def test_log_survival_far_in_the_tail_is_not_log_of_zero():
    """1 - cdf is 0 here in float32: the true value is -20.7."""
    p = make(LogNormal, 0.0, 0.0, torch.float32)
    np.testing.assert_allclose(
        p.log_survival(torch.tensor(400.0)).item(), stats.norm.logsf(np.log(400)), rtol=1e-5
    )


def test_quantiles_far_in_the_tail_and_of_levels_0_and_1():
    p = make(LogNormal, 0.0, 3.0)
    log_s = number([-1e-12, -1.0, -599.0, -700.0, -1e5])
    np.testing.assert_allclose(p.log_survival(p.inverse_log_survival(log_s)), log_s, rtol=1e-9)
    np.testing.assert_array_equal(p.quantile(number([0.0, 1.0])), [0.0, np.inf])
