"""Distributions of matrices: factors of correlations (LKJ), and covariances (Wishart)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import Distribution, Number, broadcast_all
from flambeau.distributions.exponential_family import ExponentialFamily
from flambeau.distributions.gamma import Beta, Gamma
from flambeau.distributions.multivariate_normal import factor_by, given_matrix, half_log_det
from flambeau.distributions.operators import F
from flambeau.distributions.transforms.vectors import vector_to_lower
from flambeau.tensor.tensor import Tensor


class LKJCholesky(Distribution):
    """Triangular factors of matrices of correlations, by Lewandowski, Kurowicka and Joe (2009).

    Args:
        dim: of how many numbers there are correlations, 2 or more.
        concentration: above 0; at 1 every matrix of correlations is as likely, above it the weaker ones are likelier.
        validate_args: see `Distribution`.

    Raises ValueError for fewer than 2 numbers, and for a concentration that is not above 0.

    >>> LKJCholesky(3, 0.5).sample().shape
    flambeau.Size([3, 3])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"concentration": constraints.positive}

    def __init__(self, dim: int, concentration: Number = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: there are correlations of 2 numbers or more, but dim is {dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        expanded.dim = self.dim

    @property
    def support(self) -> Constraint:
        """Triangular factors of matrices with ones on the diagonal."""
        return constraints.corr_cholesky

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples by the onion method: row after row a direction, and how far it goes."""
        shape, concentration = self._extended_shape(sample_shape), self.concentration.detach()
        order = F.arange(-1, self.dim - 1, dtype=concentration.dtype, device=concentration.device).clamp(min=0)
        others = concentration.unsqueeze(-1) + 0.5 * (self.dim - 2) - 0.5 * order
        radius = Beta(order + 0.5, others).sample(sample_shape).narrow(-1, 1, self.dim - 1)  # the first row has none
        noise = F.randn([*shape], dtype=concentration.dtype, device=concentration.device).tril(-1)
        rows = noise.narrow(-2, 1, self.dim - 1)
        rows = radius.sqrt().unsqueeze(-1) * (rows / rows.square().sum([-1], True).sqrt())
        factor = F.cat([rows.new_zeros([*shape[:-2], 1, self.dim]), rows], -2)
        tiny = 1.1920929e-07 if factor.element_size() < 8 else 2.220446049e-16
        return factor + (1 - factor.square().sum([-1])).clamp(min=tiny).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        n, concentration = self.dim, self.concentration
        diagonal = value.diagonal(0, -2, -1).narrow(-1, 1, n - 1)
        order = F.arange(2, n + 1, dtype=concentration.dtype, device=concentration.device)
        powers = 2 * (concentration - 1).unsqueeze(-1) + n - order
        alpha = concentration + 0.5 * (n - 1)
        whole = alpha.lgamma() * (n - 1)
        parts = (alpha - 0.5).mvlgamma(n - 1)
        constant = 0.5 * (n - 1) * math.log(math.pi)
        return (powers * diagonal.log()).sum([-1]) - (constant + parts - whole)


class Wishart(ExponentialFamily):
    """Sums of products of normal vectors with themselves: matrices that are positive definite.

    Args:
        df: degrees of freedom, above n - 1.
        covariance_matrix: (..., n, n), of the vectors.
        precision_matrix: in its place, its inverse.
        scale_tril: in their place, the Cholesky factor of the covariance.
        validate_args: see `Distribution`.

    Raises ValueError unless one matrix is given, and for fewer degrees of freedom.

    >>> import flambeau
    >>> Wishart(3.0, flambeau.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    has_rsample: ClassVar[bool] = True
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(0),
    }  # fmt: skip

    def __init__(
        self, df: Number, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = given_matrix(
            "Wishart", covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        n = matrix.shape[-1]
        freedom = df if isinstance(df, Tensor) else F.full([], float(df), dtype=matrix.dtype, device=matrix.device)
        self.df = F.broadcast_tensors([freedom, matrix.select(-1, 0).select(-1, 0)])[0]
        batch = self.df.shape
        self.__dict__[name] = matrix.expand([*batch, n, n])
        super().__init__(batch, (n, n), validate_args=validate_args)
        self._factor = factor_by(name, matrix).expand([*batch, n, n])
        if self._validate_args and not bool((self.df > n - 1).all()):
            raise ValueError(f"Wishart: df of matrices of {n} rows lies above {n - 1}, but got {self.df}")

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        expanded._factor = self._factor.expand([*batch_shape, *self.event_shape])

    def __getattr__(self, name: str) -> Any:
        factor = self.__dict__.get("_factor")
        if factor is not None and name == "scale_tril":
            return factor
        if factor is not None and name == "covariance_matrix":
            return F.matmul(factor, factor.mT)
        if factor is not None and name == "precision_matrix":
            return F.cholesky_inverse(factor)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    @property
    def support(self) -> Constraint:
        """Positive definite matrices."""
        return constraints.positive_definite

    @property
    def mean(self) -> Tensor:
        """`df` times the covariance."""
        mean: Tensor = self.df.reshape([*self.df.shape, 1, 1]) * self.covariance_matrix
        return mean

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; nan for `n + 1` degrees of freedom or fewer."""
        factor = self.df - self.event_shape[-1] - 1
        factor = F.where(factor > 0, factor, F.full_like(factor, math.nan))
        mode: Tensor = factor.reshape([*factor.shape, 1, 1]) * self.covariance_matrix
        return mode

    @property
    def variance(self) -> Tensor:
        """The variance of each number of a matrix."""
        covariance: Tensor = self.covariance_matrix
        diagonal = covariance.diagonal(0, -2, -1)
        return self.df.reshape([*self.df.shape, 1, 1]) * (
            covariance.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples by Bartlett's decomposition, with gradients."""
        n = self.event_shape[-1]
        order = F.arange(n, dtype=self.df.dtype, device=self.df.device)
        squares = Gamma(0.5 * (self.df.unsqueeze(-1) - order), 0.5, validate_args=False).rsample(sample_shape)
        shape = self._extended_shape(sample_shape)
        noise = F.randn([*shape[:-2], n * (n - 1) // 2], dtype=self.df.dtype, device=self.df.device)
        factor = self._factor @ (vector_to_lower(noise, -1) + squares.clamp(min=1e-38).sqrt().diag_embed())
        return F.matmul(factor, factor.mT)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        n, df = self.event_shape[-1], self.df
        half_value = half_log_det(F.linalg_cholesky(value))
        trace = F.cholesky_solve(value, self._factor).diagonal(0, -2, -1).sum([-1])
        head = -df * (n * math.log(2) / 2 + half_log_det(self._factor)) - (df / 2).mvlgamma(n)
        return head + (df - n - 1) * half_value - trace / 2

    def entropy(self) -> Tensor:
        """In nats."""
        n, df = self.event_shape[-1], self.df
        order = F.arange(n, dtype=df.dtype, device=df.device)
        digammas = (0.5 * (df.unsqueeze(-1) - order)).digamma().sum([-1])
        head = (n + 1) * (n * math.log(2) / 2 + half_log_det(self._factor)) + (df / 2).mvlgamma(n)
        return head - (df - n - 1) / 2 * digammas + df * n / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return 0.5 * self.df, -0.5 * self.precision_matrix

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        half, negative = natural_params
        return F.mvlgamma(half, self.event_shape[-1]) - half * F.logdet(-negative)
