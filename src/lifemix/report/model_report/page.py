"""From a model and rows to the page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..._html import Html, Page, Section, bullets, joined, note, paragraph
from ...checks import Whole
from ...errors import LifemixWarning
from ..doctor import Finding, check_model, check_table
from ..text import counted, listed
from .appendix import checklist_section, describe_file, limits_section, reproduce_section
from .context import ReportContext, gather
from .data import data_section
from .importance import importance_section
from .measures import Quality, measure_quality
from .model import components_section, model_section, settings_section, training_section
from .quality import CTD, quality_section
from .quality_figures import calibration_section, groups_section, over_time_section
from .typical_subjects import subjects_section

__all__ = ["write_report"]


def write_report(
    model: Any,
    X: Any,
    y: Any,
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
    """Write one self-contained HTML page about a fitted model and how good it is on rows it has not seen.

    model: a ``DeepSurvivalMachines``, a search, or any baseline; sections that need a mixture say that they are left
    out. X, y: held-out rows; their times must be in the unit of the fit.
    time_unit: such as ``"days"``. event_names: one name a kind of event. horizons: times at which quality is measured;
    by default the quartiles of the training event times.
    n_bootstrap: samples drawn for the intervals. max_rows: most rows that measures and pictures use, drawn at random.
    model_file: the file of the model, to print its name and hash.
    Needs matplotlib (``pip install "lifemix[plots]"``). Returns the path.
    """
    Whole(2)("n_bootstrap", n_bootstrap)
    Whole(100)("max_rows", max_rows)
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
    remarks = _remarks(caught)
    sections.append(reproduce_section(report, file, remarks))
    name = title or f"{type(report.model).__name__}: model report"
    lead = f"A model of the time to {listed(report.names)}, described and measured on {len(report.target):,} rows."
    foot = f"Written by lifemix on {datetime.now(UTC):%d %B %Y}."
    return Page(name, lead=lead, foot=foot, sections=sections).write(path)


def _sections(report: ReportContext, horizons: ArrayLike | None) -> list[Section]:
    at = report.horizons if report.judged else horizons
    before = check_table(report.frame, report.target, horizons=horizons, event_names=report.names)
    after = check_model(report.model, report.table(report.frame), report.target, horizons=at, event_names=report.names)
    qualities = measure_quality(report) if report.judged else []
    described = [
        model_section(report),
        data_section(report),
        _doctor(before, after),
        settings_section(report),
        training_section(report),
    ]
    if report.judged:
        measured = [
            quality_section(report, qualities),
            calibration_section(report),
            over_time_section(report),
            groups_section(report),
            subjects_section(report),
            importance_section(report),
            components_section(report),
        ]
    else:
        reason = (
            f"Left out: of the {len(report.target):,} rows {len(report.y):,} were followed from the origin with "
            f"exact times, {int((report.y.event > 0).sum()):,} of them with an event; measures need at least 30 rows "
            "and 10 events."
        )
        measured = [Section("Quality on the evaluated rows", [reason])]
    end = [limits_section(report), checklist_section()]
    return [_summary(report, qualities, before, after), *described, *measured, *end]


def _summary(report: ReportContext, qualities: list[Quality], before: list[Finding], after: list[Finding]) -> Section:
    """Say the most important numbers in sentences."""
    events = int((report.y.event > 0).sum())
    lines: list[object] = [f"Measured on {counted(len(report.y), 'row')} with {counted(events, 'event')}."]
    at = report.middle
    for name, quality in zip(report.names, qualities, strict=False):
        by = report.time(float(report.horizons[at]))
        which = "" if report.n_events == 1 else f"{name}: "
        lines.append(
            joined(
                which,
                CTD,
                f" by {by} is {quality.concordance.text(at)}; observed over expected risk "
                f"{quality.ratio.text(at)}; the integrated Brier score is {quality.integrated.text(0)}, against "
                f"{quality.null_integrated:.3f} without covariates, a gain of "
                f"{quality.integrated_gain.text(0, percent=True)}.",
            )
        )
    counts = {level: sum(f.level == level for f in [*before, *after]) for level in ("stop", "warn", "note")}
    words = {"stop": "reason to stop", "warn": "warning", "note": "note"}
    said = [f"{n} {words[level]}{'' if n == 1 else 's'}" for level, n in counts.items() if n]
    lines.append(f"The doctor has {' and '.join(said) if said else 'nothing to say'}.")
    return Section("In short", [bullets(lines)])


def _doctor(before: list[Finding], after: list[Finding]) -> Section:
    section = Section("Doctor")
    section.add("The rows", *_findings(before), anchor="doctor-rows")
    section.add("The model", *_findings(after), anchor="doctor-model")
    return section


def _findings(findings: list[Finding]) -> list[Html]:
    if not findings:
        return [paragraph("Nothing stood out.")]
    grave = [
        note(Html("<strong>Stop: </strong>") if f.level == "stop" else "", f"{f.text} {f.action}", kind="warning")
        for f in findings
        if f.level != "note"
    ]
    notes = [joined(f.text, " ", f.action) for f in findings if f.level == "note"]
    return [*grave, *([bullets(notes)] if notes else [])]


def _remarks(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return what the package itself remarked, each once; what others warned of is passed on."""
    remarks: dict[str, None] = {}
    for one in caught:
        if issubclass(one.category, LifemixWarning):
            remarks[str(one.message)] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return list(remarks)
