"""The command line: ``lifemix fit``, ``predict``, ``evaluate`` and more, one file per command.

A command's file imports nothing slow at the top; what it needs is imported when it runs, so that ``--help`` and shell
completion answer at once.
"""

from .app import app, main

__all__ = ["app", "main"]
