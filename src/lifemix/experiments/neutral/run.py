"""A comparison from start to end: what is missing is computed, then its table is written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...errors import SettingError
from ...files import atomic_write, own_folder
from ..learners import LEARNERS
from ..names import model_title
from ..records import Record, RecordStore, plain
from ..runner import run_jobs
from .folder import NeutralFolder, read_folder
from .job import NeutralJob
from .summary import MARGINAL, NeutralSummary, summarise_neutral, summary_text

__all__ = ["NEUTRAL_MODELS", "run_neutral"]

NEUTRAL_MODELS = tuple(name for name, one in LEARNERS.items() if not one.only and one.risks != "competing")
_USUAL = ("default", "lifemix", "one-network")


def run_neutral(
    data: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] = "results",
    models: Sequence[str] | None = None,
    rival: str | None = None,
    jobs: int = 1,
    backend: str = "loky",
    quiet: bool = True,
) -> Path:
    """Run our models on the tables and folds of a public comparison, and rank them among its learners.

    Parameters
    ----------
    data : path
        The folder of the comparison: ``tables/``, ``folds/`` and ``scores.csv``.
    out : path, default "results"
        Folder of the results; a run that was interrupted continues from its records.
    models : sequence of str, optional
        Models of ``lifemix reproduce``; None for the defaults, LifeMix and one network. The marginal curve is always
        fitted, for the skill.
    rival : str, optional
        The published learner to test against; None for the first one with ``cox`` or ``cph`` in its name, otherwise the
        first.
    jobs : int, default 1
        How many fits run at a time.
    backend : {"loky", "dask", "ray"}, default "loky"
        Backend of joblib.
    quiet : bool, default True
        Whether to hide the progress bar.

    Returns
    -------
    Path
        The table, ``neutral/tables.md``.

    Raises
    ------
    InputError
        Where the folder is not as it should be.
    SettingError
        Where a model or the rival is unknown.
    """
    names = tuple(models or _USUAL)
    for name in names:
        if name not in NEUTRAL_MODELS:
            raise SettingError(f"unknown model; got {name!r}, expected some of {', '.join(NEUTRAL_MODELS)}.")
    folder = read_folder(data)
    target = Path(out) / "neutral"
    work = [
        NeutralJob(folder.path, table, name, fold)
        for table, folds in folder.folds.items()
        for name in (MARGINAL, *names)
        for fold in folds
    ]
    with own_folder(target, "experiment"):
        store = RecordStore(target)
        run_jobs(work, store, jobs, backend, quiet)
        wanted = {key for job in work for key in job.keys()}
        records = [record for record in store.records() if record.key in wanted]
        chosen = rival or _usual_rival(folder)
        return _write(target, folder, summarise_neutral(folder, records, chosen), records)


def _usual_rival(folder: NeutralFolder) -> str:
    learners = [str(name) for published in folder.scores.values() for name in published.columns]
    return next((name for name in learners if "cox" in name.lower() or "cph" in name.lower()), learners[0])


def _write(target: Path, folder: NeutralFolder, found: Sequence[NeutralSummary], records: Sequence[Record]) -> Path:
    titles = {name: model_title(name) for name in NEUTRAL_MODELS}
    learners = {measure: len(published.columns) for measure, published in folder.scores.items()}
    lines = [
        "# Our models on the tables of a public comparison",
        "",
        f"{len(folder.folds)} tables; published learners: "
        + ", ".join(f"{count} by {measure}" for measure, count in learners.items())
        + f". {len(records)} fits of ours. ibs: integrated Brier score from 0 to the 80 % quantile of the times, lower "
        "is better; c: Harrell’s concordance. Rank: of each model of ours among the published learners, 1 is best. "
        "Skill: 1 − ibs / ibs of the marginal curve. Worst table: share of the rival’s score that ours loses there.",
        "",
        *summary_text(found, titles),
    ]
    content = plain([asdict(one) for one in found], 8)
    texts = {"tables.md": "\n".join(lines) + "\n", "tables.json": json.dumps(content, indent=1) + "\n"}
    for name, text in texts.items():
        with atomic_write(target / name) as path:
            path.write_text(text, encoding="utf-8")
    return target / "tables.md"
