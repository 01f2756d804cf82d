"""Families in which log time has a location and a scale: everything is a function of the standardised log time."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import torch
from torch import Tensor

from .base import Primitive
from .numeric import log_of_complement, standardise, with_slope

__all__ = ["LogLocationScale"]

_FAR_BEFORE = -40.0  # z at which a distribution function is a power of time in all digits


class LogLocationScale(Primitive):
    """A family of functions of ``z = precision * (log t - location)``.

    It has two parameters: the location, called ``log_scale`` unless ``location_name`` says otherwise, and the
    logarithm of the precision, such as ``log_shape``, or minus that, such as ``log_sigma``. A subclass must define
    ``standard`` and ``standard_tail``; the training step then has its gradient in closed form::

        @dataclass(frozen=True, eq=False)
        class LogLogistic(LogLocationScale, name="loglogistic", label="log-logistic"):
            log_shape: Tensor
            log_scale: Tensor
            standard_tail = 1.0

            @staticmethod
            def standard(z, happened):
                times = 1 + happened
                return happened * z + times * logsigmoid(-z), happened - times * torch.sigmoid(z)

    Attributes
    ----------
    precision_sign : int
        -1 if the second parameter is minus the logarithm of the precision, else 1.
    standard_tail : float
        S falls like ``exp(-standard_tail * z)`` for large z; infinite if it falls faster.

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

    # Functions of z.

    @staticmethod
    @abstractmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log density of z where ``happened`` is 1, its log survival where it is 0, and the slope in z.

        The training step uses both, so that ``log f(t) = standard(z, 1) + log dz/dt``. Value and slope must be finite
        for every z.

        Parameters
        ----------
        z : Tensor
            Standardised log times, which must not be overwritten.
        happened : Tensor
            1 or 0, which broadcasts with z.

        Returns
        -------
        tuple of Tensor
            Value and slope: two new tensors, which the caller may overwrite.
        """

    @classmethod
    def standard_log_survival(cls, z: Tensor) -> Tensor:
        """Return ``log S`` as a function of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times.

        Returns
        -------
        Tensor
            The log survival probabilities, with the gradient that ``standard`` states.
        """
        return cls._log_standard(z, 0.0)

    @classmethod
    def standard_log_cdf(cls, z: Tensor) -> Tensor:
        """Return ``log F`` as a function of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times.

        Returns
        -------
        Tensor
            By default computed from the log survival, and of the order of the log density where that underflows.
        """
        log_survival, log_density = cls._log_standard(z, 0.0), cls._log_standard(z, 1.0)
        return log_of_complement(log_survival, log_density)

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
        log_survival, _ = cls.standard(z, z.new_zeros(()))
        return log_survival.exp_()

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return S and the density of z.

        Parameters
        ----------
        z : Tensor
            Standardised log times; they may be overwritten.

        Returns
        -------
        tuple of Tensor
            Two tensors, which the caller may overwrite.
        """
        log_density, _ = cls.standard(z, z.new_ones(()))
        return cls.standard_survival(z), log_density.exp_()

    @classmethod
    def _log_standard(cls, z: Tensor, happened: float) -> Tensor:
        value, slope = cls.standard(z.detach(), z.new_full((), happened))
        return with_slope(z, value, slope)

    # Location and precision.

    @property
    def location(self) -> Tensor:
        """The position of the distribution on the axis of log time."""
        location: Tensor = getattr(self, str(self.location_name))
        return location

    @property
    def log_precision(self) -> Tensor:
        """The logarithm of the precision, which is one over the spread of log time."""
        first, second = self.parameters
        parameter = second if self.location_index() == 0 else first
        return parameter if self.precision_sign > 0 else -parameter

    @classmethod
    def from_location(cls, location: Tensor, log_precision: Tensor) -> Self:
        """Return the member of the family with this location and precision.

        Parameters
        ----------
        location, log_precision : Tensor
            The position on the axis of log time, and the logarithm of one over the spread there.

        Returns
        -------
        LogLocationScale
            The distribution.
        """
        parameter = log_precision if cls.precision_sign > 0 else -log_precision
        if cls.location_index() == 0:
            return cls(location, parameter)
        return cls(parameter, location)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls.from_location(location, log_precision)

    def displaced(self, steps: Tensor) -> Self:
        return self.rescaled(steps * torch.exp(-self.log_precision))

    # Functions of time.

    def z(self, t: Tensor) -> Tensor:
        """Return the standardised log time.

        Parameters
        ----------
        t : Tensor
            Positive times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            ``precision * (log t - location)``.
        """
        return standardise(torch.log(t), self.location, self.log_precision)

    def time_at(self, z: Tensor) -> Tensor:
        """Return the time of a standardised log time.

        Parameters
        ----------
        z : Tensor
            Standardised log times.

        Returns
        -------
        Tensor
            ``exp(location + z / precision)``.
        """
        return torch.exp(self.location + z * torch.exp(-self.log_precision))

    def log_survival(self, t: Tensor) -> Tensor:
        log_survival = self.standard_log_survival(self.z(torch.where(t > 0, t, 1.0)))
        return torch.where(t > 0, log_survival, 0.0)

    def log_cdf(self, t: Tensor) -> Tensor:
        log_cdf = self.standard_log_cdf(self.z(torch.where(t > 0, t, 1.0)))
        return torch.where(t > 0, log_cdf, -torch.inf)

    def log_pdf(self, t: Tensor) -> Tensor:
        positive = torch.where(t > 0, t, torch.finfo(t.dtype).tiny)
        log_density = self._log_standard(self.z(positive), 1.0)
        log_jacobian = self.log_precision - torch.log(positive)  # log dz/dt
        log_pdf = log_jacobian + log_density
        # F rises like a power of time, whose exponent says whether f is infinite, finite or 0 at the origin.
        far_before = t.new_full((), _FAR_BEFORE)
        _, slope = self.standard(far_before, t.new_ones(()))
        exponent = self.log_precision.detach().exp() * slope
        at_origin = torch.where(exponent > 1, -torch.inf, torch.inf)
        return torch.where((t > 0) | (exponent == 1), log_pdf, at_origin)

    def steepness(self) -> Tensor:
        return torch.exp(self.log_precision)

    def tail_index(self) -> Tensor:
        return torch.exp(self.log_precision) * self.standard_tail

    def survival_curve(self, log_t: Tensor) -> Tensor:
        precision = self.log_precision.exp()
        z = torch.addcmul(-precision * self.location, precision, log_t)
        return self.standard_survival(z)

    def survival_and_density_curve(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        precision = self.log_precision.exp()
        z = torch.addcmul(-precision * self.location, precision, log_t)
        survival, density = self.standard_survival_and_density(z)
        return survival, density.mul_(precision)
