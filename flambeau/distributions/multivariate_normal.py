"""The normal distribution of vectors, by a factor of its covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.location_scale import Located
from flambeau.distributions.operators import F, broadcast
from flambeau.tensor.tensor import Tensor

ONE_MATRIX = (
    "{}: give one of `covariance_matrix`, `precision_matrix` and `scale_tril`, the lower triangular factor, but got {}"
)


class MultivariateNormal(Located):
    """The normal distribution of vectors of n numbers.

    Args:
        loc: (..., n), the mean.
        covariance_matrix: (..., n, n), positive definite.
        precision_matrix: in its place, its inverse.
        scale_tril: in their place, the Cholesky factor of the covariance.
        validate_args: see `Distribution`.

    Raises ValueError unless one matrix is given, and for one that is not positive definite.

    >>> import flambeau
    >>> d = MultivariateNormal(flambeau.zeros(2), flambeau.eye(2))
    >>> d.log_prob(flambeau.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = given_matrix(
            "MultivariateNormal", covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )  # fmt: skip
        if loc.dim() < 1:
            raise ValueError(
                f"MultivariateNormal: loc is (..., n) and {name} (..., n, n), but got {tuple(loc.shape)} and "
                f"{tuple(matrix.shape)}"
            )
        ones = F.zeros([*matrix.shape[:-1]], dtype=loc.dtype, device=loc.device)
        sizes = broadcast(loc, ones)[0].shape
        self.loc = F.expand(loc, [*sizes])
        self.__dict__[name] = F.expand(matrix, [*sizes, sizes[-1]])
        super().__init__(sizes[:-1], sizes[-1:], validate_args=validate_args)
        self._factor = factor_by(name, matrix)
        """The Cholesky factor of the covariance, not expanded."""

    def _expand_into(self, expanded: Any, batch_shape: Sequence[int]) -> None:
        expanded._factor = self._factor

    def __getattr__(self, name: str) -> Any:
        if name == "scale_tril" and "_factor" in self.__dict__:
            n = self._event_shape[0]
            return F.expand(self._factor, [*self._batch_shape, n, n])
        if name in ("covariance_matrix", "precision_matrix") and "_factor" in self.__dict__:
            factor = self.scale_tril
            if name == "covariance_matrix":
                return F.matmul(factor, F.transpose(factor, -2, -1))
            return F.cholesky_inverse(factor)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    @property
    def support(self) -> Constraint:
        """All vectors."""
        return constraints.real_vector

    @property
    def variance(self) -> Tensor:
        """The variances of the numbers of a vector: the covariance's diagonal."""
        return F.expand(F.sum(F.square(self._factor), [-1]), [*self._batch_shape, *self._event_shape])

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with gradients."""
        shape = [*self._extended_shape(sample_shape)]
        noise = F.unsqueeze(F.randn(shape, dtype=self.loc.dtype, device=self.loc.device), -1)
        return F.add(self.loc, F.squeeze(F.matmul(self._factor, noise), -1))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        squares = F.sum(F.square(solved(self._factor, F.sub(value, self.loc))), [-1])
        n = self._event_shape[0]
        return F.sub(F.mul(F.add(squares, n * math.log(2 * math.pi)), -0.5), half_log_det(self._factor))

    def entropy(self) -> Tensor:
        """In nats."""
        n = self._event_shape[0]
        entropy = F.add(half_log_det(self._factor), 0.5 * n * (1 + math.log(2 * math.pi)))
        return F.expand(entropy, [*self._batch_shape])


def given_matrix(kind: str, **matrices: Tensor | None) -> tuple[str, Tensor]:
    """Which of the matrices that say a covariance is given, and the matrix.

    Raises ValueError unless it is one, of two axes or more.

    >>> import flambeau
    >>> given_matrix("Wishart", scale_tril=flambeau.eye(1), covariance_matrix=None)[0]
    'scale_tril'
    """
    matrices_given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    if len(matrices_given) != 1:
        raise ValueError(ONE_MATRIX.format(kind, ", ".join(matrices_given) or "none of them"))
    ((name, matrix),) = matrices_given.items()
    if matrix.dim() < 2:
        raise ValueError(f"{kind}: {name} is (..., n, n), but got {tuple(matrix.shape)}")
    return name, matrix


def factor_by(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of a covariance, by the matrix of this name.

    >>> import flambeau
    >>> factor_by("covariance_matrix", 4 * flambeau.eye(1))
    tensor([[2.]])
    """
    if name == "scale_tril":
        return matrix
    return F.linalg_cholesky(matrix) if name == "covariance_matrix" else _factor_of_inverse(matrix)


def _factor_of_inverse(matrix: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix."""
    turned = F.linalg_cholesky(F.flip(matrix, [-2, -1]))
    inverse = F.transpose(F.flip(turned, [-2, -1]), -2, -1)
    identity = F.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return F.linalg_solve_triangular(inverse, identity, upper=False)


def solved(factor: Tensor, vectors: Tensor) -> Tensor:
    """What a lower triangular factor turns into these vectors, (..., n).

    >>> import flambeau
    >>> solved(2 * flambeau.eye(2), flambeau.ones(2))
    tensor([0.5000, 0.5000])
    """
    return F.squeeze(F.linalg_solve_triangular(factor, F.unsqueeze(vectors, -1), upper=False), -1)


def half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of a covariance's determinant, by its factor.

    >>> import flambeau
    >>> half_log_det(flambeau.eye(3))
    tensor(0.)
    """
    return F.sum(F.log(F.diagonal(factor, 0, -2, -1)), [-1])
