"""How a fitted ``DeepSurvivalMachines`` is saved: what its options and its network are in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..encoders import SequenceEncoder, encoder_named
from ..errors import InputError, ModelFileError
from ..model import Architecture
from ..primitives import primitive_class
from ..state import FloatArray, FloatValue, JsonValue, ListOf, Reader, StateKind, Writer, malformed, read_fields
from ..warning import warn_user
from .automatic import check_used, with_used
from .network import FittedNetwork
from .plan import architecture_of
from .timescale import TimeScale

__all__ = [
    "ActivationOption",
    "DeviceOption",
    "EncoderOption",
    "FittedNetworkState",
    "OptimizerOption",
    "PrimitiveOption",
]

_ENCODER = {"$encoder": True}
_ACTIVATION = {"$activation": True}


class EncoderOption:
    """The option ``encoder``: of one of ours the name and the settings; of a module only that there was one.

    ``load(path, encoder=...)`` gives the code of a module.
    """

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return a mark in place of a module."""
        if value is None:
            return None
        if isinstance(value, SequenceEncoder):
            return _written_encoder(value, place)
        writer.encoder = writer.encoder or value
        return dict(_ENCODER)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the module that the user gave."""
        if saved is None:
            return None
        if isinstance(saved, dict) and isinstance(saved.get("$encoder"), dict):
            return _read_encoder(saved["$encoder"], place)
        if saved != _ENCODER:
            raise malformed(place, "null or the mark of an encoder", saved)
        if reader.encoder is None:
            raise ModelFileError("this model has an encoder of its own; got None. Use load(path, encoder=...).")
        reader.with_encoder.append(place)
        return reader.encoder


def _written_encoder(encoder: SequenceEncoder, place: str) -> Any:
    """Return the name and the settings of an encoder of ours; a class of the user's must be known by its name."""
    name = type(encoder).__name__
    settings = {key: value.item() if isinstance(value, np.generic) else value for key, value in _settings_of(encoder)}
    if not all(value is None or isinstance(value, (bool, int, float, str)) for value in settings.values()):
        raise ModelFileError(f"{place}: the settings of {name} must be numbers, texts or None; got {settings}.")
    return {"$encoder": {"name": name, "settings": settings}}


def _settings_of(encoder: SequenceEncoder) -> Any:
    return encoder.get_params(deep=False).items()


def _read_encoder(saved: dict[str, Any], place: str) -> SequenceEncoder:
    """Return the encoder of ours with saved settings."""
    name, settings = saved.get("name"), saved.get("settings")
    kind = encoder_named(name) if isinstance(name, str) else None
    if kind is None or not isinstance(settings, dict) or set(saved) != {"name", "settings"}:
        raise malformed(place, "the name and the settings of an encoder (import the module that defines it)", saved)
    try:
        encoder = kind(**settings)
        encoder.check()
    except (TypeError, InputError) as error:
        raise malformed(place, f"the settings of {name}", f"{settings}: {error}") from None
    return encoder


class ActivationOption:
    """The option ``activation``: a name; for a function a mark, ``load(path, activation=...)`` gives the function."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name, or a mark in place of a function."""
        if value is None or isinstance(value, str):
            return value
        writer.activation = writer.activation or value
        return dict(_ACTIVATION)

    def read(self, saved: Any, reader: Reader, place: str) -> Any:
        """Return the name, or the function that the user gave."""
        if saved != _ACTIVATION:
            if saved is not None and not isinstance(saved, str):
                raise malformed(place, "null, the name of an activation, or the mark of a function", saved)
            return saved
        if reader.activation is None:
            raise ModelFileError("this model has an activation of its own; got None. Use load(path, activation=...).")
        return reader.activation


class PrimitiveOption:
    """The option ``primitive``: registered names, also where classes were given."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name; of several families a list, their counts, or families by event type."""
        if isinstance(value, (list, tuple)):
            return [self.write(one, writer, place) for one in value]
        if isinstance(value, Mapping):
            if all(type(code) is int for code in value):
                return {"$events": [[code, self.write(one, writer, place)] for code, one in value.items()]}
            return {"$counts": [[self.write(one, writer, place), count] for one, count in value.items()]}
        return primitive_class(value).name

    def read(self, saved: Any, reader: Reader, place: str) -> Any:
        """Return the names; the check of the options tells whether there are such primitives."""
        if isinstance(saved, str):
            return saved
        if isinstance(saved, list):
            return [self.read(one, reader, place) for one in saved]
        if isinstance(saved, dict) and len(saved) == 1:
            ((mark, pairs),) = saved.items()
            if isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                if mark == "$events" and all(type(code) is int for code, _ in pairs):
                    return {code: self.read(one, reader, place) for code, one in pairs}
                if mark == "$counts" and all(isinstance(one, str) for one, _ in pairs):
                    return dict(pairs)
        raise malformed(place, "the name of a primitive", saved)


class OptimizerOption:
    """The option ``optimizer``: a name, or the name of a class of ``torch.optim``; only a new fit would use it."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the name; None, with a warning, in place of a class of the user's."""
        if isinstance(value, str):
            return value
        name: str = value.__name__
        if getattr(torch.optim, name, None) is value:
            return {"$optimizer": name}
        warn_user(
            f"{place}={name} is code of yours and not written; the loaded model has the default optimizer. "
            "Use set_params(optimizer=...) before you fit it again."
        )
        return None

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the name or the class."""
        if saved is None:
            return "adam"
        if isinstance(saved, str):
            return saved
        name = saved.get("$optimizer") if isinstance(saved, dict) and len(saved) == 1 else None
        found = getattr(torch.optim, name, None) if isinstance(name, str) else None
        if not (isinstance(found, type) and issubclass(found, torch.optim.Optimizer)):
            raise malformed(place, "the name of an optimizer", saved)
        return found


class DeviceOption:
    """The option ``device``, as text."""

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the text."""
        return str(value)

    def read(self, saved: object, reader: Reader, place: str) -> Any:
        """Return the text."""
        return saved


_NETWORK: dict[str, StateKind] = {
    "layout": JsonValue(),
    "unit": FloatValue(least=0.0),
    "first_event": FloatValue(least=0.0),
    "parameters": FloatArray("members", "weights", dtype="float32"),
    "modules": ListOf(JsonValue()),
}


class FittedNetworkState:
    """The fitted network: weights, the layout that tells which is which, and the unit of time.

    Of an encoder of the user's what is not trained (frozen weights, running means) is written too, member by member.
    """

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the layout and the names of the arrays."""
        network: FittedNetwork = value
        own = [one.module_state() for one in network.architectures if one.module is not None]
        return {
            "layout": {name: list(shape) for name, shape in network.architectures[0].layout.shapes.items()},
            "unit": network.scale.unit,
            "first_event": network.scale.first_event,
            "parameters": writer.array(network.parameters.numpy(force=True), f"{place}.parameters"),
            "modules": [
                {name: writer.array(values.numpy(force=True), f"{place}.{i}.{name}") for name, values in state.items()}
                for i, state in enumerate(own)
            ],
        }

    def read(self, saved: object, reader: Reader, place: str) -> FittedNetwork:
        """Return the network of the model that is being read."""
        model, within = reader.owner, reader.inner()
        fields = read_fields(saved, _NETWORK, within, place)
        parameters = torch.from_numpy(fields["parameters"])
        if (
            model.n_members not in (None, within.sizes["members"])
            or not fields["unit"] > 0
            or not fields["first_event"] > 0
        ):
            raise malformed(place, f"{model.n_members} members with a unit of time", tuple(parameters.shape))
        modules = fields["modules"]
        if len(modules) != (0 if model.encoder is None else within.sizes["members"]):
            raise malformed(f"{place}.modules", "the arrays of each member's encoder", len(modules))
        if hasattr(model, "settings_"):
            check_used(model.settings_, within.sizes["members"])
        model = with_used(model)
        example = torch.zeros(1).expand(2, reader.sizes["inputs"])  # whatever the file says, no memory
        preprocessor, events = model.preprocessor_, reader.sizes["events"]
        if isinstance(model.encoder, SequenceEncoder):
            with torch.device("meta"):  # its shapes first, whatever the file says, no memory
                _check_layout(fields["layout"], architecture_of(model, example, events, preprocessor))
        architectures = [architecture_of(model, example, events, preprocessor) for _ in range(len(modules) or 1)]
        _check_layout(fields["layout"], architectures[0])
        if within.sizes["weights"] != architectures[0].layout.size:
            raise malformed(f"{place}.parameters", f"{architectures[0].layout.size} weights", tuple(parameters.shape))
        for i, (architecture, arrays) in enumerate(zip(architectures, modules, strict=False)):
            _fill(architecture, arrays, reader, f"{place}.modules.{i}")
        return FittedNetwork(tuple(architectures), parameters, TimeScale(fields["unit"], fields["first_event"]))


def _check_layout(saved: object, architecture: Architecture) -> None:
    """Refuse an encoder whose weights have other shapes than the saved ones."""
    if not isinstance(saved, dict):
        raise malformed("layout", "the shapes of the weights", saved)
    here = {name: list(shape) for name, shape in architecture.layout.shapes.items()}
    differ = [name for name in {**saved, **here} if saved.get(name) != here.get(name)]
    if differ:
        name = differ[0]
        raise ModelFileError(
            f"the weights {name!r:.60} have shape {saved.get(name)} in the file and {here.get(name)} in this model. "
            "Give a module of the shape that was saved."
        )


def _fill(architecture: Architecture, saved: object, reader: Reader, place: str) -> None:
    """Give the module of an architecture the numbers that are not trained."""
    own: dict[str, Tensor] = architecture.module_state()
    if not isinstance(saved, dict) or set(saved) != set(own):
        found = sorted(saved) if isinstance(saved, dict) else saved
        raise ModelFileError(
            f"the encoder has {sorted(own)} beside its trained weights; the file has {found!r:.100}. Give a module of "
            "the shape that was saved."
        )
    for name, values in own.items():
        array = reader.array(saved[name], f"{place}.{name}", str(values.dtype).removeprefix("torch."), None)
        if array.shape != tuple(values.shape):
            raise ModelFileError(
                f"{name} of the encoder has shape {tuple(values.shape)}; the file has {array.shape}. Give a module of "
                "the shape that was saved."
            )
        if not np.isfinite(array).all():
            raise malformed(f"{place}.{name}", "finite numbers", array[~np.isfinite(array)][0])
        values.copy_(torch.from_numpy(array))
