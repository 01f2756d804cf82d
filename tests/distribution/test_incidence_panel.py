"""One panel of the fast rule: exact where hazards are proportional, and it says where it is not to be trusted."""

import numpy as np
import pytest
import torch
from scipy import integrate

from lifemix.distribution.incidence_panel import Panels, divide


def panels(hazards, ends):
    """Divide with cumulative hazards ``H_m = a * x ** b`` of some events at the points x."""
    x = torch.tensor(ends, dtype=torch.float64)
    scale, power = (
        torch.tensor(part, dtype=torch.float64)[:, None, None]
        for part in zip(*hazards, strict=True)
    )
    survival = torch.exp(-scale * x**power)
    density = scale * power * x ** (power - 1) * survival
    out = Panels.empty(len(hazards), 1, len(ends))
    divide(survival, density, torch.zeros(1, len(ends) - 1, dtype=torch.float64), out)
    return out


@pytest.mark.parametrize("scales", [(1.0,), (1.0, 2.0), (0.3, 1.0, 4.0)])
def test_proportional_hazards_are_divided_in_their_ratio(scales):
    ends = np.linspace(0.1, 0.3, 4)
    out = panels([(scale, 1.7) for scale in scales], ends)
    total = sum(scales)
    added = np.diff(-np.exp(-total * ends**1.7))
    for event, scale in enumerate(scales):
        np.testing.assert_allclose(out.parts[event, 0, 1:], added * scale / total, rtol=1e-12)
    assert not out.rough[:, 1:].any()


def test_a_narrow_panel_is_near_the_integral_and_a_wide_one_is_rough():
    hazards = [(1.0, 3.0), (0.7, 0.6)]

    def rate(x):
        return 3 * x**2 * np.exp(-(x**3) - 0.7 * x**0.6)

    exact = integrate.quad(rate, 0.7, 0.71, epsabs=1e-14)[0]
    narrow, wide = panels(hazards, [0.7, 0.71]), panels(hazards, [0.2, 1.2])
    assert abs(float(narrow.parts[0, 0, 1]) - exact) < 1e-7
    assert not narrow.rough[0, 1]
    assert wide.rough[0, 1]
    for found in (narrow, wide):
        assert (found.parts >= 0).all()


def test_nobody_left_adds_nothing_and_gives_no_nan():
    out = panels([(1.0, 9.0), (2.0, 5.0)], [50.0, 60.0, 70.0])
    assert torch.isfinite(out.parts).all()
    assert float(out.parts[..., 1:].sum()) == 0.0
    np.testing.assert_allclose(float(out.parts[..., 0].sum()), 1.0)
