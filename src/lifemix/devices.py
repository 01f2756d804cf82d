"""Questions to a device other than the CPU: the host that asks for a number has to wait until it is computed.

A training step asks none. Where on the CPU it is quicker to look first whether some elements need another formula, on
other devices that formula is computed for all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["HOSTS", "on_host", "perhaps_any"]

HOSTS = {"cpu"}
"""Types of devices whose numbers can be read without waiting."""


def on_host(device: torch.device) -> bool:
    """Tell whether the numbers on a device can be read without waiting for them."""
    return device.type in HOSTS


def perhaps_any(mask: Tensor) -> bool:
    """Tell whether an element may be true: on the CPU whether one is, elsewhere always."""
    return not on_host(mask.device) or bool(mask.any())
