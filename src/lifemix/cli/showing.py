"""What was understood and what came out, as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.markup import escape

from ..target import as_target
from .columns import ColumnFacts
from .quality import Quality
from .screen import Screen
from .study import Study

__all__ = ["number", "settings_text", "show_columns", "show_outcome", "show_quality"]

_WIDE = 0.15  # an interval of the concordance that says little


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as text; a dash where there is none."""
    return "–" if value is None or not np.isfinite(value) else f"{value:.{digits}f}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings in one line."""
    parts = {"primitive": "law", "hidden": "layers", "k": "components", "learning_rate": "learning rate"}
    shown = []
    for name, value in settings.items():
        text = ("none (linear)" if not value else ", ".join(map(str, value))) if name == "hidden" else str(value)
        shown.append(f"{parts.get(name, name)} {text}")
    return "; ".join(shown) or "defaults"


def show_outcome(screen: Screen, study: Study) -> None:
    """Say what the times and events are."""
    target, roles = as_target(study.y), study.roles
    counts = np.bincount(target.event, minlength=study.y["event"].max() + 1)
    unit = f" {roles.time_unit}" if roles.time_unit else ""
    screen.say(
        f"  time   {escape(roles.time or '')}: {target.time.min():g} to {target.time.max():g}{unit}, "
        f"median {np.median(target.time):g}"
    )
    kinds = [
        f"{escape(name)} {counts[i]:,} ({counts[i] / len(target):.0%})" for i, name in enumerate(study.codes.names, 1)
    ]
    how = f" ({', '.join(map(repr, study.codes.censored))})" if study.codes.censored else ""
    screen.say(f"  event  {escape(roles.event or '')}: {', '.join(kinds)}; censored{escape(how)} {counts[0]:,}")
    for what, rows in (("entered late", target.truncated), ("known to an interval", target.interval)):
        if rows.any():
            screen.say(f"         {int(rows.sum()):,} rows {what}")
    if study.skipped:
        screen.warn(f"{study.skipped} rows without time or event were left out.")


def show_columns(screen: Screen, facts: Sequence[ColumnFacts]) -> None:
    """Show what each covariate was understood to be."""
    table = screen.table("\nColumns", "name", "kind", "missing", "values", "what is done", right=(2,))
    for fact in facts:
        missing = "" if not fact.missing else f"{fact.missing:.1%}" if fact.missing >= 0.001 else "<0.1%"
        style = None if fact.used else "dim"
        table.add_row(escape(fact.name), fact.kind, missing, escape(fact.values), escape(fact.action), style=style)
    screen.say(table)


def show_quality(
    screen: Screen, measured: Sequence[Quality], events: Sequence[str], unit: str, which: str = " held out from the fit"
) -> None:
    """Show the measures of some models on the same rows."""
    first = measured[0]
    at = ", ".join(f"{t:.4g}" for t in first.horizons) + (f" {unit}" if unit else "")
    screen.show(f"\n[bold]Quality on {first.rows:,} rows{which}[/]")
    if first.without:
        screen.show(f"  {escape(first.without)}.")
    for event in sorted(first.values.get("concordance", {})):
        title = f"  {events[event - 1]}" if len(events) > 1 else "  "
        table = screen.table(f"{title} at {at}", "", "C^td", "Brier score", "integrated Brier", right=(1, 2, 3))
        for quality in measured:
            table.add_row(quality.model, *_cells(quality, event))
        screen.show(table)
    if first.values:
        screen.show(
            "  [dim]C^td: 0.5 is chance, 1 a perfect order. Brier: error of the predicted risk, lower is better.[/]"
        )
    for line in _sentences(first, events):
        screen.show(f"  {line}")
    if any(high - low > _WIDE for low, high in first.interval.values()):
        screen.say("  These are few events to judge by: lifemix compare measures every row, by cross-validation.")


def _cells(quality: Quality, event: int) -> list[str]:
    lists = [quality.values.get(metric, {}).get(event, []) for metric in ("concordance", "brier", "integrated_brier")]
    return ["  ".join(number(value) for value in values) or "–" for values in lists]


def _sentences(quality: Quality, events: Sequence[str]) -> list[str]:
    lines = []
    for event, (low, high) in quality.interval.items():
        name = f"{escape(events[event - 1])}: " if len(events) > 1 else ""
        mean = number(quality.mean("concordance", event))
        lines.append(f"{name}mean C^td {mean}, 95 % interval {number(low)} to {number(high)} (bootstrap).")
    if quality.antolini is not None:
        lines.append(f"Antolini's concordance {number(quality.antolini)}.")
    for event, pairs in quality.calibration.items():
        name = f"{escape(events[event - 1])}: " if len(events) > 1 else ""
        parts = [f"{p:.1%} ({o:.1%} observed)" for p, o in pairs if np.isfinite(o)]
        lines.append(f"{name}mean predicted risk {', '.join(parts)}." if parts else "")
    if quality.d_calibration_p is not None and np.isfinite(quality.d_calibration_p):
        p = quality.d_calibration_p
        verdict = "speaks against the calibration" if p < 0.05 else "nothing speaks against the calibration"
        lines.append(f"D-calibration: p = {p:.2g}, {verdict}.")
    if quality.log_likelihood is not None:
        without = number(quality.log_likelihood_without)
        lines.append(f"Log-likelihood {number(quality.log_likelihood)} a row, without covariates {without}.")
    return [line[0].upper() + line[1:] for line in lines if line]
