"""Saving and loading of fitted models."""

from __future__ import annotations

import json
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import baselines
from ..errors import LifemixError, ModelFileError
from ..state import Reader, Writer, read_model, write_model
from . import version1, version2
from .files import FORMAT_VERSION, Arrays, check_key, read_file, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from ..primitives import Primitive

__all__ = ["load", "save"]

_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(model: Any, path: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
    """Write a fitted model to one file, as numbers and JSON; a kill while writing leaves no half file under that name.

    The file holds the options, what was learned, and counts of the times and events of training, which ``score`` needs
    (see ``lifemix.target_summary``), but no row; of curves with a step at every event time up to 4,096 steps. The
    weights of an encoder of your own are written, its code is not: ``load(path, encoder=...)`` brings the two together;
    so it is for ``primitive=`` and ``activation=`` of your own.
    A dictionary of JSON's types under ``model.metadata_`` goes along.

    Parameters
    ----------
    model : fitted model
        ``DeepSurvivalMachines``, any model of ``lifemix.baselines``, or a model of a class that is registered
        (``lifemix.state.register_model``). Of a search (``FleetSearchCV``, scikit-learn's ``GridSearchCV``) the
        ``best_estimator_`` is written.
    path : str or path
        The file, by custom with the ending ``.safetensors``.
    key : bytes or str, optional
        A secret of at least 16 bytes, such as ``secrets.token_hex(32)`` gives, with which the file is signed (HMAC with
        SHA-256): ``load(path, key=...)`` then refuses what was altered by somebody without the key. The file can still
        be read without it, and an older file with a right signature cannot be told from the last one.

    Raises
    ------
    SettingError
        If the key is too short.
    ModelFileError
        If the model is not fitted, is of another class, has parts that cannot be written without pickle (a transformer
        of your own as preprocessor, a function as shift_activation) or values that a fitted model cannot have (a weight
        that is not a number), or the file cannot be written.

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
    secret = check_key(key)
    model, writer = _best(model), Writer()
    content = write_model(model, writer)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = json.loads(json.dumps(content, allow_nan=False))
            _restore(FORMAT_VERSION, again, writer.arrays, writer.encoder, writer.activation)
    except (LifemixError, ValueError) as error:
        reason = str(error).removesuffix(" Save the model again.")
        raise ModelFileError(
            f"a file of this {type(model).__name__} could not be loaded again, so none was written: {reason} Fit the "
            "model again, or pickle it with joblib."
        ) from None
    write_file(Path(path), content, writer.arrays, secret)


def load(
    path: str | os.PathLike[str],
    encoder: nn.Module | None = None,
    *,
    primitive: type[Primitive] | Sequence[type[Primitive]] = (),
    activation: Callable[[Tensor], Tensor] | None = None,
    key: bytes | str | None = None,
) -> Any:
    """Read a model that ``save`` wrote; its predictions are the same. Loading never runs code of the file.

    Bit for bit but for curves with more than 4,096 steps, of which as many are in the file; these are within 1e-3.

    Parameters
    ----------
    path : str or path
        The file. Files of the releases 0.1.0 and 0.2.0 are read as well.
    encoder : nn.Module, optional
        For a model with an encoder of your own, a module of the same shape; a copy of it gets the saved weights.
    primitive : subclass of Primitive or sequence of such, optional
        For a model with primitives of your own, their classes: the file holds their names. Where the modules that
        define them have been imported, it is not needed.
    activation : callable, optional
        For a model with a function of your own as ``activation``, that function.
    key : bytes or str, optional
        The key that ``save`` was given. With it, a file that is not signed with this key is refused; without, signed
        files are read like others.

    Returns
    -------
    fitted model
        Of the class that was saved, with its options: it predicts, scores, can be cloned and fitted again.

    Raises
    ------
    ModelFileError
        If the file is not a whole and unaltered model file, of a newer format, of a class that is not registered, or
        not signed with the key.

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
    version, content, arrays = read_file(Path(path), check_key(key))
    if primitive:
        from ..primitives import primitive_class  # imports PyTorch

        for one in [primitive] if isinstance(primitive, type) else primitive:
            primitive_class(one)  # registers it
    try:
        return _restore(version, content, arrays, encoder, activation)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _restore(version: int, content: Any, arrays: Arrays, encoder: Any, activation: Any = None) -> Any:
    """Return the model of a file's content; a ``ModelFileError`` says what is wrong with it."""
    try:
        if version == 1:
            content, arrays = version1.upgrade(content, dict(arrays))
        if version <= 2:
            content, arrays = version2.upgrade(content, arrays)
        reader = Reader(arrays, encoder, _import, activation)
        model = read_model(content, reader)
    except LifemixError:
        raise
    except _MALFORMED as error:
        raise ModelFileError(f"this is not what a model needs: {error!r}. Save the model again.") from None
    if encoder is not None and not reader.with_encoder:
        raise ModelFileError(f"this model has no encoder of its own; got {type(encoder).__name__}. Leave encoder out.")
    return model


def _best(model: Any) -> Any:
    """Return the model that a search has found, or the model itself."""
    if not (hasattr(model, "cv") and hasattr(model, "refit")):
        return model
    if not hasattr(model, "best_estimator_"):
        raise ModelFileError(
            f"save needs a fitted model; got a {type(model).__name__} without best_estimator_. Call fit first, with "
            "refit=True."
        )
    return model.best_estimator_


def _import(name: str) -> None:
    """Import a class of ours by its name, which registers it; PyTorch only where the class needs it."""
    if name in baselines.__all__:
        getattr(baselines, name)
    elif name == "DeepSurvivalMachines":
        import_module("..estimators", __package__)
    elif name == "LifeMix":
        import_module("..mix", __package__)
