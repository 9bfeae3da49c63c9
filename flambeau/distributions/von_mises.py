"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.operators import F
from flambeau.schema.dtype import float64
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor


class VonMises(Distribution):
    """The von Mises distribution of angles, from -pi to pi: like a normal distribution, on a circle.

    Args:
        loc: an angle, in radians.
        concentration: above 0; the higher, the closer to `loc` the angles lie.
        validate_args: see `Distribution`.

    Raises ValueError for a concentration that is not above 0.

    >>> import flambeau
    >>> VonMises(0.0, 1.0).log_prob(flambeau.tensor(0.0))
    tensor(-1.0738)
    """

    has_rsample: ClassVar[bool] = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real, "concentration": constraints.positive,
    }  # fmt: skip

    def __init__(self, loc: Number, concentration: Number, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """All numbers: angles that are whole turns apart are the same."""
        return constraints.real

    @property
    def mean(self) -> Tensor:
        """`loc`, the mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the mean length."""
        return 1 - F.special_i1e(self.concentration) / F.special_i0e(self.concentration)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples by Best and Fisher (1979): of a wrapped Cauchy distribution, kept or drawn again."""
        with no_grad():
            shape = [*self._extended_shape(sample_shape)]
            kappa = self.concentration.to(float64).expand(shape)
            tau = 1 + (1 + 4 * kappa.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            # 1 / kappa + kappa, where the difference above cancels
            r = F.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho.square()) / (2 * rho))
            angle, is_open = F.zeros_like(kappa), F.ones_like(kappa) > 0
            while bool(is_open.any()):
                u = F.rand([3, *shape], dtype=float64, device=kappa.device)
                z = (math.pi * u.select(0, 0)).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                is_kept = F.logical_or(c * (2 - c) > u.select(0, 1), (c / u.select(0, 1)).log() + 1 - c >= 0)
                angle = F.where(is_kept, (u.select(0, 2) - 0.5).sign() * f.clamp(-1, 1).acos(), angle)
                is_open = F.logical_and(is_open, F.logical_not(is_kept))
            turned = angle + math.pi + self.loc
            return (turned.remainder(2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        kappa = self.concentration
        return kappa * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - F.special_i0e(kappa).log()
