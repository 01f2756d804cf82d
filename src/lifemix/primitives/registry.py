"""Which primitives there are, by name: every class that was defined with one, in this package or outside of it."""

from __future__ import annotations

from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

from ..errors import SettingError
from .base import Primitive, registered_name
from .log_location_scale import LogLocationScale

__all__ = ["PRIMITIVES", "discover", "primitive_class"]

PRIMITIVES = Primitive.registered


def discover(package: str, path: list[str]) -> None:
    """Import every module of a package, so that what it defines is registered."""
    for module in iter_modules(path):
        import_module(f"{package}.{module.name}")


def primitive_class(primitive: object) -> type[Primitive]:
    """Return the class of a primitive.

    Parameters
    ----------
    primitive : str or type
        A registered name, in which hyphens, underscores and case do not matter; or a subclass of ``Primitive`` that
        has a name.

    Returns
    -------
    type
        The subclass of ``Primitive``.

    Raises
    ------
    SettingError
        If there is no such primitive, or its declaration is not complete.

    Examples
    --------
    >>> from lifemix.primitives import primitive_class
    >>> primitive_class("Log-Normal").label
    'log-normal'
    """
    if isinstance(primitive, type) and issubclass(primitive, Primitive):
        _check_declaration(primitive)
        primitive._register()
        return primitive
    key = registered_name(primitive) if isinstance(primitive, str) else None
    if key not in PRIMITIVES:
        raise SettingError(
            f"unknown primitive; got {primitive!r}, expected one of {sorted(PRIMITIVES)}, or a class. A primitive of "
            "your own has its name once the module that defines it has been imported: import it first."
        )
    _check_declaration(PRIMITIVES[key])
    return PRIMITIVES[key]


def _check_declaration(family: type[Primitive]) -> None:
    """Refuse a class that cannot be a component, with what it lacks."""
    if "name" not in vars(family):
        raise SettingError(
            f"a primitive needs a name of its own; got {family.__name__} without one. Define it as "
            f"class {family.__name__}(..., name='{family.__name__.lower()}')."
        )
    if isabstract(family):
        missing = sorted(family.__abstractmethods__)
        raise SettingError(
            f"a primitive must define all of its functions; got {family.__name__} without {missing}."
        )
    if not hasattr(family, "__dataclass_fields__") or not family.parameter_names():
        raise SettingError(
            f"a primitive must be a dataclass of its parameters; got {family.__name__}, which has none. Put "
            "@dataclass(frozen=True, eq=False) above it and one line 'name: Tensor' per parameter into it."
        )
    names = family.parameter_names()
    if family.location_name is not None and family.location_name not in names:
        raise SettingError(
            f"location_name must be one of the parameters {list(names)} of {family.__name__}; got "
            f"{family.location_name!r}. Set the attribute location_name."
        )
    if issubclass(family, LogLocationScale) and (
        len(names) != 2 or not hasattr(family, "standard_tail")
    ):
        raise SettingError(
            f"a log-location-scale family must have two parameters and a standard_tail; got {family.__name__} with "
            f"{list(names)}. See lifemix.primitives.LogLocationScale."
        )
