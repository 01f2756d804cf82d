"""What the cells of a table show, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .cells import Cell
from .comparison import (
    Agreement,
    Count,
    Difference,
    Published,
    against_paper,
    against_rivals,
    agreements,
    behind,
    count,
    our_models,
)
from .names import data_title, is_strong, measure_of, model_title

__all__ = ["below_paper", "findings", "names_of_behind", "words_of"]


def findings(cells: Sequence[Cell], paper: Published) -> list[str]:
    """Return what the cells show, one sentence each; the main number between double asterisks."""
    sentences = [_agreement(one) for one in agreements(cells) if one.model == "dsm"]
    for model in our_models(cells):
        parts = []
        own = against_paper(cells, paper, model)
        if own:
            parts.append(
                f"of the paper’s DSM in **{count(own).ahead} of {len(own)}** cells (behind by more than one standard "
                f"error in {len(below_paper(cells, paper, model))})"
            )
        rivals = against_rivals(cells, model)
        for strong, kind in ((True, "boosting and tuned forests"), (False, "the other models")):
            some = count(one for one in rivals if is_strong(one.second.model) == strong)
            parts += [f"of {kind} in {_count(some)}"] if some.total else []
        if parts:
            sentences.append(f"{model_title(model, cells[0].data)} is ahead {', '.join(parts)}.")
    return sentences


def names_of_behind(cells: Sequence[Cell]) -> list[str]:
    """Return every cell in which a model of ours is significantly behind a rival, before Holm's correction."""
    several = {cell.data for cell in cells if cell.event > 1}
    return [
        _named(one, one.first.data in several)
        for model in our_models(cells)
        for one in behind(cells, model)
    ]


def below_paper(cells: Sequence[Cell], paper: Published, model: str) -> list[Difference]:
    """Return the cells in which a model of ours is below the paper's DSM by more than one standard error."""
    return [one for one in against_paper(cells, paper, model) if one.behind_by_an_error]


def words_of(cell: Cell, several: bool) -> str:
    """Return which cell of a data set it is, in words; several: whether the data set has several event types."""
    where = [measure_of(cell.measure).title]
    where += [f"event {cell.event}"] if several else []
    where += [f"{cell.horizon:.0%}"] if measure_of(cell.measure).has_horizon else []
    where += [f"{cell.censoring:.0%} censored"] if cell.censoring else []
    return ", ".join(where)


def _agreement(one: Agreement) -> str:
    way = "selected as in the paper" if one.selection == "paper" else "nested selection"
    return (
        f"DSM with the paper’s settings, {way}, is within 2√(SE² + SE²) of the paper’s number in "
        f"**{one.as_error} of {one.total}** cells where the paper’s ± is a standard error, as its text says, and in "
        f"{one.as_interval} where it is a 90\u00a0% interval, as its appendix says."
    )


def _count(some: Count) -> str:
    return (
        f"**{some.ahead} of {some.total}** comparisons on the same folds (significantly ahead in "
        f"{some.significantly_ahead}, behind in {some.significantly_behind})"
    )


def _named(one: Difference, several: bool) -> str:
    cell = one.first
    numbers = f"{cell.mean:.4f} against {one.second.mean:.4f}, p = {one.p_value:.3f}"
    numbers += f", {one.adjusted:.2f} after Holm"
    title, rival = model_title(cell.model, cell.data), model_title(one.second.model, cell.data)
    return f"{title} behind {rival}: {data_title(cell.data)}, {words_of(cell, several)} ({numbers})"
