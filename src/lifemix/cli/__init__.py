"""The command line: ``lifemix fit``, ``predict``, ``evaluate`` and more, one file a command.

A command's file holds its options and imports nothing slow; what it does is imported when it runs, so that ``--help``
and shell completion answer at once.
"""

from .app import app, main

__all__ = ["app", "main"]
