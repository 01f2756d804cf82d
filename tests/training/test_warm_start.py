import importlib

import numpy as np
import pytest
import torch

from helpers.small_fleets import make_rows
from lifemix import make_target
from lifemix.likelihood import Observations
from lifemix.primitives import PRIMITIVES
from lifemix.target import as_target
from lifemix.training import warm_start

N = 90
module = importlib.import_module("lifemix.training.warm_start")


def observe(y, weight=None):
    return Observations.from_target(as_target(y), 1.0, 0.05, weight)


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("kind", ["plain", "late", "intervals", "all"])
def test_warm_start_is_a_maximum_of_the_likelihood(primitive, kind, monkeypatch):
    _, y, weight = make_rows(2, kind)
    family, problems, minimize = PRIMITIVES[primitive], [], module.minimize

    def record(function, start, arguments, **options):
        result = minimize(function, start, arguments, **options)
        problems.append((result.x, lambda x: function(x, *arguments), options["bounds"]))
        return result

    monkeypatch.setattr(module, "minimize", record)
    fits = warm_start(family, observe(y, weight), 2)
    n_trained = len(family.parameter_names())
    assert fits.shape == (2, n_trained + len(family.fixed_names))
    assert len(problems) == 2
    for fit, (best, function, bounds) in zip(fits, problems, strict=True):
        np.testing.assert_array_equal(fit[:n_trained], best)
        _, gradient = function(best)
        low, high = bounds.T
        is_low, is_high = best <= low, best >= high  # Weibull times are a limit of other families
        assert np.abs(gradient[~is_low & ~is_high]).max() < 5e-7
        assert (gradient[is_low] > 0).all()
        assert (gradient[is_high] < 0).all()


@pytest.mark.parametrize("primitive", ["weibull", "gompertz"])
def test_an_event_of_another_type_at_the_origin_says_nothing(primitive):
    """It counts as censored there, when nothing can have happened."""
    rng = np.random.default_rng(1)
    time, event = rng.weibull(1.3, N) + 0.05, rng.integers(0, 2, N)
    y = make_target(np.r_[time, 0.0], np.r_[event, 2], entry=np.r_[time / 2, 0.0])
    with_row = warm_start(PRIMITIVES[primitive], observe(y), 2)
    reduced = warm_start(
        PRIMITIVES[primitive], observe(make_target(time, event, entry=time / 2)), 1
    )
    np.testing.assert_allclose(with_row[0], reduced[0], rtol=1e-5)


@pytest.mark.parametrize("primitive", ["weibull", "spline"])
def test_a_case_weight_counts_as_that_many_rows(primitive):
    _, y, _ = make_rows(1, "all")
    counts = np.arange(len(y)) % 3 + 1
    weighted = warm_start(PRIMITIVES[primitive], observe(y, counts.astype(float)), 1)
    repeated = warm_start(PRIMITIVES[primitive], observe(np.repeat(y, counts)), 1)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-6)


def test_rows_may_be_differentiated_in_blocks(monkeypatch):
    _, y, weight = make_rows(1, "all")
    at_once = warm_start(PRIMITIVES["weibull"], observe(y, weight), 1)
    monkeypatch.setattr(module, "_BLOCK", 17)
    blocks = warm_start(PRIMITIVES["weibull"], observe(y, weight), 1)
    np.testing.assert_allclose(blocks, at_once, rtol=1e-6)


def test_equal_times_give_a_finite_start():
    fit = warm_start(PRIMITIVES["weibull"], observe(make_target(np.ones(30), np.ones(30))), 1)
    assert torch.isfinite(fit).all()
