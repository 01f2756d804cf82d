"""Rows that are neither exact nor right-censored in the training step with its gradient written out.

``Fused`` takes all rows for exact or right-censored; what is here puts its numbers right where they are not.

inside, before: where an event is known to lie in an interval, or before a time (and with ``t_max`` wherever an event
has not happened), the log probability of the interval and its slopes take the place of those at the lower end.

late: with ``a_k = log S_k(entry)`` the mixture given survival to the entry has the logits ``gate_k + a_k`` and the
values ``v_k - a_k``, for both objectives; the derivative by ``a_k`` is that by the logit minus that by the value.

joint: the probability that an event of one of several types falls in an interval is an integral, which
``joint_intervals`` takes; all of such a row is computed there.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT
from .joint_intervals import joint_intervals
from .odd_rows import OddRows

__all__ = ["Batch", "Correction"]


class Batch(Protocol):
    """What the step has computed of a batch, each ``[models, events, k, rows]``, and where it writes derivatives."""

    logits: Tensor
    location: Tensor
    log_precision: Tensor
    precision: Tensor
    z: Tensor
    by_logits: Tensor
    by_location: Tensor  # by the shift
    by_precision: Tensor  # by the log precision


class Correction:
    """Puts the numbers of one batch right, before and after its components are mixed."""

    def __init__(self, odd: OddRows, family: type[LogLocationScale], batch: Batch) -> None:
        self.odd, self.family, self.batch = odd, family, batch

    def before_mixing(self, value: Tensor, slope: Tensor) -> None:
        """Put logits, values and slopes in z right, in place."""
        odd, batch = self.odd, self.batch
        if odd.before is not None:
            found = self.family.standard_before(torch.take(batch.z, odd.before))
            value.put_(odd.before, found[0])
            slope.put_(odd.before, found[1])
        if odd.inside is not None:
            at, log_precision = (
                odd.inside.at,
                torch.take(batch.log_precision, odd.inside.at).clamp_(max=LOG_LIMIT),
            )
            width = torch.exp(log_precision).mul_(odd.inside.ratio)
            log_width = log_precision.add_(odd.inside.log_ratio)
            inside, by_z, self.by_width = self.family.standard_between(
                torch.take(batch.z, at), width, log_width
            )
            value.put_(at, inside)
            slope.put_(at, by_z)
        if odd.late is not None:
            at = odd.late.at
            self.precision = torch.take(batch.precision, at)
            self.z = (odd.late.log_entry - torch.take(batch.location, at)).mul_(self.precision)
            survived, self.slope = self.family.standard(self.z, self.z.new_zeros(()))
            batch.logits.put_(at, survived, accumulate=True)
            value.put_(at, survived.neg_(), accumulate=True)

    def after_mixing(self, by_value: Tensor, location_sign: float) -> None:
        """Put the derivatives right, in place; ``location_sign``: of ``by_location`` in ``by_z * precision``."""
        odd, batch = self.odd, self.batch
        if odd.inside is not None:
            at = odd.inside.at
            batch.by_precision.put_(
                at, torch.take(by_value, at).mul_(self.by_width), accumulate=True
            )
        if odd.late is not None:
            at = odd.late.at
            by_z = torch.take(batch.by_logits, at).sub_(torch.take(by_value, at)).mul_(self.slope)
            batch.by_precision.put_(at, by_z * self.z, accumulate=True)
            batch.by_location.put_(
                at, by_z.mul_(self.precision).mul_(location_sign), accumulate=True
            )

    def add_joint(self, loss: Tensor, location_sign: float | None = None) -> None:
        """Add the joint rows to the loss ``[models]``; with a sign also write their derivatives."""
        batch = self.batch
        for joint in self.odd.joint or ():
            logits, location = (
                torch.take(batch.logits, joint.at),
                torch.take(batch.location, joint.at),
            )
            log_precision, precision = (
                torch.take(batch.log_precision, joint.at),
                torch.take(batch.precision, joint.at),
            )
            values, slopes = joint_intervals(
                self.family, logits, location, log_precision, precision, joint.known
            )
            loss.index_add_(0, joint.model, (joint.share * values).to(loss))
            if location_sign is None:
                continue
            by_logits, by_minus_location, by_precision = slopes.mul_(
                joint.share[:, None, None]
            ).unbind()
            batch.by_logits.put_(joint.at, by_logits)
            batch.by_location.put_(joint.at, by_minus_location.mul_(location_sign))
            batch.by_precision.put_(joint.at, by_precision)
