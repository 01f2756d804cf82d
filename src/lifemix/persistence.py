"""Save and load fitted models: one safetensors file with JSON and arrays.

Loading never runs code of the file: only classes on the whitelist (``lifemix.registry``) are constructed, and each
object checks its own attributes.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import baselines
from ._types import IntArray
from .errors import ModelFileError, SettingError
from .files import read_arrays, write_arrays
from .registry import UserCode, is_registered, registered_class, restored, saved_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from .primitives import Primitive

__all__ = ["FORMAT", "load", "save"]

FORMAT = 4
_MIN_KEY_BYTES = 16  # shorter keys can be guessed
_MIN_COLUMN = 8  # lists of at least so many numbers or records are stored as arrays
_MAX_LIST_ITEMS = (
    10**6
)  # of all lists that are stored as arrays, so that a forged file cannot repeat one without end
_INTEGERS = (np.int8, np.int16, np.int32)
_MODULES = {"DeepSurvivalMachines": "estimators", "LifeMix": "mix"}
_FIXES = {
    "preprocessor": "Transform X before fit and use preprocessor=None, or preprocessor='auto'",
    "preprocessor_": "Transform X before fit and use preprocessor=None, or preprocessor='auto'",
    "shift_activation": "Use the name of an activation",
}


def save(model: Any, path: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
    """Write a fitted model to one file of numbers and JSON; the file is written completely or not at all.

    The file holds the options, the fitted attributes, and counts of the training times and events, which ``score``
    needs (see ``lifemix.target_summary``), but no training row. The weights of your own encoder are written, its code
    is not: use ``load(path, encoder=...)``. The same holds for your own ``primitive`` and ``activation``.
    A dictionary ``model.metadata_`` is written as well.

    Parameters
    ----------
    model : fitted model
        ``DeepSurvivalMachines``, ``LifeMix``, any model of ``lifemix.baselines``, or a model of a registered class
        (``lifemix.registry.register_model``). For a search (``FleetSearchCV``, scikit-learn's ``GridSearchCV``) the
        ``best_estimator_`` is written.
    path : str or path
        The file, usually with the suffix ``.safetensors``.
    key : bytes or str, optional
        A secret of at least 16 bytes, for example from ``secrets.token_hex(32)``, that signs the file (HMAC with
        SHA-256). ``load(path, key=...)`` then refuses a file that was altered by anybody without the key. The file can
        be read without the key, and an older signed file cannot be distinguished from the latest one.

    Raises
    ------
    SettingError
        If the key is too short.
    ModelFileError
        If the model is not fitted, its class is not registered, a part cannot be written as numbers and JSON (your own
        transformer as ``preprocessor``, a function as ``shift_activation``), an attribute is invalid (a weight that is
        not finite), or the file cannot be written.

    See Also
    --------
    load : Read the model back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import load, save
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.datasets import load_metabric
    >>> data = load_metabric()
    >>> model = CoxPH().fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "cox.safetensors")
    ...     again = load(Path(folder) / "cox.safetensors")
    >>> bool((again.predict(data.X) == model.predict(data.X)).all())
    True

    """
    secret = _key_bytes(key)
    if hasattr(model, "cv") and hasattr(model, "refit"):
        if not hasattr(model, "best_estimator_"):
            raise ModelFileError(
                f"save needs a fitted model; got a {type(model).__name__} without best_estimator_. Call fit first, "
                "with refit=True."
            )
        model = model.best_estimator_
    encoder = _Encoder()
    if is_registered(model) and not hasattr(model, "n_events_"):
        raise ModelFileError(
            f"save needs a fitted model; got a {type(model).__name__} that is not. Call fit first."
        )
    content = encoder.encode(model, "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _decode_model(content, encoder.arrays, encoder.user_code)
    except ModelFileError as error:
        raise ModelFileError(
            f"a file of this {type(model).__name__} could not be loaded again, so none was written: {error} Fit the "
            "model again, or pickle it with joblib."
        ) from None
    write_arrays(Path(path), {"format": FORMAT, "model": content}, encoder.arrays, secret)


def load(
    path: str | os.PathLike[str],
    encoder: nn.Module | None = None,
    *,
    primitive: type[Primitive] | Sequence[type[Primitive]] = (),
    activation: Callable[[Tensor], Tensor] | None = None,
    key: bytes | str | None = None,
) -> Any:
    """Read a model that ``save`` wrote; its predictions are identical. Loading never runs code of the file.

    Parameters
    ----------
    path : str or path
        The file.
    encoder : nn.Module, optional
        For a model with your own encoder, a module of the same shape; a copy of it gets the saved weights.
    primitive : subclass of Primitive or sequence of such, optional
        For a model with your own primitives, their classes, because the file holds only their names. Not needed if the
        modules that define them have been imported.
    activation : callable, optional
        For a model with your own function as ``activation``, that function.
    key : bytes or str, optional
        The key that ``save`` was called with. A file that is not signed with this key is refused; without ``key``,
        signed files are read like others.

    Returns
    -------
    fitted model
        Of the saved class, with its options: it predicts, scores, can be cloned and fitted again.

    Raises
    ------
    ModelFileError
        If the file is damaged, has another format, contains a class that is not registered or invalid attributes, or
        is not signed with the key.

    See Also
    --------
    save : Write a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import load, make_target, save
    >>> from lifemix.baselines import KaplanMeier
    >>> model = KaplanMeier().fit([[0.0], [1.0], [2.0]], make_target([1.0, 2.0, 3.0], [1, 0, 1]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.safetensors")
    ...     load(Path(folder) / "model.safetensors").survival_.round(3).tolist()
    [0.667, 0.0]

    """
    try:
        content, arrays = read_arrays(Path(path), _key_bytes(key))
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}. Check the path.") from None
    except ModelFileError as error:
        raise ModelFileError(
            f"{error} Fit the model again and save it, or get another copy of the file."
        ) from None
    if not isinstance(content, dict) or "format" not in content:
        raise ModelFileError(
            f"{path} is not a model file. Expected a file that lifemix.save wrote."
        )
    if content["format"] != FORMAT:
        version = f"{content['format']!r:.20}"
        raise ModelFileError(
            f"{path} has format {version}; this version reads format {FORMAT}. Fit the model again and save it, or "
            "update lifemix if the file is newer."
        )
    if primitive:
        from .primitives import primitive_class  # imports PyTorch

        for family in [primitive] if isinstance(primitive, type) else primitive:
            primitive_class(family)  # registers it
    user_code = {"encoder": encoder, "activation": activation}
    user_code = {name: code for name, code in user_code.items() if code is not None}
    try:
        return _decode_model(content.get("model"), arrays, user_code)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _key_bytes(key: bytes | str | None) -> bytes | None:
    """Return a key as bytes; refuse one that is short enough to be guessed."""
    if key is None:
        return None
    if not isinstance(key, (bytes, str)):
        raise SettingError(f"key must be bytes, a text or None; got {type(key).__name__}.")
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if len(secret) < _MIN_KEY_BYTES:
        raise SettingError(
            f"key must have at least {_MIN_KEY_BYTES} bytes; got {len(secret)}. Make one with secrets.token_hex(32)."
        )
    return secret


class _Encoder:
    """Turns values into JSON and arrays. A JSON object with a key that begins with ``$`` stands for another type."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.user_code: dict[str, Any] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def encode(self, value: Any, path: str) -> Any:
        """Return the JSON of a value; ``path`` names it in errors and names its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, (list, tuple, Mapping)):
            return self._container(value, path)
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, UserCode):
            self.user_code.setdefault(value.name, value.code)
            return {"$user_code": value.name}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return None  # its state has advanced
        if is_registered(value):
            return self._object(value, path)
        torch = sys.modules.get("torch")
        if (
            torch is not None and isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16
        ):  # not in NumPy
            return {"$tensor": self._store(value.numpy(force=True), path)}
        fix = _FIXES.get(
            path.split(".")[-1], "Register its class (lifemix.registry.register_model)"
        )
        raise ModelFileError(
            f"{path or 'the model'}: a {type(value).__name__} cannot be written without pickle. {fix}; or pickle the "
            "model with joblib."
        )

    def _object(self, value: Any, path: str) -> Any:
        prefix = f"{path}." if path else ""
        arguments, attributes = (
            {name: self.encode(item, f"{prefix}{name}") for name, item in sorted(items.items())}
            for items in saved_parts(value)
        )
        return {"$class": type(value).__name__, "arguments": arguments, "attributes": attributes}

    def _container(self, value: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            if all(isinstance(name, str) and not name.startswith("$") for name in value):
                return {name: self.encode(item, f"{path}.{name}") for name, item in value.items()}
            pairs = [
                [self.encode(name, path), self.encode(item, f"{path}.{name}")]
                for name, item in value.items()
            ]
            return {"$items": pairs}
        if isinstance(value, list) and len(value) >= _MIN_COLUMN:
            if all(type(item) is float for item in value):
                return {"$floats": self._store(np.array(value), path)}
            if _are_records(value):
                columns = {name: [record[name] for record in value] for name in value[0]}
                return {
                    "$records": {
                        name: self.encode(column, f"{path}.{name}")
                        for name, column in columns.items()
                    }
                }
        items = [self.encode(item, f"{path}.{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}

    def _array(self, value: NDArray[Any], path: str) -> Any:
        if value.dtype.kind in "OU" and all(isinstance(item, str) for item in value.flat):
            return {"$texts": [[str(item) for item in value.flat], list(value.shape)]}
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise ModelFileError(
                f"{path}: an array of {value.dtype} cannot be written. Use numbers or texts."
            )
        if value.dtype == np.int64 and value.size:
            low, high = int(value.min()), int(value.max())
            for dtype in _INTEGERS:
                if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                    return {"$int64": self._store(value.astype(dtype), path)}
        return {"$array": self._store(value, path)}

    def _store(self, array: NDArray[Any], path: str) -> str:
        """Keep a copy of an array and return its name; equal arrays are stored once."""
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self._names:
            name = path
            while name in self.arrays:  # the keys 1 and "1" of a dictionary have one path
                name += "'"
            self._names[key], self.arrays[name] = name, array
        return self._names[key]


def _are_records(value: list[Any]) -> bool:
    """Return whether all items are dictionaries with the same names in the same order."""
    names = list(value[0]) if isinstance(value[0], dict) else []
    has_names = bool(names) and all(isinstance(name, str) for name in names)
    return has_names and all(isinstance(item, dict) and list(item) == names for item in value)


def _decode_model(
    content: Any, arrays: Mapping[str, NDArray[Any]], user_code: Mapping[str, Any]
) -> Any:
    """Return the fitted model of a file; whatever a forged file holds, only ``ModelFileError`` is raised."""
    decoder = _Decoder(arrays, user_code)
    try:
        model = decoder.decode(content)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"the file does not hold a valid model: {error!r:.500}. Save the model again."
        ) from None
    if not hasattr(model, "n_events_") or not hasattr(model, "predict_survival_function"):
        raise ModelFileError("the file does not hold a fitted model. Save the model again.")
    if "encoder" in user_code and "encoder" not in decoder.used_code:
        name = type(user_code["encoder"]).__name__
        raise ModelFileError(
            f"this model has no encoder of its own; got {name}. Leave encoder out."
        )
    return model


class _Decoder:
    """Turns JSON and arrays back into values. References to one array share its memory, so that it stays bounded."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], user_code: Mapping[str, Any]) -> None:
        self.arrays, self.user_code = arrays, user_code
        self.used_code: set[str] = set()
        self._long_integers: dict[str, IntArray] = {}
        self._n_list_items = 0

    def decode(self, saved: Any) -> Any:
        """Return the value of some JSON."""
        if isinstance(saved, list):
            return [self.decode(item) for item in saved]
        if not isinstance(saved, dict):
            return saved
        tag = next((name for name in saved if name.startswith("$")), None)
        if tag is None:
            return {name: self.decode(item) for name, item in saved.items()}
        if tag == "$class":
            registered = _class_named(saved["$class"])  # imports the classes of its attributes too
            return restored(
                registered, self.decode(saved["arguments"]), self.decode(saved["attributes"])
            )
        if tag not in _TAGS:
            raise ModelFileError(
                f"the file holds an unknown type, {tag!r:.40}. Save the model again."
            )
        return _TAGS[tag](self, saved[tag])

    def _records(self, columns: dict[str, Any]) -> list[dict[str, Any]]:
        values = [self.decode(column) for column in columns.values()]
        self._count_items(len(values[0]))
        return [dict(zip(columns, record, strict=True)) for record in zip(*values, strict=True)]

    def _floats(self, name: str) -> list[float]:
        self._count_items(self.arrays[name].size)
        floats: list[float] = self.arrays[name].astype(np.float64).tolist()
        return floats

    def _count_items(self, n_items: int) -> None:
        self._n_list_items += n_items
        if self._n_list_items > _MAX_LIST_ITEMS:
            raise ModelFileError(
                f"the lists of a model file may have at most {_MAX_LIST_ITEMS} items in all."
            )

    def _int64(self, name: str) -> IntArray:
        if name not in self._long_integers:
            self._long_integers[name] = self.arrays[name].astype(np.int64)
        return self._long_integers[name]

    def _code(self, name: str) -> Any:
        if name not in self.user_code:
            raise ModelFileError(
                f"this model has your own {name!s:.20}. Use load(path, {name!s:.20}=...)."
            )
        self.used_code.add(name)
        return self.user_code[name]


_TAGS: Mapping[str, Callable[[_Decoder, Any], Any]] = {
    "$float": lambda decoder, saved: float(saved),
    "$tuple": lambda decoder, saved: tuple(decoder.decode(item) for item in saved),
    "$items": lambda decoder, saved: {
        decoder.decode(name): decoder.decode(item) for name, item in saved
    },
    "$records": _Decoder._records,
    "$texts": lambda decoder, saved: np.array(
        [str(text) for text in saved[0]], dtype=object
    ).reshape(saved[1]),
    "$array": lambda decoder, saved: decoder.arrays[saved],
    "$floats": _Decoder._floats,
    "$int64": _Decoder._int64,
    "$tensor": lambda decoder, saved: import_module("torch").from_numpy(decoder.arrays[saved]),
    "$user_code": _Decoder._code,
}


def _class_named(name: Any) -> type:
    """Return the registered class of a name; classes of the package are imported when needed."""
    if not isinstance(name, str):
        raise ModelFileError(f"the name of a class must be a text; got {name!r:.40}.")
    if registered_class(name) is None:
        if name in baselines.__all__:
            getattr(baselines, name)
        elif name in _MODULES:
            import_module(f".{_MODULES[name]}", __package__)
    object_class = registered_class(name)
    if object_class is None:
        raise ModelFileError(
            f"no class called {name!r:.60} is registered. Import the module that defines it, then load."
        )
    return object_class
