"""The doctor after the fit: a fitted model on rows that it was not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from ..._types import FittedSurvivalModel, FloatArray
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
    "effective_components",
    "horizons_within",
    "mixture_of",
    "preprocessor_of",
]

_MIN_ROWS = 50
_FAR = 10.0  # standard deviations
_MANY = 0.01  # share of the rows
_OFF, _FAR_OFF = 0.02, 0.05
_ICI = 0.05
_NOISE = 2.0  # divided by the root of the number of rows: chance alone does not reach such an ICI
_P = 0.01
_UNEVEN, _VERY_UNEVEN = 0.025, 0.04
_BEYOND = 0.3
_AT_RISK = 20
_MIN_COMPONENTS = 1.5
_DISAGREE = 0.08
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
        A ``DeepSurvivalMachines``, a search, or any baseline, which has fewer checks.
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
        At most so many rows are used, drawn at random; a note says so.
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
    model, target, X = getattr(model, "best_estimator_", model), as_target(y), as_input(X)
    n_events = getattr(model, "n_events_", max(1, target.n_events))
    names = all_event_names(event_names, n_events)
    check_same_rows(shape_of(X)[0], len(target))
    rows = np.sort(np.random.default_rng(random_state).permutation(len(target))[:max_rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # the findings report the same problems
        findings = list(_findings(model, take_rows(X, rows), target.take(rows), horizons, names))
    if len(rows) < len(target):
        text = f"The model was checked on {len(rows):,} of {len(target):,} rows, drawn at random."
        findings.append(Finding("sample", "note", text, "Nothing to do; max_rows uses more."))
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
    if mixture is not None:
        k, in_sample, _ = effective_components(mixture, X)
        yield from check_components(k, in_sample)
    if target.path is not None:
        yield Finding(
            "calibration-not-checked",
            "note",
            f"The rows are {len(target):,} intervals of paths; no row is a prediction from the "
            "origin on.",
            "Look at the quality at landmarks: metrics.evaluate_landmarks.",
        )
        return
    if mixture is not None:
        settings = mixture.settings_
        yield from check_training(
            mixture.history_, mixture.best_epoch_, mixture.max_epochs, settings["patience"]
        )
        yield from _check_extrapolation(mixture, X, mixture.training_target_)
        if mixture.cure:
            cured = float(mixture.predict_distribution(X).cure_fraction().mean())
            yield from check_follow_up(mixture.training_target_, cured)
    usable = ~target.interval & ~target.truncated
    if usable.sum() < _MIN_ROWS:
        yield Finding(
            "calibration-not-checked",
            "note",
            f"Only {counted(int(usable.sum()), 'row')} were followed from the origin with exact "
            f"times; calibration needs at least {_MIN_ROWS}.",
            "Judge such data by log_likelihood on held-out rows.",
        )
        return
    X, target = take_rows(X, np.flatnonzero(usable)), target.take(usable)
    train = getattr(model, "training_target_", target)
    times = horizons_within(horizons, train, target)
    if not len(times):
        return
    if mixture is not None:
        yield from _check_members(mixture, X, times)
    yield from _check_calibration(model, X, target, times, names)


def mixture_of(model: Any) -> DeepSurvivalMachines | None:
    """Return the model if it is a ``DeepSurvivalMachines``, whose mixtures can be inspected."""
    from ...estimators import DeepSurvivalMachines  # imports PyTorch

    return model if isinstance(model, DeepSurvivalMachines) else None


def preprocessor_of(model: Any) -> TabularPreprocessor | None:
    """Return the preprocessor of a model, or of the first model inside it that has one."""
    preprocessor = getattr(model, "preprocessor_", None)
    if isinstance(preprocessor, TabularPreprocessor):
        return preprocessor
    members = getattr(model, "models_", None) or getattr(model, "estimators_", None) or ()
    for member in members.values() if isinstance(members, dict) else members:
        preprocessor = preprocessor_of(member)
        if preprocessor is not None:
            return preprocessor
    return None


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
    pairs = [
        (column, trained[column.name])
        for column in readable_columns(X)[0]
        if column.name in trained
    ]
    yield from _check_far(pairs)
    unseen = [
        f"{column.name} = {level}"
        for column, training in pairs
        if column.codes is not None and training.kind == "categorical"
        for level in column.levels
        if level not in (training.levels or ())
    ]
    if unseen:
        yield Finding(
            "new-levels",
            "warn",
            f"Training had no {listed(unseen)}; such rows are coded as none of the known levels.",
            "Check the spelling; merge a new level with a known one, or fit again with rows that "
            "have it.",
        )
    missing = [
        f"{column.name} ({percent(float(column.missing.mean()))})"
        for column, training in pairs
        if column.missing.mean() > _MANY
        and not training.indicator
        and training.kind in ("numeric", "categorical")
    ]
    if missing:
        yield Finding(
            "new-missing-values",
            "warn",
            f"Values are missing in columns that were complete in training: {listed(missing)}. "
            "They are imputed, but the model has not learned what a missing value means.",
            "Find out why they are missing; fit again with such rows if values will be missing in "
            "use.",
        )


def _check_far(pairs: Sequence[tuple[ColumnData, Column]]) -> Iterator[Finding]:
    names, masks = [], []
    for column, training in pairs:
        is_unscaled = (training.mean, training.scale) == (0.0, 1.0)  # its range is unknown
        if column.codes is not None or training.kind != "numeric" or is_unscaled:
            continue
        numbers = column.as_numbers()
        far = np.abs(numbers - training.mean) > _FAR * training.scale
        if np.isclose(training.scale**2, training.mean * (1 - training.mean)):  # only 0 and 1
            far &= ~np.isin(numbers, (0.0, 1.0))
        if far.any():
            names.append(f"{column.name} ({counted(int(far.sum()), 'row')})")
            masks.append(far)
    if names:
        share = float(np.any(masks, axis=0).mean())
        yield Finding(
            "far-from-training",
            "warn" if share > _MANY else "note",
            f"{listed(names)} lie more than {_FAR:g} standard deviations from the training mean, "
            f"in {percent(share)} of the rows: predictions there may be extrapolation.",
            "Check the units of these columns, and report such rows separately.",
        )


def effective_components(
    model: DeepSurvivalMachines, X: TableLike
) -> tuple[int, FloatArray, FloatArray]:
    """Return k, and the effective number of components in the sample and per subject.

    With the weights w(x) and the entropy H they are ``exp H(mean w)`` and ``exp(mean H(w))``, one
    number per event type, averaged over the members.
    """
    mixtures = model.network_.mixtures(model.preprocess(X))
    weights = np.exp(mixtures.log_weights.detach().numpy())  # [n_members, n_rows, n_events, k]
    in_sample = entr(weights.mean(axis=1)).sum(axis=-1)
    per_subject = entr(weights).sum(axis=-1).mean(axis=1)
    return weights.shape[-1], np.exp(in_sample).mean(axis=0), np.exp(per_subject).mean(axis=0)


def check_components(k: int, in_sample: FloatArray) -> Iterator[Finding]:
    """Yield that few components are in use; the arguments are from ``effective_components``."""
    if k > 1 and in_sample.max() < _MIN_COMPONENTS:
        yield Finding(
            "components",
            "note",
            f"Of k = {k} components only {listed([f'{n:.1f}' for n in in_sample])} are in use on "
            "average: the others have hardly any weight.",
            "Try a smaller k; compare by log_likelihood on held-out rows.",
            ("k",),
        )


def check_training(
    history: Sequence[Mapping[str, float]],
    best_epoch: Sequence[int],
    max_epochs: int,
    patience: int,
) -> Iterator[Finding]:
    """Yield the problems in a training history: early stopping, overfitting, infinite losses.

    Parameters
    ----------
    history : sequence of mappings
        One record per epoch and member: ``member, epoch, train_loss, validation_loss``.
    best_epoch : sequence of int
        For each member the epoch whose weights were kept.
    max_epochs, patience : int
        The settings of the model.

    """
    members = [
        [record for record in history if record["member"] == number]
        for number in range(len(best_epoch))
    ]
    if not history or not all(members):
        return
    if all(np.isnan(record["validation_loss"]) for record in history):
        yield Finding(
            "no-early-stopping",
            "note",
            f"No rows were held out, so training ran for all {max_epochs} epochs without early "
            "stopping.",
            "Set validation_fraction, for example to 0.15, or give validation_data.",
            ("validation_fraction",),
        )
        return
    runs = list(zip(members, best_epoch, strict=True))
    unfinished = [
        best
        for records, best in runs
        if len(records) >= max_epochs and best > 1 and max_epochs - best < patience
    ]
    if unfinished:
        yield Finding(
            "unfinished",
            "warn",
            f"Training ended at max_epochs = {max_epochs} before the held-out loss had stopped "
            f"falling in {_of_members(len(unfinished), len(runs))} (best at epoch "
            f"{max(unfinished)}).",
            "Raise max_epochs, or the learning rate.",
            ("max_epochs", "learning_rate"),
        )
    n_at_once = sum(best <= 1 and len(records) > 1 for records, best in runs)
    if n_at_once:
        yield Finding(
            "no-improvement",
            "warn",
            f"The first epoch was the best in {_of_members(n_at_once, len(runs))}: later ones made "
            "the held-out loss worse. Either the learning rate is too high, or the covariates "
            "carry little information.",
            "Lower learning_rate (say to a third), add weight_decay or dropout, and compare with "
            "Kaplan-Meier.",
            ("learning_rate", "weight_decay", "dropout"),
        )
    kept = [records[best - 1] for records, best in runs]
    gap = float(np.median([epoch["validation_loss"] - epoch["train_loss"] for epoch in kept]))
    if gap > _OVERFIT:
        yield Finding(
            "overfitting",
            "note",
            f"At the epoch that was kept the loss is {gap:.2f} nats per row lower on the training "
            "rows than on the held-out ones: the model overfits.",
            "Try dropout, weight_decay, fewer units or an ensemble (n_members), and judge on "
            "held-out rows only.",
            ("dropout", "weight_decay", "hidden", "n_members"),
        )
    n_not_finite = sum(not np.isfinite(record["train_loss"]) for record in history)
    if n_not_finite:
        yield Finding(
            "loss-not-finite",
            "warn",
            f"The training loss was not finite in {counted(n_not_finite, 'epoch')}; those steps "
            "were undone.",
            "Lower learning_rate, and look for outliers in the table.",
            ("learning_rate",),
        )


def _of_members(n_members: int, total: int) -> str:
    return "this model" if total == 1 else f"{n_members} of {total} members"


def _check_extrapolation(
    model: FittedSurvivalModel, X: TableLike, train: Target
) -> Iterator[Finding]:
    """Yield much probability beyond the follow-up of training, and a late survival unlike it."""
    last = float(train.time.max())
    beyond = np.asarray(model.predict_survival_function(X, [last]))[:, 0]
    if beyond.mean() > _BEYOND:
        no_median = float((beyond > 0.5).mean())
        medians = f", and so does the median of {percent(no_median)} of the subjects"
        yield Finding(
            "extrapolation",
            "note",
            f"{percent(float(beyond.mean()))} of the predicted probability lies beyond the end of "
            f"follow-up, {last:g}{medians if no_median > 0 else ''}: there the curves are "
            "extrapolated.",
            f"Report survival at horizons, or rmst(t), up to {last:g}; report no means, and no "
            "medians beyond it.",
        )
    late = float(np.sort(train.time)[-min(len(train), _AT_RISK)])
    if train.interval.any() or late <= 0:
        return
    curve = kaplan_meier(train)
    lower, upper = curve.limits_at(late)
    predicted = float(np.asarray(model.predict_survival_function(X, [late])).mean())
    if not lower - 0.05 <= predicted <= upper + 0.05:
        yield Finding(
            "late-survival",
            "warn",
            f"At {late:g}, when {_AT_RISK} training subjects were at risk, survival in the "
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


def _check_members(
    model: DeepSurvivalMachines, X: TableLike, horizons: FloatArray
) -> Iterator[Finding]:
    """Yield whether the members of an ensemble disagree."""
    members = model.network_.members()
    if len(members) < 2:
        return
    x = model.preprocess(X)
    curves = np.stack([member.distribution(x).survival(horizons) for member in members])
    spread = curves.std(axis=0, ddof=1).mean(axis=0)
    worst = int(spread.argmax())
    if spread[worst] > _DISAGREE:
        yield Finding(
            "members-disagree",
            "warn",
            f"The {len(members)} members differ by {spread[worst]:.2f} (standard deviation) in a "
            f"subject's survival at {horizons[worst]:g}: the result of a single fit depends "
            "strongly on its random seed.",
            "Use more members, a smaller model or more weight_decay.",
            ("n_members", "hidden", "weight_decay"),
        )


def _check_calibration(
    model: FittedSurvivalModel,
    X: TableLike,
    target: Target,
    horizons: FloatArray,
    names: Sequence[str],
) -> Iterator[Finding]:
    """Yield wrong risks: on average, in groups by risk, or over all times."""
    predicted = np.clip(predicted_risks(model, X, horizons, len(names)), 0, 1)
    for event, (name, risks) in enumerate(zip(names, predicted, strict=True), 1):
        if (target.event == event).any():
            label = "" if len(names) == 1 else f" of {name}"
            finding = _mean_risk_finding(target, event, risks, horizons, label)
            finding = finding or _ici_finding(target, event, risks, horizons, label)
            if finding is not None:
                yield finding
    if len(names) > 1 or not (target.event > 0).any():
        return
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
            "Try another primitive, more components (k) or longer training: the shape of the "
            "curves may be wrong even if they rank the subjects well.",
            ("primitive", "k", "max_epochs"),
        )


def _mean_risk_finding(
    target: Target, event: int, risks: FloatArray, horizons: FloatArray, label: str
) -> Finding | None:
    curve = aalen_johansen(target, event, variance="greenwood")
    lower, upper = curve.limits_at(horizons)
    observed, means = curve.at(horizons), risks.mean(axis=0)
    outside = (means < lower) | (means > upper)
    errors = np.where(outside, np.abs(means - observed), 0)
    worst = int(errors.argmax())
    if errors[worst] <= _OFF:
        return None
    return Finding(
        "calibration",
        "warn" if errors[worst] > _FAR_OFF else "note",
        f"On average the model predicts a risk{label} of {percent(means[worst])} up to "
        f"{horizons[worst]:g}, but {percent(observed[worst])} was observed (95 % interval "
        f"{percent(lower[worst])} to {percent(upper[worst])}): its risks are "
        f"{'too high' if means[worst] > observed[worst] else 'too low'}.",
        "Check that these rows come from the same population and unit of time as the training "
        "rows; otherwise fit again, with other settings or on newer data.",
    )


def _ici_finding(
    target: Target, event: int, risks: FloatArray, horizons: FloatArray, label: str
) -> Finding | None:
    index = [
        integrated_calibration_index(target, risk, float(horizon), event)
        for risk, horizon in zip(risks.T, horizons, strict=True)
    ]
    worst = int(np.argmax(np.nan_to_num(index, nan=-1.0)))
    if not index[worst] > max(_ICI, _NOISE / np.sqrt(len(target))):
        return None
    return Finding(
        "calibration",
        "warn",
        f"Risks{label} up to {horizons[worst]:g} are off by {percent(index[worst])} per subject "
        "(integrated calibration index), though their mean is right: some groups get too high and "
        "others too low a risk.",
        "Look at the calibration curve; a smaller model, weight_decay or an ensemble often helps.",
        ("hidden", "weight_decay", "n_members"),
    )
