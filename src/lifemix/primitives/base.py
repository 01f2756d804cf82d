"""What a primitive declares of itself: one distribution of positive times whose parameters lie on the real line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

from ..devices import perhaps_any
from ..errors import SettingError
from . import numeric

__all__ = ["Primitive", "registered_name"]

# log S at the ends of the panels over which an exported program integrates: from a probability of 1e-14 to one of
# exp(-64) being left.
_PANEL_LEVELS = (
    -1.3e-14,
    -1e-9,
    -1e-6,
    -1e-4,
    -3e-3,
    -0.03,
    -0.15,
    -0.4,
    -0.8,
    -1.5,
    -3.0,
    -6.0,
    -12.0,
    -24.0,
    -64.0,
)
_ONE_DEVIATION = (-0.1727, -1.8410)  # log S at the normal distribution's minus one and plus one


def registered_name(name: str) -> str:
    """Return the key of a name in the registry: case, hyphens, underscores and spelling do not matter."""
    return name.lower().replace("-", "").replace("_", "").replace("generalized", "generalised")


class Primitive(ABC):
    """A distribution of positive times: the component of a mixture.

    A subclass is a frozen dataclass of tensors, its parameters: any number of them, each on the real line, of shapes
    that broadcast with the times. All functions are asked for in logarithms; ``log_survival`` is never
    ``log(1 - cdf)``. A subclass with a ``name`` is registered under it, wherever it is defined, and everything else
    (heads, prior, warm start, training step, prediction, model file, exported program, calculator page) follows from
    its declaration::

        @dataclass(frozen=True, eq=False)
        class Lomax(Primitive, name="lomax", label="Lomax"):
            log_scale: Tensor
            log_tail: Tensor

    It must declare ``log_pdf``, ``log_survival``, ``rescaled`` and ``tail_index``; for the calculator also
    ``javascript``. All else has a default by stable numerical methods, to be overridden where a closed form is known.
    A family of the form ``S(t) = G(precision * (log t - location))`` is shorter and faster as a ``LogLocationScale``.

    Attributes
    ----------
    name : str
        The name in the registry, such as ``"weibull"``: what ``primitive=`` takes and what a model file holds.
    label : str
        The name for people, such as ``"Weibull"``.
    shift_activation : str
        The paper's ``act``: what the shift by the covariates goes through before it is added to the base value.
    location_name : str or None
        The parameter that moves the distribution along the axis of log time, if there is one. A shift that is bounded
        below only (SELU) is subtracted from it, so that there is no bound to how early an event may come.
    fixed_names : tuple of str
        Parameters that are learnt from the times before training (``learn_fixed``) and then the same for all subjects,
        such as knots. They are the last ones of the constructor, and no ``parameter_names``.
    has_slopes : bool
        Whether ``value_and_slopes`` is declared, with which the training step has its gradient in closed form.

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
    has_slopes: ClassVar[bool] = False
    registered: ClassVar[dict[str, type[Primitive]]] = {}

    def __init_subclass__(
        cls, *, name: str | None = None, label: str | None = None, **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            cls.name, cls.label = registered_name(name), label or name
            cls._register()

    @classmethod
    def _register(cls) -> None:
        """Make the class known under its name; a class defined anew, as in a notebook, takes the place of the old."""
        other = Primitive.registered.get(cls.name, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise SettingError(
                f"the name of a primitive must be new; got {cls.name!r}, which is {other.__module__}."
                f"{other.__qualname__}. Choose another name."
            )
        Primitive.registered[cls.name] = cls

    # What every primitive declares.

    @abstractmethod
    def log_pdf(self, t: Tensor) -> Tensor:
        """``log f(t)``.

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
        """``log S(t)``, exact where S is close to 1 and where it underflows.

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
    def rescaled(self, log_factor: Tensor | float) -> Self:
        """Return the distribution of the times multiplied by a factor: the same in another unit of time.

        Parameters
        ----------
        log_factor : Tensor or float
            The logarithm of the factor.

        Returns
        -------
        Primitive
            The distribution of ``exp(log_factor) * T``.
        """

    @abstractmethod
    def tail_index(self) -> Tensor:
        """Return how fast S falls: like ``t ** -index``; infinite where it falls faster than every power.

        Returns
        -------
        Tensor
            The index; up to 1 the mean is infinite.
        """

    @classmethod
    def javascript(cls) -> str:
        """Return the distribution as a function in JavaScript, for the calculator page.

        The function takes an array of the parameters and the logarithm of the unit of time, and returns an object of
        two functions of log time: ``survival``, and ``density`` (of log time, that is ``t f(t)``)::

            ([logRate], logUnit) => ({
              survival: (x) => Math.exp(-Math.exp(x - logUnit + logRate)),
              density: (x) => { const h = Math.exp(x - logUnit + logRate); return h * Math.exp(-h); },
            })

        Returns
        -------
        str
            The source of the function.

        Raises
        ------
        SettingError
            If the primitive does not declare it.
        """
        raise SettingError(
            f"a calculator needs the primitive in JavaScript; got {cls.__name__}, which does not declare it. Define "
            "its classmethod javascript (see lifemix.primitives.Primitive.javascript)."
        )

    # What follows, unless the primitive knows better.

    def log_cdf(self, t: Tensor) -> Tensor:
        """``log F(t)``, exact where F is close to 1 and where it is small.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log distribution function.
        """
        return numeric.log_cdf(self, t)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log P(lower < T <= upper)`` for ``0 <= lower < upper``; exact for narrow intervals and far tails.

        Parameters
        ----------
        lower, upper : Tensor
            The ends of the intervals.

        Returns
        -------
        Tensor
            The log probability; from the origin it is ``log_cdf(upper)``.
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
        return numeric.inverse_log_survival(self, log_s)

    def mean(self) -> Tensor:
        """``E T``.

        Returns
        -------
        Tensor
            The mean; infinite where the integral of S diverges.
        """
        return self.mean_beyond(torch.zeros_like(self.parameters[0]))

    def rmst(self, t: Tensor) -> Tensor:
        """Return the restricted mean ``E min(T, t)``, the integral of S from 0 to t.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The restricted mean survival time.
        """
        return numeric.integral_of_survival(self, torch.zeros_like(t), t)

    def mean_beyond(self, t: Tensor) -> Tensor:
        """Return the integral of S from t to infinity.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The integral; infinite where it diverges.
        """
        return numeric.integral_of_survival(self, t, None)

    def kinks(self) -> Tensor | None:
        """Return log times at which a derivative of the density jumps, which integrals must know.

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
        early, late = (
            torch.log(self.inverse_log_survival(torch.full_like(self.parameters[0], level)))
            for level in _ONE_DEVIATION
        )
        return torch.where(torch.isfinite(late) & (late > early), 5 / (late - early), 1.0)

    def cure_fraction(self) -> Tensor:
        """Return the share that never has the event: S at infinity.

        Returns
        -------
        Tensor
            0, unless the primitive knows better.
        """
        return torch.zeros_like(self.parameters[0])

    @classmethod
    def learn_fixed(cls, log_time: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the parameters in ``fixed_names``, which are learnt before all others.

        Parameters
        ----------
        log_time, weight : Tensor
            The logarithms of the times of events, and their case weights.

        Returns
        -------
        tuple of Tensor
            One number per name: none, unless the primitive declares some.
        """
        return ()

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        """Return a member of the family from which the warm start's maximisation begins.

        Parameters
        ----------
        location, log_precision : Tensor
            About the middle of the logarithms of the times, and minus the logarithm of their spread.
        *fixed : Tensor
            What ``learn_fixed`` returned.

        Returns
        -------
        Primitive
            By default all parameters are 0, in a unit of time that puts the median where it should be.
        """
        plain = cls(*(torch.zeros_like(location) for _ in cls.parameter_names()), *fixed)
        median = plain.inverse_log_survival(
            torch.full_like(location, -torch.log(torch.tensor(2.0)).item())
        )
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
            The distribution that was moved: where a component of the mixture starts.
        """
        ends = [
            torch.log(self.inverse_log_survival(torch.full_like(steps, level)))
            for level in _ONE_DEVIATION
        ]
        return self.rescaled(steps * (ends[1] - ends[0]) / 2)

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log S`` and its derivative by log time: minus the hazard on the axis of log time.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.

        Returns
        -------
        tuple of Tensor
            Two new tensors, which the caller may overwrite.
        """
        near = log_t.clamp(max=numeric.LOG_TIMES[log_t.dtype])
        t = torch.exp(near)
        log_survival = self.log_survival(t)
        slope = torch.exp(self.log_pdf(t) + near - log_survival).neg_()
        if perhaps_any(log_t > near):  # a time too large for a number
            tail = log_survival - self.tail_index() * torch.where(log_t > near, log_t - near, 1.0)
            log_survival = torch.where(log_t > near, tail, log_survival)
        return log_survival, slope

    @classmethod
    def prepared(cls, log_t: Tensor, fixed: Tensor) -> Tensor:
        """Return what ``value_and_slopes`` needs of the times and of the fixed parameters: it is computed once.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times, ``[..., 1, 1, rows]``.
        fixed : Tensor
            The fixed parameters, ``[..., events, parameters, 1]``.

        Returns
        -------
        Tensor
            By default the log times; the first axes must stay.
        """
        return log_t

    @classmethod
    def value_and_slopes(
        cls, prepared: Tensor, happened: Tensor, parameters: Tensor, slopes: Tensor
    ) -> Tensor:
        """Return what a training step needs of a batch, if the primitive ``has_slopes``; else it uses autograd.

        Parameters
        ----------
        prepared : Tensor
            What ``prepared`` returned.
        happened : Tensor
            1 or 0, ``[..., events, 1, rows]``.
        parameters : Tensor
            The parameters that are trained, ``[..., events, parameters, k, rows]``.
        slopes : Tensor
            Memory of the shape of the parameters, for the derivatives of the result by them.

        Returns
        -------
        Tensor
            ``log(t f(t))`` where the event happened, ``log S(t)`` where not, ``[..., events, k, rows]``: a new tensor,
            which the caller may overwrite.
        """
        raise NotImplementedError

    def survival_curve(self, log_t: Tensor, out: Tensor | None = None) -> Tensor:
        """Return S as a function of log time: the fast way to many curves, and what an exported program computes.

        Neither this nor ``density_curve`` may branch on values in Python (``if t > 0``), which a program cannot follow.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.
        out : Tensor, optional
            Memory of the result's shape that may be used.

        Returns
        -------
        Tensor
            Survival probabilities.
        """
        return torch.exp(self.log_survival(torch.exp(log_t)))

    def density_curve(self, log_t: Tensor) -> Tensor:
        """Return the density of log time, ``t f(t)``, as a function of log time.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.

        Returns
        -------
        Tensor
            The density.
        """
        return torch.exp(self.log_pdf(torch.exp(log_t)) + log_t)

    def survival_and_density_curve(
        self, log_t: Tensor, out: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return ``survival_curve`` and ``density_curve``, for less than the cost of both where they share something.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times.
        out : Tensor, optional
            Memory of the result's shape that may be used.

        Returns
        -------
        tuple of Tensor
            Survival probabilities, and the density of log time.
        """
        return self.survival_curve(log_t, out), self.density_curve(log_t)

    def panel_edges(self) -> Tensor:
        """Return log times between which the density is smooth: the panels of an integral in an exported program.

        Returns
        -------
        Tensor
            The edges on a new last axis, ascending, from where nothing has happened to where nobody is left.
        """
        first = self.parameters[0]
        levels = torch.tensor(_PANEL_LEVELS, dtype=first.dtype, device=first.device)
        edges = torch.log(
            self.map(lambda parameter: parameter[..., None]).inverse_log_survival(levels)
        )
        kinks = self.kinks()
        return edges if kinks is None else torch.cat([edges, kinks], dim=-1).sort(dim=-1).values

    # The parameters.

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Return the names of the parameters that are trained: those with a head of the network each.

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
            Its place among the parameters; None if no parameter is.
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
            A new one.
        """
        return type(self)(*(function(parameter) for parameter in self.parameters))

    def log_hazard(self, t: Tensor) -> Tensor:
        """``log f(t) / S(t)``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log hazard.
        """
        return self.log_pdf(t) - self.log_survival(t)

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

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw times by inversion.

        Parameters
        ----------
        n : int
            How many.
        generator : torch.Generator, optional
            The source of random numbers; PyTorch's global one if None.

        Returns
        -------
        Tensor
            Times, shape ``(n, *shape of the parameters)``.
        """
        like = torch.broadcast_tensors(*self.parameters)[0]
        log_s = torch.empty(n, *like.shape, dtype=like.dtype, device=like.device)
        return self.inverse_log_survival(-log_s.exponential_(generator=generator))


@cache
def _parameter_names(family: type[Primitive]) -> tuple[str, ...]:
    names = tuple(field.name for field in fields(family))  # type: ignore[arg-type]
    return names[: len(names) - len(family.fixed_names)]
