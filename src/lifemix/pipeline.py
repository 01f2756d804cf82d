"""Pipelines and searches that end with a survival model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.pipeline import make_pipeline as make_plain_pipeline
from sklearn.utils.metaestimators import available_if

from ._types import FloatArray
from .errors import SettingError
from .preprocessing import TableData, TableLike

if TYPE_CHECKING:
    from .distribution import SurvivalDistribution
    from .target import TargetLike

__all__ = [
    "SurvivalPipeline",
    "apply_steps",
    "final_model",
    "make_pipeline",
    "split_pipeline",
    "without_steps",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, and the last step; of a search, of its best estimator."""
    steps: list[Any] = []
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
        else:
            model = model.best_estimator_
    return steps, model


def apply_steps(steps: Sequence[Any], X: Any) -> Any:
    """Return a table as the step after these takes it."""
    if steps and isinstance(X, TableData):
        X = X.frame
    for step in steps:
        X = step.transform(X)
    return X


def final_model(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the survival model at the end of pipelines and searches, and X as it takes it."""
    steps, last = split_pipeline(model)
    methods = ("predict_survival_function", "predict_cumulative_incidence")
    if not any(hasattr(last, method) for method in methods):
        raise SettingError(
            "model must be a survival model, or a pipeline or fitted search (refit=True) that ends "
            f"with one; got {type(last).__name__}, which has none of {', '.join(methods)}."
        )
    return last, apply_steps(steps, X)


def without_steps(model: Any, purpose: str) -> Any:
    """Return the last step of a pipeline or search; refuse one with steps before it.

    purpose: what cannot contain other steps, for the message.
    """
    steps, last = split_pipeline(model)
    if steps:
        names = ", ".join(type(step).__name__ for step in steps)
        raise SettingError(
            f"{purpose} cannot contain the steps before the model; got a pipeline with {names}. "
            "Fit the model alone, with its option preprocessor, or transform X yourself and give "
            "the last step, pipeline[-1]."
        )
    return last


def _if_last_step_has(name: str) -> Callable[[Method], Method]:
    decorator: Callable[[Method], Method] = available_if(
        lambda pipeline: hasattr(split_pipeline(pipeline)[1], name)
    )
    return decorator


class SurvivalPipeline(Pipeline):  # type: ignore[misc]
    """A pipeline of scikit-learn with the prediction methods of its last step.

    It is what ``lifemix.make_pipeline`` returns; ``SurvivalPipeline([(name, step), ...])`` names the
    steps. Everything else is as in ``sklearn.pipeline.Pipeline``.

    Parameters
    ----------
    steps : list of (str, estimator)
        Transformers, and a survival model or a search for one at the end.
    transform_input, memory, verbose : optional
        As in scikit-learn.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.pipeline import SurvivalPipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = datasets.load_metabric()
    >>> model = SurvivalPipeline([("scale", StandardScaler()), ("cox", CoxPH())])
    >>> model.fit(data.X, data.y).predict_survival_function(data.X[:2], [60, 120]).shape
    (2, 2)

    """

    def _ask(self, method: str, X: TableLike, *arguments: Any, **options: Any) -> Any:
        model, X = final_model(self, X)
        return getattr(model, method)(X, *arguments, **options)

    @_if_last_step_has("predict_survival_function")
    def predict_survival_function(
        self, X: TableLike, times: ArrayLike | None = None, **options: Any
    ) -> Any:
        """Return ``P(T > t | x)``, T the time of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.
        times : array-like of shape (n_times,), optional
            None returns functions of time.
        **options : any
            Options of the method of the last step.

        Returns
        -------
        array of shape (n, n_times), or of n functions
            Probabilities.

        """
        return self._ask("predict_survival_function", X, times, **options)

    @_if_last_step_has("predict_cumulative_hazard_function")
    def predict_cumulative_hazard_function(
        self, X: TableLike, times: ArrayLike | None = None, **options: Any
    ) -> Any:
        """Return the cumulative hazard of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.
        times : array-like of shape (n_times,), optional
            None returns functions of time.
        **options : any
            Options of the method of the last step.

        Returns
        -------
        array of shape (n, n_times), or of n functions
            Cumulative hazards.

        """
        return self._ask("predict_cumulative_hazard_function", X, times, **options)

    @_if_last_step_has("predict_cumulative_incidence")
    def predict_cumulative_incidence(
        self, X: TableLike, times: ArrayLike, event: int = 1
    ) -> FloatArray:
        """Return the cumulative incidence: the probability of the event by each time.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, default 1
            The event type.

        Returns
        -------
        array of shape (n, n_times)
            Probabilities.

        """
        incidence: FloatArray = self._ask("predict_cumulative_incidence", X, times, event=event)
        return incidence

    @_if_last_step_has("predict_cumulative_incidences")
    def predict_cumulative_incidences(self, X: TableLike, times: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.
        times : array-like of shape (n_times,)
            Times from the origin.

        Returns
        -------
        array of shape (n_events, n, n_times)
            Probabilities.

        """
        incidences: FloatArray = self._ask("predict_cumulative_incidences", X, times)
        return incidences

    @_if_last_step_has("predict_net_survival")
    def predict_net_survival(self, X: TableLike, times: ArrayLike, event: int = 1) -> FloatArray:
        """Return the net survival, as if there were no other event types.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, default 1
            The event type.

        Returns
        -------
        array of shape (n, n_times)
            Probabilities.

        """
        survival: FloatArray = self._ask("predict_net_survival", X, times, event=event)
        return survival

    @_if_last_step_has("predict_distribution")
    def predict_distribution(self, X: TableLike) -> SurvivalDistribution:
        """Return the predicted distribution of every row.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes.

        Returns
        -------
        SurvivalDistribution
            n distributions, with ``survival``, ``quantile``, ``mean``, ``given``, ``net`` and more.

        """
        distribution: SurvivalDistribution = self._ask("predict_distribution", X)
        return distribution

    @_if_last_step_has("predict_path")
    def predict_path(
        self,
        X: TableLike,
        start: ArrayLike,
        stop: ArrayLike,
        subject: ArrayLike,
        times: ArrayLike,
        **options: Any,
    ) -> FloatArray:
        """Return survival, or a cumulative incidence, with covariates that change over time.

        Parameters
        ----------
        X : table of n rows
            The columns that the first step takes, one row per interval.
        start, stop, subject : array-like of shape (n,)
            The interval ``(start, stop]`` of each row, and its subject.
        times : array-like of shape (n_times,)
            Times from the origin.
        **options : any
            ``event`` and ``extend``, as in the last step.

        Returns
        -------
        array of shape (n_subjects, n_times)
            Probabilities.

        """
        curves: FloatArray = self._ask("predict_path", X, start, stop, subject, times, **options)
        return curves

    @_if_last_step_has("log_likelihood")
    def log_likelihood(
        self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the sum over rows of the exact, undiscounted log-likelihood.

        Parameters
        ----------
        X, y : table and target of n rows
            The columns that the first step takes, and the outcomes.
        sample_weight : array-like of shape (n,), optional
            Case weights.

        Returns
        -------
        float
            The weighted sum.

        """
        value: float = self._ask("log_likelihood", X, y, sample_weight)
        return value


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> SurvivalPipeline:
    """Return a pipeline of scikit-learn with the prediction methods of its last step.

    The functions of the package that take a model also take a plain ``sklearn.pipeline.Pipeline``,
    which has no method ``predict_survival_function`` of its own.

    Parameters
    ----------
    *steps : estimators
        Transformers, and a survival model or a search for one at the end.
    memory, verbose : optional
        As in ``sklearn.pipeline.make_pipeline``.

    Returns
    -------
    SurvivalPipeline
        Not fitted yet.

    Notes
    -----
    Transformers return arrays. After ``pipeline.set_output(transform="pandas")`` they return
    DataFrames, so that the model knows the names of its columns.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets, make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = datasets.load_metabric()
    >>> model = make_pipeline(StandardScaler(), DeepSurvivalMachines(max_epochs=1))
    >>> model.fit(data.X[:500], data.y[:500]).predict_distribution(data.X[:2]).median().shape
    (2,)

    """
    plain = make_plain_pipeline(*steps)
    return SurvivalPipeline(plain.steps, memory=memory, verbose=verbose)
