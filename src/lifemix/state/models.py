"""Fitted models as states: JSON and arrays, models inside models included."""

from __future__ import annotations

from typing import Any

from ..errors import ModelFileError
from .options import new_model, write_options
from .registry import declared, is_registered
from .store import Reader, Writer, malformed
from .values import IfPresent, StateKind

__all__ = ["FittedModel", "read_model", "write_model"]

_PARTS = ("class", "fitted", "options")


class FittedModel:
    """A fitted model of a registered class."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the state of the model."""
        return write_model(value, writer, f"{place}.")

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the model."""
        return read_model(saved, reader, f"{place}.")


def write_model(model: Any, writer: Writer, place: str = "") -> dict[str, Any]:
    """Return the class, options and fitted attributes of a model."""
    name = type(model).__name__
    if not is_registered(model):
        raise ModelFileError(
            f"save writes models of lifemix and of registered classes (lifemix.state.register_model); got {name}. "
            "Pickle it with joblib instead."
        )
    if not hasattr(model, "n_events_"):
        raise ModelFileError(f"save needs a fitted model; got a {name} that is not. Call fit first.")
    kinds = declared(type(model), "_state")
    present = {name: kind for name, kind in kinds.items() if hasattr(model, name)}
    for attribute, kind in kinds.items():
        if attribute not in present and not isinstance(kind, IfPresent):
            raise ModelFileError(
                f"{name} declares {attribute} in _state, but has no such attribute. Set it in fit, or declare it as "
                "IfPresent(...)."
            )
    outer, writer.owner = writer.owner, model
    fitted = {
        attribute: kind.write(getattr(model, attribute), writer, f"{place}{attribute}")
        for attribute, kind in present.items()
    }
    writer.owner = outer
    return {"class": name, "options": write_options(model, writer, place), "fitted": fitted}


def read_model(saved: object, reader: Reader, place: str = "") -> Any:
    """Return the model whose state was written."""
    if not isinstance(saved, dict) or sorted(saved) != list(_PARTS) or not isinstance(saved["fitted"], dict):
        raise malformed(place or "the content", f"an object with {list(_PARTS)}", saved)
    model, fitted = new_model(saved, reader, place), dict(saved["fitted"])
    reader = reader.for_model(model)
    for level in reversed(type(model).__mro__):
        for name, kind in vars(level).get("_state", {}).items():
            _read_attribute(model, name, kind, fitted, reader, place)
        if "_restored" in vars(level):
            vars(level)["_restored"](model, reader.sizes)
    if fitted:
        raise malformed(f"{place}fitted", f"the attributes of a {type(model).__name__}", sorted(fitted))
    return model


def _read_attribute(model: Any, name: str, kind: StateKind, fitted: dict[str, Any], reader: Reader, place: str) -> None:
    if name in fitted:
        setattr(model, name, kind.read(fitted.pop(name), reader, f"{place}{name}"))
    elif not isinstance(kind, IfPresent):
        raise malformed(f"{place}{name}", "in the file", "nothing")
