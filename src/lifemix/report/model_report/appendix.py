"""The last sections: limits, the TRIPOD checklist, and what is needed to make the page again."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import ModelFileError
from .._pieces import Html, Section, TableColumn, bullets, facts, paragraph, preformatted, table
from ..text import counted, listed
from .context import ReportContext

if TYPE_CHECKING:
    from ...estimators import DeepSurvivalMachines

__all__ = ["checklist_section", "describe_file", "limits_section", "reproduce_section"]

_PACKAGES = ("lifemix", "torch", "numpy", "pandas", "scipy", "scikit-learn", "matplotlib")


def limits_section(report: ReportContext) -> Section:
    """List what the page cannot show."""
    model = report.model
    events = [int((report.y.event == code).sum()) for code in range(1, report.n_events + 1)]
    points = [
        "If the evaluated rows come from the same source as the training rows, this is internal validation: how the "
        "model performs elsewhere, or later, is not known.",
        "Whether the model was fitted to these rows, or its settings were chosen on them, cannot be checked here; if "
        "so, every measure is too optimistic.",
        f"The measures rest on {listed([counted(n, 'event') + report.of(m) for m, n in enumerate(events, 1)])}; the "
        "intervals show the uncertainty from that, but not how much another training sample would change the model.",
        "Censoring is assumed to be independent of the event given the covariates, and for the weights of the "
        "measures independent of both.",
        "Importance, components and typical subjects describe the model, not causal effects.",
    ]
    if report.n_events > 1 and report.mixture is not None:
        points.append(
            "The event types are modelled as independent given the covariates. The cumulative incidences shown here "
            "can be checked against data; net survival, as if the other events did not exist, cannot."
        )
    if type(getattr(model, "preprocessor_", None)).__name__ == "TabularPreprocessor":
        points.append(
            "Missing values are replaced by the training mean or most frequent level, with indicators; the intervals "
            "do not include the uncertainty of that."
        )
    return Section("Limits", [bullets(points)])


def checklist_section() -> Section:
    """List the items of a TRIPOD report: where the page has them, and what only the authors know."""
    rows = [
        ["source of data, dates, setting (4, 5)", "to be added by the authors"],
        ["definition of the outcome, how it was assessed (6)", "to be added by the authors"],
        [
            "predictors, when and how measured (7)",
            "names and values under Data; the rest by the authors",
        ],
        [
            "sample size (8)",
            "events under Data, events per input under Doctor; its reasons by the authors",
        ],
        ["missing data (9)", "Data, Doctor, Limits"],
        [
            "development, specification (10, 14, 15)",
            "The model and its use, Settings, Training; the model file",
        ],
        ["risk groups (11)", "Risk groups"],
        ["participants, follow-up (13)", "Data"],
        ["performance with intervals (16)", "Quality, Calibration, Accuracy over time"],
        ["limitations (18)", "Limits; those of the study by the authors"],
        ["interpretation, implications (19, 20)", "to be added by the authors"],
        ["supplementary information, funding (21, 22)", "How to reproduce; funding by the authors"],
    ]
    columns = [TableColumn("item", text=True), TableColumn("where", text=True)]
    return Section(
        "Checklist",
        [
            table(
                columns,
                rows,
                "Items of the TRIPOD statement (2015, numbers in brackets) and where this page has them",
                "A help for the study file, not a statement that the report is complete.",
            )
        ],
    )


def reproduce_section(
    report: ReportContext, model_file: str | None, warnings: list[str]
) -> Section:
    """List the versions, seeds, model and rows behind the page; ``model_file`` is from ``describe_file``."""
    known: dict[str, object] = {
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        + f", Python {platform.python_version()}",
        "random seed of the fit": str(getattr(report.model, "random_state", "not known")),
        "random seed of this report": str(report.seed),
        "rows (SHA-256)": _fingerprint(report.frame, report.target),
    }
    if (weights := _checksum(report.mixture)) is not None:
        known["settings and weights (SHA-256)"] = weights
    if model_file is not None:
        known["model file"] = model_file
    blocks: list[Html] = [facts(known), preformatted(_call(report))]
    if warnings:
        blocks += [paragraph("Warnings of the computations:"), bullets(warnings)]
    return Section("How to reproduce", list(blocks))


def _call(report: ReportContext) -> str:
    """Return the program that writes the page again."""
    ours = type(report.model).__module__.startswith("lifemix.")
    module, file = ("lifemix", "model.safetensors") if ours else ("joblib", "model.joblib")
    options = {
        "time_unit": report.unit or None,
        "event_names": report.names,
        "horizons": report.horizons.tolist() or None,
        "n_bootstrap": report.n_bootstrap,
        "random_state": report.seed,
    }
    given = "".join(
        f"    {name}={value!r},\n" for name, value in options.items() if value is not None
    )
    return (
        f"from {module} import load\nfrom lifemix.report import write_report\n\n"
        f'write_report(\n    load("{file}"), X, y, "report.html",\n{given})'
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _fingerprint(frame: pd.DataFrame, target: Any) -> str:
    """Return a hash of the rows, the same whenever values, columns and their order are."""
    digest = hashlib.sha256(repr(list(frame.columns)).encode())
    for _, values in frame.items():
        digest.update("\n".join(map(str, values.tolist())).encode())
    for part in (target.event, target.time, target.entry, target.upper):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _checksum(model: DeepSurvivalMachines | None) -> str | None:
    """Return a hash of the settings and weights of a mixture; None for other models."""
    if model is None:
        return None
    digest = hashlib.sha256(
        repr(sorted(model.get_params(deep=False).items(), key=lambda item: item[0])).encode()
    )
    digest.update(repr(model.network_.scale).encode())
    digest.update(model.network_.parameters.contiguous().numpy().tobytes())
    return digest.hexdigest()


def describe_file(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, without its folder, and the hash of its bytes."""
    try:
        return f"{Path(path).name}, SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}. Check the path.") from error
