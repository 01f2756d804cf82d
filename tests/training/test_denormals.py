import pytest
import torch

from lifemix.training.denormals import without_denormals

TINY = torch.tensor(1e-40)


@pytest.mark.parametrize("before", [False, True])
def test_denormals_are_zero_inside_and_what_held_before_holds_after(before):
    if not torch.set_flush_denormal(before):
        pytest.skip("this processor cannot take denormal numbers as 0")
    try:
        with without_denormals():
            inside = float(TINY.mul(1.0))
        after = float(TINY.mul(1.0))
    finally:
        torch.set_flush_denormal(False)
    assert inside == 0
    assert (after == 0) is before
