"""From a model and rows to the page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from numpy.typing import ArrayLike

from ..._types import FittedSurvivalModel
from ...checks import Whole
from ...errors import LifemixWarning
from ...preprocessing import TableLike
from ...target import TargetLike
from .._pieces import Html, Page, Section, bullets, check_figures, joined, note, paragraph
from ..doctor import SEVERITIES, Finding, check_model, check_table
from ..text import capital, counted, listed
from .appendix import checklist_section, describe_file, limits_section, reproduce_section
from .context import ReportContext, gather
from .data import data_section
from .importance import importance_section
from .model import components_section, model_section, settings_section, training_section
from .quality import CTD, Measured, measure_quality, quality_section, with_interval
from .quality_figures import calibration_section, groups_section, over_time_section
from .typical_subjects import subjects_section

__all__ = ["write_report"]

_LEVEL_NAMES = {"stop": "reason to stop", "warn": "warning", "note": "note"}


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
        A ``DeepSurvivalMachines``, a search, or any baseline; sections that need a mixture are left out for others, and
        the page says so.
    X : DataFrame or array of shape (n, n_features)
        Rows that the model was not fitted to.
    y : target
        Their outcomes, in the unit of time of the fit.
    path : str or path
        The HTML file; its folder is made where there is none.
    title : str, optional
        The title of the page; by default the name of the model's class.
    time_unit : str, optional
        The unit of the times, such as ``"days"``.
    event_names : mapping from code to name, or sequence of names, optional
        What the event types are called on the page.
    horizons : array-like of float, optional
        Times at which quality is measured; those outside the follow-up are left out. By default
        ``lifemix.splits.default_horizons`` of the training data.
    n_bootstrap : int, default 200
        Number of bootstrap samples for the intervals.
    random_state : int, default 0
        Random seed of bootstrap, permutations and sampling of rows.
    max_rows : int, default 10000
        Measures and figures use at most so many rows, drawn at random.
    model_file : str or path, optional
        The file of the model, whose name and hash are then printed.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        Where the rows do not fit the model, or the file cannot be written.
    SettingError
        Where an option cannot have its value.

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
    ...         model, data.X[test], data.y[test], f"{folder}/report.html", time_unit="months", n_bootstrap=5
    ...     )
    ...     print(path.name)
    report.html

    """
    Whole(2)("n_bootstrap", n_bootstrap)
    Whole(100)("max_rows", max_rows)
    check_figures()
    file = None if model_file is None else describe_file(model_file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
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
        sections = _sections(report, horizons)
    sections.append(reproduce_section(report, file, _own_warnings(caught)))
    kind = "Deep Survival Machines" if report.mixture is not None else type(report.model).__name__
    name = title or f"{kind}: model report"
    lead = f"A model of the time to {listed(report.names)}, described and measured on {len(report.target):,} rows."
    foot = f"Written by lifemix on {datetime.now(UTC):%d %B %Y}."
    return Page(name, lead=lead, foot=foot, sections=sections).write(path)


def _sections(report: ReportContext, horizons: ArrayLike | None) -> list[Section]:
    table, target, names = report.table(report.frame), report.target, report.names
    at = report.horizons if report.measured else horizons
    before = check_table(report.frame, target, horizons=horizons, event_names=names)
    after = check_model(report.model, table, target, horizons=at, event_names=names)
    described = [
        model_section(report),
        data_section(report),
        _doctor(before, after),
        settings_section(report),
        training_section(report),
    ]
    end = [limits_section(report), checklist_section()]
    if not report.measured:
        reason = (
            f"Left out: of the {len(target):,} rows {len(report.y):,} were followed from the origin with exact times, "
            f"{int((report.y.event > 0).sum()):,} of them with an event; measures need at least 30 rows and 10 events."
        )
        quality = Section("Quality on the evaluated rows", [reason])
        return [_summary(report, None, before + after), *described, quality, *end]
    measured = measure_quality(report)
    return [
        _summary(report, measured, before + after),
        *described,
        quality_section(report, measured),
        calibration_section(report),
        over_time_section(report),
        groups_section(report),
        subjects_section(report),
        importance_section(report),
        components_section(report),
        *end,
    ]


def _summary(report: ReportContext, quality: Measured | None, findings: list[Finding]) -> Section:
    """State the most important numbers in sentences."""
    events = int((report.y.event > 0).sum())
    lines: list[object] = [
        f"Measured on {counted(len(report.y), 'row')} with {counted(events, 'event')}."
    ]
    if quality is not None:
        lines += [_event_summary(report, quality, event) for event in range(1, report.n_events + 1)]
    counts = {level: sum(finding.severity == level for finding in findings) for level in SEVERITIES}
    found = [counted(count, _LEVEL_NAMES[level]) for level, count in counts.items() if count]
    found = [text.replace("reason to stops", "reasons to stop") for text in found]
    lines.append(f"The doctor found {listed(found) if found else 'nothing to report'}.")
    return Section("Summary", [bullets(lines)])


def _event_summary(report: ReportContext, quality: Measured, event: int) -> Html:
    at = report.middle
    return joined(
        "" if report.n_events == 1 else f"{capital(report.names[event - 1])}: ",
        CTD,
        f" by {report.time(float(report.horizons[at]))} is {with_interval(quality, 'concordance', event, at)}; "
        f"observed over expected risk {with_interval(quality, 'observed_expected', event, at)}; the integrated Brier "
        f"score is {with_interval(quality, 'integrated_brier', event)}, against "
        f"{with_interval(quality, 'integrated_marginal_brier', event)} without covariates, a reduction of "
        f"{with_interval(quality, 'integrated_scaled_brier', event)}.",
    )


def _doctor(before: list[Finding], after: list[Finding]) -> Section:
    section = Section("Doctor")
    section.add("The rows", *_findings(before), anchor="doctor-rows")
    section.add("The model", *_findings(after), anchor="doctor-model")
    return section


def _findings(findings: list[Finding]) -> list[Html]:
    if not findings:
        return [paragraph("No findings.")]
    severe = [
        note(
            Html("<strong>Stop: </strong>") if f.severity == "stop" else "",
            f"{f.text} {f.remedy}",
            kind="warning",
        )
        for f in findings
        if f.severity != "note"
    ]
    notes = [joined(f.text, " ", f.remedy) for f in findings if f.severity == "note"]
    return [*severe, *([bullets(notes)] if notes else [])]


def _own_warnings(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return the warnings of the package itself, each once; those of others are passed on."""
    texts: dict[str, None] = {}
    for one in caught:
        if issubclass(one.category, LifemixWarning):
            texts[str(one.message)] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return list(texts)
