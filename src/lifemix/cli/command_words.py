"""The doctor's advice in the words of the command line: options in place of the arguments of Python."""

from __future__ import annotations

import re

__all__ = ["in_command_words"]

_WORDS = (
    ("make_target(..., subject=), on the command line --id", "--id"),
    ("make_target(start, event, upper=end)", "--upper"),
    ("metrics.evaluate_landmarks", "lifemix evaluate --landmarks"),
    ("hidden=()", "--hidden none"),
    ("k=1 or 2", "--k 1 or 2"),
    ("weight_decay or dropout", "--dropout"),
    ("dropout, weight_decay", "--dropout"),
    ("weight_decay", "--dropout"),
    ("max_epochs", "--epochs"),
    ("learning_rate", "--learning-rate"),
    ("n_members", "--members"),
    ("; max_rows takes more", ""),
    ("preprocessor='auto'", "fit"),
    ("log_likelihood", "the log-likelihood"),
    ("maller k", "maller --k"),
)


def in_command_words(text: str) -> str:
    """Return an advice to users of Python as one to users of the command line."""
    for python, words in _WORDS:
        text = text.replace(python, words)
    return re.sub(r"^Leave (\S+) out(?=[.,])", r"Leave it out: --drop \1", text)
