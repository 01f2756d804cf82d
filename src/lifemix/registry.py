"""The whitelist of classes that a model file may contain, and what a file holds of their objects.

This module is apart from ``persistence`` because low layers define registered classes.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from .errors import ModelFileError

__all__ = [
    "UserCode",
    "check_finite",
    "constructor_arguments",
    "fitted_attributes",
    "register_model",
    "registered_class",
    "restore_object",
    "saved_state",
]

Class = TypeVar("Class", bound=type)

_CLASSES: dict[str, type] = {}


class Hooks(Protocol):
    """What a registered class may define; every member is optional."""

    _saved: ClassVar[tuple[str, ...]]  # private names of fitted attributes

    def _saved_arguments(self) -> dict[str, Any]:
        """Return the constructor arguments to write instead of ``constructor_arguments(self)``."""

    def _saved_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes to write instead of ``fitted_attributes(self)``."""

    def _validate(self) -> None:
        """Check the attributes from a file, and compute what follows from them."""


def register_model(model_class: Class) -> Class:
    """Put a class on the whitelist, so that ``lifemix.save`` and ``lifemix.load`` accept its objects.

    A file holds the constructor arguments of an object, read from the attributes of the same names,
    and its fitted attributes: names that end in ``_``, and private names that the class lists in
    ``_saved``, a tuple. ``load`` calls the constructor, sets the attributes, and calls the method
    ``_validate()`` if the class has one, which raises ``ValueError`` if the attributes are invalid.
    Subclasses are not registered.

    Parameters
    ----------
    model_class : type
        A subclass of ``lifemix.survival_model.SurvivalModel``, or a class of objects in such a model.

    Returns
    -------
    type
        The same class: use the function as a decorator.

    Raises
    ------
    ModelFileError
        If another class with this name is registered.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.registry import register_model
    >>> from lifemix.survival_model import SurvivalModel
    >>> @register_model
    ... class ConstantHazard(SurvivalModel):
    ...     def _survival(self, x, times):
    ...         return np.tile(np.exp(-self.rate_ * times), (len(x), 1))

    """
    name = model_class.__name__
    registered = _CLASSES.get(name, model_class)
    # A notebook cell that runs again defines the same class once more.
    is_same = registered.__qualname__ == model_class.__qualname__
    if not is_same or registered.__module__ != model_class.__module__:
        raise ModelFileError(
            f"a class called {name} is registered: {registered}; got {model_class}. Rename it."
        )
    _CLASSES[name] = model_class
    return model_class


def registered_class(name: str) -> type | None:
    """Return the registered class of this name, or None."""
    return _CLASSES.get(name)


def constructor_arguments(value: Any) -> dict[str, Any]:
    """Return the constructor arguments of an object, read from the attributes of the same names."""
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}


def fitted_attributes(value: Any) -> dict[str, Any]:
    """Return the fitted attributes of an object, by name."""
    return {name: item for name, item in vars(value).items() if _is_fitted(type(value), name)}


def _is_fitted(model_class: type, name: str) -> bool:
    is_public = name.endswith("_") and not name.startswith("_")
    return is_public or name in getattr(model_class, "_saved", ())


def saved_state(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the constructor arguments and the fitted attributes that a file holds, by name."""
    arguments, attributes = constructor_arguments(value), fitted_attributes(value)
    if hasattr(value, "_saved_arguments"):
        arguments = value._saved_arguments()
    if hasattr(value, "_saved_attributes"):
        attributes = value._saved_attributes()
    return dict(sorted(arguments.items())), dict(sorted(attributes.items()))


def restore_object(registered: type, arguments: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Return an object of a registered class from what ``saved_state`` returned."""
    value = registered(**arguments)
    for name, item in attributes.items():
        if not _is_fitted(registered, name):
            raise ModelFileError(f"{registered.__name__} has no fitted attribute {name!r:.40}.")
        setattr(value, name, item)
    if attributes and hasattr(value, "_validate"):
        value._validate()
    return value


@dataclass(frozen=True)
class UserCode:
    """A function or module of the user as an option; a file holds only the name of the option."""

    name: str
    code: Any


def check_finite(name: str, values: Any, shape: tuple[int | None, ...]) -> None:
    """Raise ``ValueError`` unless the values are finite numbers of a shape; None is any length."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be an array of numbers; got {type(values).__name__}")
    has_shape = values.ndim == len(shape) and all(
        size in (None, length) for size, length in zip(shape, values.shape, strict=True)
    )
    if not has_shape:
        raise ValueError(f"{name} must be an array of numbers of shape {shape}; got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers")
