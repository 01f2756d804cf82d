"""The options of an estimator in JSON's types; anything else is tagged, such as ``{"$tuple": [...]}`` for a tuple."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError, ModelFileError
from ..preprocessing import SequencePreprocessor, TabularPreprocessor
from .registry import Savable, class_named, declared, is_registered
from .shared import SequenceSettingsState, SettingsState
from .store import Reader, Writer, malformed

__all__ = ["LeftOut", "new_model", "write_options"]

_FIXES = {
    "preprocessor": "Transform X before fit and use preprocessor=None, or preprocessor='auto'",
    "shift_activation": "Use an activation by its name",
    "estimator": "Use a model of lifemix",
    "estimators": "Use models of lifemix",
}
_GENERATORS = (np.random.Generator, np.random.RandomState)


class LeftOut:
    """An option that belongs to a machine or a session: a loaded model has its default."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Not called."""
        raise NotImplementedError

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Not called but for a forged file."""
        raise malformed(place, "left out", saved)


def write_options(model: Any, writer: Writer, place: str) -> dict[str, Any]:
    """Return the constructor's options of a model."""
    kinds = declared(type(model), "_option_state")
    options = {}
    for name, value in model.get_params(deep=False).items():
        where = f"{place}{name}"
        if name not in kinds:
            options[name] = None if isinstance(value, _GENERATORS) else _write(value, writer, where)  # it has moved on
        elif not isinstance(kinds[name], LeftOut):
            options[name] = kinds[name].write(value, writer, where)
    return options


def new_model(saved: Mapping[str, Any], reader: Reader, place: str) -> Any:
    """Return a model that is not fitted, of a registered class with saved options; those not there have defaults."""
    model_class = class_named(saved["class"], reader)
    kinds, options = declared(model_class, "_option_state"), {}
    for name, value in saved["options"].items():
        where = f"{place}{name}"
        options[name] = kinds[name].read(value, reader, where) if name in kinds else _read(value, reader, where)
    model: Savable = model_class(**options)
    try:
        model._check_settings()
    except InputError as error:
        raise ModelFileError(f"the options of {type(model).__name__} cannot be used: {error}") from None
    return model


def _write(value: Any, writer: Writer, place: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$number": str(value)}
    if isinstance(value, (list, tuple)):
        items = [_write(item, writer, place) for item in value]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {"$mapping": {name: _write(item, writer, place) for name, item in value.items()}}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"$array": writer.array(value, f"options.{place}")}
    if type(value) is TabularPreprocessor:
        return {"$preprocessor": SettingsState().write(value, writer, place)}
    if type(value) is SequencePreprocessor:
        return {"$sequences": SequenceSettingsState().write(value, writer, place)}
    if is_registered(value):
        return {"$model": {"class": type(value).__name__, "options": write_options(value, writer, f"{place}.")}}
    fix = _FIXES.get(place.split(".")[-1], "Use one of JSON's types")
    raise ModelFileError(
        f"{place}: a {type(value).__name__} cannot be written without pickle. {fix}; or pickle the model with joblib."
    )


def _read(saved: object, reader: Reader, place: str) -> Any:
    if isinstance(saved, list):
        return [_read(item, reader, place) for item in saved]
    if not isinstance(saved, dict):
        return saved
    if len(saved) != 1 or next(iter(saved)) not in _TAGS:
        raise malformed(place, f"a value or one of {sorted(_TAGS)}", saved)
    [(tag, value)] = saved.items()
    return _TAGS[tag](value, reader, place)


def _read_array(saved: object, reader: Reader, place: str) -> Any:
    if not isinstance(saved, str) or saved not in reader.arrays:
        raise malformed(place, "the name of an array in the file", saved)
    return reader.arrays[saved].copy()


_TAGS: Mapping[str, Callable[[Any, Reader, str], Any]] = {
    "$number": lambda saved, reader, place: float(saved),
    "$tuple": lambda saved, reader, place: tuple(_read(item, reader, place) for item in saved),
    "$mapping": lambda saved, reader, place: {name: _read(item, reader, place) for name, item in saved.items()},
    "$array": _read_array,
    "$preprocessor": SettingsState().read,
    "$sequences": SequenceSettingsState().read,
    "$model": lambda saved, reader, place: new_model(saved, reader, f"{place}."),
}
