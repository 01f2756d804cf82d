"""Save and load fitted models: one safetensors file with JSON and arrays.

Loading never runs code of the file: it constructs only objects of classes on the whitelist
(``lifemix.registry``), and each object checks its own attributes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import baselines
from .errors import ModelFileError, SettingError
from .files import read_arrays, write_arrays
from .pipeline import without_steps
from .registry import UserCode, registered_class, restore_object, saved_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from .primitives import Primitive

__all__ = ["FORMAT", "load", "save"]

FORMAT = 5
_MIN_KEY_BYTES = 16  # shorter keys can be guessed
_PACKAGES = {"DeepSurvivalMachines": ".estimators.dsm", "LifeMix": ".estimators.life_mix"}


def save(model: Any, path: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
    """Write a fitted model to one file of numbers and JSON, completely or not at all.

    The file holds the options, the fitted attributes, and counts of the training times and events,
    which ``score`` needs (see ``lifemix.target_summary``), but no training row. It holds the weights
    of your own encoder, but not its code: use ``load(path, encoder=...)``. The same holds for your
    own ``primitive`` and ``activation``. A dictionary ``model.metadata_`` is written as well.

    Parameters
    ----------
    model : fitted model
        ``DeepSurvivalMachines``, ``LifeMix``, any model of ``lifemix.baselines``, or a model of a
        registered class (``lifemix.registry.register_model``). For a search (``FleetSearchCV``,
        scikit-learn's ``GridSearchCV``) the ``best_estimator_`` is written. Other steps of a
        pipeline are refused: they need pickle (joblib).
    path : str or path
        The file, usually with the suffix ``.safetensors``.
    key : bytes or str, optional
        A secret of at least 16 bytes, for example from ``secrets.token_hex(32)``, that signs the
        file (HMAC with SHA-256). ``load(path, key=...)`` then refuses a file that was altered by
        anybody without the key. The file can be read without the key, and an older signed file
        cannot be distinguished from the latest one.

    Raises
    ------
    SettingError
        If the key is too short, or the model is a pipeline with other steps.
    ModelFileError
        If the model is not fitted, its class is not registered, an attribute cannot be written as
        numbers and JSON (your own transformer as ``preprocessor``, a function as
        ``shift_activation``) or is invalid (a weight that is not finite), or the file cannot be
        written.

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
    ...     loaded = load(Path(folder) / "cox.safetensors")
    >>> bool((loaded.predict(data.X) == model.predict(data.X)).all())
    True

    """
    secret = _as_secret(key)
    model = without_steps(model, "a model file")
    if not hasattr(model, "n_events_"):
        raise ModelFileError(
            f"save needs a fitted model; got a {type(model).__name__} that is not fitted. Call fit "
            "first; a search needs refit=True."
        )
    encoder = _Encoder()
    content = encoder.encode(model, "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _decode_model(content, encoder.arrays, encoder.user_code)
    except ModelFileError as error:
        raise ModelFileError(
            f"no file was written, because this {type(model).__name__} could not be loaded again: "
            f"{error} Fit the model again, or pickle it with joblib."
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
    """Return the model that ``save`` wrote; its predictions are identical. No code of the file runs.

    Parameters
    ----------
    path : str or path
        The file.
    encoder : nn.Module, optional
        For a model with your own encoder, a module of the same shape; a copy of it gets the saved
        weights.
    primitive : subclass of Primitive or sequence of such, optional
        For a model with your own primitives, their classes, because the file holds only their
        names. Not needed if the modules that define them have been imported.
    activation : callable, optional
        For a model with your own function as ``activation``, that function.
    key : bytes or str, optional
        The key that ``save`` was called with. A file that is not signed with this key is refused;
        without ``key``, signed files are read like others.

    Returns
    -------
    fitted model
        Of the saved class, with its options: it predicts, scores, can be cloned and fitted again.

    Raises
    ------
    ModelFileError
        If the file is damaged, has another format, contains a class that is not registered or
        invalid attributes, or is not signed with the key.

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
        content, arrays = read_arrays(Path(path), _as_secret(key))
    except FileNotFoundError as error:
        raise ModelFileError(f"{error}. Check the path.") from None
    except ModelFileError as error:
        raise ModelFileError(
            f"{error} Fit the model again and save it, or get another copy of the file."
        ) from None
    version = content.get("format") if isinstance(content, dict) else None
    if version != FORMAT:
        raise ModelFileError(
            f"{path} has format {version!r:.20}; this version reads model files of format {FORMAT}. "
            "Fit the model again and save it, or update lifemix if the file is newer."
        )
    if primitive:
        from .primitives import primitive_class  # imports PyTorch

        for family in [primitive] if isinstance(primitive, type) else primitive:
            primitive_class(family)  # registers it
    options = {"encoder": encoder, "activation": activation}
    user_code = {name: code for name, code in options.items() if code is not None}
    try:
        return _decode_model(content.get("model"), arrays, user_code)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _as_secret(key: bytes | str | None) -> bytes | None:
    secret = key.encode() if isinstance(key, str) else key
    if secret is not None and (not isinstance(secret, bytes) or len(secret) < _MIN_KEY_BYTES):
        length = f" of {len(secret)} bytes" if isinstance(secret, bytes) else ""
        raise SettingError(
            f"key must be a text or bytes of at least {_MIN_KEY_BYTES} bytes; got a "
            f"{type(key).__name__}{length}. Make one with secrets.token_hex(32)."
        )
    return secret


class _Encoder:
    """Turns values into JSON and arrays.

    A JSON object with one key that begins with ``$`` stands for a value of another type.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.user_code: dict[str, Any] = {}

    def encode(self, value: Any, path: str) -> Any:
        """Return the JSON of a value; ``path`` names its arrays, and the value in errors."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value  # json writes NaN and Infinity, too
        if isinstance(value, list):
            return [self.encode(item, f"{path}.{i}") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"$tuple": self.encode(list(value), path)}
        if isinstance(value, Mapping):
            if all(isinstance(name, str) and not name.startswith("$") for name in value):
                prefix = f"{path}." if path else ""
                return {name: self.encode(item, prefix + name) for name, item in value.items()}
            return {"$items": self.encode([[*item] for item in value.items()], path)}
        if registered_class(type(value).__name__) is type(value):
            arguments, attributes = saved_state(value)
            return {
                "$class": type(value).__name__,
                "arguments": self.encode(arguments, path),
                "attributes": self.encode(attributes, path),
            }
        return self._encode_other(value, path)

    def _encode_other(self, value: Any, path: str) -> Any:
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return None  # its state has advanced since fit
        if isinstance(value, UserCode):
            self.user_code[value.name] = value.code
            return {"$user_code": value.name}
        torch = sys.modules.get("torch")
        if torch and isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16:
            return {"$tensor": self._store(value.numpy(force=True), path)}
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "OU" and all(isinstance(item, str) for item in value.flat):
                return {"$texts": [value.ravel().tolist(), list(value.shape)]}
            if value.dtype.kind in "biuf":
                return {"$array": self._store(value, path)}
        raise ModelFileError(
            f"{path or 'the model'}: a {type(value).__name__} cannot be written without pickle. "
            "Transform X before fit and use preprocessor=None, use the name of an activation, or "
            "register the class (lifemix.registry.register_model); or pickle the model with joblib."
        )

    def _store(self, array: NDArray[Any], path: str) -> str:
        """Store an array and return its name."""
        while path in self.arrays:  # {"a.b": x, "a": {"b": y}}
            path += "'"
        self.arrays[path] = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        return path


def _decode_model(
    content: Any, arrays: Mapping[str, NDArray[Any]], user_code: Mapping[str, Any]
) -> Any:
    """Return the fitted model of a file; if it is forged, raise nothing but ``ModelFileError``."""
    try:
        model = _Decoder(arrays, user_code).decode(content)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"the file does not hold a valid model: {error!r:.500}. Save the model again."
        ) from None
    if not hasattr(model, "n_events_") or not hasattr(model, "predict_survival_function"):
        raise ModelFileError("the file does not hold a fitted model. Save the model again.")
    return model


@dataclass(frozen=True)
class _Decoder:
    """Turns the JSON and the arrays of ``_Encoder`` back into values."""

    arrays: Mapping[str, NDArray[Any]]
    user_code: Mapping[str, Any]

    def decode(self, saved: Any) -> Any:
        """Return the value of JSON."""
        match saved:
            case [*items]:
                return [self.decode(item) for item in items]
            case {"$class": name, "arguments": arguments, "attributes": attributes}:
                model_class = _class_named(name)  # imports the classes of its attributes, too
                return restore_object(model_class, self.decode(arguments), self.decode(attributes))
            case {"$tuple": items}:
                return tuple(self.decode(items))
            case {"$items": items}:
                return dict(self.decode(items))
            case {"$array": name}:
                return self.arrays[name]
            case {"$tensor": name}:
                return import_module("torch").from_numpy(self.arrays[name])
            case {"$texts": [texts, shape]}:
                return np.array([str(text) for text in texts], dtype=object).reshape(shape)
            case {"$user_code": name}:
                return self._code_of_user(name)
            case dict():
                return {name: self.decode(item) for name, item in saved.items()}
        return saved

    def _code_of_user(self, name: str) -> Any:
        if name not in self.user_code:
            raise ModelFileError(
                f"this model has your own {name!s:.20}. Use load(path, {name!s:.20}=...)."
            )
        return self.user_code[name]


def _class_named(name: str) -> type:
    """Return the registered class of a name; import the module of a model of this package."""
    if name in baselines.__all__:
        getattr(baselines, name)
    elif name in _PACKAGES:
        import_module(_PACKAGES[name], __package__)
    model_class = registered_class(name)
    if model_class is None:
        raise ModelFileError(
            f"no class called {name!r:.60} is registered. Import the module that defines it, then load."
        )
    return model_class
