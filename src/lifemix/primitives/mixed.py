"""Components of several families in one mixture."""

from __future__ import annotations

from dataclasses import make_dataclass
from functools import cache
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from .base import Primitive
from .never import Never

__all__ = ["Mixed", "mixed"]


class Mixed(Primitive):
    """Components each of which belongs to one of several families.

    Its parameters are as many as the largest family has. The first is the location, for families that have one; the
    others follow in the family's order. Fixed parameters are the place of the family among all, then those of the
    families. A function is computed for every family, and each component takes its own: the families of components may
    be gathered, moved and joined in any way, as numbers are.
    """

    families: ClassVar[tuple[type[Primitive], ...]]
    kind: Tensor

    @classmethod
    def trained_places(cls, family: type[Primitive]) -> list[int]:
        """Return where the trained parameters of a family stand among those of all."""
        at = family.location_index()
        rest = iter(range(1, len(cls.parameter_names())))
        return [0 if place == at else next(rest) for place in range(len(family.parameter_names()))]

    @classmethod
    def fixed_places(cls, family: type[Primitive]) -> list[int]:
        """Return where the fixed parameters of a family stand among all parameters."""
        before = cls.families[: cls.families.index(family)]
        first = len(cls.parameter_names()) + 1 + sum(len(other.fixed_names) for other in before)
        return list(range(first, first + len(family.fixed_names)))

    @classmethod
    def join(cls, members: list[Primitive], kind: Tensor) -> Self:
        """Return components of the kinds given from one member of every family, all of one shape."""
        like = members[0].parameters[0]
        parameters = [torch.zeros_like(like) for _ in (*cls.parameter_names(), *cls.fixed_names)]
        parameters[len(cls.parameter_names())] = kind.to(like).expand_as(like)
        for place, member in enumerate(members):
            family, mine = type(member), kind == place
            n_trained = len(family.parameter_names())
            for at, value in zip(
                cls.trained_places(family), member.parameters[:n_trained], strict=True
            ):
                parameters[at] = torch.where(mine, value, parameters[at])
            for at, value in zip(
                cls.fixed_places(family), member.parameters[n_trained:], strict=True
            ):
                parameters[at] = value
        return cls(*parameters)

    def members(self) -> list[Primitive]:
        """Return all components as members of every family; those of others have parameters 0."""
        every = self.parameters
        result = []
        for place, family in enumerate(self.families):
            mine = self.kind == place
            trained = [torch.where(mine, every[at], 0.0) for at in self.trained_places(family)]
            result.append(family(*trained, *(every[at] for at in self.fixed_places(family))))
        return result

    def _chosen(self, name: str, *arguments: Any) -> Tensor:
        """Return a function of the components, each by its family."""
        members = self.members()
        result: Tensor = getattr(members[0], name)(*arguments)
        for place, member in enumerate(members[1:], 1):
            result = torch.where(self.kind == place, getattr(member, name)(*arguments), result)
        return result

    def log_pdf(self, t: Tensor) -> Tensor:
        return self._chosen("log_pdf", t)

    def log_survival(self, t: Tensor) -> Tensor:
        return self._chosen("log_survival", t)

    def log_cdf(self, t: Tensor) -> Tensor:
        return self._chosen("log_cdf", t)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        return self._chosen("log_interval", lower, upper)

    def log_hazard(self, t: Tensor) -> Tensor:
        return self._chosen("log_hazard", t)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return self._chosen("inverse_log_survival", log_s)

    def mean(self) -> Tensor:
        return self._chosen("mean")

    def rmst(self, t: Tensor) -> Tensor:
        return self._chosen("rmst", t)

    def mean_beyond(self, t: Tensor) -> Tensor:
        return self._chosen("mean_beyond", t)

    def tail_index(self) -> Tensor:
        return self._chosen("tail_index")

    def steepness(self) -> Tensor:
        return self._chosen("steepness")

    def cure_fraction(self) -> Tensor:
        return self._chosen("cure_fraction")

    def survival_curve(self, log_t: Tensor, out: Tensor | None = None) -> Tensor:
        return self._chosen("survival_curve", log_t)

    def density_curve(self, log_t: Tensor) -> Tensor:
        return self._chosen("density_curve", log_t)

    def survival_and_density_curve(
        self, log_t: Tensor, out: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._chosen_pair("survival_and_density_curve", log_t)

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        return self._chosen_pair("log_survival_and_slope", log_t)

    def _chosen_pair(self, name: str, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return a pair of functions of the components, each by its family."""
        members = self.members()
        first, second = getattr(members[0], name)(log_t)
        for index, member in enumerate(members[1:], 1):
            pair, is_member = getattr(member, name)(log_t), self.kind == index
            first, second = (
                torch.where(is_member, pair[0], first),
                torch.where(is_member, pair[1], second),
            )
        return first, second

    def panel_edges(self) -> Tensor:
        parts = []
        for place, member in enumerate(self.members()):
            edges, mine = member.panel_edges(), (self.kind == place)[..., None]
            parts.append(torch.where(mine, edges, edges.new_full((), -torch.inf)))
        edges = torch.cat(parts, dim=-1)
        least = torch.where(torch.isfinite(edges), edges, torch.inf).amin(-1, keepdim=True)
        return (
            torch.where(
                torch.isfinite(edges), edges, torch.where(torch.isfinite(least), least, 0.0)
            )
            .sort(-1)
            .values
        )

    def kinks(self) -> Tensor | None:
        found = [
            kinks for kinks in (member.kinks() for member in self.members()) if kinks is not None
        ]
        return torch.cat(found, dim=-1) if found else None

    def displaced(self, steps: Tensor) -> Self:
        return self.join([member.displaced(steps) for member in self.members()], self.kind)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return self.join([member.rescaled(log_factor) for member in self.members()], self.kind)

    @classmethod
    def javascript(cls) -> str:
        n_trained, members = len(cls.parameter_names()), []
        for family in cls.families:
            places = [*cls.trained_places(family), *cls.fixed_places(family)]
            members.append(
                f"    (p, logUnit) => ({family.javascript()})({places}.map((i) => p[i]), logUnit)"
            )
        return (
            "(parameters, logUnit) => {\n  const families = [\n"
            + ",\n".join(members)
            + f",\n  ];\n  return families[parameters[{n_trained}]](parameters, logUnit);\n}}"
        )


@cache
def mixed(families: tuple[type[Primitive], ...]) -> type[Mixed]:
    """Return the class of mixtures of these families."""
    width = max(len(one.parameter_names()) + (one.location_index() is None) for one in families)
    trained = [f"parameter_{place}" for place in range(width)]
    fixed = [
        "kind",
        *(f"{name}_{place}" for place, one in enumerate(families) for name in one.fixed_names),
    ]
    named = [one for one in families if one is not Never]
    activations = {one.shift_activation for one in named}
    declared = {
        "families": families,
        "fixed_names": tuple(fixed),
        "location_name": "parameter_0",
        "shift_activation": activations.pop() if len(activations) == 1 else "selu",
        "name": "+".join([*(one.name for one in named), *(["never"] if Never in families else [])]),
        "label": " and ".join(one.label for one in named),
    }
    fields = [(name, Tensor) for name in (*trained, *fixed)]
    return make_dataclass(
        "Mixed", fields, bases=(Mixed,), namespace=declared, frozen=True, eq=False
    )
