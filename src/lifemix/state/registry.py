"""The classes whose models can be saved, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import ModelFileError
from .store import Reader, malformed
from .values import StateKind

__all__ = ["Savable", "class_named", "declared", "is_registered", "register_model", "registered_models"]


class Savable(Protocol):
    """What a registered class of models declares and can do; ``SurvivalModel`` has all of it but its own ``_state``."""

    _state: ClassVar[Mapping[str, StateKind]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's options."""

    def _check_settings(self) -> None:
        """Raise an ``InputError`` where the options cannot be used."""


Class = TypeVar("Class", bound=type)

_MODELS: dict[str, type] = {}


def register_model(model_class: Class) -> Class:
    """Register a class of models, so that ``lifemix.save`` writes its fitted models and ``lifemix.load`` reads them.

    The class lists its fitted attributes in ``_state``, a mapping from names to what they hold; what a base class
    declares comes first and need not be repeated. A method ``_restored(sizes)`` of the class, where it has one, is
    called when the attributes that this class declares are back. A subclass of a registered class is not registered.

    Parameters
    ----------
    model_class : type
        A subclass of ``lifemix.survival_model.SurvivalModel``.

    Returns
    -------
    type
        The class itself: use it as a decorator.

    Raises
    ------
    ModelFileError
        If another class of that name is registered.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.state import FloatValue, register_model
    >>> from lifemix.survival_model import SurvivalModel
    >>> @register_model
    ... class ConstantHazard(SurvivalModel):
    ...     _state = {"rate_": FloatValue(least=0.0)}
    ...     def _survival(self, x, times):
    ...         return np.tile(np.exp(-self.rate_ * times), (len(x), 1))

    """
    name = model_class.__name__
    known = _MODELS.get(name, model_class)
    if (known.__module__, known.__qualname__) != (model_class.__module__, model_class.__qualname__):
        raise ModelFileError(f"a model called {name} is registered already, {known}; got {model_class}. Rename it.")
    _MODELS[name] = model_class  # also where a cell of a notebook defines the class again
    return model_class


def registered_models() -> tuple[type, ...]:
    """Return the registered classes."""
    return tuple(_MODELS.values())


def is_registered(model: Any) -> bool:
    """Tell whether models of exactly this class can be saved."""
    return _MODELS.get(type(model).__name__) is type(model)


def class_named(name: Any, reader: Reader) -> type:
    """Return the registered class of that name."""
    if not isinstance(name, str):
        raise malformed("class", "the name of a class", name)
    if name not in _MODELS:
        reader.import_class(name)
    if name not in _MODELS:
        raise ModelFileError(f"no model called {name!r:.60} is known. Import the module that defines it, then load.")
    return _MODELS[name]


def declared(model_class: type, attribute: str) -> Mapping[str, Any]:
    """Return what a class and its bases declare in an attribute, the bases' first."""
    found: dict[str, Any] = {}
    for level in reversed(model_class.__mro__):
        found |= vars(level).get(attribute, {})
    return found
