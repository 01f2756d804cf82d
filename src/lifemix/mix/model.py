"""A weighted average of Deep Survival Machines, Cox regression, boosted trees and a forest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._types import FloatArray
from ..baselines.base import WrappingModel, chunks
from ..checks import Check, Jobs, Rule, Seed, Whole, warn_user
from ..distribution import AverageDistribution, GridDistribution, SurvivalDistribution
from ..errors import CovariateError, InputError, SettingError
from ..metrics.predictions import take_rows
from ..preprocessing import shape_of
from ..registry import check_finite, register_model
from ..splits import EventStratifiedKFold
from ..target import Target
from .cross_fit import CrossFitted, cross_fit
from .parts import averaged_over_folds, default_parts, with_seed
from .weights import best_weights

__all__ = ["LifeMix"]

_TIMES = 30  # at which out-of-fold curves are compared
_STEPS = 128  # times at which step curves are kept
_PRIOR_EVENTS = 100.0
_LEAST = 0.05  # a part with a smaller weight is dropped
_MANY_ROWS = 4000
_RISK_TIMES = 19
_TINY = 1e-12


def _check_parts(parts: Any) -> None:
    if parts is None:
        return
    if (
        not isinstance(parts, Mapping)
        or not parts
        or not all(isinstance(name, str) for name in parts)
    ):
        raise SettingError(
            f"parts must be None or a dictionary from names to models; got {parts!r:.200}."
        )
    for name, part in parts.items():
        if isinstance(part, type) or not hasattr(part, "predict_cumulative_incidences"):
            raise SettingError(
                f"parts must be models of lifemix that are not fitted; got {part!r:.80} as {name!r}."
            )


@register_model
class LifeMix(WrappingModel):
    """The model to use when nothing is known about a table: a weighted average of different models.

    Deep Survival Machines (networks, with numbers as they are and piecewise encoded, and linear ones), Cox regression
    with a ridge penalty, boosted trees and a forest are fitted to every fold's complement. Their curves of the rows
    left out say how much each counts: the weights have the least censoring-weighted Brier score over time, with a prior
    towards equal weights for few events. The parts that count are then fitted once more, to all rows; of boosted trees
    the models of all folds are averaged.

    Parameters
    ----------
    parts : mapping of str to estimator, optional
        Models of lifemix by name; None for those above (with competing risks the cause-specific Cox models).
    n_folds : int, optional
        Number of folds; None for 5, and 3 from 4,000 rows on.
    random_state : int, Generator or None, default 0
        Random seed.
    n_jobs : int, optional
        Processes that fit the parts, as in joblib; None for one.

    Attributes
    ----------
    part_names_ : array of str
        The parts that count.
    shares_ : float array of shape (n_parts,)
        How much each counts; the sum is 1.
    dropped_ : array of str
        Parts that were fitted and did not earn their weight.
    models_ : list of estimators
        The fitted models of all parts.

    Notes
    -----
    Step curves (Cox, trees) are made continuous: between neighbouring training event times (at most 128 of them,
    evenly spread) the probability of an event is spread uniformly, and beyond the last one, step curves go on as the
    networks' do, given survival to there; without networks, with the mean hazard up to there.
    Rows with late entry or intervals leave the weights equal, and parts that cannot use such rows are left out with a
    warning.

    Examples
    --------
    >>> from lifemix import LifeMix, datasets
    >>> data = datasets.load_metabric()
    >>> model = LifeMix().fit(data.X[:300], data.y[:300])
    >>> model.predict_survival_function(data.X[300:302], [50, 100, 150]).shape
    (2, 3)
    >>> float(round(sum(model.weights_.values()), 6))
    1.0
    """

    _takes_intervals = True
    _takes_paths = False  # its parts are weighed row by row
    _rules: ClassVar[Mapping[str, Rule]] = {
        "parts": Check(_check_parts),
        "n_folds": Whole(2, optional=True),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        parts: Mapping[str, Any] | None = None,
        n_folds: int | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.parts = parts
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def weights_(self) -> dict[str, float]:
        """How much each part counts, by name."""
        return dict(zip(self.part_names_.tolist(), self.shares_.tolist(), strict=True))

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        useful = np.flatnonzero((weight > 0) & ((target.time > 0) | (target.event > 0)))
        x, target, weight = take_rows(x, useful), target.take(useful), weight[useful]
        y = target.to_array()
        parts = (
            default_parts(self.n_events_, len(target)) if self.parts is None else dict(self.parts)
        )
        times = _comparison_times(target)
        folds = list(EventStratifiedKFold(self._folds(target), random_state=seed).split(x, y))
        fitted = cross_fit(parts, x, y, weight, folds, times, seed, self.n_jobs)
        usable = {name: one for name, one in fitted.items() if isinstance(one, CrossFitted)}
        self._tell(fitted)
        shares = _shares(usable, target, times, weight)
        kept = [name for name, share in shares.items() if share > 0]
        self.part_names_ = np.array(kept, dtype=object)
        self.shares_ = np.array([shares[name] for name in kept])
        self.dropped_ = np.array([name for name in usable if name not in kept], dtype=object)
        self.models_, part_of = [], []
        for number, name in enumerate(kept):
            models = usable[name].models
            if not averaged_over_folds(parts[name]):
                told = {} if (weight == 1).all() else {"sample_weight": weight}
                models = [with_seed(clone(parts[name]), seed).fit(x, y, **told)]
            self.models_ += models
            part_of += [number] * len(models)
        self.part_of_ = np.array(part_of, dtype=np.int64)
        self.steps_ = _step_times(self.event_times_)

    def _folds(self, target: Target) -> int:
        fewest = int(np.bincount(target.event, minlength=2)[1:].min())
        wanted = self.n_folds or (3 if len(target) >= _MANY_ROWS else 5)
        if self.n_folds is None:
            wanted = max(2, min(wanted, fewest))
        if fewest < 2:
            raise InputError(
                f"LifeMix needs at least 2 events of each type to judge its parts; got {fewest}. Use CoxPH or "
                "DeepSurvivalMachines, or fit on more rows."
            )
        return wanted

    @staticmethod
    def _tell(fitted: Mapping[str, Any]) -> None:
        failed = {name: one for name, one in fitted.items() if not isinstance(one, CrossFitted)}
        for error in failed.values():
            if isinstance(error, CovariateError):  # the table is at fault, not the model
                raise error
        if len(failed) == len(fitted):
            name, error = next(iter(failed.items()))
            raise InputError(f"no part of LifeMix could be fitted; {name}: {error}") from error
        for name, error in failed.items():
            warn_user(f"LifeMix goes on without {name}, which could not be fitted: {error}")

    def _validate(self) -> None:
        super()._validate()
        check_finite("shares_", self.shares_, (len(self.part_names_),))
        check_finite("part_of_", self.part_of_, (len(self.models_),))
        check_finite("steps_", self.steps_, (None,))
        if (self.shares_ < 0).any() or abs(self.shares_.sum() - 1.0) > 1e-9:
            raise ValueError("shares_ must be weights that add up to 1")
        if any(model.n_events_ != self.n_events_ for model in self.models_):
            raise ValueError("models of the same event types expected")
        if set(self.part_of_.tolist()) != set(range(len(self.shares_))):
            raise ValueError("every part needs a model")
        if len(self.steps_) < 1 or (np.diff(self.steps_) <= 0).any() or self.steps_[0] <= 0:
            raise ValueError("the times of the step curves must ascend")

    # Prediction.

    def predict_distribution(self, X: Any) -> AverageDistribution:
        """Return the predicted distribution of every row.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        AverageDistribution
            n distributions, with ``survival``, ``quantile``, ``mean``, ``given``, ``net`` and more.

        """
        return self._average(self.preprocess(X))

    def _average(self, x: Any) -> AverageDistribution:
        weights = self.shares_[self.part_of_] / np.bincount(self.part_of_)[self.part_of_]
        pairs = list(zip(weights.tolist(), self.models_, strict=True))
        smooth = [(w, one.predict_distribution(x)) for w, one in pairs if _smooth(one)]
        stepped = [(w, one) for w, one in pairs if not _smooth(one)]
        parts: list[SurvivalDistribution] = [part for _, part in smooth]
        shares = [w for w, _ in smooth]
        if stepped:
            tail = AverageDistribution(parts, shares) if smooth else None
            parts.append(self._grid_distribution(x, stepped, tail))
            shares.append(sum(w for w, _ in stepped))
        return AverageDistribution(parts, shares)

    def _grid_distribution(
        self, x: Any, stepped: Sequence[tuple[float, Any]], tail: SurvivalDistribution | None
    ) -> GridDistribution:
        total = sum(w for w, _ in stepped)
        at, events = self.steps_, range(1, self.n_events_ + 1)
        incidences: Any = sum(
            w / total * np.asarray(m.predict_cumulative_incidences(x, at)) for w, m in stepped
        )
        nets = None
        if self.n_events_ > 1 and self._has_net_survival():
            nets = np.stack(
                [
                    sum(
                        w / total * np.asarray(m.predict_net_survival(x, at, e)) for w, m in stepped
                    )
                    for e in events
                ]
            )
        return GridDistribution.of(self.steps_, incidences, nets, tail)

    def _in_blocks(
        self, x: Any, ask: Callable[[AverageDistribution], FloatArray], axis: int = 0
    ) -> FloatArray:
        blocks = chunks(shape_of(x)[0], 2 * _STEPS * self.n_events_)
        return np.concatenate(
            [ask(self._average(take_rows(x, rows))) for rows in blocks], axis=axis
        )

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._in_blocks(x, lambda some: some.survival(times))

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._incidences(x, times)[event - 1]

    def _incidences(self, x: Any, times: FloatArray) -> FloatArray:
        return self._in_blocks(x, lambda some: some.cumulative_incidences(times), axis=1)

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._in_blocks(x, lambda some: some.net(event).survival(times))

    def _has_net_survival(self) -> bool:
        return all(
            _smooth(one) or hasattr(one, "predict_net_survival")
            for one in getattr(self, "models_", [])
        )

    def _risk(self, x: Any) -> FloatArray:
        """Return the mean logarithm of the cumulative hazard over the event times, but for the first and last 5 %.

        With proportional hazards it is the linear predictor. The mean survival time up to the last event, which other
        models have, depends on the end of the curves, where few rows tell anything.
        """
        times = np.quantile(self.steps_, np.linspace(0.05, 0.95, _RISK_TIMES))
        survival = np.clip(self._survival(x, times), _TINY, 1.0 - _TINY)
        return np.asarray(np.log(-np.log(survival)).mean(axis=1))


def _smooth(model: Any) -> bool:
    return hasattr(model, "predict_distribution")


def _comparison_times(target: Target) -> FloatArray:
    times = np.fmax(target.time, target.upper)[target.event > 0]
    first, last = np.quantile(times, [0.05, 0.9])
    return np.unique(np.linspace(first, last, _TIMES))


def _step_times(event_times: FloatArray) -> FloatArray:
    if len(event_times) <= _STEPS:
        return event_times
    return np.unique(np.quantile(event_times, np.linspace(0, 1, _STEPS), method="nearest"))


def _shares(
    usable: Mapping[str, CrossFitted], target: Target, times: FloatArray, weight: FloatArray
) -> dict[str, float]:
    """Return the weight of each part; 0 for those that are dropped."""
    names = list(usable)
    equal = dict.fromkeys(names, 1 / len(names))
    if len(names) == 1 or len(times) < 2 or target.truncated.any() or target.interval.any():
        return equal
    while True:
        curves = np.stack([usable[name].curves for name in names])
        shares = best_weights(curves, target, times, weight, _PRIOR_EVENTS)
        if shares.min() >= _LEAST:
            return dict.fromkeys(usable, 0.0) | dict(zip(names, shares.tolist(), strict=True))
        names.pop(int(shares.argmin()))
