"""Where training starts: the maximum-likelihood fit of one primitive to the times of each event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.nn.functional import logsigmoid

from .._types import FloatArray
from ..likelihood import Observations, contributions
from ..primitives import Mixture, Primitive
from ..primitives.cure import Never
from ..primitives.mixture import Mixed, mixed

__all__ = ["warm_start"]

_BLOCK = 1 << 15  # rows that are differentiated at once, to bound the memory
_REACH = 6.0  # how far from the first guess a parameter other than the location may move
_LOCATION_REACH = 200.0  # without it, a likelihood without maximum gives infinite parameters


def warm_start(family: type[Primitive], observed: Observations, n_events: int) -> Tensor:
    """Return the parameters of each event, fixed ones included, ``[n_events, n_parameters]``.

    Other events count as censoring. The parameters of several families follow each other. With
    cure, each family is fitted together with the cured share, and the log odds of cure are the mean
    over the families.
    """
    if not issubclass(family, Mixed):
        return _fit_events(family, observed, n_events)
    has_cure = Never in family.families
    families = [member for member in family.families if member is not Never]
    fits = [_fit_events(member, observed, n_events, has_cure) for member in families]
    if has_cure:
        log_odds = torch.stack([fit[:, -1:] for fit in fits]).mean(0)
        fits = [fit[:, :-1] for fit in fits]
        fits.insert(family.families.index(Never), log_odds)
    return torch.cat(fits, dim=1)


def _fit_events(
    family: type[Primitive], observed: Observations, n_events: int, has_cure: bool = False
) -> Tensor:
    """Return the fit of one family to each event; if has_cure, the log odds of cure come last."""
    fits = []
    for event in range(1, n_events + 1):
        happened = observed.event == event
        single = replace(observed, event=happened.long())
        if observed.interval is not None:
            single = replace(single, interval=observed.interval & happened)
        fits.append(_fit(family, single, has_cure))
    return torch.stack(fits)


def _fit(family: type[Primitive], observed: Observations, has_cure: bool) -> Tensor:
    """Return the parameters that maximise the likelihood of one event."""
    happened, n_trained = observed.event > 0, len(family.parameter_names())
    log_time, weight = torch.log(observed.time), observed.weight
    fixed = family.learn_fixed(log_time[happened], weight[happened])
    location, log_precision = _location_and_precision(observed)
    guess = family.first_guess(location, log_precision, *fixed)
    no_odds = [torch.zeros_like(location)] * has_cure
    start = torch.stack([*guess.parameters[:n_trained], *no_odds])
    reach = torch.full_like(start, _REACH)
    location_index = family.location_index()
    if location_index is not None:
        reach[location_index] = _LOCATION_REACH

    def mixture(point: Tensor) -> Mixture:  # [1 row, 1 event, 1 or 2 components]
        components = family(*point[:n_trained], *fixed)
        components = components.map(lambda value: value.reshape(1, 1, 1))
        if not has_cure:
            return Mixture(torch.zeros_like(components.parameters[0]), components)
        log_odds = point[-1]
        log_shares = [logsigmoid(-log_odds), logsigmoid(log_odds)]
        log_weights = torch.stack(log_shares).view(1, 1, 2)
        both = components.map(lambda value: value.expand(1, 1, 2))
        families = mixed((family, Never))
        joined = families.join([both, Never(log_weights)], torch.tensor([0, 1]))
        return Mixture(log_weights, joined)

    bounds = torch.stack([start - reach, start + reach], dim=1)
    result = minimize(
        _negative_log_likelihood,
        start.numpy(),
        (mixture, observed),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds.numpy(),
        options={"maxiter": 1000, "maxcor": 20, "ftol": 0.0, "gtol": 1e-10},
    )
    trained, odds = result.x[:n_trained], result.x[n_trained:]
    return torch.tensor([*trained, *fixed, *odds], dtype=torch.float64)


def _location_and_precision(observed: Observations) -> tuple[Tensor, Tensor]:
    """Return a first guess: the mean and minus the log spread of the events' log times."""
    weight = torch.where(observed.event > 0, observed.weight, 0.0)
    log_time = torch.log(observed.time)
    event_share = weight.sum() / observed.weight.sum()
    mean = (weight * log_time).sum() / weight.sum()
    variance = (weight * (log_time - mean) ** 2).sum() / weight.sum()
    deviation = variance.sqrt().clamp(0.1, 5)
    location = mean - 0.5 * torch.log(event_share)  # censored rows move the mean up
    return location, -torch.log(deviation)


def _negative_log_likelihood(
    point: FloatArray, mixture: Callable[[Tensor], Mixture], observed: Observations
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood per unit of weight of the events, and its gradient."""
    value, gradient = 0.0, np.zeros_like(point)
    for first in range(0, len(observed), _BLOCK):
        rows = observed.take(slice(first, first + _BLOCK))
        leaf = torch.from_numpy(point).requires_grad_()
        terms = contributions(mixture(leaf), rows)
        loss = -(rows.weight * terms.total()).sum()
        (d_point,) = torch.autograd.grad(loss, leaf)
        value += loss.item()
        gradient += d_point.numpy()
    event_weight = float(observed.weight[observed.event > 0].sum())
    return value / event_weight, np.nan_to_num(gradient / event_weight)
