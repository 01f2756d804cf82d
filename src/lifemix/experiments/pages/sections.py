"""The section of a data set: tables and pictures of each measure, paired differences, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from ..._html import Html, Page, Section, joined, note, paragraph
from ...errors import MissingExtraError
from ..cells import Cell
from ..comparison import Published
from ..published import PLUS_MINUS
from .calibration import calibration
from .dots import dots
from .facts import RunFacts
from .figures import by_censoring, by_horizon
from .names import MEASURES, data_title, measure_of
from .records import RecordLike
from .tables import comparison_table, paired_table

__all__ = ["add_data", "drawn"]


def drawn(make: Callable[[], Html | None]) -> list[Html]:
    """Return a picture, or where matplotlib is missing a note that says how to get it."""
    try:
        picture = make()
    except MissingExtraError as error:
        return [note("Without pictures: ", str(error), kind="warning")]
    return [] if picture is None else [picture]


def add_data(
    page: Page, cells: Sequence[Cell], paper: Published, facts: RunFacts, records: Sequence[RecordLike]
) -> None:
    """Add what was measured on one data set: a part for each measure, differences on the same folds, calibration."""
    data = cells[0].data
    section = page.add(data_title(data), *_introduction(data, facts), anchor=data)
    for measure in _measures(cells):
        own = [cell for cell in cells if cell.measure == measure]
        part = section.add(measure_of(measure).title, *_meaning(measure), anchor=f"{data}-{measure}")
        part.blocks += drawn(partial(_picture, own, paper, facts))
        whole = [cell for cell in own if cell.censoring == 0]
        if whole:
            part.blocks += drawn(partial(dots, whole, paper, _panel_title(whole, facts)))
        part.blocks += [comparison_table(some, paper, facts, _caption(some, facts)) for some in _tables(own)]
    _add_paired(section, cells, facts)
    titles = [[_when(data, event, i, q, facts) for i, q in enumerate(_quantiles(cells))] for event in _events(cells)]
    curves = drawn(lambda: calibration([record for record in records if record.data == data], titles))
    if curves:
        section.add("Calibration", *curves, anchor=f"{data}-calibration")


def _measures(cells: Sequence[Cell]) -> list[str]:
    names = {cell.measure for cell in cells}
    return [name for name in MEASURES if name in names] + sorted(names - set(MEASURES))


def _events(cells: Sequence[Cell]) -> list[int]:
    return sorted({cell.event for cell in cells})


def _quantiles(cells: Sequence[Cell]) -> list[float]:
    return sorted({cell.horizon for cell in cells if cell.measure == "ctd"})


def _tables(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells of each kind of event and level of censoring."""
    ordered = sorted(cells, key=lambda cell: (cell.event, cell.censoring))
    for _, some in groupby(ordered, key=lambda cell: (cell.event, cell.censoring)):
        yield list(some)


def _introduction(data: str, facts: RunFacts) -> list[Html]:
    parts: list[object] = []
    if data in facts.folds:
        parts.append(f"{facts.folds[data]} folds. ")
    if data in PLUS_MINUS:
        parts.append(joined("± in the paper’s table: ", PLUS_MINUS[data].says))
    return [paragraph(*parts)] if parts else []


def _meaning(measure: str) -> list[Html]:
    known = measure_of(measure).meaning
    return [paragraph(known[0].upper() + known[1:] + ".")] if known else []


def _picture(cells: Sequence[Cell], paper: Published, facts: RunFacts) -> Html | None:
    """Return a picture like the paper's: by censoring for one kind of event, by horizon for several."""
    data, events = cells[0].data, _events(cells)
    if len(events) == 1 and len({cell.censoring for cell in cells}) > 1:
        times = [facts.time(data, events[0], i) for i in range(len({cell.horizon for cell in cells}))]
        return by_censoring(cells, paper, [time for time in times if time])
    if len(events) == 1:
        return None
    return by_horizon(cells, paper, {event: _event(data, event, facts) for event in events})


def _event(data: str, event: int, facts: RunFacts) -> str:
    names = facts.events.get(data, ())
    return names[event - 1] if event <= len(names) else f"Event {event}"


def _when(data: str, event: int, number: int, quantile: float, facts: RunFacts) -> str:
    time = facts.time(data, event, number)
    kind = f"{_event(data, event, facts)}, " if len(facts.horizons.get(data, ())) > 1 else ""
    return f"{kind}{100 * quantile:g} % of events" + (f" ({time})" if time else "")


def _panel_title(cells: Sequence[Cell], facts: RunFacts) -> Callable[[int, float], str]:
    data = cells[0].data
    horizons = sorted({cell.horizon for cell in cells})
    return lambda event, horizon: _when(data, event, horizons.index(horizon), horizon, facts)


def _caption(cells: Sequence[Cell], facts: RunFacts) -> Html:
    """Return what a table shows: measure, data, kind of event, level of censoring."""
    first = cells[0]
    parts = [data_title(first.data)]
    if len(facts.horizons.get(first.data, ())) > 1 or first.event > 1:
        parts.append(_event(first.data, first.event, facts))
    if first.censoring:
        parts.append(f"{100 * first.censoring:g} % of the training events censored artificially")
    return joined(measure_of(first.measure).title, ": ", ", ".join(parts))


def _add_paired(section: Section, cells: Sequence[Cell], facts: RunFacts) -> None:
    tables = []
    for measure in _measures(cells):
        for some in _tables([cell for cell in cells if cell.measure == measure]):
            found = paired_table(some, facts, joined("lifemix against the rivals, ", _caption(some, facts)))
            tables += [] if found is None else [found]
    if tables:
        section.add("lifemix against the rivals, fold by fold", *tables, anchor=f"{cells[0].data}-paired")
