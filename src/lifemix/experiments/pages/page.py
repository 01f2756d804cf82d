"""One page an experiment: what was found, how it was made, the tables and the pictures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Container, Sequence
from pathlib import Path

from ..._html import Html, Page, bullets, code, joined, link, note
from ..._html import facts as fact_list
from ...errors import SettingError
from ..cells import Cell
from ..comparison import Published, paper_of, place
from .costs import cost_cells
from .facts import RunFacts
from .index import META, write_index
from .names import data_title
from .other_sections import add_costs, add_transfer
from .records import RecordLike, chosen_records
from .sections import add_data
from .summary import findings, rival_table

__all__ = ["write_page"]

COSTS = ("seconds", "parameters")
GUIDE = {
    "paper": "The paper’s selection: the setting with the best cross-validated score, on the same folds that are "
    "reported. That is optimistic.",
    "nested": "Nested selection: in every fold the setting that is best on a part of the training rows held back for "
    "it; the test rows have no say.",
    "fixed": "Fixed settings: nothing was chosen by the data.",
}


def write_page(
    folder: str | os.PathLike[str], cells: Sequence[Cell], facts: RunFacts, records: Sequence[RecordLike] = ()
) -> Path:
    """Write ``<experiment>.html`` and a new ``index.html`` into a folder; return the path of the page.

    cells: ours, of one or several data sets, each with how its settings were chosen; the paper's are put beside them.
    Transfer has ``data="transfer"``, ``measure="concordance"``, and where one shape of network is meant
    ``selection="<layers>x<nodes>"``. Costs have ``measure="seconds"`` or ``"parameters"``; the growth with the rows
    ``selection="n=<rows>"``.
    records: for calibration and costs; only those of settings that ``facts.chosen`` names count, and where it names
    none, those of models with one setting.
    """
    if not cells:
        raise SettingError("a page needs cells; got none. Run the experiment first.")
    if not re.fullmatch(r"[\w-]+", facts.experiment) or facts.experiment == "index":
        raise SettingError(f"an experiment's name has letters, digits, '-' and '_'; got {facts.experiment!r}.")
    records = chosen_records(records, facts.chosen)
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
    spent = [cell for cell in cells if cell.measure in COSTS] or cost_cells(records)
    if spent:
        add_costs(page, spent)
    path = page.write(Path(folder) / f"{facts.experiment}.html")
    write_index(folder)
    return path


def _title(cells: Sequence[Cell], facts: RunFacts) -> str:
    special = {"transfer": "Knowledge transfer", "scaling": "Training time and size", "standins": "Competing risks"}
    names = list(dict.fromkeys(data_title(cell.data) for cell in cells))
    kind = facts.experiment.split("-")[0]
    title = special.get(kind, " and ".join(names) if len(names) < 3 else kind)
    return title if facts.run == "full" else f"{title}, quick run"


def _page(cells: Sequence[Cell], facts: RunFacts, paper: Published) -> Page:
    title = _title(cells, facts)
    lead = "Deep Survival Machines and its rivals on the same folds, beside the numbers that the paper published."
    if not any((cell.model, place(cell)) in paper for cell in cells):
        lead = "Deep Survival Machines and its rivals on the same folds."
    text = [re.sub(r"<[^>]*>", "", sentence) for sentence in findings(cells, paper)]
    about = {"title": title, "run": facts.run, "command": facts.command, "findings": text}
    foot = joined("Made by ", code(facts.command), f" with lifemix {facts.versions.get('lifemix', '')}.")
    back = link("← all experiments", "index.html")
    return Page(title, lead, foot, back, {META: json.dumps(about, ensure_ascii=False)})


def _add_run(page: Page, cells: Sequence[Cell], facts: RunFacts, paper: Published) -> None:
    """Add what was found and how the page was made."""
    blocks: list[object] = []
    if facts.run == "quick":
        text = (
            "Fewer settings and fewer folds than the paper’s: good for a look, not for a comparison with its numbers."
        )
        blocks.append(note(Html("<strong>Quick run.</strong> "), text, kind="warning"))
    blocks += [note(text) for text in facts.notes]
    found = findings(cells, paper)
    if found:
        blocks.append(bullets(found))
    ahead = rival_table(cells)
    blocks += [] if ahead is None else [ahead]
    if blocks:
        page.add("At a glance", *blocks, anchor="glance")
    page.add("The run", fact_list(_facts(facts, {cell.data for cell in cells})), anchor="run")
    page.add("How to read the tables", bullets(_guide(cells)), anchor="guide")


def _guide(cells: Sequence[Cell]) -> list[object]:
    """Return what the words on the page mean."""
    ways = {cell.selection for cell in cells}
    guide: list[object] = ["± is the standard error of the mean over the folds, for our numbers."]
    guide += [text for way, text in GUIDE.items() if way in ways]
    if any(cell.model == "lifemix" for cell in cells):
        guide.append("lifemix: this package’s best settings. DSM: the paper’s settings and grid.")
    if any(cell.model == "lifemix-dsm" for cell in cells):
        guide.append(
            "lifemix is here the mean of the curves of a Deep Survival Machine and of boosted trees; its settings are "
            "chosen by the Brier score on the rows held back. lifemix, DSM alone: the first of the two by itself."
        )
    if any(cell.model == "lifemix-default" for cell in cells):
        guide.append("lifemix, defaults: DeepSurvivalMachines() as it is, one network.")
    if any(cell.event > 1 and cell.measure == "ctd" for cell in cells):
        guide.append(
            "Rows are ranked by the risk of one kind of event as if there were no other, where a model knows it; "
            "Fine-Gray and DeepHit by the cumulative incidence."
        )
        guide.append(
            "lifemix is here a Deep Survival Machine, alone, averaged with boosted trees, or with these and a fifth of "
            "the curve without covariates, whichever has the best Brier score on the rows held back."
        )
    return guide


def _facts(facts: RunFacts, names: Container[str]) -> dict[str, object]:
    """Return the facts in words."""
    found: dict[str, object] = {"Command": code(facts.command)}
    found["Run"] = "full" if facts.run == "full" else "quick: fewer settings and folds"
    folds = [f"{data_title(name)} {count}" for name, count in facts.folds.items() if name in names]
    if folds:
        found["Folds"] = ", ".join(folds)
    found["Seeds"] = ", ".join(map(str, facts.seeds))
    if facts.seconds is not None:
        found["Computing"] = _duration(facts.seconds)
    found["Machine"] = facts.machine
    found["Versions"] = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return found


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
