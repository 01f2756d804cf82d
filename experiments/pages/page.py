"""One page per experiment: what was found, how it was made, the tables and the figures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Container, Sequence
from pathlib import Path

from lifemix.errors import SettingError

from ..cells import Cell
from ..comparison import Published, paper_of
from ..findings import findings, names_of_behind
from ..names import data_title, row_notes
from ..selection import Selected, representative_records
from .costs_section import COSTS, add_costs, cost_cells
from .data_section import add_data
from .facts import RunFacts
from .index import META, write_index
from .pieces import Html, Page, bullets, code, joined, link, note, paragraph, safe
from .pieces import facts as fact_list
from .tables import rival_table
from .transfer_section import add_transfer

__all__ = ["write_page"]

_GUIDE = {
    "paper": "Paper’s selection: the setting with the best cross-validated score, on the same folds that are reported. "
    "That is optimistic.",
    "nested": "Nested selection: in every fold the setting that is best on a held-out part of the training rows; the "
    "test rows take no part.",
    "fixed": "Fixed settings: one setting in all folds.",
}


def write_page(
    folder: str | os.PathLike[str],
    cells: Sequence[Cell],
    facts: RunFacts,
    selected: Sequence[Selected] = (),
) -> Path:
    """Write ``<experiment>.html`` and a new ``index.html`` into a folder; return the path of the page.

    cells: ours, of one or several data sets; the paper's are put beside them.
    selected: the records behind them, for calibration and costs.
    """
    if not cells:
        raise SettingError("a page needs cells; got none. Run the experiment first.")
    if not re.fullmatch(r"[\w-]+", facts.experiment) or facts.experiment == "index":
        raise SettingError(
            f"an experiment's name has letters, digits, '-' and '_'; got {facts.experiment!r}."
        )
    records = representative_records(selected)
    paper = paper_of(dict.fromkeys(cell.data for cell in cells))
    page = _page(cells, facts, paper)
    _add_run(page, cells, facts, paper)
    measured = [cell for cell in cells if cell.measure not in COSTS]
    for data in dict.fromkeys(cell.data for cell in measured):
        own = [cell for cell in measured if cell.data == data]
        if data == "transfer":
            add_transfer(page, own, paper, facts)
        else:
            add_data(page, own, paper, facts, records)
    costs = [cell for cell in cells if cell.measure in COSTS] or cost_cells(records)
    if costs:
        add_costs(page, costs)
    path = page.write(Path(folder) / f"{facts.experiment}.html")
    write_index(folder)
    return path


def _title(cells: Sequence[Cell], facts: RunFacts) -> str:
    special = {
        "transfer": "Knowledge transfer",
        "scaling": "Training time and size",
        "standins": "Competing risks, in place of SEER",
    }
    names = list(dict.fromkeys(data_title(cell.data) for cell in cells))
    kind, *own = facts.experiment.split("-")
    title = special.get(kind, " and ".join(names) if len(names) < 3 else kind)
    title += ", original file" if "original" in own else ""
    return title if facts.run == "full" else f"{title}, quick run"


def _page(cells: Sequence[Cell], facts: RunFacts, paper: Published) -> Page:
    title = _title(cells, facts)
    lead = "Deep Survival Machines and its rivals on the same folds"
    if all(cell.measure in COSTS for cell in cells):
        lead = "What Deep Survival Machines and its rivals cost, on the same rows"
    elif any((cell.model, cell.place) in paper for cell in cells):
        lead += ", beside the numbers that the paper published"
    sentences = [sentence.replace("**", "") for sentence in findings(cells, paper)]
    about = {"title": title, "run": facts.run, "command": facts.command, "findings": sentences}
    foot = joined(
        "Made by ", code(facts.command), f" with lifemix {facts.versions.get('lifemix', '')}."
    )
    back = link("← all experiments", "index.html")
    return Page(title, f"{lead}.", foot, back, {META: json.dumps(about, ensure_ascii=False)})


def _add_run(page: Page, cells: Sequence[Cell], facts: RunFacts, paper: Published) -> None:
    """Add what each row is, what was found and how the page was made."""
    rows = [
        Html(re.sub(r"\*(.+?)\*", r"<strong>\1</strong>", _coded(safe(one))))
        for one in row_notes(cells)
    ]
    blocks: list[object] = [bullets(rows)] if rows else []
    if facts.run == "quick":
        text = "Fewer settings and folds than the paper’s: a preview, not a comparison with its numbers."
        blocks.append(note(Html("<strong>Quick run.</strong> "), text, kind="warning"))
    blocks += [note(" ".join(facts.notes))] if facts.notes else []
    found = findings(cells, paper)
    if found:
        blocks.append(
            bullets(
                Html(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe(one))) for one in found
            )
        )
    rivals = rival_table(cells)
    blocks += [] if rivals is None else [rivals]
    behind = names_of_behind(cells)
    blocks += (
        [paragraph("Significantly behind, before Holm’s correction:"), bullets(behind)]
        if behind
        else []
    )
    if blocks:
        page.add("At a glance", *blocks, anchor="glance")
    page.add("The run", fact_list(_facts(cells, facts)), anchor="run")
    page.add("How to read the tables", bullets(_guide(cells)), anchor="guide")


def _coded(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)


def _guide(cells: Sequence[Cell]) -> list[object]:
    """Return what the words on the page mean."""
    ways = {cell.selection for cell in cells}
    models = {cell.model for cell in cells}
    competing = any(cell.event > 1 and cell.measure == "ctd" for cell in cells)
    fits = "fits" if all(cell.measure in COSTS for cell in cells) else "folds"
    guide: list[object] = [f"± is the standard error of the mean over the {fits}, for our numbers."]
    guide += [text for way, text in _GUIDE.items() if way in ways]
    if any(cell.data == "transfer" for cell in cells) and "tuned" in models:
        guide.append("DSM, 4 members: DeepSurvivalMachines with four members that share the nodes.")
    if competing:
        guide.append(
            "Rows are ranked by the net risk of one event type, as if there were no other, where a model has one; "
            "Fine–Gray and DeepHit by the cumulative incidence."
        )
    return guide


def _facts(cells: Sequence[Cell], facts: RunFacts) -> dict[str, object]:
    """Return the facts in words."""
    names: Container[str] = {cell.data for cell in cells}
    found: dict[str, object] = {"Command": code(facts.command)}
    found["Run"] = "full" if facts.run == "full" else "quick: fewer settings and folds"
    folds = [f"{data_title(name)} {count}" for name, count in facts.folds.items() if name in names]
    if folds:
        found["Fits per model" if all(cell.measure in COSTS for cell in cells) else "Folds"] = (
            ", ".join(folds)
        )
    found["Random seed" if len(facts.seeds) == 1 else "Random seeds"] = ", ".join(
        map(str, facts.seeds)
    )
    if facts.seconds is not None:
        found["Computing time"] = _duration(facts.seconds)
    found["Machine"] = facts.machine
    found["Versions"] = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return found


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
