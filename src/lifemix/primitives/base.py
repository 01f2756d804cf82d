"""What a primitive declares: a distribution of positive times whose parameters lie on the real line."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from inspect import isabstract
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

from ..errors import SettingError
from . import numeric

__all__ = ["PRIMITIVES", "Primitive", "primitive_class"]

PRIMITIVES: dict[str, type[Primitive]] = {}
"""The primitives by name, your own included."""

_ONE_DEVIATION = (-0.1727, -1.8410)  # log S one standard deviation below and above a normal mean


def _key(name: str) -> str:
    """Return a name as registered: case, hyphens, underscores and spelling do not matter."""
    return name.lower().replace("-", "").replace("_", "").replace("generalized", "generalised")


class Primitive(ABC):
    """A distribution of positive times: the component of a mixture.

    A subclass is a frozen dataclass of tensors, its parameters: any number of them, each on the real line, of shapes
    that broadcast with the times. A subclass with a ``name`` is registered under it, wherever it is defined, and is
    then trained, predicted with, saved and exported like the built-in ones::

        @dataclass(frozen=True, eq=False)
        class Lomax(Primitive, name="lomax", label="Lomax"):
            log_scale: Tensor
            log_tail: Tensor

    It must define ``log_pdf``, ``log_survival``, ``tail_index``, and ``rescaled`` unless it has a ``location_name``.
    Never compute ``log_survival`` as ``log(1 - cdf)``, which loses the tail. All other methods have numerical defaults;
    override those of which you know a closed form. A family of the form ``S(t) = G(precision * (log t - location))`` is
    shorter as a ``LogLocationScale``, and trains faster; one with a closed cumulative hazard is shorter as a
    ``CumulativeHazard``.

    Attributes
    ----------
    name : str
        The name in the registry, such as ``"weibull"``: what ``primitive=`` takes and what a model file holds.
    label : str
        The name for people, such as ``"Weibull"``.
    shift_activation : str
        The paper's ``act``: the function of the shift by the covariates, which is then added to the base value.
    location_name : str or None
        The parameter that moves the distribution along the axis of log time, if there is one. A shift that is bounded
        below only (SELU) is subtracted from it, so that there is no bound to how early an event may come.
    fixed_names : tuple of str
        Parameters that are learnt from the times before training (``learn_fixed``) and then the same for all subjects,
        such as knots. They come last in the constructor and do not belong to ``parameter_names``.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Primitive, Weibull
    >>> issubclass(Weibull, Primitive), Weibull.name, Weibull.parameter_names()
    (True, 'weibull', ('log_shape', 'log_scale'))
    """

    if TYPE_CHECKING:

        def __init__(self, *parameters: Tensor) -> None: ...

    name: ClassVar[str]
    label: ClassVar[str]
    shift_activation: ClassVar[str] = "tanh"
    location_name: ClassVar[str | None] = None
    fixed_names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls, *, name: str | None = None, label: str | None = None, **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            cls.name, cls.label = _key(name), label or name
            cls._register()

    @classmethod
    def _register(cls) -> None:
        """Register the class; one that is defined again, as in a notebook, replaces the older one."""
        registered = PRIMITIVES.get(cls.name, cls)
        if (registered.__module__, registered.__qualname__) != (cls.__module__, cls.__qualname__):
            raise SettingError(
                f"the name of a primitive must be new; got {cls.name!r}, which is "
                f"{registered.__module__}.{registered.__qualname__}. Choose another name."
            )
        PRIMITIVES[cls.name] = cls

    @classmethod
    def _check_declaration(cls) -> None:
        """Refuse a class that cannot be a component."""
        if "name" not in vars(cls):
            raise SettingError(
                f"a primitive needs a name of its own; got {cls.__name__} without one. Define it as "
                f"class {cls.__name__}(..., name='{cls.__name__.lower()}')."
            )
        if isabstract(cls) or (cls.location_name is None and cls.rescaled is Primitive.rescaled):
            raise SettingError(
                f"a primitive must define all of its functions; got {cls.__name__} without "
                f"{sorted(cls.__abstractmethods__) or ['rescaled']}."
            )
        if not hasattr(cls, "__dataclass_fields__") or not cls.parameter_names():
            raise SettingError(
                f"a primitive must be a dataclass of its parameters; got {cls.__name__}, which has none. Put "
                "@dataclass(frozen=True, eq=False) above it and one line 'name: Tensor' per parameter into it."
            )

    # What every primitive defines.

    @abstractmethod
    def log_pdf(self, t: Tensor) -> Tensor:
        """Return ``log f(t)``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log density.
        """

    @abstractmethod
    def log_survival(self, t: Tensor) -> Tensor:
        """Return ``log S(t)``, exact where S is close to 1 and where it underflows.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log survival probability.
        """

    @abstractmethod
    def tail_index(self) -> Tensor:
        """Return how fast S falls: like ``t ** -index``; infinite where it falls faster than every power.

        Returns
        -------
        Tensor
            The index; up to 1 the mean is infinite.
        """

    # What has a default.

    def rescaled(self, log_factor: Tensor | float) -> Self:
        """Return the distribution of the times multiplied by a factor: the same in another unit of time.

        Parameters
        ----------
        log_factor : Tensor or float
            The logarithm of the factor.

        Returns
        -------
        Primitive
            The distribution of ``exp(log_factor) * T``: by default, the location plus ``log_factor``.
        """
        location = getattr(self, str(self.location_name))
        return replace(self, **{str(self.location_name): location + log_factor})  # type: ignore[type-var]

    def log_cdf(self, t: Tensor) -> Tensor:
        """Return ``log F(t)``, exact where F is close to 1 and where it is small.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log distribution function.
        """
        positive = torch.where(t > 0, t, 1.0)
        log_survival = self.log_survival(positive)
        log_small = self.log_pdf(positive) + torch.log(positive)  # the order of a small F
        log_cdf = numeric.log_of_complement(log_survival, log_small)
        return torch.where(t > 0, log_cdf, -torch.inf)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return ``log P(lower < T <= upper)`` for ``0 <= lower < upper``.

        Parameters
        ----------
        lower, upper : Tensor
            The ends of the intervals.

        Returns
        -------
        Tensor
            The log probability; if lower is 0, ``log_cdf(upper)``.
        """
        return numeric.log_interval(self, lower, upper)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        """Return the time t with ``log S(t) = log_s``.

        Parameters
        ----------
        log_s : Tensor
            Log survival probabilities, at most 0.

        Returns
        -------
        Tensor
            The times; 0 for ``log_s = 0``, infinite for minus infinity.
        """
        log_s, *parameters = torch.broadcast_tensors(log_s, *self.parameters)
        flat = type(self)(*(parameter.double().flatten() for parameter in parameters))

        def curves(index: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
            components = flat.map(lambda values: values[index])
            return components.log_survival(t), components.log_cdf(t)

        times = numeric.invert(curves, log_s.double().flatten())
        return times.view(log_s.shape).to(log_s)

    def kinks(self) -> Tensor | None:
        """Return log times at which a derivative of the density jumps, where an integral must be split.

        Returns
        -------
        Tensor or None
            On a new last axis; None, the default, where there are none.
        """
        return None

    def steepness(self) -> Tensor:
        """Return about how fast the distribution changes on the axis of log time.

        An integral over log time takes panels of about ``2 / steepness``.

        Returns
        -------
        Tensor
            The precision of a log-location-scale family; by default 2.5 over the standard deviation of log time, from
            two quantiles.
        """
        return 2.5 / self._deviation()

    def _deviation(self) -> Tensor:
        """Return the standard deviation of log time from two quantiles; 1 if one of them is infinite."""
        early_log_s, late_log_s = (
            torch.full_like(self.parameters[0], log_s) for log_s in _ONE_DEVIATION
        )
        early = torch.log(self.inverse_log_survival(early_log_s))
        late = torch.log(self.inverse_log_survival(late_log_s))
        is_usable = torch.isfinite(late) & (late > early)
        return torch.where(is_usable, (late - early) / 2, 1.0)

    def cure_fraction(self) -> Tensor:
        """Return the share that never has the event, which is S at infinity.

        Returns
        -------
        Tensor
            The share, 0 by default.
        """
        return torch.zeros_like(self.parameters[0])

    @classmethod
    def learn_fixed(cls, log_time: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the parameters in ``fixed_names``, which are learnt before training.

        Parameters
        ----------
        log_time, weight : Tensor
            The logarithms of the times of events, and their case weights.

        Returns
        -------
        tuple of Tensor
            One number per name.
        """
        return ()

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        """Return the member of the family at which the warm start begins to maximise the likelihood.

        Parameters
        ----------
        location, log_precision : Tensor
            About the mean of the log times, and minus the logarithm of their standard deviation.
        *fixed : Tensor
            What ``learn_fixed`` returned.

        Returns
        -------
        Primitive
            By default all parameters are 0, in the unit of time in which the median is ``exp(location)``.
        """
        zero = torch.zeros_like(location)
        plain = cls(*[zero] * len(cls.parameter_names()), *fixed)
        median = plain.inverse_log_survival(torch.full_like(location, -math.log(2)))
        return plain.rescaled(location - torch.log(median))

    def displaced(self, steps: Tensor) -> Self:
        """Return the distribution moved along the axis of log time.

        Parameters
        ----------
        steps : Tensor
            How far, in standard deviations of log time.

        Returns
        -------
        Primitive
            The moved distribution, where a component of the mixture starts.
        """
        return self.rescaled(steps * self._deviation())

    def survival_curve(self, log_t: Tensor) -> Tensor:
        """Return S as a function of log time: the fast way to many curves, which an exported program takes too.

        This and ``survival_and_density_curve`` must not branch on values in Python (``if t > 0``), which a program
        cannot follow.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.

        Returns
        -------
        Tensor
            Survival probabilities.
        """
        return torch.exp(self.log_survival(torch.exp(log_t)))

    def survival_and_density_curve(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return S and the density of log time, ``t f(t)``, as functions of log time.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.

        Returns
        -------
        tuple of Tensor
            Survival probabilities and densities.
        """
        log_density = self.log_pdf(torch.exp(log_t)) + log_t
        return self.survival_curve(log_t), torch.exp(log_density)

    # The parameters.

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Return the names of the trained parameters, each of which has a head of the network.

        Returns
        -------
        tuple of str
            In the order of the constructor.
        """
        return _parameter_names(cls)

    @classmethod
    def location_index(cls) -> int | None:
        """Return which parameter is the location.

        Returns
        -------
        int or None
            Its position among the parameters; None if no parameter is the location.
        """
        return None if cls.location_name is None else cls.parameter_names().index(cls.location_name)

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """The parameters in the order of the constructor, the fixed ones included."""
        return tuple(getattr(self, name) for name in (*self.parameter_names(), *self.fixed_names))

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Return the same distribution with a function applied to every parameter.

        Parameters
        ----------
        function : callable
            An index, a reshape, a cast.

        Returns
        -------
        Primitive
            A new distribution.
        """
        return type(self)(*(function(parameter) for parameter in self.parameters))

    def quantile(self, q: Tensor) -> Tensor:
        """Return the time t with ``F(t) = q``.

        Parameters
        ----------
        q : Tensor
            Probabilities from 0 to 1.

        Returns
        -------
        Tensor
            The times.
        """
        return self.inverse_log_survival(torch.log1p(-q))


@cache
def _parameter_names(family: type[Primitive]) -> tuple[str, ...]:
    """Return the names of the trained parameters of a class."""
    names = tuple(field.name for field in fields(family))  # type: ignore[arg-type]
    return names[: len(names) - len(family.fixed_names)]


def primitive_class(primitive: object) -> type[Primitive]:
    """Return the class of a primitive.

    Parameters
    ----------
    primitive : str or type
        A registered name, in which hyphens, underscores and case do not matter; or a subclass of ``Primitive`` that
        has a name.

    Returns
    -------
    type
        The subclass of ``Primitive``.

    Raises
    ------
    SettingError
        If there is no such primitive, or its declaration is not complete.

    Examples
    --------
    >>> from lifemix.primitives import primitive_class
    >>> primitive_class("Log-Normal").label
    'log-normal'
    """
    if isinstance(primitive, type) and issubclass(primitive, Primitive):
        family = primitive
    elif isinstance(primitive, str) and _key(primitive) in PRIMITIVES:
        family = PRIMITIVES[_key(primitive)]
    else:
        raise SettingError(
            f"unknown primitive; got {primitive!r}, expected one of {sorted(PRIMITIVES)}, or a class. Your own "
            "primitive has its name once the module that defines it has been imported: import it first."
        )
    family._check_declaration()
    family._register()
    return family
