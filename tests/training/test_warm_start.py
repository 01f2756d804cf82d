import importlib

import numpy as np
import pytest
import torch

from lifemix import make_target
from lifemix.likelihood import Observations
from lifemix.primitives import PRIMITIVES, LogLocationScale
from lifemix.target import as_target
from lifemix.training import warm_start

LOG_LOCATION_SCALE = [
    name for name, family in PRIMITIVES.items() if issubclass(family, LogLocationScale)
]
N = 90


def observations(kind):
    rng = np.random.default_rng(0)
    time, event = rng.weibull(1.3, N) * 4 + 0.05, rng.integers(0, 2, N)
    entry, upper = np.zeros(N), np.full(N, np.nan)
    if kind == "odd":
        entry[:30] = 0.5 * time[:30]
        event[20:50], upper[20:50] = 1, time[20:50] * 1.4
        entry[50:60], time[50:60], event[50:55], event[55:60] = 0, 0, 1, 0
    return Observations.from_target(
        as_target(make_target(time, event, entry=entry, upper=upper)), 1.0, 0.05
    )


@pytest.mark.parametrize("primitive", LOG_LOCATION_SCALE)
@pytest.mark.parametrize("kind", ["plain", "odd"])
def test_closed_form_of_the_warm_start_equals_autograd(primitive, kind):
    module = importlib.import_module("lifemix.training.warm_start")
    family, observed, point = (
        PRIMITIVES[primitive],
        observations(kind),
        torch.tensor([0.3, -0.2]).double(),
    )
    rows = [module._Rows.of(observed)]
    ours = module._differenced(module._written_out(family, rows, observed.weight.sum()), point)

    def slopes(at):
        return module._slopes(lambda point: family.from_location(point[0], point[1]), observed, at)

    reference = module._differenced(module._one_by_one(slopes), point)
    np.testing.assert_allclose(ours[0], reference[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours[1], reference[1], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours[2](), reference[2](), rtol=1e-5, atol=1e-6)


def test_an_event_of_another_type_at_the_origin_says_nothing():
    """It counts as censored there, where nothing can have happened."""
    rng = np.random.default_rng(1)
    time, event = rng.weibull(1.3, N) + 0.05, rng.integers(0, 2, N)
    some = as_target(make_target(np.r_[time, 0.0], np.r_[event, 2], entry=np.r_[time / 2, 0.0]))
    with_row = warm_start(PRIMITIVES["weibull"], Observations.from_target(some, 1.0, 0.01), 2)
    without = as_target(make_target(time, event, entry=time / 2))
    alone = warm_start(PRIMITIVES["weibull"], Observations.from_target(without, 1.0, 0.01), 1)
    np.testing.assert_allclose(with_row[0], alone[0], rtol=1e-5)
