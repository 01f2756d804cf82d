"""Families whose logarithm is a location-scale family: the fast path of training and prediction."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..devices import on_host, perhaps_any
from ..errors import SettingError
from .base import Primitive
from .numeric import NARROW_CHANGE, bisect, gauss_legendre, log_interval, log_of_complement
from .stable import standardise

__all__ = ["LogLocationScale"]

_FAR = 1e4  # beyond any z that is asked for by a probability
# z at the ends of the panels over which an exported program integrates
_PANEL_EDGES = (-24.0, -12.0, -8.0, -5.0, -3.0, -1.5, 0.0, 1.5, 3.0, 5.0, 8.0, 12.0, 24.0)


class LogLocationScale(Primitive):
    """A family in which all depends on ``z = precision * (log t - location)``.

    It has two parameters: the location, called ``log_scale`` unless ``location_name`` says otherwise, and the
    logarithm of the precision, such as ``log_shape``, or minus that, such as ``log_sigma``. A subclass must declare
    ``standard``, ``standard_tail`` and, for the calculator, its functions of z in JavaScript. All else follows::

        @dataclass(frozen=True, eq=False)
        class LogLogistic(LogLocationScale, name="loglogistic", label="log-logistic"):
            log_shape: Tensor
            log_scale: Tensor
            standard_tail = 1.0
            survival_javascript = "(z) => 1 / (1 + Math.exp(z))"
            density_javascript = "(z) => { const e = Math.exp(-Math.abs(z)); return e / ((1 + e) * (1 + e)); }"

            @staticmethod
            def standard(z, happened):
                times = 1 + happened
                return happened * z + times * logsigmoid(-z), happened - times * torch.sigmoid(z)

    Attributes
    ----------
    precision_sign : int
        -1 where the other parameter is minus the logarithm of the precision, else 1.
    standard_tail : float
        S falls like ``exp(-standard_tail * z)`` for large z; infinite where it falls faster.
    survival_javascript, density_javascript : str
        Functions of z in JavaScript: S, and the density of z.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import LogLocationScale, LogNormal
    >>> issubclass(LogNormal, LogLocationScale)
    True
    >>> LogNormal.from_location(torch.tensor(1.0), torch.tensor(0.0)).location
    tensor(1.)
    """

    shift_activation: ClassVar[str] = "selu"
    location_name: ClassVar[str | None] = "log_scale"
    precision_sign: ClassVar[int] = 1
    standard_tail: ClassVar[float]
    survival_javascript: ClassVar[str] = ""
    density_javascript: ClassVar[str] = ""

    # What the family declares.

    @staticmethod
    @abstractmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log density of z where ``happened`` is 1, its log survival where it is 0, and the slope in z.

        ``log f(t) = standard(z, 1) + log dz/dt``: with this the training step has its gradient in closed form. Value
        and slope must be finite for every z.

        Parameters
        ----------
        z : Tensor
            Standardised log times; they must be left as they are.
        happened : Tensor
            1 or 0, which broadcasts with z.

        Returns
        -------
        tuple of Tensor
            Value and slope: two new tensors, which the caller may overwrite.
        """

    @classmethod
    def standard_log_cdf(cls, z: Tensor) -> Tensor:
        """``log F`` as a function of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times.

        Returns
        -------
        Tensor
            By default from the log survival, and about the log density where that underflows.
        """
        return log_of_complement(cls._log_standard(z, 0.0), cls._log_standard(z, 1.0))

    @classmethod
    def standard_before(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log F`` as a function of z and its slope: what the training step asks of a left-censored time.

        Parameters
        ----------
        z : Tensor
            Standardised log times; they must be left as they are.

        Returns
        -------
        tuple of Tensor
            Value and slope, which the caller may overwrite.
        """
        value = cls.standard_log_cdf(z)
        return value, torch.exp(cls.standard(z, z.new_ones(()))[0] - value)

    @classmethod
    def standard_between(
        cls, z: Tensor, width: Tensor, log_width: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``log [S(z) - S(z + width)]`` and its slopes: what the training step asks of an interval.

        Parameters
        ----------
        z, width, log_width : Tensor
            The lower ends as standardised log times, the widths, above 0, and their logarithms; they must be left as
            they are.

        Returns
        -------
        tuple of Tensor
            The value, its slope in z while the width stays, and its slope in the logarithm of the width while z stays;
            the caller may overwrite them. By default the difference of S, or of F before the median, and where they
            hardly differ a rule of 5 points over the density: no slope is a difference of large numbers.
        """
        one, upper = z.new_ones(()), z + width
        by_cdf = cls.standard_log_cdf(upper)
        early = by_cdf < -math.log(2)
        larger = torch.where(early, by_cdf, cls._log_standard(z, 0.0))
        smaller = torch.where(early, cls.standard_log_cdf(z), cls._log_standard(upper, 0.0))
        change = (larger - smaller).clamp_(min=torch.finfo(z.dtype).tiny)
        narrow = change < NARROW_CHANGE
        value = larger + torch.log(-torch.expm1(-change))
        at_end = torch.exp(cls.standard(upper, one)[0] - value)
        slope = at_end - torch.exp(cls.standard(z, one)[0] - value)
        if perhaps_any(narrow):
            nodes, weights = (part.view(-1, *[1] * z.dim()) for part in gauss_legendre(5, z))
            inside, slopes = cls.standard(z + width * nodes, one)
            inside += torch.log(weights)
            mean = torch.logsumexp(inside, 0)
            value = torch.where(narrow, mean + log_width, value)
            slope = torch.where(narrow, ((inside - mean).exp_() * slopes).sum(0), slope)
            at_end = torch.where(
                narrow, torch.exp(cls.standard(upper, one)[0] - mean) / width, at_end
            )
        return value, slope, at_end * width

    @classmethod
    def standard_inverse(cls, log_s: Tensor) -> Tensor:
        """Return the z at which ``log S`` is ``log_s``.

        Parameters
        ----------
        log_s : Tensor
            Log survival probabilities below 0.

        Returns
        -------
        Tensor
            By default found by bisection.
        """
        nothing = log_s.new_zeros(())
        return bisect(
            lambda z: cls.standard(z, nothing)[0] > log_s, torch.full_like(log_s, -_FAR), _FAR
        )

    @classmethod
    def standard_survival(cls, z: Tensor) -> Tensor:
        """Return S as a function of z: the fast way to many curves at once.

        Parameters
        ----------
        z : Tensor
            Standardised log times; they may be overwritten.

        Returns
        -------
        Tensor
            Survival probabilities.
        """
        return cls.standard(z, z.new_zeros(()))[0].exp_()

    @classmethod
    def standard_density(cls, z: Tensor) -> Tensor:
        """Return the density of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times.

        Returns
        -------
        Tensor
            The density, without a branch that depends on values.
        """
        return cls.standard(z, z.new_ones(()))[0].exp_()

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return S and the density as functions of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times; they may be overwritten.

        Returns
        -------
        tuple of Tensor
            Two tensors, which the caller may overwrite.
        """
        density = cls.standard_density(z)
        return cls.standard_survival(z), density

    # Location and precision.

    @property
    def location(self) -> Tensor:
        """Where the distribution sits on the axis of log time."""
        assert self.location_name is not None
        location: Tensor = getattr(self, self.location_name)
        return location

    @property
    def log_precision(self) -> Tensor:
        """Logarithm of one over the spread of log time."""
        (own,) = (name for name in self.parameter_names() if name != self.location_name)
        parameter: Tensor = getattr(self, own)
        return parameter if self.precision_sign > 0 else -parameter

    @classmethod
    def from_location(cls, location: Tensor, log_precision: Tensor) -> Self:
        """Return the member of the family with this location and precision.

        Parameters
        ----------
        location, log_precision : Tensor
            Where it sits on the axis of log time, and the logarithm of one over its spread there.

        Returns
        -------
        LogLocationScale
            The distribution.
        """
        other = log_precision if cls.precision_sign > 0 else -log_precision
        return cls(*((location, other) if cls.location_index() == 0 else (other, location)))

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        """Return the member of the family from which the warm start's maximisation begins.

        Parameters
        ----------
        location, log_precision : Tensor
            About the middle of the logarithms of the times, and minus the logarithm of their spread.
        *fixed : Tensor
            None.

        Returns
        -------
        LogLocationScale
            The distribution with this location and precision.
        """
        return cls.from_location(location, log_precision)

    def displaced(self, steps: Tensor) -> Self:
        return self.from_location(
            self.location + steps * torch.exp(-self.log_precision), self.log_precision
        )

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return self.from_location(self.location + log_factor, self.log_precision)

    # All functions of time.

    def z(self, t: Tensor) -> Tensor:
        """Return the standardised log time.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            ``precision * (log t - location)``.
        """
        return standardise(torch.log(t), self.location, self.log_precision)

    def log_jacobian(self, t: Tensor) -> Tensor:
        """``log dz/dt``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The logarithm of the derivative.
        """
        return self.log_precision - torch.log(t)

    def log_survival(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, self._log_standard(self.z(torch.where(t > 0, t, 1.0)), 0.0), 0.0)

    def log_cdf(self, t: Tensor) -> Tensor:
        return torch.where(
            t > 0, self.standard_log_cdf(self.z(torch.where(t > 0, t, 1.0))), -torch.inf
        )

    def log_pdf(self, t: Tensor) -> Tensor:
        at = torch.where(
            t > 0, t, torch.finfo(t.dtype).tiny
        )  # the density at the origin is that right beside it
        return self.log_jacobian(at) + self._log_standard(self.z(at), 1.0)

    def log_hazard(self, t: Tensor) -> Tensor:
        log_survival, slope = self.standard(
            self.z(torch.where(t > 0, t, 1.0)).detach(), t.new_zeros(())
        )
        late = torch.log(-slope) + self.log_jacobian(t)  # no difference of two large numbers
        return torch.where((t > 0) & (log_survival < -1), late, super().log_hazard(t))

    @classmethod
    def _log_standard(cls, z: Tensor, happened: float) -> Tensor:
        result: Tensor = _Standard.apply(z, cls, happened)  # type: ignore[no-untyped-call]
        return result

    def spread(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``z(upper) - z(lower)`` and its logarithm, without cancellation.

        Parameters
        ----------
        lower, upper : Tensor
            The ends of intervals, above 0.

        Returns
        -------
        tuple of Tensor
            The difference and its logarithm.
        """
        ratio = torch.log1p((upper - lower) / lower)
        return standardise(
            ratio, torch.zeros_like(ratio), self.log_precision
        ), self.log_precision + torch.log(ratio)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        from_origin = lower <= 0
        if on_host(lower.device) and bool(from_origin.all()):
            return self.log_cdf(upper)
        inside = self._log_interval(torch.where(from_origin, upper / 2, lower), upper)
        return (
            torch.where(from_origin, self.log_cdf(upper), inside)
            if perhaps_any(from_origin)
            else inside
        )

    def _log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log P(lower < T <= upper)`` for ``0 < lower < upper``."""
        return log_interval(self, lower, upper)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        inside = (log_s < 0) & (log_s > -torch.inf)
        z = self.standard_inverse(torch.where(inside, log_s, -1.0))
        t = torch.exp(self.location + z * torch.exp(-self.log_precision))
        return torch.where(inside, t, torch.where(log_s < 0, torch.inf, 0.0))

    def tail_index(self) -> Tensor:
        return torch.exp(self.log_precision) * self.standard_tail

    def steepness(self) -> Tensor:
        return torch.exp(self.log_precision)

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        precision = self.log_precision.exp()
        log_survival, slope = self.standard(
            (log_t - self.location).mul_(precision), log_t.new_zeros(())
        )
        return log_survival, slope.mul_(precision)

    def survival_curve(self, log_t: Tensor, out: Tensor | None = None) -> Tensor:
        precision = self.log_precision.exp()
        return self.standard_survival(
            torch.addcmul(-precision * self.location, precision, log_t, out=out)
        )

    def density_curve(self, log_t: Tensor) -> Tensor:
        precision = self.log_precision.exp()
        return precision * self.standard_density(precision * (log_t - self.location))

    def survival_and_density_curve(
        self, log_t: Tensor, out: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        precision = self.log_precision.exp()
        z = torch.addcmul(-precision * self.location, precision, log_t, out=out)
        survival, density = self.standard_survival_and_density(z)
        return survival, density.mul_(precision)

    def panel_edges(self) -> Tensor:
        edges = torch.tensor(_PANEL_EDGES, dtype=self.location.dtype, device=self.location.device)
        return self.location[..., None] + edges / self.log_precision.exp()[..., None]

    @classmethod
    def javascript(cls) -> str:
        """Return the distribution as a function in JavaScript, put together from the functions of z.

        Returns
        -------
        str
            The source of the function, as ``Primitive.javascript`` describes it.

        Raises
        ------
        SettingError
            If the family does not declare ``survival_javascript`` and ``density_javascript``.
        """
        if not cls.survival_javascript or not cls.density_javascript:
            raise SettingError(
                f"a calculator needs the primitive in JavaScript; got {cls.__name__}, which does not declare "
                "survival_javascript and density_javascript. Add them: functions of z such as '(z) => Math.exp(-z)'."
            )
        at = cls.location_index()
        assert at is not None
        sign = "" if cls.precision_sign > 0 else "-"
        return (
            "(parameters, logUnit) => {\n"
            f"  const survival = {cls.survival_javascript};\n"
            f"  const density = {cls.density_javascript};\n"
            f"  const location = parameters[{at}] + logUnit;\n"
            f"  const precision = Math.exp(Math.min({sign}parameters[{1 - at}], LOG_LIMIT));\n"
            "  return {\n"
            "    survival: (x) => survival(precision * (x - location)),\n"
            "    density: (x) => precision * density(precision * (x - location)),\n"
            "  };\n"
            "}"
        )


class _Standard(torch.autograd.Function):
    """The value of a family's ``standard``, with the slope that it declares as the derivative."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, family: type[LogLocationScale], happened: float) -> Tensor:
        ctx.family, ctx.happened = family, happened
        ctx.save_for_backward(z)
        return family.standard(z, z.new_tensor(happened))[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (z,) = ctx.saved_tensors
        slope = ctx.family.standard(z, z.new_tensor(ctx.happened))[1]
        return gradients[0] * slope, None, None
