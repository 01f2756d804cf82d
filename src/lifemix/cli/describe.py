"""``lifemix describe``: what a model file holds."""

from __future__ import annotations

from typing import Any

from .console import Console
from .options import ModelFilePath

__all__ = ["describe"]


def describe(console: Console, model: ModelFilePath) -> None:
    """Show what a model file holds: columns, events, settings, quality.

    [bold]lifemix describe model.safetensors[/]
    """
    import numpy as np
    import pandas as pd

    from .model_file import open_model
    from .models import composition
    from .quality import show_quality

    saved = open_model(model)
    fitted, metadata, unit = saved.model, saved.metadata, saved.options.unit
    target = fitted.training_target_
    counts = np.bincount(target.event, minlength=fitted.n_events_ + 1)
    columns = [column for column in metadata.get("columns", ()) if column["is_used"]] or [
        {"name": str(name), "kind": "", "values": ""} for name in saved.columns
    ]
    held_out = metadata.get("held_out") or {}
    facts: dict[str, Any] = {
        "model": type(fitted).__name__,
        "table": metadata.get("table"),
        "rows": len(target),
        "events": dict(zip(saved.event_names, counts[1:].tolist(), strict=True)),
        "censored": int(counts[0]),
        "roles": saved.options.to_json(),
        "settings": {"k": getattr(fitted, "k", None), **getattr(fitted, "settings_", {})},
        "parts": getattr(fitted, "weights_", None),
        "columns": columns,
        "held_out": held_out,
    }
    console.show(f"{model.name}: {facts['model']}", style="bold")
    events = ", ".join(f"{name} {count:,}" for name, count in facts["events"].items())
    roles = ", ".join(f"{option[2:]} = {name}" for option, name in saved.options.roles.items())
    settings = ", ".join(f"{name} {value}" for name, value in facts["settings"].items() if value)
    for name, text in {
        "fitted to": f"{len(target):,} rows: {events}, censored {counts[0]:,}",
        "table": f"{facts['table']}: {roles}" if roles else "",
        "settings": settings,
        "parts": composition(fitted),
    }.items():
        if text:
            console.show(f"  {name:<11} {text}")
    console.show("\nColumns that the model needs", style="bold")
    names = ("name", "kind", "values")
    console.show_table(names, [[column[name] for name in names] for column in columns])
    if held_out.get("quality"):
        title = f"Quality on {held_out['rows']:,} rows held out from the fit"
        quality = pd.DataFrame(held_out["quality"]).replace({None: np.nan})
        show_quality(console, quality, saved.event_names, unit, title)
    console.result(facts)
