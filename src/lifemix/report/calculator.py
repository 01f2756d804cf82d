"""A risk calculator: one HTML file with a form, the curves and the model itself, which runs in the browser.

The page holds the weights of the network and the state of the preprocessor; plain JavaScript computes with them. There
is no server, and the page's own security policy forbids it to send or fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import lifemix

from ..checks import check_times
from ..errors import InputError, SettingError
from ..estimators import DeepSurvivalMachines
from ..files import atomic_write
from ..metrics import aalen_johansen
from ..network import ACTIVATIONS
from ..preprocessing import SequencePreprocessor
from ..primitives.numeric import LARGEST_LOG, LOG_LIMIT
from ..splits import default_horizons
from ..target import Target
from ..target import event_names as all_event_names
from .calculator_families import family_javascript
from .calculator_fields import fields_of

__all__ = ["write_calculator"]

_SCRIPTS = ("network", "curves", "text", "form", "chart", "results", "start")
_GRID = 401  # points of the observed curves
_ACTIVATIONS = {  # in JavaScript
    "relu6": "(x) => Math.min(Math.max(x, 0), 6)",
    "relu": "(x) => Math.max(x, 0)",
    "selu": "(x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x))",
    "elu": "(x) => (x > 0 ? x : Math.expm1(x))",
    "gelu": "(x) => x * normalSurvival(-x)",
    "silu": "(x) => x / (1 + Math.exp(-x))",
    "tanh": "Math.tanh",
    "identity": "(x) => x",
}


def write_calculator(
    model: DeepSurvivalMachines,
    path: str | os.PathLike[str],
    *,
    horizons: ArrayLike | None = None,
    title: str | None = None,
    time_unit: str | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    features: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    data: Any = None,
) -> Path:
    """Write a fitted model as a risk calculator: one self-contained HTML file that runs in the browser.

    The same arguments give the same bytes.

    Parameters
    ----------
    model : DeepSurvivalMachines
        Fitted. A model with an encoder, a transformer or an activation function of your own is refused.
    path : str or path
        The HTML file; its folder is made where there is none.
    horizons : array-like of float, optional
        Times at which the page gives the risk; the reader of the page can change them. By default
        ``lifemix.splits.default_horizons`` of the training data.
    title : str, optional
        The title of the page.
    time_unit : str, optional
        The unit of the times, such as ``"days"``.
    event_names : mapping from code to name, or sequence of names, optional
        What the event types are called on the page.
    features : mapping from column to description, optional
        What the columns mean. Columns of an array are called feature 1, feature 2, ...
    units : mapping from column to unit, optional
        The units of the columns.
    data : DataFrame or array, optional
        A table like X that gives the sliders their ranges and typical values; needed where the model does not know
        them (``preprocessor=None``).

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        Where the file cannot be written, or a horizon is not a positive time.
    SettingError
        Where a browser cannot run the model, or a name does not belong to a column or event type.

    Examples
    --------
    >>> import tempfile
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> from lifemix.report import write_calculator
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(max_epochs=1).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_calculator(model, f"{folder}/calculator.html", time_unit="months", units={"x8": "years"})
    ...     print(path.name)
    calculator.html

    """
    _check_model(model)
    fields = fields_of(model.preprocessor_, data, features or {}, units or {})
    names = all_event_names(event_names, model.n_events_)
    content = {
        "version": lifemix.__version__,
        "title": title or "Risk calculator",
        "timeUnit": time_unit or "",
        "events": ["the event" if name == "event" else name for name in names],
        "horizons": _horizons(horizons, model.training_target_),
        "lastEventTime": model.last_event_time_,
        "training": _training(model.training_target_),
        "observed": _observed(model.training_target_),
        "fields": fields,
        "network": _network(model),
    }
    path = Path(path)
    with atomic_write(path, make_folder=True) as partial:
        partial.write_bytes(_page(content, _declared(model)).encode("utf-8", "replace"))
    return path


def _check_model(model: Any) -> None:
    if not isinstance(model, DeepSurvivalMachines):
        raise SettingError(
            f"a calculator runs networks in the browser: it is made from a DeepSurvivalMachines; got "
            f"{type(model).__name__}. Fit one for it, on the command line with --model dsm; of a search, give its "
            "best_estimator_."
        )
    if not hasattr(model, "n_events_"):
        raise SettingError(
            "a calculator needs a fitted model; got one that is not. Call fit first."
        )
    module = model.network_.architectures[0].module
    if isinstance(model.preprocessor_, SequencePreprocessor):
        raise SettingError(
            "a calculator asks for one row of a table in the browser; got a model of "
            f"{', '.join(repr(block.name) + ' (' + block.kind + ')' for block in model.preprocessor_.blocks_)}. Fit a "
            "model to histories.last(), the last visit as a table, or predict with lifemix."
        )
    if module is not None:
        raise SettingError(
            f"a calculator runs the network in the browser, which cannot run an encoder of your own; got "
            f"{type(module).__name__}. Fit a model with hidden=(...) in place of encoder."
        )


def _declared(model: DeepSurvivalMachines) -> str:
    """Return the JavaScript of the model's primitive and activations."""
    architecture = model.network_.architectures[0]
    for activation in (architecture.encoder_activation, architecture.act):
        if ACTIVATIONS.get(activation.name) is not activation:
            raise SettingError(
                f"a calculator runs the network in the browser, which cannot run a function of Python; got the "
                f"activation {activation.name}. Fit a model with one of {sorted(ACTIVATIONS)}."
            )
    declared = {
        "LOG_LIMIT": LOG_LIMIT,
        "LARGEST_LOG": LARGEST_LOG,
        "componentOf": family_javascript(architecture.family),
        "activation": _ACTIVATIONS[architecture.encoder_activation.name],
        "shiftActivation": _ACTIVATIONS[architecture.act.name],
    }
    return "".join(f"const {name} = {source};\n" for name, source in declared.items())


def _horizons(given: ArrayLike | None, target: Target) -> list[float]:
    """Return the times at which the risk is given, ascending and each once."""
    if given is not None:
        times = check_times(given, "horizons")
        if not (times > 0).all():
            raise InputError(
                "horizons must be positive; got 0, where no event can have happened. Leave it out."
            )
        return sorted(set(times.tolist()))
    return default_horizons(target).tolist()


def _training(target: Target) -> dict[str, Any]:
    counts = [int((target.event == code).sum()) for code in range(1, target.n_events + 1)]
    return {"rows": len(target), "events": counts}


def _observed(target: Target) -> dict[str, Any] | None:
    """Return the incidences among the training rows (Aalen-Johansen) on a grid; intervals have none that is simple."""
    if target.interval.any():
        return None
    end = float(target.time.max())
    grid = np.linspace(0, end, _GRID)
    curves = [aalen_johansen(target, event).at(grid) for event in range(1, target.n_events + 1)]
    return {
        "end": end,
        "risks": [[round(share, 5) for share in curve.tolist()] for curve in curves],
    }


def _network(model: DeepSurvivalMachines) -> dict[str, Any]:
    """Return the network as JSON has it; the weights as base64 of little-endian float32, member after member."""
    network = model.network_
    architecture = network.architectures[0]
    weights = network.parameters.numpy().astype("<f4").tobytes()
    return {
        "label": architecture.family.label,
        "signs": architecture.shift_signs,
        "closed": None if architecture.is_absent is None else architecture.is_absent.tolist(),
        "events": architecture.n_events,
        "k": architecture.k,
        "cure": bool(model.cure),
        "members": len(network),
        "timeUnit": network.scale.unit,
        "layout": [[name, list(shape)] for name, shape in architecture.layout.shapes.items()],
        "weights": base64.b64encode(weights).decode(),
    }


def _page(content: dict[str, Any], declared: str) -> str:
    parts = [_part("special.js"), declared, *(_part(f"{name}.js") for name in _SCRIPTS)]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    style = _part("style.css")
    # Nothing but this script and this style may run or be fetched, whatever the names of columns hold.
    sources = f"script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    policy = f"default-src 'none'; {sources}; form-action 'none'; base-uri 'none'"
    return Template(_part("page.html")).substitute(
        policy=policy,
        title=escape(content["title"]),
        style=style,
        script=script,
        content=_json_in_html(content),
    )


def _part(name: str) -> str:
    return (resources.files(__package__) / "calculator_page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json_in_html(content: dict[str, Any]) -> str:
    """Return JSON in which nothing can end the script element that holds it."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
