"""The main job on SUPPORT: fit, evaluate on held-out patients, compare, and write one page to look at.

Run by ``make demo``; writes build/demo/report.html.
"""

from __future__ import annotations

import base64
import io
import time
from html import escape
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, __version__, datasets, metrics
from lifemix.splits import EventStratifiedKFold, horizons

OUT = Path("build/demo/report.html")
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]  # Okabe and Ito: told apart by colour-blind readers
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid #8885; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; } img { max-width: 100%; background: white; border-radius: 6px; }
.note { opacity: .75; font-size: .92em; }
"""


def models() -> dict[str, DeepSurvivalMachines]:
    """Return the contestants: the paper's settings, and an ensemble with the exact likelihood."""
    return {
        "paper's settings (ELBO)": DeepSurvivalMachines.paper(),
        "exact likelihood": DeepSurvivalMachines(dropout=0.25),
        "exact likelihood, 8 members": DeepSurvivalMachines(dropout=0.25, n_members=8),
    }


def table(fitted: dict[str, tuple[DeepSurvivalMachines, float]], data, train, test, at) -> pd.DataFrame:
    """Return C^td and Brier score at the horizons, the held-out log-likelihood and the seconds of the fit."""
    rows = []
    for name, (model, seconds) in fitted.items():
        survival = model.predict_survival_function(data.X.iloc[test], at)
        concordance = [
            metrics.concordance_td(data.y[train], data.y[test], 1 - survival[:, i], t) for i, t in enumerate(at)
        ]
        brier = metrics.brier_score(data.y[train], data.y[test], survival, at)
        likelihood = model.log_likelihood(data.X.iloc[test], data.y[test]) / len(test)
        rows.append([name, *concordance, *brier, likelihood, seconds])
    days = [f"{t:g} days" for t in at]
    columns = ["model", *(f"C^td {d}" for d in days), *(f"Brier {d}" for d in days), "log-likelihood a row", "seconds"]
    return pd.DataFrame(rows, columns=columns).set_index("model")


def picture(figure: plt.Figure) -> str:
    """Return a figure as an HTML image that needs no other file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=130, bbox_inches="tight")
    plt.close(figure)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}">'


def curves(model: DeepSurvivalMachines, X: pd.DataFrame) -> plt.Figure:
    """Plot the survival curves of four patients, from low to high risk, with the spread of the members."""
    order = np.argsort(model.predict(X))
    chosen = order[(len(order) * np.array([0.05, 0.35, 0.65, 0.95])).astype(int)]
    days = np.linspace(0, 1500, 200)
    mean, spread = model.predict_survival_function(X.iloc[chosen], days, return_std=True)
    figure, axes = plt.subplots(figsize=(7, 4))
    for row, colour in enumerate(COLOURS):
        patient = X.iloc[chosen[row]]
        axes.plot(days, mean[row], color=colour, label=f"{patient['age']:.0f} years, {patient['dzgroup']}")
        axes.fill_between(days, mean[row] - spread[row], mean[row] + spread[row], color=colour, alpha=0.2, lw=0)
    axes.set(xlabel="days since study entry", ylabel="probability of survival", ylim=(0, 1), xlim=(0, 1500))
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def risk_groups(model: DeepSurvivalMachines, X: pd.DataFrame, y: np.ndarray) -> plt.Figure:
    """Plot Kaplan-Meier of four groups by predicted risk against the mean predicted curve of each group."""
    group = np.digitize(risk := model.predict(X), np.quantile(risk, [0.25, 0.5, 0.75]))
    days = np.linspace(0, 1500, 150)
    predicted = model.predict_survival_function(X, days)
    figure, axes = plt.subplots(figsize=(7, 4))
    for number, colour in enumerate(COLOURS):
        observed = metrics.kaplan_meier(y[group == number])
        axes.step(observed.time, observed.estimate, where="post", color=colour, label=f"risk quarter {number + 1}")
        axes.plot(days, predicted[group == number].mean(0), color=colour, ls="--")
    axes.set(xlabel="days since study entry", ylabel="survival (solid: observed, dashed: predicted)")
    axes.set(ylim=(0, 1), xlim=(0, 1500))
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Fit the models on four fifths of SUPPORT, evaluate them on the rest, write the page."""
    data = datasets.load_support()
    train, test = next(EventStratifiedKFold(5, random_state=0).split(data.X, data.y))
    at = horizons(data.y)
    print(f"SUPPORT: {len(train)} patients to learn from, {len(test)} held out, {data.X.shape[1]} covariates")
    fitted = {}
    for name, model in models().items():
        start = time.perf_counter()
        model.fit(data.X.iloc[train], data.y[train])
        fitted[name] = (model, time.perf_counter() - start)
        print(f"  {name}: {fitted[name][1]:.1f} s")
    result = table(fitted, data, train, test, at)
    print(result.T.round(3).to_string())
    best = list(fitted.values())[-1][0]
    held_out = data.X.iloc[test]
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>lifemix on SUPPORT</title>
<style>{STYLE}</style>
<h1>Deep Survival Machines on SUPPORT</h1>
<p>{len(data.X):,} seriously ill patients, {data.X.shape[1]} covariates, followed until death or censoring. Learnt from
{len(train):,} of them, evaluated on the other {len(test):,}. The horizons are the quartiles of the times of death.</p>
<div class="scroll">{result.round(3).to_html(border=0, index_names=False)}</div>
<p class="note">C^td: share of pairs ranked rightly up to the horizon, higher is better. Brier score: mean squared error
of the predicted survival, lower is better. Both are weighted for censoring.</p>
<h2>Four held-out patients</h2>{picture(curves(best, held_out))}
<p class="note">Bands: one standard deviation over the {best.n_members} members of the ensemble.</p>
<h2>Are the predictions right?</h2>{picture(risk_groups(best, held_out, data.y[test]))}
<p class="note">Made by <code>make demo</code>, lifemix {escape(__version__)}. {escape(data.citation)}</p></html>"""
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(page, encoding="utf-8")
    print(f"report: {OUT}")


if __name__ == "__main__":
    main()
