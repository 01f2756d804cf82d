"""``write_report``: a fitted model and its quality on held-out rows as one HTML page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._html import environment, new_figure, write_page
from .._types import FittedSurvivalModel, FloatArray
from ..checks import Whole, check_same_rows
from ..errors import InputError, LifemixWarning, SettingError
from ..histories import ArrayRows, Histories, Sources, as_input
from ..metrics import predicted_risks
from ..metrics.inputs import refuse_paths
from ..pipeline import apply_steps, split_pipeline
from ..preprocessing import TableLike
from ..preprocessing.tabular import as_table
from ..target import Target, TargetLike, as_target
from ..target import event_names as all_event_names
from . import sections
from .doctor import check_model, check_table
from .doctor.model import horizons_within, mixture_of
from .text import counted, listed

if TYPE_CHECKING:
    from ..estimators import DeepSurvivalMachines

__all__ = ["Report", "gather", "inputs_as_table", "write_report"]

_N_GRID = 101
_MIN_ROWS, _MIN_EVENTS = 30, 10


@dataclass(frozen=True, eq=False)
class Report:
    """The model, the rows and the predictions that all sections use.

    frame, target: all rows.
    X, y: the rows that measures can use, with exact or right-censored times from the origin.
    steps: the transformers of a pipeline before the model.
    train: the target of training, None if the model does not keep it.
    source: histories or several sources, of which ``frame`` is a description.
    """

    model: FittedSurvivalModel
    steps: Sequence[Any]
    frame: pd.DataFrame
    target: Target
    X: pd.DataFrame
    y: Target
    train: Target | None
    event_names: tuple[str, ...]
    horizons: FloatArray
    time_unit: str | None
    n_bootstrap: int
    random_state: int
    takes_names: bool
    source: Any

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return len(self.event_names)

    @property
    def mixture(self) -> DeepSurvivalMachines | None:
        """The model if it is a ``DeepSurvivalMachines``."""
        return mixture_of(self.model)

    @property
    def middle(self) -> int:
        """The index of the middle horizon, whose risk orders and groups the subjects."""
        return len(self.horizons) // 2

    @cached_property
    def reference(self) -> Target:
        """The target of the censoring distribution and the marginal curve, of training if known."""
        train = self.y if self.train is None else self.train
        usable = train.take(~train.interval & ~train.truncated)
        return usable if len(usable) >= _MIN_ROWS and (usable.event > 0).any() else self.y

    @cached_property
    def inputs(self) -> Any:
        """``X`` as the model takes it."""
        return self.as_input(self.X)

    @cached_property
    def risks(self) -> FloatArray:
        """The risk of every event type by each horizon, ``[n_events, n_rows, n_horizons]``."""
        return self._predicted(self.horizons)

    @cached_property
    def grid(self) -> FloatArray:
        """The times of ``curves``, up to the last horizon."""
        return np.linspace(0, self.horizons[-1], _N_GRID)[1:]

    @cached_property
    def curves(self) -> FloatArray:
        """The risk of every event type by each time of ``grid``, ``[n_events, n_rows, n_times]``."""
        return self._predicted(self.grid)

    def _predicted(self, times: FloatArray) -> FloatArray:
        return np.clip(predicted_risks(self.model, self.inputs, times, self.n_events), 0, 1)

    def of(self, event: int) -> str:
        """Return `` of NAME``, or nothing if there is one event type only."""
        return "" if self.n_events == 1 else f" of {self.event_names[event - 1]}"

    def time(self, value: float) -> str:
        """Return a time with its unit."""
        return f"{value:,.4g} {self.time_unit or ''}".rstrip()

    def as_input(self, X: pd.DataFrame) -> Any:
        """Return rows of ``frame`` as the model takes them."""
        if self.source is not None:
            return self.source.iloc[X.index.to_numpy()]
        return apply_steps(self.steps, X if self.takes_names else X.to_numpy())


def write_report(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    time_unit: str | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    horizons: ArrayLike | None = None,
    n_bootstrap: int = 200,
    random_state: int = 0,
    max_rows: int = 10_000,
    model_file: str | os.PathLike[str] | None = None,
) -> Path:
    """Write one self-contained HTML page about a fitted model and its quality on held-out rows.

    Needs matplotlib (``pip install "lifemix[plots]"``).

    Parameters
    ----------
    model : fitted model
        A ``DeepSurvivalMachines``, any baseline, or a pipeline or search that ends with one. The
        page says which sections need a ``DeepSurvivalMachines``.
    X : DataFrame or array of shape (n, n_features)
        Rows that the model was not fitted to.
    y : target
        Their outcomes, in the unit of time of the fit.
    path : str or path
        The HTML file; its folder is created if it does not exist.
    title : str, optional
        The title of the page; by default the name of the model's class.
    time_unit : str, optional
        The unit of the times, such as ``"days"``.
    event_names : mapping from code to name, or sequence of names, optional
        The names of the event types on the page.
    horizons : array-like of float, optional
        Times at which quality is measured; those outside the follow-up are dropped. By default
        ``lifemix.splits.default_horizons`` of the training data.
    n_bootstrap : int, default 200
        Number of bootstrap samples for the intervals.
    random_state : int, default 0
        Random seed of bootstrap, permutations and sampling of rows.
    max_rows : int, default 10000
        Measures and figures use at most so many rows, drawn at random.
    model_file : str or path, optional
        The file of the model; the page then has its name and hash.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        If the rows do not fit the model, or the file cannot be written.
    SettingError
        If an option cannot have its value.

    Examples
    --------
    >>> import tempfile
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.report import write_report
    >>> data = datasets.load_metabric()
    >>> train, test = slice(0, 1500), slice(1500, None)
    >>> model = CoxPH().fit(data.X[train], data.y[train])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(
    ...         model, data.X[test], data.y[test], f"{folder}/report.html", n_bootstrap=5
    ...     )
    ...     print(path.name)
    report.html

    """
    Whole(2)("n_bootstrap", n_bootstrap)
    Whole(100)("max_rows", max_rows)
    new_figure()  # raises if matplotlib is missing
    model_hash = None if model_file is None else sections.file_hash(model_file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LifemixWarning)
        report = gather(
            model,
            X,
            y,
            time_unit=time_unit,
            event_names=event_names,
            horizons=horizons,
            n_bootstrap=n_bootstrap,
            max_rows=max_rows,
            random_state=random_state,
        )
        content = _content(report, horizons)
    kind = type(report.model).__name__ if report.mixture is None else "Deep Survival Machines"
    templates = environment(Path(__file__).with_name("templates"))
    html = templates.get_template("report.html.j2").render(
        content,
        title=title or f"{kind}: model report",
        max_rows=max_rows,
        warnings=list(dict.fromkeys(str(item.message) for item in caught)),
        provenance=sections.provenance(report, model_hash),
        date=f"{datetime.now(UTC):%d %B %Y}",
    )
    return write_page(path, html)


def _content(report: Report, horizons: ArrayLike | None) -> dict[str, Any]:
    """Return the values of the template, apart from the title and the provenance."""
    is_measured, names = len(report.horizons) > 0, report.event_names
    rows = (report.as_input(report.frame), report.target)
    in_table = check_table(
        report.frame, report.target, horizons=horizons, event_names=names, held_out=True
    )
    if is_measured:
        horizons = report.horizons
    in_model = check_model(report.model, *rows, horizons=horizons, event_names=names)
    severities = [finding.severity for finding in in_table + in_model]
    words = {"stop": "serious problem", "warn": "warning", "note": "note"}
    counts = [
        counted(severities.count(level), word)
        for level, word in words.items()
        if level in severities
    ]
    content = {
        "report": report,
        "kind": type(report.model).__name__,
        "event_list": "the event" if names == ("event",) else listed(names),
        "marginal": "Kaplan-Meier" if report.n_events == 1 else "Aalen-Johansen",
        "horizons": [f"by {report.time(t)}" for t in report.horizons],
        "findings": {"The rows": in_table, "The model": in_model},
        "n_findings": listed(counts) if counts else "nothing",
        "data": sections.data(report),
        "model": sections.model_facts(report),
        "settings": sections.settings(report),
        "training": sections.training(report),
        "events": [],
    }
    if is_measured:
        quality = sections.measure_quality(report)
        content["events"] = [
            sections.of_event(report, quality, event) for event in range(1, report.n_events + 1)
        ]
        content["components"] = sections.components(report)
    return content


def gather(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    *,
    time_unit: str | None,
    event_names: Mapping[int, str] | Sequence[str] | None,
    horizons: ArrayLike | None,
    n_bootstrap: int,
    max_rows: int,
    random_state: int,
) -> Report:
    """Return the checked rows with the predictions of the model."""
    refuse_paths(y, "y")
    (steps, model), target, source = split_pipeline(model), as_target(y), as_input(X)
    is_table = not isinstance(source, (Histories, Sources, ArrayRows))
    table = as_table(X if is_table else inputs_as_table(source))
    check_same_rows(len(table.frame), len(target))
    names = all_event_names(event_names, int(getattr(model, "n_events_", max(1, target.n_events))))
    if target.n_events > len(names):
        raise InputError(
            f"y has event code {target.n_events}; the model has event types 1..{len(names)} only. "
            "Leave these rows out, or code them as censored (0)."
        )
    rows = np.flatnonzero(~target.interval & ~target.truncated)
    rows = np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])
    measured = target.take(rows)
    train = getattr(model, "training_target_", None)
    return Report(
        model=model,
        steps=steps,
        frame=table.frame,
        target=target,
        X=table.frame.iloc[rows],
        y=measured,
        train=train,
        event_names=names,
        horizons=_horizons(horizons, measured if train is None else train, measured),
        time_unit=time_unit,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
        takes_names=table.named and hasattr([*steps, model][0], "feature_names_in_"),
        source=None if is_table else source,
    )


def _horizons(horizons: ArrayLike | None, train: Target, measured: Target) -> FloatArray:
    """Return the horizons within the follow-up; none if rows or events are too few to measure."""
    if len(measured) < _MIN_ROWS or (measured.event > 0).sum() < _MIN_EVENTS:
        return np.empty(0)
    times = horizons_within(horizons, train, measured)
    if horizons is not None and not len(times):
        last = min(float(train.time.max()), float(measured.time.max()))
        raise SettingError(
            f"horizons must lie within the follow-up, (0, {last:g}]; got "
            f"{np.ravel(horizons).tolist()}. Check the unit of time."
        )
    return times


def inputs_as_table(X: Histories | Sources | ArrayRows) -> pd.DataFrame:
    """Return a table that describes inputs: the number of visits and the last one of histories."""
    if isinstance(X, Histories):
        return pd.concat([pd.DataFrame({"number of visits": X.n_visits}), X.last()], axis=1)
    if isinstance(X, ArrayRows):
        return pd.DataFrame(index=range(len(X)))
    tables = []
    for name, source in X.parts.items():
        if isinstance(source, (Histories, ArrayRows)):
            table = inputs_as_table(source)
        else:
            table = getattr(source, "frame", source).reset_index(drop=True)
        tables.append(table.add_prefix(f"{name}."))
    return pd.concat(tables, axis=1)
