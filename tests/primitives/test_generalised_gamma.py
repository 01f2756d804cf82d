"""Generalised gamma times: their special cases and their derivatives."""

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import torch

from helpers.primitive_references import alone, generalised_gamma, number
from lifemix.primitives import PRIMITIVES


def test_generalised_gamma_contains_the_others():
    t, mu, log_sigma = number([1e-3, 0.2, 1.0, 3.0, 40.0]), number(0.3), number(-0.2)
    special_cases = {
        1.0: PRIMITIVES["weibull"].from_location(mu, -log_sigma),
        0.0: PRIMITIVES["lognormal"].from_location(mu, -log_sigma),
        1e-9: PRIMITIVES["lognormal"].from_location(mu, -log_sigma),
        float(np.exp(-0.2)): PRIMITIVES["gamma"](-2 * log_sigma, mu + 2 * log_sigma),
    }
    for q, special in special_cases.items():
        p = PRIMITIVES["generalisedgamma"](mu, log_sigma, number(q))
        np.testing.assert_allclose(p.log_survival(t), special.log_survival(t), rtol=1e-6)
        np.testing.assert_allclose(p.log_pdf(t), special.log_pdf(t), rtol=1e-7)
        np.testing.assert_allclose(alone(p).mean(), alone(special).mean(), rtol=1e-7)


@pytest.mark.parametrize("q", [-2.0, -0.5, -0.05, 0.2, 0.31, 0.33, 1.0, 2.5])
def test_generalised_gamma_has_the_derivatives_of_sixty_digits_in_every_parameter(q):
    point, h = [0.2, -0.3, q], mpmath.mpf("1e-20")
    for t in (0.05, 1.0, 6.0):
        leaves = [number(value).requires_grad_() for value in point]
        p = PRIMITIVES["generalisedgamma"](*leaves)
        for index, name in ((0, "log_survival"), (1, "log_cdf"), (2, "log_pdf")):
            ours = torch.autograd.grad(getattr(p, name)(number(t)), leaves, retain_graph=True)
            with mpmath.workdps(60):
                for i in range(3):
                    ends = []
                    for sign in (-1, 1):
                        moved = [
                            mpmath.mpf(value) + (sign * h if j == i else 0)
                            for j, value in enumerate(point)
                        ]
                        like = SimpleNamespace(
                            **dict(zip(("mu", "log_sigma", "q"), map(Exactly, moved), strict=True))
                        )
                        ends.append(mpmath.log(generalised_gamma(like, mpmath.mpf(t))[index]))
                    exactly = float((ends[1] - ends[0]) / (2 * h))
                np.testing.assert_allclose(ours[i], exactly, rtol=1e-8, atol=1e-10)


def test_generalised_gamma_has_smooth_derivatives_where_it_is_log_normal():
    slopes = []
    for q in (-1e-4, 0.0, 1e-4):
        leaves = [number(value).requires_grad_() for value in (0.2, -0.3, q)]
        p = PRIMITIVES["generalisedgamma"](*leaves)
        total = p.log_survival(number([0.1, 2.0])).sum() + p.log_pdf(number([0.3, 3.0])).sum()
        slopes.append(torch.stack(torch.autograd.grad(total, leaves)))
    np.testing.assert_allclose(slopes[1], (slopes[0] + slopes[2]) / 2, rtol=1e-6)


class Exactly:
    """A number of sixty digits that stands where a tensor is expected."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value
