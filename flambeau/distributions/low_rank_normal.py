"""Normal vectors whose covariance is a diagonal and a few directions: W W' + D, with W of few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.location_scale import Located
from flambeau.distributions.multivariate_normal import half_log_det, solved
from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


class LowRankMultivariateNormal(Located):
    """The normal distribution of vectors of n numbers, whose covariance is `cov_factor @ cov_factor.mT` and a diagonal.

    Densities take n k^2 steps for k columns, not n^3: by the lemmas of Woodbury and of determinants.

    Args:
        loc: (..., n), the mean.
        cov_factor: (..., n, k).
        cov_diag: (..., n), above 0.
        validate_args: see `Distribution`.

    Raises ValueError for sizes that do not fit, and for a diagonal that is not above 0.

    >>> import flambeau
    >>> d = LowRankMultivariateNormal(flambeau.zeros(2), flambeau.tensor([[1.0], [0.0]]), flambeau.ones(2))
    >>> d.variance
    tensor([2., 1.])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        n = loc.shape[-1] if loc.dim() else -1
        if n < 0 or cov_factor.dim() < 2 or cov_factor.shape[-2] != n or cov_diag.dim() < 1 or cov_diag.shape[-1] != n:
            raise ValueError(
                f"LowRankMultivariateNormal: loc is (..., n), cov_factor (..., n, k) and cov_diag (..., n), but got "
                f"{tuple(loc.shape)}, {tuple(cov_factor.shape)} and {tuple(cov_diag.shape)}"
            )
        wide = F.broadcast_tensors([loc, cov_diag, cov_factor.select(-1, 0)])
        self.loc, self.cov_diag = wide[0], wide[1]
        batch = self.loc.shape[:-1]
        self.cov_factor = cov_factor.expand([*batch, *cov_factor.shape[-2:]])
        weighted = cov_factor.mT / cov_diag.unsqueeze(-2)
        columns = F.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        self._inner = F.linalg_cholesky(columns + weighted @ cov_factor)
        """The Cholesky factor of I + W' D^-1 W."""
        super().__init__(batch, (n,), validate_args=validate_args)

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        expanded._inner = self._inner

    @property
    def support(self) -> Constraint:
        """All vectors."""
        return constraints.real_vector

    @property
    def variance(self) -> Tensor:
        """The variances of the numbers of a vector."""
        return self.cov_factor.square().sum([-1]) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return F.matmul(self.cov_factor, self.cov_factor.mT) + self.cov_diag.diag_embed()

    @property
    def scale_tril(self) -> Tensor:
        """Its Cholesky factor."""
        return F.linalg_cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = F.linalg_solve_triangular(self._inner, weighted, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - F.matmul(inner.mT, inner)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape, like = self._extended_shape(sample_shape), {"dtype": self.loc.dtype, "device": self.loc.device}
        columns = F.randn([*shape[:-1], self.cov_factor.shape[-1], 1], **like)
        noise = F.randn([*shape], **like)
        return self.loc + (self.cov_factor @ columns).squeeze(-1) + self.cov_diag.sqrt() * noise

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        away = value - self.loc
        weighted = away / self.cov_diag
        along = (self.cov_factor.mT @ weighted.unsqueeze(-1)).squeeze(-1)
        squares = (away * weighted).sum([-1]) - solved(self._inner, along).square().sum([-1])
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + self.log_det() + squares)

    def log_det(self) -> Tensor:
        """The logarithm of the covariance's determinant."""
        return 2 * half_log_det(self._inner) + self.cov_diag.log().sum([-1])

    def entropy(self) -> Tensor:
        """In nats."""
        entropy = 0.5 * (self.event_shape[0] * (1 + math.log(2 * math.pi)) + self.log_det())
        return entropy.expand([*self.batch_shape])
