"""Deep Survival Machines as a scikit-learn estimator."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ..distribution import CompetingDistribution, MixtureDistribution, check_times
from ..errors import InputError, SettingError
from ..likelihood import contributions
from ..metrics import concordance_td
from ..model import Architecture
from ..preprocessing import apply_preprocessor, learn_preprocessor, shape_of
from ..primitives import Mixture
from ..splits import horizons
from ..target import Target, as_target
from ..training import Checkpoint, Fleet, TrainConfig
from .preparation import TimeScale, check_target, check_weight, make_data, make_jobs
from .progress import progress_bar
from .settings import check_settings, choose_device, root_seed

__all__ = ["DeepSurvivalMachines"]

Floats = NDArray[np.float64]
_ROWS_AT_ONCE = 1 << 16  # rows of all members together that pass the network at once


class DeepSurvivalMachines(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture of parametric survival distributions whose weights and parameters depend on the covariates.

    For every kind of event m, ``S_m(t | x) = sum_k w_mk(x) S(t; beta_mk(x), eta_mk(x))``: an encoder Phi shared by all
    events, a softmax gate and two shifted parameters a component (Nagpal, Li and Dubrawski 2021).

    Model
        primitive: ``"weibull"``, ``"lognormal"`` (the paper's) or ``"loglogistic"``.
        k: components of each event's mixture.
        hidden: widths of the encoder's layers; ``()`` is the linear model.
        activation: of the encoder. shift_activation: the paper's ``act``; ``"identity"`` leaves the shifts unbounded,
        None takes the paper's choice by primitive: SELU, or Tanh for the log-normal.
        bias: whether encoder and gate have biases (the paper's have none).
        encoder: an ``nn.Module`` from inputs ``[rows, columns]`` to ``[rows, features]`` in place of ``hidden``.
    Loss
        objective: ``"exact"`` likelihood or the paper's ``"elbo"``.
        discount: the paper's alpha, which multiplies the contribution of censored times.
        t_max: where given, a censored time t means the event falls in ``(t, t_max]``.
        prior_strength: the paper's lambda, which holds the base values near the warm start.
        head_prior: strength of the zero-mean normal prior of gate and shifts, which the paper's loss leaves out.
    Training
        learning_rate, optimizer, batch_size, max_epochs, dropout, weight_decay (decoupled).
        validation_fraction: share of the rows held out to stop early; 0 trains for max_epochs.
        patience: epochs without a better held-out objective before training stops.
        n_members: size of the ensemble; its law is the equal mixture of its members'.
        checkpoint: a folder; the fit writes its state there and goes on from it after a kill.
        random_state, device (``"auto"``, ``"cpu"``, ``"cuda"``), verbose (True shows a progress bar).
    Input
        preprocessor: ``"auto"`` fills, codes and scales X; None takes X as it is; or any scikit-learn transformer.

    Fitted: ``n_events_``, ``n_features_in_``, ``feature_names_in_`` where X had names, ``preprocessor_``, ``history_``
    (one record an epoch and member), ``best_epoch_`` (one a member), ``n_parameters_``, ``time_unit_``.
    """

    def __init__(
        self,
        primitive: str = "weibull",
        k: int = 4,
        hidden: Sequence[int] = (100,),
        objective: str = "exact",
        discount: float = 1.0,
        n_members: int = 1,
        random_state: int | None = 0,
        *,
        activation: str = "relu6",
        shift_activation: str | None = "identity",
        bias: bool = True,
        encoder: nn.Module | None = None,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        prior_strength: float = 1e-8,
        head_prior: float = 0.0,
        t_max: float | None = None,
        learning_rate: float = 1e-3,
        optimizer: str = "adam",
        batch_size: int = 128,
        max_epochs: int = 200,
        patience: int = 10,
        validation_fraction: float = 0.15,
        preprocessor: Any = "auto",
        device: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        self.primitive = primitive
        self.k = k
        self.hidden = hidden
        self.objective = objective
        self.discount = discount
        self.n_members = n_members
        self.random_state = random_state
        self.activation = activation
        self.shift_activation = shift_activation
        self.bias = bias
        self.encoder = encoder
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.prior_strength = prior_strength
        self.head_prior = head_prior
        self.t_max = t_max
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.preprocessor = preprocessor
        self.device = device
        self.checkpoint = checkpoint
        self.verbose = verbose

    @classmethod
    def paper(cls, primitive: str = "weibull", k: int = 4, **settings: Any) -> Self:
        """Return the model with the paper's settings; anything may be set otherwise by name.

        From the paper: ReLU6 without bias, the ELBO, lambda 1e-8, Adam, one layer of 100, and (from its grids) discount
        1 and learning rate 1e-3. Left open there and ours: epochs, batch size, patience, held-out share, scaling.
        """
        chosen: dict[str, Any] = {
            "hidden": (100,),
            "objective": "elbo",
            "discount": 1.0,
            "activation": "relu6",
            "shift_activation": None,
            "bias": False,
            "prior_strength": 1e-8,
            "optimizer": "adam",
            "learning_rate": 1e-3,
            "n_members": 1,
        }
        return cls(primitive=primitive, k=k, **(chosen | settings))

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        validation_data: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit to a table and a target (see ``make_target``).

        validation_data: ``(X, y)`` to stop early on, rows that are not in X; otherwise a share of the rows is held out.
        """
        check_settings(self)
        device = choose_device(self.device)
        target = as_target(y)
        n_rows, n_columns = shape_of(X)
        if n_rows != len(target):
            raise InputError(f"X and y must have the same rows; got {n_rows} in X and {len(target)} in y.")
        if n_rows < 2:
            raise InputError(f"a model needs at least 2 rows, better hundreds; got n_samples = {n_rows}.")
        check_target(target, self.t_max)
        weight = check_weight(sample_weight, target)
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        self._learn_columns(X, n_columns)
        matrix = apply_preprocessor(self.preprocessor_, X, columns_required=False)
        scale = TimeScale.learn(target)
        rows = None
        if validation_data is not None:
            matrix, target, weight, rows = self._append(matrix, target, weight, validation_data)
        architecture = self._architecture(matrix.shape[1], target.n_events, *self._own_encoder(matrix))
        settled = self._nothing_to_train(matrix)
        seeds = np.random.SeedSequence(root_seed(self.random_state)).generate_state(self.n_members)
        if settled and rows is None:
            rows = torch.arange(len(target)), torch.empty(0, dtype=torch.long)
        jobs = make_jobs(self, architecture, scale, target, weight, seeds, rows)
        data = make_data(matrix, scale.observe(target, weight, torch.float32)).to(device)
        config = TrainConfig(
            objective=self.objective,
            batch_size=int(self.batch_size),
            max_epochs=0 if settled else int(self.max_epochs),
            patience=int(self.patience),
            optimizer=self.optimizer,
            t_max=None if self.t_max is None else self.t_max / scale.unit,
        )
        self._train(architecture, data, jobs, config)
        self._time_scale = scale
        self.n_events_ = target.n_events
        self.time_unit_ = scale.unit
        own = target if rows is None else target.take(rows[0].numpy())
        self._training_target = own
        self.last_event_time_ = float(np.nanmax(np.where(own.event > 0, np.fmax(own.time, own.upper), np.nan)))
        return self

    def _append(
        self, matrix: Floats, target: Target, weight: Floats, validation_data: tuple[Any, Any]
    ) -> tuple[Floats, Target, Floats, tuple[Tensor, Tensor]]:
        """Put the given validation rows behind the training rows."""
        X_held, y_held = validation_data
        held = as_target(y_held)
        if held.n_events > target.n_events:
            raise InputError(f"validation_data has event {held.n_events}; training has 1..{target.n_events} only.")
        held_matrix = apply_preprocessor(self.preprocessor_, X_held, columns_required=False)
        if len(held_matrix) != len(held):
            raise InputError(f"validation_data: X has {len(held_matrix)} rows, y has {len(held)}.")
        n = len(target)
        fields = ("event", "time", "entry", "upper")
        both = Target(*(np.concatenate([getattr(target, name), getattr(held, name)]) for name in fields))
        weights = np.concatenate([weight, np.ones(len(held))])
        usable = (weights > 0) & ((both.time > 0) | (both.event > 0))
        index = np.arange(len(both))
        rows = (torch.as_tensor(index[:n][usable[:n]]), torch.as_tensor(index[n:][usable[n:]]))
        return np.concatenate([matrix, held_matrix]), both, weights, rows

    def _own_encoder(self, matrix: Floats) -> tuple[nn.Module | None, int]:
        """Return a copy of the user's encoder and the number of features that it gives."""
        if self.encoder is None:
            return None, 0
        module = copy.deepcopy(self.encoder).float().cpu().eval()
        with torch.no_grad():
            example: Tensor = module(torch.as_tensor(matrix[:2], dtype=torch.float32))
        if example.dim() != 2 or len(example) != len(matrix[:2]):
            raise SettingError(f"encoder must give one row of features a row; got shape {tuple(example.shape)}.")
        return module, example.shape[1]

    def _architecture(self, n_inputs: int, n_events: int, module: nn.Module | None, width: int) -> Architecture:
        return Architecture(
            n_inputs=n_inputs,
            hidden=() if module is not None else tuple(int(width) for width in self.hidden),
            k=int(self.k),
            n_events=n_events,
            primitive=self.primitive,
            activation=self.activation,
            shift_activation=self.shift_activation,
            bias=bool(self.bias),
            module=module,
            module_width=width,
        )

    def _nothing_to_train(self, matrix: Floats) -> bool:
        """Tell whether the warm start is the maximum already: one component, and inputs that do not vary."""
        constant = matrix.shape[1] == 0 or not matrix.any()
        return constant and self.k == 1 and self.discount == 1 and self.t_max is None and self.encoder is None

    def _train(self, architecture: Architecture, data: Any, jobs: list[Any], config: TrainConfig) -> None:
        # A module of the user's is trained alone; several members one after the other.
        groups = [jobs] if architecture.module is None else [[job] for job in jobs]
        fits, modules = [], []
        for number, group in enumerate(groups):
            one = architecture
            if architecture.module is not None:
                one = self._with_module(architecture, copy.deepcopy(architecture.module))
            with torch.random.fork_rng(devices=[]) if one.module is not None else nullcontext():
                if one.module is not None:
                    torch.manual_seed(group[0].seed)
                    one.module.to(data.x.device)
                fits += self._train_group(one, data, group, config, number)
            modules.append(one.module)
        self._architectures = [self._with_module(architecture, module) for module in modules]
        self._parameters = torch.stack([fit.parameters for fit in fits]).cpu()
        self.n_parameters_ = architecture.layout.size
        self.best_epoch_ = [fit.best_epoch for fit in fits]
        self.history_ = [
            {"member": member, "epoch": epoch, "train_loss": train, "validation_loss": held}
            for member, fit in enumerate(fits)
            for epoch, (train, held) in enumerate(zip(fit.train_loss, fit.validation_loss, strict=True), 1)
        ]

    def _train_group(
        self, architecture: Architecture, data: Any, jobs: list[Any], config: TrainConfig, number: int
    ) -> list[Any]:
        fleet = Fleet(architecture, data, jobs, config)
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = Checkpoint(os.path.join(self.checkpoint, f"part-{number}"), fleet)
            checkpoint.restore(fleet)
        with progress_bar(self.verbose, config.max_epochs, len(jobs)) as show:

            def after_epoch(state: Fleet) -> None:
                if checkpoint is not None:
                    checkpoint.save_if_due(state)
                show(state)

            fits = fleet.train(after_epoch)
        if checkpoint is not None:
            checkpoint.remove()
        return fits

    # Prediction.

    def predict_distribution(self, X: Any) -> MixtureDistribution | CompetingDistribution:
        """Return one distribution a row, with ``survival``, ``quantile``, ``mean``, ``given``, ``net`` and more."""
        mixtures = self._mixtures(self._matrix(X))  # [members, rows, events, k]
        law = mixtures.components
        location = law.location + np.log(self.time_unit_)  # type: ignore[attr-defined]
        mixtures = Mixture(mixtures.log_weights, type(law).from_location(location, law.log_precision))  # type: ignore[attr-defined]
        if self.n_events_ > 1:
            return CompetingDistribution(mixtures)
        side_by_side = mixtures.map(lambda values: values[:, :, 0].transpose(0, 1).flatten(1))
        log_weights = side_by_side.log_weights - np.log(len(self._parameters))
        return MixtureDistribution(Mixture(log_weights, side_by_side.components))

    @overload
    def predict_survival_function(self, X: Any, times: ArrayLike) -> Floats: ...

    @overload
    def predict_survival_function(
        self, X: Any, times: ArrayLike, return_std: Literal[True]
    ) -> tuple[Floats, Floats]: ...

    def predict_survival_function(
        self, X: Any, times: ArrayLike, return_std: bool = False
    ) -> Floats | tuple[Floats, Floats]:
        """Return ``S(t | x)`` of the first event of any kind, ``(n_rows, n_times)``.

        return_std: also the standard deviation over the members of the ensemble.
        """
        times = check_times(times)
        if not return_std:
            return self.predict_distribution(X).survival(times)
        members = np.stack([member.survival(times) for member in self._by_member(X)])
        return members.mean(0), members.std(0)

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return the probability that the event comes first and by each time, ``(n_rows, n_times)``."""
        return self.predict_distribution(X).cumulative_incidence(check_times(times), event)

    def predict(self, X: Any) -> Floats:
        """Return a risk score, higher for an earlier event: minus the mean time up to the last training event."""
        return -self.predict_distribution(X).rmst(self.last_event_time_)

    def transform(self, X: Any) -> Floats:
        """Return the learnt representation, ``(n_rows, hidden[-1])``; of an ensemble, the members' side by side."""
        check_is_fitted(self, "n_events_")
        matrix = self._matrix(X)
        parts = self._through_network(matrix, lambda architecture, parameters, x: architecture.represent(parameters, x))
        return np.concatenate([part.numpy() for part in parts], axis=1).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``transform``."""
        check_is_fitted(self, "n_events_")
        width = self._architectures[0].width
        members = len(self._parameters)
        names = [f"dsm{i}" if members == 1 else f"dsm{m}_{i}" for m in range(members) for i in range(width)]
        return np.array(names, dtype=object)

    def log_likelihood(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the sum over rows of the exact, undiscounted log-likelihood, in the user's unit of time.

        The likelihood of an ensemble is that of its averaged joint law.
        """
        matrix, target = self._matrix(X), as_target(y)
        if len(matrix) != len(target):
            raise InputError(f"X and y must have the same rows; got {len(matrix)} in X and {len(target)} in y.")
        if target.n_events > self.n_events_:
            raise InputError(f"y has event {target.n_events}; the model knows 1..{self.n_events_}.")
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        mixtures = self._mixtures(matrix)
        observed = self._time_scale.observe(target, weight)
        terms = contributions(mixtures, observed.take(torch.arange(len(target)).expand(len(self._parameters), -1)))
        by_member = terms.total()
        share = torch.zeros_like(by_member)
        if observed.entry is not None and observed.truncated is not None:
            entry = observed.entry[:, None].expand(-1, self.n_events_)
            share = torch.where(observed.truncated, mixtures.log_survival(entry).sum(-1), 0.0)
        rows = torch.logsumexp(by_member + torch.log_softmax(share, dim=0), dim=0)
        return float((observed.weight * rows).sum())

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """Return the mean C^td over the 25, 50 and 75 % quantiles of the training event times, and over events."""
        target = as_target(y)
        values = []
        for event in range(1, self.n_events_ + 1):
            at = horizons(self._training_target, (0.25, 0.5, 0.75), event)
            risk = self.predict_cumulative_incidence(X, at, event)
            values += [
                concordance_td(self._training_target, target, risk[:, i], float(t), event) for i, t in enumerate(at)
            ]
        return float(np.mean(values))

    # Shared by the predictions.

    def _matrix(self, X: Any) -> Floats:
        check_is_fitted(self, "n_events_")
        return apply_preprocessor(self.preprocessor_, X, columns_required=False)

    @torch.no_grad()
    def _through_network(self, matrix: Floats, function: Any) -> list[Tensor]:
        """Apply a function of the network to all rows; return a result ``[rows, ...]`` for each member."""
        x = make_data(matrix, None).x  # type: ignore[arg-type]
        results: list[Tensor] = []
        several = len(self._architectures) > 1
        for number, architecture in enumerate(self._architectures):
            flat = self._parameters[number : number + 1] if several else self._parameters
            if architecture.module is not None:
                architecture.module.cpu().eval()
            parameters = architecture.layout.views(flat)
            size = max(1, _ROWS_AT_ONCE // len(flat))
            parts = [function(architecture, parameters, part.expand(len(flat), -1, -1)) for part in x.split(size)]
            results += list(torch.cat(parts, dim=1))
        return results

    def _mixtures(self, matrix: Floats) -> Mixture:
        """Return the members' mixtures in the model's unit of time, ``[members, rows, events, k]``, in float64."""

        def stacked(architecture: Architecture, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            mixture = architecture.mixtures(parameters, x)
            return torch.stack([mixture.log_weights, *mixture.components.parameters], dim=2)

        parts = torch.stack(self._through_network(matrix, stacked)).double()  # [members, rows, 3, events, k]
        log_weights = torch.log_softmax(parts[:, :, 0], dim=-1)
        return Mixture(log_weights, self._architectures[0].law(parts[:, :, 1], parts[:, :, 2]))

    def _by_member(self, X: Any) -> list[MixtureDistribution | CompetingDistribution]:
        """Return the distributions of each member by itself."""
        members = []
        for number in range(len(self._parameters)):
            one = copy.copy(self)
            one._parameters = self._parameters[number : number + 1]
            several = len(self._architectures) > 1
            one._architectures = self._architectures[number : number + 1] if several else self._architectures
            members.append(one.predict_distribution(X))
        return members

    def _learn_columns(self, X: Any, n_columns: int) -> None:
        self.n_features_in_ = n_columns
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @staticmethod
    def _with_module(architecture: Architecture, module: nn.Module | None) -> Architecture:
        return replace(architecture, module=module)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.preprocessor is not None
        tags.input_tags.categorical = tags.input_tags.string = isinstance(self.preprocessor, str)
        tags.target_tags.required = True
        return tags
