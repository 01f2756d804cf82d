"""One safe file for a model: safetensors with a JSON header. Loading never runs code.

The header holds the format version, the class, its options and what was learnt apart from the weights (columns,
filling, coding, unit of time); the tensors are the weights, and the training times and events that ``score`` needs. A
checksum over both tells a damaged or altered file.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .errors import LifemixError, ModelFileError
from .estimators import DeepSurvivalMachines
from .estimators.preparation import TimeScale
from .model import Architecture
from .preprocessing import AsItIs, TabularPreprocessor
from .target import Target

__all__ = ["FORMAT_VERSION", "load", "save"]

FORMAT_VERSION = 1
_CLASSES = {"DeepSurvivalMachines": DeepSurvivalMachines}
_FIELDS = ("event", "time", "entry", "upper")


def save(model: DeepSurvivalMachines, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; a kill while writing leaves no half file under that name.

    The weights of an encoder of your own are written, its code is not: ``load(path, encoder=...)`` brings the two
    together. A transformer of your own cannot be written without pickle and is refused.
    """
    if type(model).__name__ not in _CLASSES:
        raise ModelFileError(f"save writes {sorted(_CLASSES)}; got {type(model).__name__}. Use joblib.")
    if not hasattr(model, "n_events_"):
        raise ModelFileError("save needs a fitted model; got one that is not. Call fit first.")
    tensors = _tensors(model)
    content = json.dumps(_header(model), sort_keys=True)
    header = {"lifemix": str(FORMAT_VERSION), "content": content, "checksum": _checksum(content, tensors)}
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        save_file(tensors, partial, header)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], encoder: nn.Module | None = None) -> DeepSurvivalMachines:
    """Read a model that ``save`` wrote; its predictions are the same bit for bit.

    encoder: for a model with an encoder of your own, a module of the same shape; it gets the saved weights.
    """
    header, tensors = _read(Path(path))
    content = json.loads(header["content"])
    try:
        return _restore(content, tensors, encoder)
    except LifemixError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not hold what a model needs: {error!r}. Save the model again.") from None


def _header(model: DeepSurvivalMachines) -> dict[str, Any]:
    scale = model._time_scale
    return {
        "class": type(model).__name__,
        "options": _options(model),
        "preprocessor": _preprocessor_state(model.preprocessor_),
        "has_encoder": model.encoder is not None,
        "module_width": model._architectures[0].module_width,
        "n_inputs": model._architectures[0].n_inputs,
        "n_events": model.n_events_,
        "n_features": model.n_features_in_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "time_scale": [scale.unit, scale.first_event],
        "last_event_time": model.last_event_time_,
        "best_epoch": model.best_epoch_,
        "history": model.history_,
    }


def _options(model: DeepSurvivalMachines) -> dict[str, Any]:
    """Return the constructor's options as JSON has them; what belongs to a machine or a session is left out."""
    options = model.get_params(deep=False)
    for name in ("encoder", "checkpoint"):
        options.pop(name)
    options["hidden"] = [int(width) for width in model.hidden]
    if not isinstance(options["random_state"], (int, np.integer)):
        options["random_state"] = None
    if not (options["preprocessor"] is None or isinstance(options["preprocessor"], str)):
        options["preprocessor"] = "auto"  # one of ours, whose state follows
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}


def _preprocessor_state(fitted: Any) -> dict[str, Any]:
    if isinstance(fitted, TabularPreprocessor):
        return {"kind": "tabular", **fitted.to_state()}
    if isinstance(fitted, AsItIs):
        return {"kind": "as it is", "names": fitted.names, "named": fitted.named}
    raise ModelFileError(
        f"a {type(fitted).__name__} cannot be written without pickle. Transform X before fit and use "
        "preprocessor=None, or preprocessor='auto'; or pickle the model with joblib."
    )


def _restore_preprocessor(state: dict[str, Any]) -> Any:
    kind = state.pop("kind")
    return TabularPreprocessor.from_state(state) if kind == "tabular" else AsItIs(state["names"], state["named"])


def _tensors(model: DeepSurvivalMachines) -> dict[str, Tensor]:
    tensors = {"parameters": model._parameters.contiguous()}
    for name in _FIELDS:
        tensors[f"training.{name}"] = torch.as_tensor(np.ascontiguousarray(getattr(model._training_target, name)))
    for member, architecture in enumerate(model._architectures):
        if architecture.module is not None:
            for name, buffer in architecture.module.named_buffers():
                tensors[f"buffer.{member}.{name}"] = buffer.detach().cpu().contiguous()
    return tensors


def _restore(content: dict[str, Any], tensors: dict[str, Tensor], encoder: nn.Module | None) -> DeepSurvivalMachines:
    options = content["options"] | {"hidden": tuple(content["options"]["hidden"])}
    if content["has_encoder"] and encoder is None:
        raise ModelFileError("this model has an encoder of its own; got none. Use load(path, encoder=...).")
    model = _CLASSES[content["class"]](**options, encoder=encoder if content["has_encoder"] else None)
    model.preprocessor_ = _restore_preprocessor(content["preprocessor"])
    model.n_features_in_, model.n_events_ = content["n_features"], content["n_events"]
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    model._time_scale = TimeScale(*content["time_scale"])
    model.time_unit_ = model._time_scale.unit
    model.last_event_time_ = content["last_event_time"]
    model.best_epoch_, model.history_ = content["best_epoch"], content["history"]
    model._training_target = Target(*(tensors[f"training.{name}"].numpy() for name in _FIELDS))
    model._parameters = tensors["parameters"]
    model._architectures = _architectures(content, model, tensors)
    model.n_parameters_ = model._architectures[0].layout.size
    if model._parameters.shape[1] != model.n_parameters_:
        raise ModelFileError(
            f"the file has {model._parameters.shape[1]} weights a member, this encoder needs {model.n_parameters_}. "
            "Give a module of the shape that was saved."
        )
    return model


def _architectures(
    content: dict[str, Any], model: DeepSurvivalMachines, tensors: dict[str, Tensor]
) -> list[Architecture]:
    """Return one architecture, or one a member where each has an encoder of its own."""
    n_inputs, n_events, width = content["n_inputs"], content["n_events"], content["module_width"]
    if model.encoder is None:
        return [model._architecture(n_inputs, n_events, None, width)]
    result = []
    for member in range(len(model._parameters)):
        module = copy.deepcopy(model.encoder).float().eval()
        for name, buffer in module.named_buffers():
            buffer.copy_(tensors[f"buffer.{member}.{name}"])
        result.append(model._architecture(n_inputs, n_events, module, width))
    return result


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
    if "lifemix" not in header or "content" not in header:
        raise ModelFileError(f"{path} is a safetensors file, but not of lifemix. Expected what lifemix.save wrote.")
    if not header["lifemix"].isdigit() or int(header["lifemix"]) > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {header['lifemix']}; this version reads up to {FORMAT_VERSION}. Update lifemix."
        )
    if header.get("checksum") != _checksum(header["content"], tensors):
        raise ModelFileError(f"{path} was altered or damaged: its checksum does not fit. Save the model again.")
    return header, tensors


def _checksum(content: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(content.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
