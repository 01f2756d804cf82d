"""One safe file for a model: safetensors with a JSON header. Loading never runs code.

The header holds the format version, the class, its options and what was learnt apart from the weights (columns,
filling, coding, unit of time); the tensors are the weights, and the training times and events that ``score`` needs. A
checksum over all of it tells a damaged or altered file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize
from torch import Tensor, nn

from .checks import check_settings
from .errors import LifemixError, ModelFileError
from .estimators import DeepSurvivalMachines
from .estimators.network import FittedNetwork
from .estimators.plan import architecture_of
from .estimators.timescale import TimeScale
from .files import atomic_write
from .model import Architecture
from .preprocessing import Passthrough, TabularPreprocessor
from .target import Target

__all__ = ["FORMAT_VERSION", "load", "save"]

FORMAT_VERSION = 1
_CLASSES = {"DeepSurvivalMachines": DeepSurvivalMachines}
_FIELDS = ("event", "time", "entry", "upper")


def save(model: DeepSurvivalMachines, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; a kill while writing leaves no half file under that name.

    The weights of an encoder of your own are written, its code is not: ``load(path, encoder=...)`` brings the two
    together. A transformer of your own cannot be written without pickle and is refused. A dictionary of JSON's types
    under ``model.metadata_``, such as the command line's names of columns, goes along.
    """
    if type(model) not in _CLASSES.values():
        raise ModelFileError(
            f"save writes models of {sorted(_CLASSES)}; got {type(model).__name__}. Pickle it with joblib instead."
        )
    if not hasattr(model, "n_events_"):
        raise ModelFileError("save needs a fitted model; got one that is not. Call fit first.")
    tensors = _tensors(model)
    try:
        content = json.dumps(_content(model), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"metadata_ must be of JSON's types, finite numbers: {error}. Convert it.") from None
    version = str(FORMAT_VERSION)
    header = {"lifemix": version, "content": content, "checksum": _checksum(version, content, tensors)}
    with atomic_write(Path(path), ModelFileError) as partial:
        partial.write_bytes(serialize(tensors, header))  # not save_file: only their owner can read the files it makes


def load(path: str | os.PathLike[str], encoder: nn.Module | None = None) -> DeepSurvivalMachines:
    """Read a model that ``save`` wrote; its predictions are the same bit for bit.

    encoder: for a model with an encoder of your own, a module of the same shape; a copy of it gets the saved weights.
    """
    header, tensors = _read(Path(path))
    try:
        return _restore(json.loads(header["content"]), tensors, encoder)
    except LifemixError:
        raise
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not hold what a model needs: {error!r}. Save the model again.") from None


def _content(model: DeepSurvivalMachines) -> dict[str, Any]:
    network = model.network_
    architecture = network.architectures[0]
    names = getattr(model, "feature_names_in_", None)
    history = [{name: None if math.isnan(v) else v for name, v in record.items()} for record in model.history_]
    return {
        "class": type(model).__name__,
        "options": _options(model),
        "preprocessor": _preprocessor_state(model.preprocessor_),
        "has_encoder": architecture.module is not None,
        "layout": {name: list(shape) for name, shape in architecture.layout.shapes.items()},
        "n_inputs": architecture.n_inputs,
        "n_events": model.n_events_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "time_scale": [network.scale.unit, network.scale.first_event],
        "last_event_time": model.last_event_time_,
        "best_epoch": model.best_epoch_,
        "history": history,
        "metadata": getattr(model, "metadata_", None),
    }


def _options(model: DeepSurvivalMachines) -> dict[str, Any]:
    """Return the constructor's options as JSON has them; what belongs to a machine or a session is left out."""
    options = model.get_params(deep=False)
    for name in ("encoder", "checkpoint"):
        options.pop(name)
    options["hidden"] = [int(width) for width in model.hidden]
    options["device"] = str(model.device)
    if not isinstance(model.random_state, (int, np.integer)):
        options["random_state"] = None  # a generator has moved on
    if isinstance(model.preprocessor, TabularPreprocessor):
        options["preprocessor"] = "tabular"  # its settings are in the state of the fitted one
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}


def _preprocessor_state(fitted: Any) -> dict[str, Any]:
    if type(fitted) is TabularPreprocessor:
        return {"kind": "tabular", **fitted.to_state()}
    if type(fitted) is Passthrough:
        return {"kind": "as it is", "names": fitted.names, "named": fitted.named}
    raise ModelFileError(
        f"a {type(fitted).__name__} cannot be written without pickle. Transform X before fit and use "
        "preprocessor=None, or preprocessor='auto'; or pickle the model with joblib."
    )


def _restore_preprocessor(state: dict[str, Any]) -> Any:
    if state["kind"] == "tabular":
        return TabularPreprocessor.from_state(state)
    if state["kind"] == "as it is":
        return Passthrough(state["names"], state["named"])
    raise ValueError(f"unknown preprocessor {state['kind']!r}")


def _tensors(model: DeepSurvivalMachines) -> dict[str, Tensor]:
    tensors = {"parameters": model.network_.parameters}
    for name in _FIELDS:
        tensors[f"training.{name}"] = torch.as_tensor(getattr(model.training_target_, name))
    for member, architecture in enumerate(model.network_.architectures):
        for name, values in architecture.module_state().items():
            tensors[f"module.{member}.{name}"] = values.cpu()
    return {name: tensor.clone().contiguous() for name, tensor in tensors.items()}


def _restore(content: dict[str, Any], tensors: dict[str, Tensor], encoder: nn.Module | None) -> DeepSurvivalMachines:
    if content["has_encoder"] != (encoder is not None):
        has, do = ("an", "Use load(path, encoder=...)") if encoder is None else ("no", "Leave encoder out")
        raise ModelFileError(f"this model has {has} encoder of its own; got {type(encoder).__name__}. {do}.")
    preprocessor = _restore_preprocessor(content["preprocessor"])
    options = content["options"] | {"hidden": tuple(content["options"]["hidden"])}
    if options["preprocessor"] == "tabular":
        options["preprocessor"] = TabularPreprocessor(**preprocessor.get_params())
    model = _CLASSES[content["class"]](**options, encoder=encoder)
    check_settings(model)
    model.network_ = _restore_network(content, tensors, model)
    model.training_target_ = Target(*(tensors[f"training.{name}"].numpy() for name in _FIELDS))
    model.preprocessor_ = preprocessor
    model.n_features_in_, model.n_events_ = content["n_features"], content["n_events"]
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    model.time_unit_, model.last_event_time_ = model.network_.scale.unit, content["last_event_time"]
    model.n_parameters_ = model.network_.architectures[0].layout.size
    model.best_epoch_ = content["best_epoch"]
    if content.get("metadata") is not None:
        model.metadata_ = content["metadata"]
    model.history_ = [{name: np.nan if v is None else v for name, v in record.items()} for record in content["history"]]
    return model


def _restore_network(content: dict[str, Any], tensors: dict[str, Tensor], model: DeepSurvivalMachines) -> FittedNetwork:
    parameters = tensors["parameters"]
    n_architectures = model.n_members if content["has_encoder"] else 1
    example = torch.zeros(2, content["n_inputs"])
    architectures = tuple(architecture_of(model, example, content["n_events"]) for _ in range(n_architectures))
    _check_layout(content, architectures[0])
    if tuple(parameters.shape) != (model.n_members, architectures[0].layout.size) or parameters.dtype != torch.float32:
        raise ValueError(f"weights of shape {tuple(parameters.shape)} and type {parameters.dtype}")
    for member, architecture in enumerate(architectures):
        for name, values in architecture.module_state().items():
            saved = tensors[f"module.{member}.{name}"]
            if saved.shape != values.shape:
                raise ModelFileError(
                    f"{name} of the encoder has shape {tuple(values.shape)}; the file has {tuple(saved.shape)}. Give a "
                    "module of the shape that was saved."
                )
            values.copy_(saved)
    return FittedNetwork(architectures, parameters, TimeScale(*content["time_scale"]))


def _check_layout(content: dict[str, Any], architecture: Architecture) -> None:
    here = {name: list(shape) for name, shape in architecture.layout.shapes.items()}
    saved = content["layout"]
    differ = [name for name in {**saved, **here} if saved.get(name) != here.get(name)]
    if differ:
        name = differ[0]
        raise ModelFileError(
            f"the weights {name!r} have shape {saved.get(name)} in the file and {here.get(name)} in this model. Give a "
            "module of the shape that was saved."
        )


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Read a file, and refuse what is not a whole and unaltered model of a version that we know."""
    try:
        with safe_open(path, framework="pt") as file:
            header: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}. Check the path.") from None
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is no model file, or part of one: {error}. Save the model again.") from None
    version, content = header.get("lifemix"), header.get("content")
    if version is None or content is None:
        raise ModelFileError(f"{path} is a safetensors file, but not of lifemix. Expected what lifemix.save wrote.")
    if version.isdecimal() and int(version) > FORMAT_VERSION:
        raise ModelFileError(f"{path} has format {version}; this version reads up to {FORMAT_VERSION}. Update lifemix.")
    if header.get("checksum") != _checksum(version, content, tensors):
        raise ModelFileError(f"{path} was altered or damaged: its checksum does not fit. Save the model again.")
    return header, tensors


def _checksum(version: str, content: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(f"{version}\n{content}\n".encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
