"""Deep Survival Machines as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import check_same_rows, check_times, check_weight
from ..distribution import CompetingDistribution, MixtureDistribution
from ..encoders import SequenceEncoder
from ..errors import InputError, SettingError
from ..preprocessing import TableLike, TabularPreprocessor
from ..primitives.mixture import primitive_names
from ..registry import UserCode, constructor_arguments, register_model
from ..streaming import TableSource
from ..survival_model import SurvivalModel
from ..target import TargetLike, as_target, refuse_unknown_types
from .fitted_network import FittedNetwork, architecture_of
from .settings import ONE_NETWORK, RULES, check_combinations, explain_settings, with_settings

if TYPE_CHECKING:
    from ..training import Callback
    from .fleet_groups import TrainedFit
    from .preparation import PreparedFit

__all__ = ["DeepSurvivalMachines"]


@register_model
@dataclass(eq=False, repr=False)
class DeepSurvivalMachines(TransformerMixin, SurvivalModel):  # type: ignore[misc]
    """A mixture of parametric survival distributions that depend on the covariates.

    For every event type m, ``S_m(t | x) = sum_k w_mk(x) S(t; beta_mk(x), eta_mk(x))``: an encoder
    Phi shared by all event types, a softmax gate, and parameters of each component that are shifted
    from learned base values [1]_.

    Parameters
    ----------
    primitive : str, subclass of Primitive, list or dict, default "weibull"
        The distribution of a component: ``"weibull"``, ``"lognormal"`` (the paper's),
        ``"loglogistic"``, ``"exponential"``, ``"gompertz"``, ``"gamma"``, ``"generalised-gamma"``,
        ``"burr"``, ``"power-generalised-weibull"``, the flexible ``"spline"``, the name of another
        registered primitive, or a class of your own. A list has k components of each; a dict such
        as ``{"weibull": 3, "spline": 1}`` counts them; a dict by event code, such as ``{1:
        "weibull", 2: "spline"}``, has any of these for each event type, with as many components
        each.
    k : int, default 4
        Components of the mixture of each event type, of each family if there are several.
    hidden : sequence of int, optional
        Widths of the encoder's layers; ``()`` is the linear model. None: two layers of 50.
    objective : {"exact", "elbo"}, default "exact"
        The mixture's log-likelihood, or the paper's lower bound of it.
    discount : float, default 1.0
        The paper's alpha, which multiplies the contribution of censored times.
    n_members : int, optional
        Size of the ensemble; its distribution is the equal mixture of its members'. None: by the
        number of training rows, 16 up to 2,000, 8 up to 5,000, 3 up to 20,000, 2 up to 100,000,
        then 1; with an encoder of your own 1.
    random_state : int, RandomState, Generator or None, default 0
        Random seed; None is a fresh one at each fit.
    activation : str or callable, optional
        Activation of the encoder: a name, or a function of a tensor, with which training is slower.
        None: ``"tanh"``, or ``"relu6"``, the paper's, with layers of your own.
    shift_activation : str or None, default "identity"
        The paper's ``act``: ``"identity"`` leaves the shifts unbounded; None takes the paper's
        choice by primitive, SELU, or Tanh for the log-normal.
    bias : bool, default True
        Whether encoder and gate have biases; the paper's have none.
    encoder : torch.nn.Module or one of ``lifemix.encoders``, optional
        A module from inputs ``[rows, columns]`` to ``[rows, features]`` in place of ``hidden``; of
        an array of more dimensions it gets rows of that shape. ``encoders.Recurrent`` and
        ``Attention`` take histories (see ``lifemix.histories``) or an array ``(subjects, steps,
        columns)``, alone or in a dict beside a table.
    dropout : float, optional
        Dropout rate of the encoder's layers. None: 0.3 up to 5,000 training rows, 0.1 up to 20,000,
        then 0; 0 if a layer has fewer than 32 units.
    weight_decay : float, default 0.0
        Decoupled decay of the weights, as in AdamW.
    prior_strength : float, default 1e-8
        The paper's lambda, which holds the base values near the warm start.
    head_prior : float, default 0.0
        Strength of the zero-mean normal prior of gate and shifts, which the paper's loss leaves
        out.
    rounding : float, optional
        The step to which times were rounded: an event at t counts as one in ``(t - step / 2, t +
        step / 2]``. 0: times are exact. None: detected from the training times, 0 unless they are
        coarse; see the page "Censoring".
    cure : bool, default False
        Whether the gate of each event type has one more outcome, never:
        ``distribution.cure_fraction()`` is its probability. It needs ``objective="exact"``, and a
        follow-up that is long enough (see ``report.doctor``).
    learning_rate : float, optional
        Learning rate of the optimiser. None: 3e-3 up to 5,000 training rows, 4e-3 up to 20,000,
        then 2e-3; 1e-3 with a batch size of your own.
    optimizer : {"adam", "rmsprop", "sgd"}, default "adam"
        The optimiser.
    batch_size : int, optional
        Rows in a training step. None: 256 up to 20,000 training rows, 512 up to 100,000, then
        1,024.
    max_epochs : int, default 200
        Maximum number of passes over the training rows; 0 keeps the warm start.
    patience : int, optional
        Epochs without a better held-out objective before training stops. None: 10 up to 5,000
        training rows, then 4.
    validation_fraction : float, default 0.15
        Share of the rows held out for early stopping; 0 trains for ``max_epochs``.
    preprocessor : {"auto", None} or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales X; None takes X as it is; or any scikit-learn
        transformer.
    device : str or torch.device, default "auto"
        Where to train, and where the network of the fitted model is computed; ``"auto"`` is CUDA
        if available and a training step has at least 2e8 multiplications (3 * batch size *
        weights of all members), or the encoder is your own. A loaded model computes on the CPU.
    checkpoint : path-like, optional
        A folder; the fit writes its state there after every epoch, and resumes from it after an
        interruption.
    callbacks : sequence of Callback, optional
        Called at the start and the end of the fit and of every epoch; see
        ``lifemix.training.Callback``.
    verbose : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    network_ : FittedNetwork
        The trained members: representations, mixtures and distributions from the matrix that
        ``preprocess`` gives.
    history_ : list of dict
        One record per epoch and member: member, epoch, train_loss, validation_loss.
    best_epoch_ : list of int
        The epoch that each member's parameters are from.
    n_parameters_ : int
        Number of parameters of one member.
    settings_ : dict
        ``hidden``, ``activation``, ``n_members``, ``dropout``, ``batch_size``, ``learning_rate``,
        ``patience`` and ``rounding`` as they were used.
    time_unit_ : float
        The unit of time inside the network, learned from the training times.

    References
    ----------
    .. [1] C. Nagpal, X. Li and A. Dubrawski, "Deep Survival Machines: Fully Parametric Survival
       Regression and Representation Learning for Censored Data With Competing Risks", IEEE
       Journal of Biomedical and Health Informatics 25(8), 2021. https://doi.org/10.1109/JBHI.2021.3052441

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(16,), max_epochs=2).fit(data.X[:500], data.y[:500])
    >>> model.predict_survival_function(data.X[500:502], [50, 100, 150]).shape
    (2, 3)
    >>> model.predict_distribution(data.X[500:502]).median().shape
    (2,)

    """

    _rules = RULES
    # Scikit-learn passes groups to fit if they are given.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"groups": True}
    _needs_columns = False
    _saves_event_times = False

    primitive: Any = "weibull"
    k: int = 4
    hidden: Sequence[int] | None = None
    objective: str = "exact"
    discount: float = 1.0
    n_members: int | None = None
    random_state: int | None = 0
    _: KW_ONLY
    activation: str | Callable[[Tensor], Tensor] | None = None
    shift_activation: str | None = "identity"
    bias: bool = True
    encoder: nn.Module | None = None
    dropout: float | None = None
    weight_decay: float = 0.0
    prior_strength: float = 1e-8
    head_prior: float = 0.0
    rounding: float | None = None
    cure: bool = False
    learning_rate: float | None = None
    optimizer: str = "adam"
    batch_size: int | None = None
    max_epochs: int = 200
    patience: int | None = None
    validation_fraction: float = 0.15
    preprocessor: Any = "auto"
    device: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callbacks: Sequence[Callback] | None = None
    verbose: bool = False

    @classmethod
    def paper(cls, primitive: str = "weibull", k: int = 4, **settings: Any) -> Self:
        """Return the model with the paper's settings.

        From the paper: ReLU6 without bias, the ELBO, lambda 1e-8, Adam, one layer of 100, and (from
        its grids) discount 1 and learning rate 1e-3. Left open there and ours: epochs, batch size,
        patience, held-out share, scaling.

        Parameters
        ----------
        primitive : str or subclass of Primitive, default "weibull"
            The paper's are ``"weibull"`` and ``"lognormal"``.
        k : int, default 4
            Components of the mixture.
        **settings : any
            Any other option of the constructor.

        Returns
        -------
        DeepSurvivalMachines
            Not fitted yet.

        """
        paper = {"objective": "elbo", "shift_activation": None, "bias": False}
        return cls(**{"primitive": primitive, "k": k, **ONE_NETWORK, **paper, **settings})

    @classmethod
    def tuned(cls, competing: bool = False, **settings: Any) -> Self:
        """Return the model with the settings that won in our experiments.

        One event type: log-normal components, two layers of 100, dropout 1/2, numbers encoded
        piecewise linearly between training quantiles. Competing risks: Weibull components, two
        layers of 50 with Tanh, dropout 1/10. Both have eight members.

        Parameters
        ----------
        competing : bool, default False
            Whether there are several event types.
        **settings : any
            Any other option of the constructor.

        Returns
        -------
        DeepSurvivalMachines
            Not fitted yet.

        """
        defaults = {**ONE_NETWORK, "n_members": 8}
        if competing:
            defaults |= {"hidden": (50, 50), "activation": "tanh", "dropout": 0.1}
        else:
            preprocessor = TabularPreprocessor(numbers="piecewise", bins=8)
            defaults |= {"primitive": "lognormal", "hidden": (100, 100), "dropout": 0.5}
            defaults["preprocessor"] = preprocessor
        return cls(**(defaults | settings))

    def fit(
        self,
        X: TableLike | TableSource,
        y: TargetLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of n rows, or TableSource
            Numbers, categories, missing values (see ``preprocessor``); a
            ``lifemix.streaming.TableSource`` is read from disk, and names the outcome too.
        y : target of n rows
            See ``lifemix.make_target``; left out with a source.
        sample_weight : array-like of shape (n,), optional
            Case weights; a row of weight 0 is left out.
        validation_data : pair (X, y), optional
            Rows for early stopping that are not in X; otherwise a share of the rows is held out, or
            of the subjects if the target has them.
        groups : array-like of shape (n,), optional
            The subject of each row, unless the target has it; see ``subject`` of
            ``lifemix.make_target``.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        DivergedError
            If no epoch has a finite loss.

        """
        from .fleet_groups import train  # training is not imported for prediction
        from .preparation import TrainingSet, prepare, prepare_source

        self._check_settings()
        options = self.checkpoint, self.callbacks or (), bool(self.verbose)
        if isinstance(X, TableSource):
            _refuse_beside_source(y, sample_weight, validation_data, groups)
            with prepare_source(self, X) as (prepared, ranks):
                trained = train(prepared, *options, ranks)
                return self._set_fitted(prepared, trained)
        target = as_target(cast(TargetLike, y))
        training_set = TrainingSet(X, target.grouped(groups), sample_weight, validation_data)
        prepared = prepare(self, training_set)
        trained = train(prepared, *options)
        self._set_fitted(prepared, trained)
        # score compares the subjects of the target, not the groups.
        self._learn_subjects(target, check_weight(sample_weight, len(target)))
        return self

    def _set_fitted(self, prepared: PreparedFit, trained: TrainedFit) -> Self:
        """Set the fitted attributes."""
        rows = [fit.parameters for fit in trained.fits if fit.parameters is not None]
        # Members share one architecture, unless each has an encoder.
        architectures = trained.architectures[: 1 if self.encoder is None else None]
        parameters, device = torch.stack(rows).cpu(), prepared.data.x.device
        self._set_network(FittedNetwork(architectures, parameters, prepared.scale, device))
        self.preprocessor_ = prepared.preprocessor
        self._learn_columns(prepared.columns)
        self._learn_target(prepared.target)
        self.settings_ = prepared.settings
        self.best_epoch_ = [fit.best_epoch for fit in trained.fits]
        self.history_ = [
            record for member, fit in enumerate(trained.fits) for record in fit.records(member)
        ]
        return self

    def _set_network(self, network: FittedNetwork) -> None:
        self.network_ = network
        self.time_unit_ = network.scale.unit
        self.n_parameters_ = network.parameters.shape[1]

    # Model files.

    def _saved_arguments(self) -> dict[str, Any]:
        """Return the options that a model file holds; code of the user is only named."""
        arguments = constructor_arguments(self)
        del arguments["checkpoint"], arguments["callbacks"]  # they belong to a session
        arguments |= {"primitive": primitive_names(self.primitive), "device": str(self.device)}
        for name in ("encoder", "activation"):
            if arguments[name] is not None and not isinstance(
                arguments[name], (str, SequenceEncoder)
            ):
                arguments[name] = UserCode(name, arguments[name])
        return arguments

    def _saved_attributes(self) -> dict[str, Any]:
        attributes = super()._saved_attributes()
        if not attributes:
            return {}
        del attributes["time_unit_"], attributes["n_parameters_"]
        return attributes | {"network_": self.network_.to_state()}

    def _validate(self) -> None:
        super()._validate()
        state: Any = self.network_
        n_members = len(state["parameters"])
        counts = {n_members, len(self.best_epoch_), self.n_members or n_members}
        if len(counts) > 1 or len(state["modules"]) != (0 if self.encoder is None else n_members):
            raise ValueError(
                f"{len(self.best_epoch_)} best epochs for {n_members} members, "
                f"{len(state['modules'])} modules"
            )
        example = torch.zeros(1).expand(2, self._n_inputs)  # takes no memory
        options = with_settings(self, self.settings_), example, self.n_events_, self.preprocessor_
        self._set_network(FittedNetwork.from_state(state, lambda: architecture_of(*options)))

    # Prediction.

    def predict_distribution(self, X: TableLike) -> MixtureDistribution | CompetingDistribution:
        """Return the predicted distribution of every row.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        MixtureDistribution or CompetingDistribution
            n distributions, with ``survival``, ``quantile``, ``mean``, ``given``, ``net`` and more.

        """
        matrix = self.preprocess(X)  # an unfitted model has no network_
        return self.network_.distribution(matrix)

    def predict_survival_function(
        self,
        X: TableLike,
        times: ArrayLike | None = None,
        return_std: bool = False,
        *,
        return_array: bool = False,
    ) -> Any:
        """Return ``P(T > t | x)``, T the time of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,), optional
            Without them the curves come as functions of time, one per row, as scikit-survival's
            models give them.
        return_std : bool, default False
            Whether to return the standard deviation over the members of the ensemble too. It is the
            spread of the ensemble members: how much fits with other random seeds and other held-out
            rows differ.
        return_array : bool, default False
            Whether to return an array at ``event_times_`` if ``times`` is None.

        Returns
        -------
        array of shape (n, n_times), or a pair of such arrays, or array of n functions
            Probabilities.

        Notes
        -----
        The spread is too narrow for a confidence interval: all members learn from the same sample.
        In simulations, mean ± 1.96 standard deviations contained the true survival in 68 to 81 % of
        the cases, not in 95 %.

        """
        if not return_std:
            times = self.event_times_ if times is None and return_array else times
            return super().predict_survival_function(X, times)
        if times is None:
            raise InputError(
                "return_std needs times; got times=None. Give the times at which to predict."
            )
        times, matrix = check_times(times, warn_unsorted=True), self.preprocess(X)
        members = [member.distribution(matrix) for member in self.network_.members()]
        survival = np.stack([distribution.survival(times) for distribution in members])
        return survival.mean(0), survival.std(0)

    def _survival_curves(self, x: FloatArray) -> Callable[[FloatArray], FloatArray]:
        return self.network_.distribution(x).survival

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return self.network_.distribution(x).survival(times)

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self.network_.distribution(x).cumulative_incidence(times, event)

    def _incidences(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return self.network_.distribution(x).cumulative_incidences(times)

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self.network_.distribution(x).net(event).survival(times)

    def _conditional(
        self, x: FloatArray, since: FloatArray, times: FloatArray, event: int | None
    ) -> tuple[FloatArray, FloatArray | None]:
        distribution = self.network_.distribution(x).given(since)
        incidence = None if event is None else distribution.cumulative_incidence(times, event)
        return distribution.survival(times), incidence

    def _risk(self, x: FloatArray) -> FloatArray:
        return -self.network_.distribution(x).rmst(self.last_event_time_)

    def transform(self, X: TableLike) -> FloatArray:
        """Return the learned representation.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n, n_members * hidden[-1])
            The last hidden layer, that of the members side by side.

        """
        matrix = self.preprocess(X)
        return self.network_.represent(matrix)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : any, optional
            Not used; there for scikit-learn.

        Returns
        -------
        array of str
            One name per column.

        """
        check_is_fitted(self, "n_events_")
        n_members = len(self.network_)
        prefixes = ["dsm"] if n_members == 1 else [f"dsm{member}_" for member in range(n_members)]
        names = [f"{prefix}{i}" for prefix in prefixes for i in range(self.network_.width)]
        return np.array(names, dtype=object)

    def log_likelihood(
        self,
        X: TableLike | TableSource,
        y: TargetLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the sum over rows of the exact, undiscounted log-likelihood.

        The likelihood of an ensemble is that of its averaged joint distribution.

        Parameters
        ----------
        X, y : table and target of n rows
            Exact, censored, truncated and interval-censored times alike; or a ``TableSource``
            alone.
        sample_weight : array-like of shape (n,), optional
            Case weights.

        Returns
        -------
        float
            The weighted sum.

        """
        if isinstance(X, TableSource):
            _refuse_beside_source(y, sample_weight)
            return sum(
                self.log_likelihood(block.frame, block.outcome, block.weight) for block in X.read()
            )
        matrix, target = self.preprocess(X), as_target(cast(TargetLike, y))
        check_same_rows(len(matrix), len(target))
        refuse_unknown_types(target.event, self.n_events_, "y")
        weight = check_weight(sample_weight, len(target))
        return self.network_.log_likelihood(matrix, target, weight)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_combinations(self)

    def _chosen_settings(self) -> list[str]:
        if not hasattr(self, "settings_"):
            return []
        return explain_settings(self, self.settings_, len(self.training_target_))


def _refuse_beside_source(*arguments: Any) -> None:
    """Refuse other arguments beside a source."""
    if any(argument is not None for argument in arguments):
        raise SettingError(
            "a TableSource names outcome, weights and subjects itself; got other arguments too. "
            "Leave them out: TableSource(path, time=..., event=..., weight=..., subject=...)."
        )
