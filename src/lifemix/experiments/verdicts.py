"""The shares of cells that the project is measured by, and the cells that are exceptions, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .cells import Cell
from .comparison import Difference, against_paper, against_rivals, agreement, by_place, by_rival

__all__ = ["verdicts"]


def verdicts(cells: Sequence[Cell], published: Sequence[Cell] = ()) -> dict[str, Any]:
    """Return how our numbers stand to the paper's, and ``lifemix`` to its rivals.

    dsm: cells of DSM with the paper's settings that lie within two combined standard errors of the paper's, of those
    whose error is known. lifemix_paper: cells of ``lifemix`` above the paper's DSM. lifemix_rivals: cells of
    ``lifemix`` ahead of a rival, and those significantly (p < 0.05) behind.
    """
    paper = by_place(published)
    best = against_paper(cells, paper, "lifemix")
    return {
        "dsm": _share(agreement(cells, paper), lambda one: not one.clear),
        "lifemix_paper": _share(best, lambda one: one.better)
        | {"below_by_more_than_one_error": [_plain(one) for one in best if one.behind_by_an_error]},
        "lifemix_rivals": {
            f"{model} ({selection})": _share(group, lambda one: one.better)
            | {"significantly_behind": [_plain(one) for one in group if one.clear and not one.better]}
            for (model, selection), group in sorted(by_rival(against_rivals(cells)).items())
        },
    }


def _share(differences: Sequence[Difference], holds: Callable[[Difference], bool]) -> dict[str, Any]:
    exceptions = [one for one in differences if not holds(one)]
    good = len(differences) - len(exceptions)
    return {
        "cells": len(differences),
        "holds": good,
        "share": round(good / len(differences), 4) if differences else None,
        "exceptions": [_plain(one) for one in exceptions],
    }


def _plain(one: Difference) -> dict[str, Any]:
    ours, other = one.first, one.second
    return {
        "data": ours.data,
        "model": ours.model,
        "other": other.model if one.folds else f"paper:{other.model}",
        "selection": other.selection if one.folds else ours.selection,
        "measure": ours.measure,
        "event": ours.event,
        "horizon": ours.horizon,
        "censoring": ours.censoring,
        "difference": one.gain,
        "error": one.error,
        "folds": one.folds,
        "p_value": one.p_value,
    }
