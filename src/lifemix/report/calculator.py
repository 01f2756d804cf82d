"""A risk calculator: one HTML file with a form, the curves and the model, which runs in the browser.

The page holds the weights of the network and the state of the preprocessor, and JavaScript computes
with them. There is no server, and the page's content security policy forbids it to send or fetch
anything.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import lifemix

from .._html import environment, write_page
from ..checks import check_times
from ..errors import CovariateError, InputError, SettingError
from ..estimators import DeepSurvivalMachines
from ..metrics import aalen_johansen
from ..network import ACTIVATIONS
from ..pipeline import without_steps
from ..preprocessing import Passthrough, SequencePreprocessor, TabularPreprocessor
from ..preprocessing.columns import Column, usual_values
from ..preprocessing.tabular import TableData, as_table, match_columns
from ..primitives import LogLocationScale, Primitive
from ..primitives.cure import Never
from ..primitives.mixture import Mixed
from ..splits import default_horizons
from ..target import Target
from ..target import event_names as all_event_names

__all__ = ["FAMILIES", "write_calculator"]

FAMILIES = (
    "weibull",
    "lognormal",
    "loglogistic",
    "exponential",
    "gompertz",
    "burr",
    "powergeneralisedweibull",
    "spline",
)
"""The primitives that ``families.js`` computes."""
_TEMPLATES = Path(__file__).with_name("templates")
# In this order: constants must be declared before they are used.
_SCRIPTS = ("special", "families", "network", "curves", "text", "form", "chart", "results", "start")
_N_OBSERVED = 401  # points of the observed curves
_N_STEPS = 50  # least number of steps of a slider


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
    """Write a fitted model as a risk calculator: one HTML file that runs in the browser.

    The same arguments give the same bytes.

    Parameters
    ----------
    model : DeepSurvivalMachines
        Fitted; or a search for one. A model with your own encoder, transformer or activation
        function is refused, and so are pipelines with other steps.
    path : str or path
        The HTML file; its folder is created if it does not exist.
    horizons : array-like of float, optional
        Times at which the page states the risk; the reader of the page can change them. By default
        ``lifemix.splits.default_horizons`` of the training data.
    title : str, optional
        The title of the page.
    time_unit : str, optional
        The unit of the times, such as ``"days"``.
    event_names : mapping from code to name, or sequence of names, optional
        The names of the event types on the page.
    features : mapping from column to description, optional
        What the columns mean. Columns of an array are called feature 1, feature 2, ...
    units : mapping from column to unit, optional
        The units of the columns.
    data : DataFrame or array, optional
        A table like X that gives the sliders their ranges and typical values; needed if the model
        does not know them (``preprocessor=None``).

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        If the file cannot be written, or a horizon is not a positive time.
    SettingError
        If a browser cannot run the model, or a name does not belong to a column or event type.

    Examples
    --------
    >>> import tempfile
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> from lifemix.report import write_calculator
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(max_epochs=1).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_calculator(
    ...         model, f"{folder}/calculator.html", time_unit="months", units={"x8": "years"}
    ...     )
    ...     print(path.name)
    calculator.html

    """
    model = without_steps(model, "a calculator")
    _check_model(model)
    target = model.training_target_
    times = default_horizons(target) if horizons is None else check_times(horizons, "horizons")
    if not (times > 0).all():
        raise InputError(
            "horizons must be positive; got 0, where no event can have happened. Leave it out."
        )
    names = all_event_names(event_names, model.n_events_)
    counts = np.bincount(target.event, minlength=target.n_events + 1)
    content = {
        "version": lifemix.__version__,
        "timeUnit": time_unit or "",
        "events": ["the event" if name == "event" else name for name in names],
        "horizons": np.unique(times).tolist(),
        "lastEventTime": model.last_event_time_,
        "training": {"rows": len(target), "events": counts[1:].tolist()},
        "observed": _observed(target),
        "fields": _fields(model.preprocessor_, data, features or {}, units or {}),
        "network": _network(model),
    }
    scripts = [_read(f"{name}.js") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();\n"
    # Only this script may run, whatever the names of columns contain.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    templates = environment(_TEMPLATES)
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    html = templates.get_template("calculator.html.j2").render(
        title=title or "Risk calculator",
        script_hash=digest,
        script=script,
        content=content,
    )
    return write_page(path, html)


def _check_model(model: Any) -> None:
    if not isinstance(model, DeepSurvivalMachines):
        raise SettingError(
            "a calculator runs networks in the browser: it is made from a DeepSurvivalMachines; "
            f"got {type(model).__name__}. Fit one for it, on the command line with --model dsm."
        )
    if not hasattr(model, "n_events_"):
        raise SettingError(
            "a calculator needs a fitted model; got an unfitted one. Call fit first."
        )
    if isinstance(model.preprocessor_, SequencePreprocessor):
        blocks = [f"{block.name!r} ({block.kind})" for block in model.preprocessor_.blocks_]
        raise SettingError(
            "a calculator asks for one row of a table in the browser; got a model of "
            f"{', '.join(blocks)}. Fit a model to histories.last(), the last visit as a table, or "
            "predict with lifemix."
        )
    architecture = model.network_.architectures[0]
    if architecture.module is not None:
        raise SettingError(
            "a calculator runs the network in the browser, which cannot run an encoder of your "
            f"own; got {type(architecture.module).__name__}. Fit a model with hidden=(...) in place "
            "of encoder."
        )
    for activation in (architecture.encoder_activation, architecture.act):
        if ACTIVATIONS.get(activation.name) is not activation:
            raise SettingError(
                "a calculator runs the network in the browser, which cannot run a function of "
                f"Python; got the activation {activation.name}. Fit a model with one of "
                f"{sorted(ACTIVATIONS)}."
            )


def _observed(target: Target) -> dict[str, Any] | None:
    """Return the Aalen-Johansen curves of the training rows on a grid; None for intervals."""
    if target.interval.any():
        return None
    end = float(target.time.max())
    grid = np.linspace(0, end, _N_OBSERVED)
    curves = [aalen_johansen(target, event).at(grid) for event in range(1, target.n_events + 1)]
    return {"end": end, "risks": [np.round(curve, 5).tolist() for curve in curves]}


def _network(model: DeepSurvivalMachines) -> dict[str, Any]:
    network = model.network_
    architecture = network.architectures[0]
    weights = network.parameters.numpy().astype("<f4").tobytes()
    return {
        "label": architecture.family.label,
        "family": _family(architecture.family),
        "activation": architecture.encoder_activation.name,
        "shiftActivation": architecture.act.name,
        "signs": architecture.shift_signs,
        "events": architecture.n_events,
        "k": architecture.k,
        "cure": bool(model.cure),
        "members": len(network),
        "timeUnit": network.scale.unit,
        "layout": list(architecture.layout.shapes.items()),
        "weights": base64.b64encode(weights).decode(),
    }


def _family(family: type[Primitive]) -> dict[str, Any]:
    """Return the description of a family that ``componentOf`` of ``families.js`` takes."""
    if issubclass(family, Mixed):
        members = [
            _family(member) | {"parameters": family.parameter_index(member)}
            for member in family.families
        ]
        return {"families": members, "kind": len(family.parameter_names())}
    if family is Never:
        return {"name": "never"}
    if family.name not in FAMILIES or not family.__module__.startswith("lifemix."):
        raise SettingError(
            "a calculator runs in the browser, which cannot compute the primitive "
            f"{family.name!r}. Fit a model with one of {sorted(FAMILIES)}."
        )
    description = {"name": family.name}
    if issubclass(family, LogLocationScale):
        return description | {
            "location": family.location_index(),
            "precisionSign": family.precision_sign,
        }
    return description


def _fields(
    preprocessor: Any, data: Any, descriptions: Mapping[str, str], units: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the fields of the form, one per column."""
    columns: Sequence[Column]
    if type(preprocessor) is TabularPreprocessor:
        columns, named = preprocessor.columns_, hasattr(preprocessor, "feature_names_in_")
    elif type(preprocessor) is Passthrough:
        columns = [Column(name, "numeric", fill=0.0) for name in preprocessor.names]
        named = preprocessor.named
    else:
        raise SettingError(
            f"a calculator cannot run a {type(preprocessor).__name__} in the browser; it supports "
            "preprocessor='auto' and None. Fit with preprocessor='auto', or transform X first and "
            "fit with preprocessor=None."
        )
    names = [
        column.name if named else f"feature {number}" for number, column in enumerate(columns, 1)
    ]
    for option, texts in {"features": descriptions, "units": units}.items():
        unknown = [name for name in texts if name not in names]
        if unknown:
            raise SettingError(
                f"{option} names columns that the model does not have: {unknown}; it has {names}."
            )
    table = None
    if data is not None:
        columns_in_training = [column.name for column in columns]
        table = match_columns(as_table(data), columns_in_training, named, "the model")
    fields = []
    for name, column in zip(names, columns, strict=True):
        field = {
            "name": name,
            "description": str(descriptions.get(name, "")),
            "unit": str(units.get(name, "")),
            "unknown": isinstance(preprocessor, TabularPreprocessor),
            "middle": column.fill,
        }
        for attribute in ("kind", "fill", "mean", "scale", "indicator", "levels", "knots"):
            field[attribute] = getattr(column, attribute)
        if column.kind == "numeric":
            field |= _slider(column, table)
        # Typical is unknown if most of the training rows had no value.
        field["typical"] = None if column.missing > 0.5 else field["middle"]
        fields.append(field)
    return fields


def _slider(column: Column, table: TableData | None) -> dict[str, Any]:
    """Return the range of a slider, its step and the middle value.

    The extremes of training do not enter the page, unless they are counts: they could identify
    participants.
    """
    usual, is_whole = column.usual, column.is_whole
    if table is not None:
        values = table.column(column.name)
        if values.missing.all():
            raise CovariateError(
                f"data must have values in column {column.name!r}; got none. Give the training "
                "table."
            )
        numbers, is_whole = values.observed, values.is_whole
        usual = usual_values(numbers, (float(numbers.min()), float(numbers.max())), is_whole)
    if usual is None:
        raise SettingError(
            f"the model does not know which values its column {column.name!r} has; it was fitted "
            "with preprocessor=None, or saved by an earlier version. Give the training table as "
            "data=X."
        )
    low, middle, high = usual
    exponent = int(np.floor(np.log10((high - low) / _N_STEPS))) if high > low else 0
    exponent = max(0, exponent) if is_whole else exponent
    step, digits = 10.0**exponent, max(0, -exponent)
    limits = {"low": (np.floor, low), "high": (np.ceil, high), "middle": (np.rint, middle)}
    slider: dict[str, Any] = {"step": step, "digits": digits}
    for name, (direction, value) in limits.items():
        # The inner rounding removes the error of the division, the outer that of the product.
        slider[name] = round(float(direction(round(value / step, 9)) * step), digits)
    return slider


def _read(name: str) -> str:
    return (_TEMPLATES / "calculator" / name).read_text(encoding="utf-8")
