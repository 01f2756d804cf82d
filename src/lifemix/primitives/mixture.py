"""Mixtures of primitives: their functions, components of several families, and what ``primitive=`` means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..checks import Whole
from ..errors import SettingError
from .base import Primitive, primitive_class
from .cure import Never

__all__ = [
    "COMPONENT_COUNT",
    "ComponentFamilies",
    "Mixed",
    "Mixture",
    "check_primitive",
    "choose_families",
    "mixed",
    "n_components",
    "primitive_names",
]

COMPONENT_COUNT = Whole(1, most=1000)

ComponentFamilies = tuple[tuple[type[Primitive], ...], ...]
"""The family of each component, event type by event type."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """``S(t) = sum_k w_k S_k(t)``; times have the shape of the weights without their last axis.

    Parameters
    ----------
    log_weights : Tensor
        Logarithms of the weights, ``[..., k]``; the weights add up to 1 in the last axis.
    components : Primitive
        The components, parameters ``[..., k]``.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Mixture, Weibull
    >>> halves = torch.tensor([0.5, 0.5]).log()
    >>> mixture = Mixture(halves, Weibull(log_shape=torch.zeros(2), log_scale=torch.tensor([0.0, 1.0])))
    >>> mixture.log_survival(torch.tensor(1.0)).exp()
    tensor(0.5300)
    """

    log_weights: Tensor  # [..., k]
    components: Primitive  # [..., k]

    def map(self, function: Any) -> Self:
        """Return the mixture with a function applied to weights and parameters.

        Parameters
        ----------
        function : callable
            An index, a reshape, a cast.

        Returns
        -------
        Mixture
            A new mixture.
        """
        return type(self)(function(self.log_weights), self.components.map(function))

    def log_pdf(self, t: Tensor) -> Tensor:
        """Return ``log sum_k w_k f_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log density.
        """
        return self.log_mix(self.components.log_pdf(t[..., None]))

    def log_survival(self, t: Tensor) -> Tensor:
        """Return ``log sum_k w_k S_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log survival probability.
        """
        return self.log_mix(self.components.log_survival(t[..., None]))

    def log_cdf(self, t: Tensor) -> Tensor:
        """Return ``log sum_k w_k F_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log distribution function.
        """
        return self.log_mix(self.components.log_cdf(t[..., None]))

    def log_mix(self, values: Tensor) -> Tensor:
        """Return ``log sum_k w_k exp(values_k)``: the exact likelihood.

        Parameters
        ----------
        values : Tensor
            One per component, ``[..., k]``.

        Returns
        -------
        Tensor
            The logarithm of the mean.
        """
        return torch.logsumexp(self.log_weights + values, dim=-1)

    def expect(self, values: Tensor) -> Tensor:
        """Return ``sum_k w_k values_k``: the paper's lower bound, by Jensen's inequality.

        Parameters
        ----------
        values : Tensor
            One per component, ``[..., k]``.

        Returns
        -------
        Tensor
            The mean.
        """
        return (self.log_weights.exp() * values).sum(-1)

    def given(self, log_survival: Tensor) -> Self:
        """Return the mixture with the weights of those who survived: ``w_k S_k / sum_j w_j S_j``.

        Parameters
        ----------
        log_survival : Tensor
            ``log S_k`` of every component, ``[..., k]``.

        Returns
        -------
        Mixture
            The same components with other weights.
        """
        log_weights = torch.log_softmax(self.log_weights + log_survival, dim=-1)
        return type(self)(log_weights, self.components)


def _by_family(name: str) -> Any:
    """Return the method of this name, whose results are those of the family of each component."""

    def method(self: Mixed, *arguments: Any) -> Any:
        results = [getattr(member, name)(*arguments) for member in self.members()]
        if isinstance(results[0], tuple):
            return tuple(self._select(values) for values in zip(*results, strict=True))
        return self._select(results)

    return method


class Mixed(Primitive):
    """Components each of which belongs to one of several families.

    It has as many parameters as the largest family. The first is the location, for families that have one; the others
    follow in the family's order. Fixed parameters are the index of the family (``kind``), then those of the families.
    A function is computed for all families, and each component takes the value of its family: so components can be
    indexed, reshaped and concatenated whatever their families are.
    """

    families: ClassVar[tuple[type[Primitive], ...]]
    kind: Tensor

    log_pdf = _by_family("log_pdf")
    log_survival = _by_family("log_survival")
    log_cdf = _by_family("log_cdf")
    log_interval = _by_family("log_interval")
    inverse_log_survival = _by_family("inverse_log_survival")
    tail_index = _by_family("tail_index")
    steepness = _by_family("steepness")
    cure_fraction = _by_family("cure_fraction")
    survival_curve = _by_family("survival_curve")
    survival_and_density_curve = _by_family("survival_and_density_curve")

    def _select(self, values: Any) -> Tensor:
        selected: Tensor = values[0]
        for index, value in enumerate(values[1:], 1):
            selected = torch.where(self.kind == index, value, selected)
        return selected

    @classmethod
    def parameter_index(cls, family: type[Primitive]) -> list[int]:
        """Return the positions of a family's parameters, the fixed ones last, among all parameters."""
        n_trained, location = len(cls.parameter_names()), family.location_index()
        position = iter(range(1, n_trained))
        trained = [
            0 if index == location else next(position)
            for index in range(len(family.parameter_names()))
        ]
        earlier = cls.families[: cls.families.index(family)]
        n_earlier = sum(len(earlier_family.fixed_names) for earlier_family in earlier)
        first = n_trained + 1 + n_earlier
        return trained + list(range(first, first + len(family.fixed_names)))

    @classmethod
    def join(cls, members: list[Primitive], kind: Tensor) -> Self:
        """Return components of these kinds, from one member of every family, all of one shape."""
        zero = torch.zeros_like(members[0].parameters[0])
        n_trained = len(cls.parameter_names())
        parameters = [zero] * (n_trained + len(cls.fixed_names))
        parameters[n_trained] = kind.to(zero).expand_as(zero)
        for index, member in enumerate(members):
            positions = cls.parameter_index(type(member))
            for position, value in zip(positions, member.parameters, strict=True):
                if position < n_trained:
                    value = torch.where(kind == index, value, parameters[position])
                parameters[position] = value
        return cls(*parameters)

    def members(self) -> list[Primitive]:
        """Return all components as members of every family; trained parameters of other families are 0."""
        members = []
        for index, family in enumerate(self.families):
            values = [self.parameters[position] for position in self.parameter_index(family)]
            is_member = self.kind == index
            for i in range(len(family.parameter_names())):
                values[i] = torch.where(is_member, values[i], 0.0)
            members.append(family(*values))
        return members

    def kinks(self) -> Tensor | None:
        kinks = [kinks for member in self.members() if (kinks := member.kinks()) is not None]
        return torch.cat(kinks, dim=-1) if kinks else None

    def displaced(self, steps: Tensor) -> Self:
        members = [member.displaced(steps) for member in self.members()]
        return self.join(members, self.kind)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        members = [member.rescaled(log_factor) for member in self.members()]
        return self.join(members, self.kind)


@cache
def mixed(families: tuple[type[Primitive], ...]) -> type[Mixed]:
    """Return the class of components of these families."""
    n_parameters = max(
        len(family.parameter_names()) + (family.location_index() is None) for family in families
    )
    trained = [f"parameter_{index}" for index in range(n_parameters)]
    fixed = [
        f"{name}_{index}" for index, family in enumerate(families) for name in family.fixed_names
    ]
    named = [family for family in families if family is not Never]
    activations = {family.shift_activation for family in named}
    names = [family.name for family in named] + ["never"] * (Never in families)
    attributes = {
        "families": families,
        "fixed_names": ("kind", *fixed),
        "location_name": "parameter_0",
        "shift_activation": activations.pop() if len(activations) == 1 else "selu",
        "name": "+".join(names),
        "label": " and ".join(family.label for family in named),
    }
    fields = [(name, Tensor) for name in (*trained, "kind", *fixed)]
    return make_dataclass(
        "Mixed", fields, bases=(Mixed,), namespace=attributes, frozen=True, eq=False
    )


def choose_families(
    primitive: Any, k: int, n_events: int, cure: bool = False
) -> type[Primitive] | ComponentFamilies:
    """Return the family of all components, or those of each event type if they differ or some may be cured."""
    events = _families_by_event(primitive, k, n_events, cure)
    distinct = {family for families in events for family in families}
    return distinct.pop() if len(distinct) == 1 else tuple(map(tuple, events))


def n_components(primitive: Any, k: int, n_events: int, cure: bool = False) -> int:
    """Return the number of components of every event type."""
    return len(_families_by_event(primitive, k, n_events, cure)[0])


def check_primitive(primitive: Any) -> None:
    """Refuse what cannot be ``primitive=``, whatever the number of event types."""
    for families in primitive.values() if _is_by_event(primitive) else [primitive]:
        _families(families, 1)


def primitive_names(primitive: Any) -> Any:
    """Return the option ``primitive`` with registered names in place of classes."""
    if isinstance(primitive, (list, tuple)):
        return [primitive_names(family) for family in primitive]
    if not isinstance(primitive, Mapping):
        return primitive_class(primitive).name
    if _is_by_event(primitive):
        return {event: primitive_names(families) for event, families in primitive.items()}
    return {primitive_names(family): count for family, count in primitive.items()}


def _families(primitive: Any, k: int) -> list[type[Primitive]]:
    """Return the families of the components of one event type; a family without a count has k components."""
    if not isinstance(primitive, (list, tuple, Mapping)):
        return [primitive_class(primitive)] * k
    if not primitive:
        raise SettingError(f"primitive must name at least one family; got {primitive!r}.")
    if not isinstance(primitive, Mapping):
        return [family for name in primitive for family in _families(name, k)]
    for name, count in primitive.items():
        COMPONENT_COUNT(f"the number of components of {name!r}", count)
    return [primitive_class(name) for name, count in primitive.items() for _ in range(count)]


def _families_by_event(
    primitive: Any, k: int, n_events: int, cure: bool
) -> list[list[type[Primitive]]]:
    """Return the family of every component of every event type, cure last."""
    if _is_by_event(primitive):
        codes = list(range(1, n_events + 1))
        if sorted(primitive) != codes:
            raise SettingError(
                f"primitive must have a family for each event type {codes}; got {sorted(primitive)}. Give one per "
                "event code, or one for all."
            )
        events = [_families(primitive[code], k) for code in codes]
        counts = [len(families) for families in events]
        if len(set(counts)) > 1:
            raise SettingError(
                f"primitive must give every event type as many components; got {counts}. Give counts, "
                "such as {1: {'weibull': 2}, 2: ['lognormal', 'spline']}."
            )
    else:
        events = [_families(primitive, k)] * n_events
    return [families + [Never] * cure for families in events]


def _is_by_event(primitive: Any) -> bool:
    """Tell whether the option gives families by event code."""
    is_mapping = isinstance(primitive, Mapping) and bool(primitive)
    return is_mapping and all(type(code) is int for code in primitive)
