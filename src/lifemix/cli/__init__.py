"""The command line: ``lifemix fit``, ``predict``, ``evaluate`` and more, one file per command.

The file of a command imports pandas, PyTorch and models inside functions, so that ``--help`` and shell completion
answer at once.
"""

from .app import app, main

__all__ = ["app", "main"]
