"""``lifemix fit`` for a table that is not read into memory: the same steps, with the rows on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd

from ..errors import SettingError, TargetError
from ..estimators import DeepSurvivalMachines
from ..persistence import save
from ..preprocessing.reading import TableData
from ..splits import default_horizons
from ..streaming.blocks import join_blocks
from ..target import as_target
from ..training import Callback, TrainingState
from .findings import finding_states, refuse_stops, show_findings, training_findings
from .fit_steps import check, choose, measure, metadata, shown_as_warning
from .large_source import LargeTable, open_large_table
from .memory_limit import memory_limit, needed_memory, shards_kind, shown_bytes
from .model_choice import ModelChoice
from .output import Screen
from .settings_search import batch_size
from .table_options import TableOptions
from .training_table import TrainingTable, show_outcome

__all__ = ["RowLines", "fit_from_disk", "fits_from_disk"]

_MOST_HELD_OUT = 20_000
_SECONDS = 10.0  # between lines of progress


def fits_from_disk(screen: Screen, path: Path, memory: str | None) -> bool:
    """Tell whether a table is read from disk in blocks, and say so: a folder, or more than the memory limit."""
    limit = memory_limit(memory)
    if not shards_kind(path):
        return False
    needed = needed_memory(path)
    if needed <= limit and not path.is_dir():
        return False
    why = (
        "a folder of files" if needed <= limit else f"about {shown_bytes(needed)} in memory, limit {shown_bytes(limit)}"
    )
    screen.say(f"Reading {path.name} from disk in blocks ({why}).", markup=False)
    return True


def fit_from_disk(screen: Screen, data: Path, options: TableOptions, output: Path, choices: Any) -> None:
    """Fit a model to a table on disk, measure it on held-out rows and write it."""
    if choices.model.name != "dsm":
        raise SettingError(f"a table on disk needs --model dsm; got {choices.model.name}. Or raise --memory.")
    if choices.refit or choices.holdout_to is not None:
        raise SettingError("--refit and --holdout-to need the table in memory; leave them out, or raise --memory.")
    rows = max(1.0, _about_rows(data))
    table = open_large_table(screen, data, options, min(choices.holdout, _MOST_HELD_OUT / rows), choices.model.seed)
    screen.say(f"Of a sample of {len(table.sample.y):,} rows:", markup=False)
    show_outcome(screen, table.sample)
    findings = training_findings(table.sample)
    if not choices.force:
        refuse_stops(findings)
    show_findings(screen, findings, f"Findings about a sample of {len(table.sample.y):,} rows")
    settings, candidates = choose(screen, table.sample, np.arange(len(table.sample.y)), choices.model)
    model = _fit(screen, settings, table, output, choices.model)
    held_out: dict[str, Any] = {"rows": 0, "refitted": False, "quality": []}
    model.metadata_ = metadata(table.sample, data.name, held_out) | {"rows": table.rows}
    save(model, output)
    if choices.holdout:
        with shown_as_warning(screen, f"{output} is written, but its quality is not known"):
            both, train, test = _with_test(table)
            held_out["rows"] = len(test)
            horizons = default_horizons(model.training_target_)
            held_out["quality"] = measure(screen, model, both, train, test, horizons.tolist(), choices.model)
            model.metadata_ = metadata(both, data.name, held_out) | {"rows": table.rows}
            save(model, output)
            findings = [*findings, *check(screen, model, both, test, horizons)]
    screen.say()
    screen.wrote(output, f": fitted to the rows on disk without the {held_out['rows']:,} held-out ones.")
    screen.say(f"Next: lifemix predict {output} NEW_ROWS -o predictions.parquet", markup=False)
    result = {"output": str(output), "settings": settings, "candidates": candidates}
    screen.result({**result, "findings": finding_states(findings), **model.metadata_})


def _about_rows(path: Path) -> float:
    from .large_predict import about_rows

    return about_rows(path)


def _fit(
    screen: Screen, settings: dict[str, Any], table: LargeTable, output: Path, choice: ModelChoice
) -> DeepSurvivalMachines:
    folder = output.with_name(f"{output.stem}.checkpoint")
    if folder.is_dir() and any(folder.glob("*.safetensors")):
        screen.say(f"Going on from the checkpoint in {folder.name}.", markup=False)
    model = DeepSurvivalMachines(
        **settings,
        n_members=choice.members or 1,
        max_epochs=choice.max_epochs,
        batch_size=batch_size(table.rows),
        random_state=choice.seed,
        checkpoint=folder,
        verbose=screen.progress,
        callbacks=[] if screen.progress or screen.quiet else [RowLines(screen)],
    )
    screen.say(f"Fitting to {table.source.n_rows:,} rows, checkpoints in {folder.name} ...", markup=False)
    try:
        model.fit(table.source)
    except TargetError as error:
        raise TargetError(str(error).replace("give paths=False", "add --separate-rows")) from None
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return model.set_params(verbose=False, callbacks=None, checkpoint=None)


def _with_test(table: LargeTable) -> tuple[TrainingTable, Any, Any]:
    """Return the sample with the held-out rows behind it, and which rows are which."""
    test = join_blocks([block for _, block in table.test.raw_blocks() if len(block)])
    sample = table.sample
    frame = pd.concat([_as_text(sample.X.frame), _as_text(test.frame())], ignore_index=True)
    y = as_target(sample.y).followed_by(test.outcome).to_array()
    both = replace(sample, X=TableData(frame), y=y)
    rows = np.arange(len(y))
    return both, rows[: len(sample.y)], rows[len(sample.y) :]


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose labels are texts, so that those of two parts can be put together."""
    labels = [name for name in frame.columns if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.assign(**{name: frame[name].astype(object) for name in labels})


class RowLines(Callback):
    """Writes a line with rows, rows per second and the time left of an epoch to stderr every few seconds."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def on_epoch_start(self, state: TrainingState) -> None:
        """Begin to count."""
        self.begin, self.last, self.first = monotonic(), monotonic(), -1

    def on_rows(self, state: TrainingState, done: int, total: int) -> None:
        """Write a line, if the last one is some time ago."""
        now = monotonic()
        if self.first < 0:
            self.first, self.begin = done, now
        if now - self.last < _SECONDS or done == self.first:
            return
        rate = (done - self.first) / max(now - self.begin, 1e-9)
        self.last = now
        left = (total - done) / rate
        self.screen.note(f"epoch {state.epoch + 1}: {done:,} of {total:,} rows, {rate:,.0f} rows/s, {left:,.0f} s left")

    def on_epoch_end(self, state: TrainingState) -> None:
        """Say how the held-out rows are predicted."""
        loss = state.history[-1]["validation_loss"]
        self.screen.note(f"epoch {state.epoch}: held-out loss {loss:.4f}")
