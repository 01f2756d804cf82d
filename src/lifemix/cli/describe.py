"""``lifemix describe``: what a model file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .model_choice import composition
from .options import Model
from .output import Screen, settings_text
from .paths import check_model_path

if TYPE_CHECKING:
    from .model_file import SavedModel

__all__ = ["describe"]

_SETTINGS = (
    *("primitive", "k", "hidden", "dropout", "learning_rate", "objective"),
    *("n_members", "batch_size", "random_state"),
)


def describe(screen: Screen, model: Model) -> None:
    """Show what a model file holds: columns, events, settings, quality."""
    check_model_path(model)
    from .model_file import open_model
    from .quality import ModelQuality, show_quality

    saved = open_model(model)
    facts = _facts(saved)
    _show(screen, model, saved, facts)
    held_out = facts["held_out"] or {}
    quality = [ModelQuality.from_state(state) for state in held_out.get("quality", [])]
    if quality:
        show_quality(
            screen, quality, saved.event_names, saved.options.time_unit, " held out from the fit"
        )
        if held_out["refitted"]:
            screen.show(
                "  [dim]Evaluated before the saved model was fitted to all rows, with the same settings.[/]"
            )
    screen.result(facts)


def _facts(saved: SavedModel) -> dict[str, Any]:
    import numpy as np

    model, target = saved.model, saved.model.training_target_
    counts = np.bincount(target.event, minlength=model.n_events_ + 1)
    return {
        "table": saved.metadata.get("table"),
        "rows": len(target),
        "events": {name: int(counts[code]) for code, name in enumerate(saved.event_names, 1)},
        "censored": int(counts[0]),
        "last_time": float(np.fmax(target.time, target.upper).max()),
        "roles": saved.options.to_state(),
        "model": type(model).__name__,
        "settings": {name: getattr(model, name) for name in _SETTINGS if hasattr(model, name)}
        | getattr(model, "settings_", {}),
        "parts": getattr(model, "weights_", None),
        "parameters": getattr(model, "n_parameters_", None),
        "best_epochs": getattr(model, "best_epoch_", None),
        "columns": _columns(model),
        "held_out": saved.metadata.get("held_out"),
        "lifemix": saved.metadata.get("lifemix"),
    }


def _columns(model: Any) -> list[dict[str, Any]]:
    from ..preprocessing import SequencePreprocessor
    from ..report.doctor.model import preprocessor_of

    known = preprocessor_of(model)
    if known is not None:
        return [asdict(column) for column in known.columns_]
    if not hasattr(model, "preprocessor_"):
        return [
            {"name": str(name), "kind": "any"} for name in getattr(model, "feature_names_in_", ())
        ]
    if isinstance(model.preprocessor_, SequencePreprocessor):
        tables = {
            name: getattr(part, "table", None) for name, part in model.preprocessor_.parts_.items()
        }
        states = {
            name: map(asdict, table.columns_) for name, table in tables.items() if table is not None
        }
        return [
            column | {"name": f"{name}.{column['name']}"}
            for name, part in states.items()
            for column in part
        ]
    return [
        {"name": str(name), "kind": "numeric"}
        for name in model.preprocessor_.get_feature_names_out()
    ]


def _show(screen: Screen, path: Path, saved: SavedModel, facts: dict[str, Any]) -> None:
    from rich.markup import escape

    unit = f" {saved.options.time_unit}" if saved.options.time_unit else ""
    events = ", ".join(f"{name} {count:,}" for name, count in facts["events"].items())
    source = f" of {facts['table']}" if facts["table"] else ""
    size = (
        f", {facts['parameters']:,} parameters per member"
        if facts["parameters"] is not None
        else ""
    )
    kind = "Deep Survival Machines" if facts["model"] == "DeepSurvivalMachines" else facts["model"]
    screen.show(f"[bold]{escape(path.name)}[/]: {kind}{size}")
    parts = composition(saved.model)
    lines = {
        "fitted to": f"{facts['rows']:,} rows{source}: {events}, censored {facts['censored']:,}",
        "times": f"up to {facts['last_time']:g}{unit}",
        "outcome": ", ".join(
            f"{option[2:]} = {column}" for option, column in saved.options.outcome.items()
        ),
        "settings": settings_text(facts["settings"]),
        "is": next(iter(parts), ""),
        "parts": next(iter(parts[1:]), ""),
    }
    for name, text in lines.items():
        if text:
            screen.show(f"  {name:<11} {text}", markup=False)
    screen.show("\n[bold]Columns that the model needs[/]")
    table = screen.table("name", "kind", "typical value", "levels")
    for column in facts["columns"]:
        fill = column.get("fill")
        typical = f"{fill:.4g}" if isinstance(fill, float) else str(fill or "")
        levels = ", ".join(column.get("levels") or ()) if column["kind"] == "categorical" else ""
        table.add_row(escape(column["name"]), column["kind"], escape(typical), escape(levels[:80]))
    screen.show(table)
