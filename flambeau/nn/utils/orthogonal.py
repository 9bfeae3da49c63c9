"""Weights that stay orthogonal: Lezcano-Casado and Martinez-Rubio (2019), trivialised as in Lezcano-Casado (2019)."""

from __future__ import annotations

from flambeau.nn.module import Module
from flambeau.nn.utils.parametrize import register_parametrization
from flambeau.ops.families.composite import F
from flambeau.schema.dtype_limits import finfo
from flambeau.tensor.tensor import Tensor

NOT_THERE = "Module '{module}' has no parameter or buffer with name '{name}'"
MAPS = ("matrix_exp", "cayley", "householder")
UNKNOWN_MAP = 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {given}'
NO_MATRIX = "Expected a matrix or batch of matrices. Got a tensor of {rank} dimensions."
NO_COMPLEX = "The householder parametrization does not support complex tensors."
OTHER_SIZES = "Expected a matrix or batch of matrices of shape {expected}. Got a tensor of shape {given}."
NOT_ASSIGNED = (
    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
    "use_trivialization=False."
)


def check_tensor(module: Module, name: str) -> Tensor:
    """The parameter or buffer of a name. Raises ValueError if there is none."""
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(NOT_THERE.format(module=module, name=name))
    return tensor


def made_orthogonal(matrix: Tensor) -> Tensor:
    """The orthogonal factor of a matrix, or of each in a batch."""
    reflections, tau = F.geqrf(matrix)
    factor = F.linalg_householder_product(reflections, tau)
    return F.mul(factor, F.unsqueeze(F.sgn(F.diagonal(reflections, 0, -2, -1)), -2))


def is_orthogonal(matrix: Tensor) -> bool:
    """Whether the columns are, up to rounding."""
    size = matrix.size(-1)
    product = F.matmul(F.conj(F.transpose(matrix, -2, -1)), matrix)
    one = F.eye(size, dtype=matrix.dtype, device=matrix.device)
    tolerance = 10.0 * size * finfo(matrix.dtype).eps
    return bool(F.all(F.lt(F.abs(F.sub(product, one)), tolerance)))


class _Orthogonal(Module):
    """Any matrix to an orthogonal one."""

    __constants__ = ["orthogonal_map", "is_trivialised"]
    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.is_trivialised = use_trivialization
        self.shape = list(weight.shape)
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, matrix: Tensor) -> Tensor:
        rows, columns = matrix.size(-2), matrix.size(-1)
        is_wide = rows < columns
        if is_wide:
            matrix, rows, columns = F.transpose(matrix, -2, -1), columns, rows
        is_product = self.orthogonal_map == "householder"
        result = self.householder(matrix) if is_product else self.from_skew(matrix, rows, columns)
        if self.is_trivialised:
            base = self.base
            if base is not None:
                result = F.matmul(base, result)
        return F.transpose(result, -2, -1) if is_wide else result

    def from_skew(self, matrix: Tensor, rows: int, columns: int) -> Tensor:
        """By the group's exponential, or Cayley's map, of a skew-symmetric matrix."""
        lower = F.tril(matrix)
        if rows != columns:
            others = F.zeros([*lower.size()[:-1], rows - columns], dtype=matrix.dtype, device=matrix.device)
            lower = F.cat([lower, others], -1)
        skew = F.sub(lower, F.conj(F.transpose(lower, -2, -1)))
        if self.orthogonal_map == "matrix_exp":
            result = F.matrix_exp(skew)
        else:
            one = F.eye(rows, dtype=matrix.dtype, device=matrix.device)
            result = F.linalg_solve(F.add(one, skew, alpha=-0.5), F.add(one, skew, alpha=0.5))
        return result if rows == columns else F.slice(result, -1, 0, columns)

    def householder(self, matrix: Tensor) -> Tensor:
        """Write the matrix as a product of reflections; the diagonal has their signs."""
        below = F.tril(matrix, -1)
        tau = F.mul(F.reciprocal(F.add(F.sum(F.mul(below, below), [-2]), 1.0)), 2.0)
        result = F.linalg_householder_product(below, tau)
        signs = F.trunc(F.diagonal(matrix, 0, -2, -1))
        return F.mul(result, F.unsqueeze(signs, -2))

    def right_inverse(self, wanted: Tensor) -> Tensor:
        if list(wanted.shape) != self.shape:
            raise ValueError(OTHER_SIZES.format(expected=self.shape, given=list(wanted.shape)))
        matrix = wanted
        rows, columns = wanted.size(-2), wanted.size(-1)
        is_wide = rows < columns
        if is_wide:
            wanted, rows, columns = F.transpose(wanted, -2, -1), columns, rows
        if not self.is_trivialised:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(NOT_ASSIGNED)
            reflections, tau = F.geqrf(wanted)
            diagonal = F.diagonal(reflections, 0, -2, -1)
            keeps = F.logical_xor(F.ge(diagonal, 0.0), F.eq(tau, 0.0))  # here every column is reflected, there not
            diagonal.copy_(F.where(keeps, 1.0, -1.0))
            return F.transpose(reflections, -2, -1) if is_wide else reflections
        if rows != columns:
            others = F.randn([*wanted.shape[:-1], rows - columns], dtype=wanted.dtype, device=wanted.device)
            self.base = made_orthogonal(F.cat([wanted, others], -1))
        else:
            self.base = F.clone(wanted) if is_orthogonal(wanted) else made_orthogonal(wanted)
        start = F.zeros_like(matrix)
        F.diagonal(start, 0, -2, -1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Make a matrix, or each of a batch, orthogonal: `W.T @ W` is one, or `W @ W.T` where it has more columns.

    By `matrix_exp`, `cayley` or `householder`; the first for square matrices and complex ones, the last for others,
    unless given. With `use_trivialization` the weight starts as what it is, made orthogonal, and may be assigned.

    Raises ValueError for a name without a tensor, a tensor that is no matrix, and another map.

    >>> import flambeau
    >>> layer = orthogonal(flambeau.nn.Linear(3, 3))
    >>> flambeau.allclose(layer.weight @ layer.weight.t(), flambeau.eye(3), atol=1e-5)
    True
    """
    weight = check_tensor(module, name)
    if weight.dim() < 2:
        raise ValueError(NO_MATRIX.format(rank=weight.dim()))
    is_square = weight.size(-2) == weight.size(-1)
    chosen = orthogonal_map or ("matrix_exp" if is_square or weight.is_complex() else "householder")
    if chosen not in MAPS:
        raise ValueError(UNKNOWN_MAP.format(given=orthogonal_map))
    if chosen == "householder" and weight.is_complex():
        raise ValueError(NO_COMPLEX)
    return register_parametrization(module, name, _Orthogonal(weight, chosen, use_trivialization), unsafe=True)
