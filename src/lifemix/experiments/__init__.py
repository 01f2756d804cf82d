"""The paper's experiments: its protocol, its published numbers, ours beside them."""

from .reproduction import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
