"""How our models stand among the published learners: mean ranks, tests against one of them, skill, the worst table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ...errors import SettingError
from ..records import Record
from .folder import MEASURES, NeutralFolder

__all__ = ["NeutralSummary", "mean_scores", "summarise_neutral", "summary_text"]

MARGINAL = "floor"


@dataclass(frozen=True)
class NeutralSummary:
    """One of our models by one measure.

    tables: on how many it was compared. mean_rank: among ``learners`` published ones and itself, 1 is best, ties share.
    p_value: of the two-sided Wilcoxon test over tables against the rival; ahead: tables on which it is better.
    skill: ``1 - score / score of the marginal curve``, mean over tables; NaN for a concordance or without that curve.
    worst: the table on which it loses most against the rival, and by which share of the rival's score.
    """

    model: str
    measure: str
    rival: str
    tables: int
    learners: int
    mean_rank: float
    ahead: int
    p_value: float
    skill: float
    worst_table: str
    worst_loss: float


def mean_scores(records: Sequence[Record], measure: str) -> pd.DataFrame:
    """Return the mean score over folds, tables by models; NaN where a fold has none."""
    rows = [(one.data, one.model, one.test[measure][0][0]) for one in records if measure in one.test]
    frame = pd.DataFrame(rows, columns=["table", "model", "value"])
    means = frame.groupby(["table", "model"])["value"].agg(lambda values: values.mean(skipna=False))
    return means.unstack("model")


def summarise_neutral(folder: NeutralFolder, records: Sequence[Record], rival: str) -> list[NeutralSummary]:
    """Compare every model of the records with the published learners.

    Parameters
    ----------
    folder : NeutralFolder
        The published scores.
    records : sequence of Record
        Our scores.
    rival : str
        The published learner to test against.

    Returns
    -------
    list of NeutralSummary
        One per model and measure.

    Raises
    ------
    SettingError
        Where there is no published learner of that name.
    """
    found = []
    for measure, published in folder.scores.items():
        if rival not in published.columns:
            raise SettingError(f"unknown rival; got {rival!r}, expected one of {', '.join(published.columns)}.")
        ours = mean_scores(records, measure)
        marginal = ours[MARGINAL] if MARGINAL in ours and measure == "ibs" else None
        for model in (name for name in ours.columns if name != MARGINAL):
            found.append(_compare(str(model), measure, ours[model].dropna(), published, rival, marginal))
    return found


def _compare(
    model: str, measure: str, own: pd.Series, published: pd.DataFrame, rival: str, marginal: pd.Series | None
) -> NeutralSummary:
    common = [name for name in own.index if name in published[rival].dropna().index]
    sign = 1 if MEASURES[measure] else -1
    values, others = own.loc[common], published.loc[common]
    ranks = [_rank(sign * values[name], sign * others.loc[name].dropna().to_numpy()) for name in common]
    gains = sign * (values - others[rival])
    losses = -gains / others[rival]
    worst = str(losses.idxmax()) if len(common) else ""
    skill = float((1 - values / marginal.loc[common]).mean()) if marginal is not None and len(common) else np.nan
    return NeutralSummary(
        model=model,
        measure=measure,
        rival=rival,
        tables=len(common),
        learners=published.shape[1],
        mean_rank=float(np.mean(ranks)) if ranks else np.nan,
        ahead=int((gains > 0).sum()),
        p_value=float(stats.wilcoxon(gains).pvalue) if len(common) and (gains != 0).any() else 1.0,
        skill=skill,
        worst_table=worst,
        worst_loss=float(losses.max()) if len(common) else np.nan,
    )


def _rank(own: float, others: np.ndarray) -> float:
    """Return the rank of a score among others, larger is better, 1 is best; ties share theirs."""
    return 1.0 + float((others > own).sum()) + float((others == own).sum()) / 2


def summary_text(found: Sequence[NeutralSummary], titles: Mapping[str, str]) -> list[str]:
    """Return the lines of a Markdown table."""
    heads = ("model", "measure", "tables", "mean rank", "ahead", "p (Wilcoxon)", "skill", "worst table")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for one in found:
        skill = "" if np.isnan(one.skill) else f"{one.skill:.3f}"
        cells = (
            titles.get(one.model, one.model),
            one.measure,
            str(one.tables),
            f"{one.mean_rank:.2f} of {one.learners + 1}",
            f"{one.ahead} of {one.tables} ({one.rival})",
            f"{one.p_value:.2g}",
            skill,
            f"{one.worst_table} ({one.worst_loss:+.1%})",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
