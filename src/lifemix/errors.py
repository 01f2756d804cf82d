"""Exceptions; each message says what was received, what is expected and how to fix it.

LifemixError
├── InputError (a ValueError)
│   ├── TargetError       times, events, entries or upper bounds
│   ├── CovariateError    the table X
│   └── SettingError      an option of an estimator or a function
├── ModelFileError        a file that `load` cannot or must not read
├── FolderInUseError      a folder that another process is writing to
├── DivergedError (a RuntimeError)       no epoch has a finite loss
├── LostRankError (a RuntimeError)       another process of a distributed fit has ended
└── MissingExtraError (an ImportError)   an optional package is not installed
LifemixWarning (a UserWarning)           harmless, but of interest
"""

from __future__ import annotations

__all__ = [
    "CovariateError",
    "DivergedError",
    "FolderInUseError",
    "InputError",
    "LifemixError",
    "LifemixWarning",
    "LostRankError",
    "MissingExtraError",
    "ModelFileError",
    "SettingError",
    "TargetError",
]


class LifemixError(Exception):
    """Base class of all errors that this package raises."""


class InputError(LifemixError, ValueError):
    """An argument cannot be used."""


class TargetError(InputError):
    """The target ``y`` cannot be used."""


class CovariateError(InputError):
    """The covariates ``X`` cannot be used."""


class SettingError(InputError):
    """An option has an impossible value."""


class ModelFileError(LifemixError):
    """A model file cannot be read safely, or a model cannot be written."""


class FolderInUseError(LifemixError):
    """Another process uses the folder for the same purpose."""


class DivergedError(LifemixError, RuntimeError):
    """Training diverged: no epoch has a finite loss and finite weights."""


class LostRankError(LifemixError, RuntimeError):
    """Another process of a distributed fit has ended or does not answer."""


class MissingExtraError(LifemixError, ImportError):
    """An optional package is missing; the message holds the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed. "
            f"Run: pip install 'lifemix[{extra}]'"
        )


class LifemixWarning(UserWarning):
    """A harmless fact that the user should know."""
