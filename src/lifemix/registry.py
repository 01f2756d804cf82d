"""The whitelist of classes that a model file may contain: how their objects are taken apart and constructed again."""

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
    "is_registered",
    "register_model",
    "registered_class",
    "restored",
    "saved_parts",
]

Class = TypeVar("Class", bound=type)

_CLASSES: dict[str, type] = {}


class Hooks(Protocol):
    """What a registered class may define; every member is optional."""

    _saved: ClassVar[tuple[str, ...]]  # private names of fitted attributes

    def _saved_arguments(self) -> dict[str, Any]:
        """Return the constructor arguments to write, in place of ``constructor_arguments(self)``."""

    def _saved_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes to write, in place of ``fitted_attributes(self)``."""

    def _validate(self) -> None:
        """Check the fitted attributes of a file, and compute what follows from them."""


def register_model(model_class: Class) -> Class:
    """Put a class on the whitelist, so that ``lifemix.save`` writes its objects and ``lifemix.load`` reads them.

    A file holds the constructor arguments of an object, under the attributes of the same names, and its fitted
    attributes: names that end in ``_``, and private names that the class lists in ``_saved``, a tuple. ``load`` calls
    the constructor, sets the attributes, and then calls the method ``_validate()`` if the class has one. It raises
    ``ValueError`` if the attributes cannot belong to a fitted object. Subclasses are not registered.

    Parameters
    ----------
    model_class : type
        A subclass of ``lifemix.survival_model.SurvivalModel``, or a class of objects that such a model holds.

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
    if (registered.__module__, registered.__qualname__) != (
        model_class.__module__,
        model_class.__qualname__,
    ):
        raise ModelFileError(
            f"a class called {name} is registered: {registered}; got {model_class}. Rename it."
        )
    _CLASSES[name] = model_class  # a notebook cell may define the class again
    return model_class


def registered_class(name: str) -> type | None:
    """Return the registered class of this name, or None."""
    return _CLASSES.get(name)


def is_registered(value: Any) -> bool:
    """Return whether the class of an object is on the whitelist; subclasses are not."""
    return _CLASSES.get(type(value).__name__) is type(value)


def constructor_arguments(value: Any) -> dict[str, Any]:
    """Return the constructor arguments of an object, read from the attributes of the same names."""
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}


def fitted_attributes(value: Any) -> dict[str, Any]:
    """Return the fitted attributes of an object, by name."""
    return {
        name: item for name, item in vars(value).items() if _is_fitted_attribute(type(value), name)
    }


def saved_parts(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the constructor arguments and the fitted attributes of an object that a file holds."""
    arguments = (
        value._saved_arguments()
        if hasattr(value, "_saved_arguments")
        else constructor_arguments(value)
    )
    attributes = (
        value._saved_attributes()
        if hasattr(value, "_saved_attributes")
        else fitted_attributes(value)
    )
    return arguments, attributes


def restored(registered: type, arguments: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Return an object of a registered class from what ``saved_parts`` returned."""
    value = registered(**arguments)
    for name, item in attributes.items():
        if not _is_fitted_attribute(registered, name):
            raise ModelFileError(f"{registered.__name__} has no fitted attribute {name!r:.40}.")
        setattr(value, name, item)
    if attributes and hasattr(value, "_validate"):
        value._validate()
    return value


def _is_fitted_attribute(model_class: type, name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name in getattr(
        model_class, "_saved", ()
    )


@dataclass(frozen=True)
class UserCode:
    """A user's function or module in place of an option; a file holds only the name of the argument of ``load``."""

    name: str
    code: Any


def check_finite(name: str, values: Any, shape: tuple[int | None, ...]) -> None:
    """Raise ``ValueError`` unless the values are an array of finite numbers of this shape; None is any length."""
    is_array = (
        isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.ndim == len(shape)
    )
    if not is_array or any(
        size not in (None, length) for size, length in zip(shape, values.shape, strict=True)
    ):
        got = values.shape if isinstance(values, np.ndarray) else type(values).__name__
        raise ValueError(f"{name} must be an array of numbers of shape {shape}; got {got}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers")
