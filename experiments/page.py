"""The HTML page of an experiment, and the index of all pages in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from lifemix.files import atomic_write

from .figures import cost_figure, data_uri, line_figure, measure_figure
from .models import MODELS, by_rank
from .protocol import DATA_SETS
from .published import PLUS_MINUS
from .records import Frame
from .results import cell
from .run import Study
from .tables import (
    MEASURES,
    Table,
    comparison_tables,
    data_title,
    is_shape,
    result_tables,
)

__all__ = ["Results", "write_page"]

SELECTIONS = {
    "paper": "the setting with the best cross-validated score on the folds that are reported, as in the paper "
    "(optimistic)",
    "nested": "in every fold the setting that is best on inner validation rows; the test rows take no part",
    "fixed": "one setting in all folds",
}
_TITLES = {"transfer": "Knowledge transfer", "scaling": "Training time and size"}


@dataclass
class Results:
    """A study with its records, cells, and the records of the selected settings."""

    study: Study
    records: Frame
    cells: Frame
    selected: Frame


@dataclass
class Section:
    """A part of a page; figures are pairs of image and caption."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    figures: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    link: str = ""

    @property
    def has_content(self) -> bool:
        """Whether anything stands below the title."""
        return bool(self.paragraphs or self.facts or self.figures or self.tables)

    def add_figure(self, figure: Figure | None, caption: str) -> None:
        """Add a figure if there is one."""
        if figure is not None:
            self.figures.append((data_uri(figure), caption))


def write_page(folder: Path, name: str, results: list[Results]) -> Path:
    """Write the page of an experiment and a new index; return the path of the page."""
    study = results[0].study
    title = _TITLES.get(study.experiment) or data_title(study.data)
    title += ", original file" * ("original" in name) + ", quick run" * name.endswith("-quick")
    sections = [_glance(results)]
    for result in results:
        sections += _result_sections(result)
    sections.append(_run_section(results))
    lead = "Deep Survival Machines and its rivals on the same folds, with the paper’s numbers where it has them."
    path = _write(folder / f"{name}.html", title, lead, [s for s in sections if s.has_content])
    _write_index(folder, name, {"title": title, "command": study.command})
    return path


def _glance(results: list[Results]) -> Section:
    """Return how our models compare, notes, and what each row is."""
    section = Section("At a glance")
    if results[0].study.protocol.run == "quick":
        section.paragraphs.append(
            "Quick run: fewer settings and folds than the paper’s. A preview, not a comparison with its numbers."
        )
    for result in results:
        section.paragraphs += result.study.notes
        section.tables += comparison_tables(result.cells)
    models = by_rank(model for result in results for model in result.cells["model"])
    if results[0].study.experiment in DATA_SETS:
        section.facts = {MODELS[m].title: MODELS[m].meaning for m in models if MODELS[m].meaning}
    return section


def _result_sections(result: Results) -> list[Section]:
    """Return a section with figure and tables for every measure, and one for costs."""
    study, title = result.study, data_title(result.study.data)
    sections = []
    for measure, info in MEASURES.items():
        cells = result.cells[result.cells["measure"] == measure]
        if cells.empty:
            continue
        section = Section(f"{title}: {info.title}", [info.meaning])
        section.tables += result_tables(cells)
        if info.has_horizon:
            caption = f"{info.title}: mean over the folds, bars of one standard error."
            section.add_figure(measure_figure(cells, lambda *when: _when(study, *when)), caption)
        elif is_shape(cells).any():
            section.add_figure(*_growth_figure(cells[is_shape(cells)]))
        if study.data in PLUS_MINUS and any("paper" in table.heads for table in section.tables):
            section.paragraphs.append(f"± in the paper’s table: {PLUS_MINUS[study.data]}")
        sections.append(section)
    section = Section(f"{title}: Costs")
    caption = "What one fit of each model costs; logarithmic scale."
    section.add_figure(cost_figure(_cost_cells(result)), caption)
    return [*sections, section]


def _when(study: Study, event: int, quantile: float = 0) -> str:
    """Return event type and horizon in words."""
    data, info = study.protocol.dataset(), DATA_SETS[study.data]
    if not quantile:
        return data.event_names[event]
    time = study.protocol.horizons()[event - 1, info.quantiles.index(quantile)]
    name = f"{data.event_names[event]}, " if info.competing else ""
    return f"{name}{quantile:.0%} of events ({f'{time:,.3g} {data.time_unit}'.strip()})"


def _growth_figure(cells: Frame) -> tuple[Figure, str]:
    """Return the figure by nodes and layers (transfer) or by rows (scaling), and its caption."""
    numbers = cells["selection"].str.extract(r"(\d+)x?(\d+)?").astype(float)
    if cells["selection"].iloc[0].startswith("n="):
        cells = cells.assign(rows=numbers[0], selection="fixed")
        caption = (
            "Time on a logarithmic scale, rows double from point to point: proportional growth is a straight line. "
            "Networks run 20 epochs."
        )
        return line_figure(cells, "data", "rows", lambda data: data_title(str(data)), True), caption
    cells = cells.assign(
        layers=numbers[0],
        nodes=numbers[1],
        selection="fixed",
    )
    title = {1.0: "One hidden layer", 2.0: "Two hidden layers"}
    caption = "Harrell’s C of a Cox model for event 2 on representations learned for event 1."
    return line_figure(cells, "layers", "nodes", lambda layers: title[layers]), caption


def _cost_cells(result: Results) -> Frame:
    """Return the mean time and number of parameters of the selected fits without artificial censoring."""
    if result.study.experiment == "scaling":
        return result.cells[result.cells["selection"] == "fixed"]
    fits = result.selected
    fits = fits[(fits["censoring"] == 0) & (fits["selection"] != "paper")]
    cells = []
    for measure in ("seconds", "parameters") if "parameters" in fits else ("seconds",):
        for model, values in fits[measure].dropna().groupby(fits["model"]):
            identity = (result.study.data, measure, 1, 1.0, 0.0)
            cells.append(cell(identity, str(model), "fixed", values.tolist()))
    return pd.DataFrame(cells)


def _run_section(results: list[Results]) -> Section:
    """Return what a reader needs to run the experiment again."""
    records = pd.concat([result.records for result in results])
    origins = pd.DataFrame(records["made"].tolist())
    machines = (origins["processor"] + ", " + origins["cores"].astype(str) + " cores").unique()
    versions = origins["versions"].iloc[-1]
    selections = {selection for result in results for selection in result.cells["selection"]}
    folds = [f"{data_title(r.study.data)} {len(r.study.protocol.folds)}" for r in results]
    facts = {
        "Command": results[0].study.command,
        "Folds": ", ".join(folds),
        "Random seed": str(results[0].study.protocol.seed),
        "Computing time": f"{records['seconds'].sum() / 60:,.0f} minutes of one core, {len(records):,} fits",
        "Machine": "; ".join(machines),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "±": "standard error of the mean over the folds",
    }
    facts |= {f"{s} selection": text for s, text in SELECTIONS.items() if s in selections}
    return Section("The run", facts=facts)


def _write(
    path: Path,
    title: str,
    lead: str,
    sections: list[Section],
) -> Path:
    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    template = environment.get_template("experiment.html.j2")
    text = template.render(
        title=title, lead=lead, sections=sections, is_index=path.name == "index.html"
    )
    with atomic_write(path, make_folder=True) as partial:
        partial.write_text(text.replace("C^td", "Cᵗᵈ"), encoding="utf-8")
    return path


def _write_index(folder: Path, name: str, entry: dict[str, str]) -> None:
    """Add a page to ``index.json``, and write ``index.html`` from it."""
    path = folder / "index.json"
    pages = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    pages[name] = entry
    with atomic_write(path) as partial:
        partial.write_text(json.dumps(pages, indent=1, ensure_ascii=False), encoding="utf-8")
    sections = [
        Section(page["title"], facts={"Command": page["command"]}, link=f"{stem}.html")
        for stem, page in sorted(pages.items())
    ]
    title = "Deep Survival Machines: the paper’s experiments reproduced"
    _write(folder / "index.html", title, "Our numbers beside the published ones.", sections)
