"""Transforms of vectors and matrices: probabilities, triangular factors, correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.distributions import constraints
from flambeau.distributions.operators import F
from flambeau.distributions.transforms.elementwise import inside
from flambeau.distributions.transforms.transform import Transform
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor


class _OfItsKind(Transform):
    """A transform without parameters: all of its kind are one."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class SoftmaxTransform(_OfItsKind):
    """`softmax(x, -1)`, which is no bijection: the inverse is one of many, the logarithm.

    >>> import flambeau
    >>> SoftmaxTransform()(flambeau.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """As they are, of one axis or more."""
        return Size(_with_axes(self, shape, 1))

    inverse_shape = forward_shape


class StickBreakingTransform(_OfItsKind):
    """n numbers as n + 1 probabilities: each says how much of what is left is broken off.

    >>> import flambeau
    >>> StickBreakingTransform()(flambeau.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        broken = inside((x - _left_parts(x).log()).sigmoid())
        left = (1 - broken).cumprod(-1)
        one = x.new_ones([*x.shape[:-1], 1])
        return F.cat([broken, one], -1) * F.cat([one, left], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y.narrow(-1, 0, y.shape[-1] - 1)
        left = (1 - parts.cumsum(-1)).clamp(min=1.17549435e-38 if y.element_size() < 8 else 2.2250738585072014e-308)
        return parts.log() - left.log() + _left_parts(parts).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the logarithms of the triangular Jacobian's diagonal."""
        z = x - _left_parts(x).log()
        return (y.narrow(-1, 0, x.shape[-1]).log() - F.softplus(z)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """One number more."""
        shape = _with_axes(self, shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """One number less."""
        shape = _with_axes(self, shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_OfItsKind):
    """Any matrix as a lower triangular one with a positive diagonal.

    >>> import flambeau
    >>> LowerCholeskyTransform()(flambeau.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(_OfItsKind):
    """Any matrix as a positive definite one, by a triangular factor.

    >>> import flambeau
    >>> PositiveDefiniteTransform()(flambeau.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return F.matmul(factor, factor.mT)

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(F.linalg_cholesky(y))


class CorrCholeskyTransform(_OfItsKind):
    """n (n - 1) / 2 numbers as the triangular factor of a matrix of correlations of n numbers.

    >>> import flambeau
    >>> CorrCholeskyTransform()(flambeau.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = 1.1920929e-07 if x.element_size() < 8 else 2.220446049e-16
        partial = vector_to_lower(x.tanh().clamp(-1 + eps, 1 - eps), -1)
        left = (1 - partial.square()).sqrt().cumprod(-1)
        n = partial.shape[-1]
        identity = F.eye(n, dtype=x.dtype, device=x.device)
        return (partial + identity) * F.cat([F.ones_like(left.narrow(-1, 0, 1)), left.narrow(-1, 0, n - 1)], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - y.square().cumsum(-1)
        before = F.cat([F.ones_like(left.narrow(-1, 0, 1)), left.narrow(-1, 0, y.shape[-1] - 1)], -1)
        return (lower_to_vector(y, -1) / lower_to_vector(before, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """That of the tangents, and what each row has left for its later numbers."""
        left = lower_to_vector(1 - y.square().cumsum(-1), -2)
        tangents = -2 * (x + F.softplus(-2 * x) - math.log(2.0))
        return 0.5 * left.log().sum(-1) + tangents.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """A matrix for each vector. Raises ValueError for a number of numbers that no triangle has."""
        shape = _with_axes(self, shape, 1)
        n = _side(shape[-1])
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """A vector for each matrix. Raises ValueError for matrices that are not square."""
        shape = _with_axes(self, shape, 2)
        if shape[-1] != shape[-2]:
            raise ValueError(f"CorrCholeskyTransform: matrices are square, but got sizes {tuple(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def vector_to_lower(vector: Tensor, diagonal: int = 0) -> Tensor:
    """The numbers of vectors as lower triangles, row by row; `diagonal=-1` leaves the diagonal out.

    >>> import flambeau
    >>> vector_to_lower(flambeau.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    n = _side(vector.shape[-1]) + (-1 - diagonal)
    rows, columns = F.tril_indices(n, n, diagonal)
    flat_indices = (rows * n + columns).expand([*vector.shape])
    flat = F.scatter(vector.new_zeros([*vector.shape[:-1], n * n]), -1, flat_indices, vector)
    return flat.reshape([*vector.shape[:-1], n, n])


def lower_to_vector(matrix: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangles of matrices as vectors, row by row.

    >>> import flambeau
    >>> lower_to_vector(flambeau.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = matrix.shape[-1]
    rows, columns = F.tril_indices(n, n, diagonal)
    return matrix.reshape([*matrix.shape[:-2], n * n]).index_select(-1, rows * n + columns)


def _side(count: int) -> int:
    """n, of a triangle of n (n - 1) / 2 numbers."""
    n = (1 + math.isqrt(1 + 8 * count)) // 2
    if n * (n - 1) // 2 != count:
        raise ValueError(f"{count} numbers are no triangle: n (n - 1) / 2 are, 1, 3, 6, 10 and so on")
    return n


def _left_parts(x: Tensor) -> Tensor:
    """How many parts there are to be had when each one is broken off, less one: n, n - 1, ..., 1."""
    return F.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)


def _with_axes(transform: Transform, shape: Sequence[int], axes: int) -> Sequence[int]:
    if len(shape) < axes:
        raise ValueError(f"{transform!r}: a value has {axes} axes or more, but got sizes {tuple(shape)}")
    return shape
