"""The doctor after the fit: a fitted model on rows that it was not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._types import BoolArray, FittedSurvivalModel, FloatArray
from ...checks import check_same_rows, check_times, take_rows
from ...errors import LifemixWarning
from ...histories import as_input
from ...metrics import (
    aalen_johansen,
    d_calibration,
    integrated_calibration_index,
    kaplan_meier,
    predicted_risks,
    survival_at_own_time,
)
from ...pipeline import final_model
from ...preprocessing import TableLike, TabularPreprocessor, shape_of
from ...preprocessing.columns import Column, ColumnData
from ...splits import default_horizons
from ...target import Target, TargetLike, as_target
from ...target import event_names as all_event_names
from ..text import counted, listed, p_value, percent
from .finding import Finding, most_severe_first
from .table import readable_columns

if TYPE_CHECKING:
    from ...estimators import DeepSurvivalMachines

__all__ = [
    "check_model",
    "horizons_within",
    "mixture_of",
    "preprocessor_of",
]

_MIN_ROWS = 50
_FAR = 10.0  # standard deviations
_MANY = 0.01  # share of the rows
_WRONG_RISK, _VERY_WRONG_RISK = 0.02, 0.05
_ICI = 0.05
_NOISE = 2.0  # divided by the root of the number of rows: chance alone does not reach such an ICI
_P = 0.01
_UNEVEN, _VERY_UNEVEN = 0.025, 0.04
_BEYOND = 0.3
_MIN_AT_RISK = 20
_OVERFIT = 0.2  # nats per row
_MALLER_ZHOU = 0.05


def check_model(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    *,
    horizons: ArrayLike | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    max_rows: int = 5000,
    random_state: int = 0,
) -> list[Finding]:
    """Check a fitted model on held-out rows: calibration, training, dataset shift, extrapolation.

    Parameters
    ----------
    model : fitted model
        A ``DeepSurvivalMachines``, any baseline, which has fewer checks, or a pipeline or search
        that ends with one.
    X : DataFrame or array of shape (n, n_features)
        Rows that the model was not fitted to.
    y : target
        Their outcomes.
    horizons : array-like of float, optional
        Times at which calibration is checked; those outside the follow-up are dropped. By default
        ``lifemix.splits.default_horizons`` of the training data.
    event_names : mapping from code to name, or sequence of names, optional
        The names of the event types in the findings.
    max_rows : int, default 5000
        At most so many rows are used, drawn at random.
    random_state : int, default 0
        Random seed of the draw.

    Returns
    -------
    list of Finding
        The most severe first.

    Raises
    ------
    InputError
        If ``X`` and ``y`` have different numbers of rows.
    SettingError
        If ``event_names`` does not name the event types of the model.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import KaplanMeier
    >>> from lifemix.report import check_model
    >>> data = datasets.load_metabric()
    >>> model = KaplanMeier().fit(data.X, data.y)
    >>> check_model(model, data.X, data.y)
    []
    >>> late = check_model(model, data.X, (3 * data.y["time"], data.y["event"]))
    >>> late[0].code
    'calibration'

    """
    (model, X), target = final_model(model, as_input(X)), as_target(y)
    n_events = getattr(model, "n_events_", max(1, target.n_events))
    names = all_event_names(event_names, n_events)
    check_same_rows(shape_of(X)[0], len(target))
    rows = np.sort(np.random.default_rng(random_state).permutation(len(target))[:max_rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # the findings report the same problems
        findings = list(_findings(model, take_rows(X, rows), target.take(rows), horizons, names))
    return most_severe_first(findings)


def _findings(
    model: FittedSurvivalModel,
    X: TableLike,
    target: Target,
    horizons: ArrayLike | None,
    names: Sequence[str],
) -> Iterator[Finding]:
    yield from _check_dataset_shift(model, X)
    if target.n_events > len(names):
        yield Finding(
            "unknown-event-type",
            "stop",
            f"These rows have event code {target.n_events}; the model has event types 1 to "
            f"{len(names)} only.",
            "Leave such rows out, or code the event as censored (0).",
        )
        return
    mixture = mixture_of(model)
    if target.path is not None:
        yield Finding(
            "calibration-not-checked",
            "note",
            f"The rows are {len(target):,} intervals of paths; no row can be evaluated "
            "from the origin.",
            "Look at the quality at landmarks: metrics.evaluate_landmarks.",
        )
        return
    if mixture is not None:
        yield from check_training(
            mixture.history_, mixture.best_epoch_, mixture.max_epochs, mixture.settings_
        )
        yield from _check_extrapolation(mixture, X, mixture.training_target_)
        if mixture.cure:
            cured = float(mixture.predict_distribution(X).cure_fraction().mean())
            yield from check_follow_up(mixture.training_target_, cured)
    usable = np.flatnonzero(~target.interval & ~target.truncated)
    if len(usable) < _MIN_ROWS:
        yield Finding(
            "calibration-not-checked",
            "note",
            f"Only {counted(len(usable), 'row')} were followed from the origin with exact times; "
            f"calibration needs at least {_MIN_ROWS}.",
            "Judge such data by log_likelihood on held-out rows"
            f"{'.' if mixture is not None else ', which DeepSurvivalMachines has.'}",
        )
        return
    X, target = take_rows(X, usable), target.take(usable)
    times = horizons_within(horizons, getattr(model, "training_target_", target), target)
    if not len(times):
        return
    yield from _check_mean_risks(model, X, target, times, names)
    if len(names) == 1 and (target.event > 0).any():
        yield from _check_uniformity(model, X, target)


def mixture_of(model: Any) -> DeepSurvivalMachines | None:
    """Return the model if it is a ``DeepSurvivalMachines``, whose mixtures can be inspected."""
    from ...estimators import DeepSurvivalMachines  # imports PyTorch

    return model if isinstance(model, DeepSurvivalMachines) else None


def preprocessor_of(model: Any) -> TabularPreprocessor | None:
    """Return the preprocessor of a model, or of the first model inside it that has one."""
    members = getattr(model, "models_", None) or getattr(model, "estimators_", None) or ()
    preprocessor = getattr(model, "preprocessor_", None)
    if isinstance(preprocessor, TabularPreprocessor):
        return preprocessor
    candidates = members.values() if isinstance(members, dict) else members
    return next(filter(None, map(preprocessor_of, candidates)), None)


def horizons_within(horizons: ArrayLike | None, train: Target, test: Target) -> FloatArray:
    """Return the distinct horizons inside the follow-up of both targets, in ascending order.

    If ``horizons`` is None, they are the default horizons of the training target.
    """
    if horizons is not None:
        times = np.unique(check_times(horizons, "horizons"))
    else:
        times = default_horizons(train) if (train.event > 0).any() else np.empty(0)
    last = min(float(train.time.max()), float(test.time.max()))
    return times[(times > 0) & (times <= last)]


def _check_dataset_shift(model: FittedSurvivalModel, X: TableLike) -> Iterator[Finding]:
    """Yield differences from the training data, if the preprocessor knows its columns."""
    preprocessor = preprocessor_of(model)
    if preprocessor is None:
        return
    trained = {column.name: column for column in preprocessor.columns_}
    is_far = np.zeros(shape_of(X)[0], dtype=bool)
    far_columns, new_levels, missing = [], [], []
    for column in readable_columns(X)[0]:
        training = trained.get(column.name)
        if training is None:
            continue
        mask = _far_rows(column, training)
        if mask.any():
            far_columns.append(f"{column.name} ({counted(int(mask.sum()), 'row')})")
            is_far |= mask
        if training.kind == "categorical":
            unknown = set(column.levels) - set(training.levels or ())
            new_levels += [f"{column.name} = {level}" for level in sorted(unknown)]
        share = float(column.missing.mean())
        has_kind = training.kind in ("numeric", "categorical")
        if share > _MANY and has_kind and not training.indicator:
            missing.append(f"{column.name} ({percent(share)})")
    if far_columns:
        share = float(is_far.mean())
        yield Finding(
            "far-from-training",
            "warn" if share > _MANY else "note",
            f"{listed(far_columns)} lie more than {_FAR:g} standard deviations from the training "
            f"mean, in {percent(share)} of the rows: predictions there may be extrapolation.",
            "Check the units of these columns, and report such rows separately.",
        )
    if new_levels:
        yield Finding(
            "new-levels",
            "warn",
            f"Training had no {listed(new_levels)}; such rows are coded as none of the known "
            "levels.",
            "Check the spelling; merge a new level with a known one, or fit again with rows that "
            "have it.",
        )
    if missing:
        yield Finding(
            "new-missing-values",
            "warn",
            f"Values are missing in columns that were complete in training: {listed(missing)}. "
            "They are imputed, but the model has not learned what a missing value means.",
            "Find out why they are missing; fit again with such rows if values will be missing in "
            "use.",
        )


def _far_rows(column: ColumnData, training: Column) -> BoolArray:
    """Return in which rows a number is far from those of training."""
    is_unscaled = (training.mean, training.scale) == (0.0, 1.0)  # its range is unknown
    if column.codes is not None or training.kind != "numeric" or is_unscaled:
        return np.zeros(len(column.missing), dtype=bool)
    numbers = column.as_numbers()
    is_far = np.abs(numbers - training.mean) > _FAR * training.scale
    is_binary = np.isclose(training.scale**2, training.mean * (1 - training.mean))
    return is_far & ~np.isin(numbers, (0.0, 1.0)) if is_binary else is_far


def check_training(
    history: Sequence[Mapping[str, float]],
    best_epoch: Sequence[int],
    max_epochs: int,
    settings: Mapping[str, Any],
) -> Iterator[Finding]:
    """Yield the problems in a training history: early stopping, overfitting.

    Parameters
    ----------
    history : sequence of mappings
        One record per epoch and member: ``member, epoch, train_loss, validation_loss``.
    best_epoch : sequence of int
        For each member the epoch whose weights are used.
    max_epochs : int
        The setting of the model.
    settings : mapping
        ``settings_`` of the model: ``hidden`` and ``patience``.

    """
    if not history:
        return
    losses = pd.DataFrame(list(history)).set_index(["member", "epoch"])
    if losses["validation_loss"].isna().all():
        yield Finding(
            "no-early-stopping",
            "note",
            f"No rows were held out, so training ran for all {max_epochs} epochs without early "
            "stopping.",
            "Set validation_fraction, for example to 0.15, or give validation_data.",
            ("validation_fraction",),
        )
        return
    best = np.asarray(best_epoch)
    n_epochs = losses.groupby("member").size().to_numpy()
    of_members = f"of {counted(len(best), 'member')}"
    is_unfinished = (
        (n_epochs >= max_epochs) & (best > 1) & (max_epochs - best < settings["patience"])
    )
    if is_unfinished.any():
        yield Finding(
            "unfinished",
            "warn",
            f"Training ended at max_epochs = {max_epochs} before the held-out loss had stopped "
            f"falling in {is_unfinished.sum()} {of_members} (best at epoch "
            f"{best[is_unfinished].max()}).",
            "Raise max_epochs, or the learning rate.",
            ("max_epochs", "learning_rate"),
        )
    is_first = (best <= 1) & (n_epochs > 1)
    if is_first.any():
        yield Finding(
            "no-improvement",
            "warn",
            f"The first epoch was the best in {is_first.sum()} {of_members}: later ones made the "
            "held-out loss worse. Either the learning rate is too high, or the covariates carry "
            "little information.",
            "Lower learning_rate (say to a third), add weight_decay, and compare with "
            "Kaplan-Meier.",
            ("learning_rate", "weight_decay"),
        )
    best_losses = losses.loc[list(enumerate(best_epoch))]
    gap = float((best_losses["validation_loss"] - best_losses["train_loss"]).median())
    if gap > _OVERFIT:
        yield _overfitting(gap, len(best), settings)


def _overfitting(gap: float, n_members: int, settings: Mapping[str, Any]) -> Finding:
    """Return the finding with the remedies that the model has not used yet."""
    remedies = {"weight_decay": "weight_decay"}
    if settings["hidden"]:
        remedies |= {"dropout": "dropout", "hidden": "fewer units"}
    if n_members == 1:
        remedies["n_members"] = "an ensemble (n_members)"
    return Finding(
        "overfitting",
        "note",
        f"At the best epoch the loss is {gap:.2f} nats per row lower on the training rows than on "
        "the held-out ones: the model overfits.",
        f"Try {listed(list(remedies.values()))}, and judge on held-out rows only.",
        tuple(remedies),
    )


def _check_extrapolation(
    model: FittedSurvivalModel, X: TableLike, train: Target
) -> Iterator[Finding]:
    """Yield much probability beyond the follow-up of training, and a late survival unlike it."""
    last = float(train.time.max())
    beyond = np.asarray(model.predict_survival_function(X, [last]))[:, 0]
    if beyond.mean() > _BEYOND:
        yield Finding(
            "extrapolation",
            "note",
            f"{percent(float(beyond.mean()))} of the predicted probability lies beyond the end of "
            f"follow-up, {last:g}: there the curves are extrapolated.",
            f"Report survival at horizons, or rmst(t), up to {last:g}; report no means, and no "
            "medians beyond it.",
        )
    late = float(np.sort(train.time)[-min(len(train), _MIN_AT_RISK)])
    if train.interval.any() or late <= 0:
        return
    curve = kaplan_meier(train)
    lower, upper = curve.limits_at(late)
    predicted = float(np.asarray(model.predict_survival_function(X, [late])).mean())
    if not lower - 0.05 <= predicted <= upper + 0.05:
        yield Finding(
            "late-survival",
            "warn",
            f"At {late:g}, when {_MIN_AT_RISK} training subjects were at risk, survival in the "
            f"training data was {percent(float(curve.at(late)))} (Kaplan-Meier); the model "
            f"predicts {percent(predicted)} for these rows.",
            "If the rows come from the same population, try another primitive or more components: "
            "the tail may be wrong.",
            ("primitive", "k"),
        )


def maller_zhou_p(target: Target) -> float:
    """Return the p-value of a follow-up that is too short to estimate a cured fraction.

    The test of Maller and Zhou (Survival Analysis with Long-Term Survivors, Wiley 1996) counts the
    N of n events in ``(2 t_event - t_n, t_event]``, where ``t_event`` is the last time of an event
    and ``t_n`` the last time of all. If the follow-up is too short, a gap as wide as
    ``t_n - t_event`` has a probability of about ``(1 - N / n) ** n``.
    """
    has_event = target.event > 0
    if not has_event.any():
        return 1.0
    last_event = target.time[has_event].max()
    n_late = (has_event & (target.time > 2 * last_event - target.time.max())).sum()
    return float((1 - n_late / len(target)) ** len(target))


def check_follow_up(target: Target, cured: float) -> Iterator[Finding]:
    """Yield that the follow-up is too short to estimate the mean predicted cured fraction."""
    p = maller_zhou_p(target)
    if p <= _MALLER_ZHOU:
        return
    plateau = float(kaplan_meier(target).at(target.time.max()))
    yield Finding(
        "follow-up",
        "warn",
        f"The model estimates a cured fraction of {cured:.2f} on average, and the Kaplan-Meier "
        f"curve ends at {plateau:.2f}; but events came until shortly before the end of the "
        "follow-up, so cured subjects cannot be distinguished from those whose event is yet to "
        f"come (test of Maller and Zhou: {p:.2g}, above {_MALLER_ZHOU:g}).",
        "Do not report the fraction as cured; follow up for longer, or fit without cure.",
        ("cure",),
    )


def _check_mean_risks(
    model: FittedSurvivalModel,
    X: TableLike,
    target: Target,
    horizons: FloatArray,
    names: Sequence[str],
) -> Iterator[Finding]:
    """Yield risks that are wrong on average, or else in groups by risk."""
    predicted = np.clip(predicted_risks(model, X, horizons, len(names)), 0, 1)
    for event, (name, risks) in enumerate(zip(names, predicted, strict=True), 1):
        if not (target.event == event).any():
            continue
        label = "" if len(names) == 1 else f" of {name}"
        curve = aalen_johansen(target, event, variance="greenwood")
        lower, upper = curve.limits_at(horizons)
        observed, means = curve.at(horizons), risks.mean(axis=0)
        errors = np.where((means < lower) | (means > upper), np.abs(means - observed), 0)
        worst = int(errors.argmax())
        if errors[worst] > _WRONG_RISK:
            yield Finding(
                "calibration",
                "warn" if errors[worst] > _VERY_WRONG_RISK else "note",
                f"On average the model predicts a risk{label} of {percent(means[worst])} up to "
                f"{horizons[worst]:g}, but {percent(observed[worst])} was observed (95 % interval "
                f"{percent(lower[worst])} to {percent(upper[worst])}): its risks are "
                f"{'too high' if means[worst] > observed[worst] else 'too low'}.",
                "Check that these rows come from the same population and unit of time as the "
                "training rows; otherwise fit again, with other settings or on newer data.",
            )
            continue
        index = [
            integrated_calibration_index(target, risk, float(horizon), event)
            for risk, horizon in zip(risks.T, horizons, strict=True)
        ]
        worst = int(np.argmax(np.nan_to_num(index, nan=-1.0)))
        if index[worst] > max(_ICI, _NOISE / np.sqrt(len(target))):
            yield Finding(
                "calibration",
                "warn",
                f"Risks{label} up to {horizons[worst]:g} are off by {percent(index[worst])} per "
                "subject (integrated calibration index), though their mean is right: some groups "
                "get too high and others too low a risk.",
                *_calibration_advice(model, "weight_decay", "n_members"),
            )


def _check_uniformity(
    model: FittedSurvivalModel, X: TableLike, target: Target
) -> Iterator[Finding]:
    """Yield that the predicted survival at the subjects' own times is not uniform."""
    uniform = d_calibration(target, np.clip(survival_at_own_time(model, X, target), 0, 1))
    shares = uniform.counts / len(target)
    deviations = np.abs(shares - 0.1)
    worst = int(deviations.argmax())
    if uniform.p_value < _P and deviations[worst] > _UNEVEN:
        yield Finding(
            "calibration",
            "warn" if deviations[worst] > _VERY_UNEVEN else "note",
            "Over all times the model is miscalibrated (D-calibration, "
            f"{p_value(uniform.p_value)}): {percent(shares[worst])} of the subjects had the event "
            f"when their predicted survival was {worst * 10} to {worst * 10 + 10} %, where 10 % "
            "are expected.",
            *_calibration_advice(model, "primitive", "k"),
        )


def _calibration_advice(model: FittedSurvivalModel, *settings: str) -> tuple[str, tuple[str, ...]]:
    """Return what to do about a miscalibrated model, and the settings of a network in it."""
    remedy = (
        "Look at the calibration curve. If the rows come from the same population as the training "
        "rows, "
    )
    if mixture_of(model) is None:
        return f"{remedy}fit again on more rows, or compare with other kinds of models.", ()
    return f"{remedy}try other values of {' and '.join(settings)}.", settings
