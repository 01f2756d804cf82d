"""How a fitted model is written down: its class declares its state once, and saving and loading follow from that.

A class registers itself with ``register_model`` and lists its fitted attributes in ``_state``, each with what it holds:
numbers, arrays, other fitted models, or objects of ours. All of it becomes JSON and arrays, never pickle; reading it
checks types, shapes and ranges, so that a malformed file is refused and does not surface later as a strange prediction.
``lifemix.persistence`` puts that into a file.
"""

from __future__ import annotations

from .curves import StepCurve, TimedStepCurve
from .models import FittedModel, read_model, write_model
from .options import LeftOut
from .registry import register_model, registered_models
from .shared import SUMMARY, PreprocessorState, TargetState
from .store import Reader, Writer, malformed
from .values import (
    BoolValue,
    ByEvent,
    FloatArray,
    FloatList,
    FloatValue,
    IfPresent,
    IntArray,
    IntValue,
    JsonValue,
    ListOf,
    NameArray,
    NumbersByName,
    ObjectOf,
    OneOf,
    StateKind,
    TableOf,
    TextValue,
    TupleOf,
    read_fields,
)

__all__ = [
    "SUMMARY",
    "BoolValue",
    "ByEvent",
    "FittedModel",
    "FloatArray",
    "FloatList",
    "FloatValue",
    "IfPresent",
    "IntArray",
    "IntValue",
    "JsonValue",
    "LeftOut",
    "ListOf",
    "NameArray",
    "NumbersByName",
    "ObjectOf",
    "OneOf",
    "PreprocessorState",
    "Reader",
    "StateKind",
    "StepCurve",
    "TableOf",
    "TargetState",
    "TextValue",
    "TimedStepCurve",
    "TupleOf",
    "Writer",
    "malformed",
    "read_fields",
    "read_model",
    "register_model",
    "registered_models",
    "write_model",
]
