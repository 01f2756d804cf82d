"""What all encoders of this package have in common: settings with rules, a network built from them, a name in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from sklearn.base import BaseEstimator
from torch import nn

from ..checks import Rule, check_settings
from ..errors import CovariateError
from ..histories import Block
from ..registry import register_model

__all__ = ["SequenceEncoder", "encoder_named"]

_ENCODERS: dict[str, type[SequenceEncoder]] = {}


class SequenceEncoder(BaseEstimator):  # type: ignore[misc]
    """Base class of encoders of histories; a subclass declares its settings and the network made from them.

    A subclass is known by the name of its class, by which a saved model finds it again.

    Parameters
    ----------
    max_visits : int, optional
        The longest sequence; of a longer one the last visits are kept. None: the longest of the training rows.

    Examples
    --------
    >>> from lifemix.encoders import Recurrent, SequenceEncoder
    >>> isinstance(Recurrent(), SequenceEncoder)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __init__(self, max_visits: int | None = None) -> None:
        self.max_visits = max_visits

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _ENCODERS[cls.__name__] = register_model(cls)

    def check(self) -> None:
        """Raise a ``SettingError`` where a setting cannot be used."""
        check_settings(self)

    def build(self, blocks: Sequence[Block]) -> nn.Module:
        """Return the network for inputs with these sources; its weights come from a fixed seed.

        Parameters
        ----------
        blocks : sequence of Block
            The sources; at least one of them histories.

        Returns
        -------
        nn.Module
            From packed rows ``[rows, inputs]`` to ``[rows, width]``; its attribute ``width`` is the number of features.

        Raises
        ------
        CovariateError
            Where no source holds histories, or one is an array.
        """
        self.check()
        name = type(self).__name__
        if not any(block.kind == "visits" for block in blocks):
            shapes = {block.name: ("n", *block.shape) for block in blocks}
            raise CovariateError(
                f"{name} encodes sequences: X must be a Histories, an array of shape (subjects, steps, columns), or a "
                f"dict with one of them; got {shapes}. For a table alone use hidden=(...)."
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = self._network(blocks)
        return network

    def _network(self, blocks: Sequence[Block]) -> nn.Module:
        raise NotImplementedError


def encoder_named(name: str) -> type[SequenceEncoder] | None:
    """Return the class of an encoder by its name, or None.

    Parameters
    ----------
    name : str
        The name of the class.

    Returns
    -------
    type or None
        A subclass of ``SequenceEncoder``.

    Examples
    --------
    >>> from lifemix.encoders import encoder_named
    >>> encoder_named("Attention").__name__
    'Attention'
    """
    return _ENCODERS.get(name)
