"""The sections on the model itself: what it is, its settings, its training, its components."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import component_curves, mixture_components, phenotypes, training_history
from .._pieces import Html, Section, TableColumn, facts, figure, new_figure, paragraph, table
from ..doctor.model import effective_components
from ..text import counted, listed, percent
from .context import ReportContext
from .typical_subjects import typical_rows

if TYPE_CHECKING:
    from ...estimators import DeepSurvivalMachines

__all__ = ["components_section", "model_section", "settings_section", "training_section"]


def model_section(report: ReportContext) -> Section:
    """Describe the model, its inputs, its predictions and its intended use."""
    model = report.mixture
    columns = list(getattr(report.model, "feature_names_in_", report.frame.columns))
    what: dict[str, object] = {"model": _name(report.model)}
    if model is not None:
        architecture = model.network_.architectures[0]
        what["form"] = (
            f"{'a' if report.n_events == 1 else 'for each event type a'} mixture of "
            f"k = {architecture.k - bool(model.cure)} {architecture.family.label} "
            "distributions, whose weights and parameters a neural network computes from the covariates"
            + (", and of those who never have the event" if model.cure else "")
        )
        layers = f"hidden layers: {', '.join(map(str, model.settings_['hidden'])) or 'none'}"
        what["size"] = f"{counted(model.n_parameters_, 'parameter')}, {layers}" + (
            f", ensemble of {len(model.best_epoch_)} members" if len(model.best_epoch_) > 1 else ""
        )
    shares = _shares(report.model)
    if shares:
        what["form"] = (
            f"a weighted average of {counted(len(report.model.models_), 'fitted model')}: {listed(shares)}"  # type: ignore[attr-defined]
        )
    what["predicts"] = (
        "the probability of survival without the event at any time"
        if report.n_events == 1
        else f"the cumulative incidence of {listed(report.names)}, and the probability of none of them, at any time"
    )
    what["from"] = f"{counted(len(columns), 'column')}: {listed(columns, 40)}"
    if report.train is not None:
        what["valid up to"] = (
            f"{report.time(float(report.train.time.max()))}, the end of follow-up in the training data"
        )
    use = (
        "The model is meant for subjects like those of the training data, whose covariates are known at time 0 and "
        "measured in the same way. It predicts risks; it does not say what would happen if a covariate were changed. "
        "It is not a medical device."
    )
    return Section("The model and its use", [facts(what), paragraph(use)])


def _name(model: Any) -> str:
    names = {
        "DeepSurvivalMachines": "Deep Survival Machines (Nagpal, Li and Dubrawski 2021), implemented in lifemix",
        "LifeMix": "LifeMix: different models, weighted by their Brier score on rows that they had not seen",
    }
    return names.get(type(model).__name__, f"{type(model).__name__}")


def _shares(model: Any) -> list[str]:
    """Return the parts of an average with how much each counts, the largest first."""
    weights = getattr(model, "weights_", None)
    ordered = (
        sorted(weights.items(), key=lambda part: -part[1]) if isinstance(weights, dict) else []
    )
    return [f"{name} ({percent(share)})" for name, share in ordered]


def settings_section(report: ReportContext) -> Section:
    """List the options of the model, those that differ from the default first."""
    model = report.model
    if not hasattr(model, "get_params"):
        return Section("Settings", ["Left out: the model has no get_params method."])
    defaults = {
        name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()
    }
    rows = [
        [name, _short(value), _short(defaults.get(name))]
        for name, value in model.get_params(deep=False).items()
    ]
    changed, same = (
        [row for row in rows if row[1] != row[2]],
        [row for row in rows if row[1] == row[2]],
    )
    columns = [
        TableColumn("setting"),
        TableColumn("value", text=True),
        TableColumn("default", text=True),
    ]
    blocks: list[object] = (
        [table(columns, changed, "Settings other than the default")] if changed else []
    )
    if same:
        blocks.append(
            f"At their defaults: {', '.join(f'{name} = {value}' for name, value, _ in same)}."
        )
    found = getattr(model, "settings_", {})
    chosen = [name for name, *_ in same if name in found and getattr(model, name) is None]
    if chosen:
        values = ", ".join(f"{name} = {_short(found[name])}" for name in chosen)
        blocks.append(f"Of these, by the training rows: {values}.")
    return Section("Settings", blocks)


def _short(value: object) -> str:
    text = str(list(value)) if isinstance(value, (tuple, list)) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _rounding(report: ReportContext, step: float) -> dict[str, str]:
    return (
        {"rounded times": f"an event counts as one in the {report.time(step)} around its time"}
        if step
        else {}
    )


def training_section(report: ReportContext) -> Section:
    """Describe how the model was trained."""
    model = report.mixture
    section = Section("Training")
    if model is None:
        section.blocks.append(f"Left out: {type(report.model).__name__} has no training history.")
        return section
    epochs = [
        sum(record["member"] == m for record in model.history_)
        for m in range(len(model.best_epoch_))
    ]
    objective = (
        "exact likelihood"
        if model.objective == "exact"
        else "evidence lower bound (ELBO) of the paper"
    )
    held = (
        f"{100 * model.validation_fraction:g} % of the rows"
        if model.validation_fraction
        else "no rows"
    )
    section.blocks.append(
        facts(
            {
                "objective": f"{objective}, discount {model.discount:g}",
                "optimiser": f"{model.optimizer}, learning rate {model.settings_['learning_rate']:g}, "
                f"batches of {model.settings_['batch_size']}",
                "early stopping": f"on {held} (unless others were given to fit), patience "
                f"{model.settings_['patience']} epochs",
                "epochs": listed(epochs, 12),
                "epochs kept": listed(model.best_epoch_, 12),
                "internal unit of time": report.time(model.time_unit_)
                + " (times are divided by it)",
            }
            | _rounding(report, model.settings_["rounding"])
        )
    )
    if model.history_:
        drawing = new_figure(7.5, 3.4)
        training_history(model.history_, model.best_epoch_, ax=drawing.subplots())
        section.blocks.append(
            figure(
                drawing,
                "Loss on training and held-out rows by epoch",
                "Loss by epoch, one pair of lines per member; the weights of the marked epoch were kept.",
            )
        )
    return section


def components_section(report: ReportContext) -> Section:
    """Show the components: how many are in use, one subject's mixture, and which subjects belong to which."""
    section, model = Section("Components"), report.mixture
    if model is None:
        section.blocks.append(
            f"Left out: {type(report.model).__name__} is not a mixture of components."
        )
        return section
    k, in_sample, per_subject = effective_components(model, report.rows)
    n_members = len(model.best_epoch_)
    section.blocks.append(
        facts(
            {
                "components": f"{k}{'' if report.n_events == 1 else ' for each event type'}"
                + (f", in each of {n_members} members" if n_members > 1 else ""),
                "effective number in the sample": listed([f"{v:.2f}" for v in in_sample])
                + " (exponential of the entropy of the mean gate)",
                "effective number per subject": listed([f"{v:.2f}" for v in per_subject])
                + " (exponential of the mean entropy of the gate)",
            }
        )
    )
    if k == 1:
        section.blocks.append("Left out: with one component there is nothing to compare.")
        return section
    for event in range(1, report.n_events + 1):
        section.blocks += _figures(report, model, event)
    return section


def _figures(report: ReportContext, model: DeepSurvivalMachines, event: int) -> list[Html]:
    which = report.of(event)
    first = model.network_.members()[0]
    of = " (first member of the ensemble)" if len(model.best_epoch_) > 1 else ""
    net = first.distribution(model.preprocess(report.rows)).net(event)
    row = typical_rows(report.risks[event - 1][:, report.middle])["medium"]
    times = np.linspace(0, float(report.horizons[-1]), 201)[1:]
    one, all_of = new_figure(7.5, 3.6), new_figure(6.5, 5.0)
    weights, curves = component_curves(net, times, row)
    mixture_components(times, weights, curves, time_unit=report.unit or None, ax=one.subplots())
    phenotypes(report.X, net.weights, ax=all_of.subplots())
    return [
        figure(
            one,
            f"Densities of the components{which} of a subject of medium risk",
            f"The mixture{which} of the subject of medium risk{of}.",
        ),
        figure(
            all_of,
            f"Means of the covariates in each component{which}",
            f"Mean of each covariate in each component{which}{of}, weighted by the gate, in standard deviations from "
            "the overall mean. Components describe the distribution of times; they are not diagnoses.",
        ),
    ]
