"""The work of ``lifemix describe``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from ..preprocessing import TabularPreprocessor
from .opening import SavedModel, open_model
from .quality import Quality
from .screen import Screen
from .showing import settings_text, show_quality

__all__ = ["run_describe"]

_SETTINGS = (
    "primitive",
    "k",
    "hidden",
    "dropout",
    "learning_rate",
    "objective",
    "n_members",
    "batch_size",
    "random_state",
)


def run_describe(screen: Screen, path: Path) -> None:
    """Show a model's file."""
    saved = open_model(path)
    facts = _facts(saved)
    _show(screen, path, saved, facts)
    quality = [Quality.from_state(state) for state in (facts["held_out"] or {}).get("quality", [])]
    if quality:
        show_quality(screen, quality, saved.events, saved.roles.time_unit)
        if facts["held_out"]["refitted"]:
            screen.show("  [dim]Measured before the saved model was fitted to all rows, with the same settings.[/]")
    screen.result(facts)


def _facts(saved: SavedModel) -> dict[str, Any]:
    model, target = saved.model, saved.model.training_target_
    counts = np.bincount(target.event, minlength=model.n_events_ + 1)
    return {
        "table": saved.metadata.get("table"),
        "rows": len(target),
        "events": {name: int(counts[code]) for code, name in enumerate(saved.events, 1)},
        "censored": int(counts[0]),
        "last_time": float(np.fmax(target.time, target.upper).max()),
        "roles": saved.roles.to_state(),
        "settings": {name: getattr(model, name) for name in _SETTINGS},
        "parameters": model.n_parameters_,
        "best_epochs": model.best_epoch_,
        "columns": _columns(model),
        "held_out": saved.metadata.get("held_out"),
        "lifemix": saved.metadata.get("lifemix"),
    }


def _columns(model: Any) -> list[dict[str, Any]]:
    if not isinstance(model.preprocessor_, TabularPreprocessor):
        return [{"name": str(name), "kind": "numeric"} for name in model.preprocessor_.get_feature_names_out()]
    return model.preprocessor_.to_state()["columns"]


def _show(screen: Screen, path: Path, saved: SavedModel, facts: dict[str, Any]) -> None:
    unit = f" {saved.roles.time_unit}" if saved.roles.time_unit else ""
    events = ", ".join(f"{escape(name)} {count:,}" for name, count in facts["events"].items())
    screen.show(f"[bold]{escape(path.name)}[/]: Deep Survival Machines, {facts['parameters']:,} weights a member")
    source = f" of {escape(facts['table'])}" if facts["table"] else ""
    screen.show(f"  fitted to   {facts['rows']:,} rows{source}: {events}, censored {facts['censored']:,}")
    screen.show(f"  times       up to {facts['last_time']:g}{unit}")
    named = [f"{role[2:]} = {escape(column)}" for role, column in saved.roles.outcome.items()]
    if named:
        screen.show(f"  outcome     {', '.join(named)}")
    screen.show(f"  settings    {settings_text(facts['settings'])}")
    table = screen.table("\nColumns that the model needs", "name", "kind", "typical value", "levels")
    for column in facts["columns"]:
        fill = column.get("fill")
        typical = f"{fill:.4g}" if isinstance(fill, float) else str(fill or "")
        levels = ", ".join(column.get("levels") or ()) if column["kind"] == "categorical" else ""
        table.add_row(escape(column["name"]), column["kind"], escape(typical), escape(levels[:80]))
    screen.show(table)
