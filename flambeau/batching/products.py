"""Batching rules of products of matrices and vectors, and what stands in for those with more operands."""

from __future__ import annotations

from collections import Counter
from string import ascii_letters
from typing import Any

from flambeau.batching.operand import Operand, ranked
from flambeau.batching.operators import EITHER
from flambeau.batching.rules import Call, batches, decomposes
from flambeau.tensor.tensor import Tensor


@batches(
    "aten::matmul", "aten::linalg_matmul", "aten::mm", "aten::bmm", "aten::mv", "aten::dot",
)  # fmt: skip
def _matmul(call: Call) -> Any:
    """Any product of two tensors by one of batches of matrices."""
    left, right = [a for a in call.arguments if isinstance(a, Operand)]
    _check(call.definition.name, left, right)
    if not right.is_batched and right.rank <= 2 and left.rank >= 1:
        return EITHER.matmul(left.value, right.value) if right.rank else None
    if left.rank == 2 and not left.is_batched and right.rank == 1:
        return EITHER.matmul(right.value, EITHER.transpose(left.value, 0, 1))
    if left.rank == 0 or right.rank == 0:
        return None
    return _general(left, right)


def _general(left: Operand, right: Operand) -> Tensor:
    """Vectors become matrices, and axes of size one come behind the batch."""
    first = _lifted(left, -2)
    second = _lifted(right, -1)
    rank = max(first.rank, second.rank)
    result = EITHER.matmul(ranked(first, rank), ranked(second, rank))
    if right.rank == 1:
        result = EITHER.squeeze(result, -1)
    if left.rank == 1:
        result = EITHER.squeeze(result, -1 if right.rank == 1 else -2)
    answer: Tensor = result
    return answer


def _lifted(operand: Operand, dim: int) -> Operand:
    if operand.rank > 1:
        return operand
    return Operand(EITHER.unsqueeze(operand.value, dim), operand.is_batched)


_RANKS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


def _check(name: str, left: Operand, right: Operand) -> None:
    """Raise RuntimeError for operands of other ranks than the operator takes."""
    ranks = _RANKS.get(name.rpartition("::")[2])
    if ranks is not None and (left.rank, right.rank) != ranks:
        raise RuntimeError(
            f"{name.rpartition('::')[2]}: expected tensors of {ranks[0]} and {ranks[1]} dimensions, got "
            f"{left.rank} and {right.rank}"
        )


@batches("aten::linear")
def _linear(call: Call) -> Any:
    """One weight for all is one product; else a product each."""
    own, weight, bias = call["input"], call["weight"], call["bias"]
    if not weight.is_batched and (bias is None or not bias.is_batched) and own.rank >= 1:
        return call.run([own.value, weight.value, None if bias is None else bias.value])
    if own.rank < 1 or weight.rank != 2:
        return None
    turned = Operand(EITHER.transpose(weight.value, -2, -1), weight.is_batched)
    product = EITHER.matmul(own.value, turned.value) if not weight.is_batched else _general(own, turned)
    if bias is None:
        return product
    has_batch = own.is_batched or weight.is_batched
    summed = Operand(product, has_batch)
    rank = max(summed.rank, bias.rank)
    return EITHER.add(ranked(summed, rank), ranked(bias, rank))


@batches("aten::outer", "aten::ger")
def _outer(call: Call) -> Any:
    left, right = call["self"], call["vec2"]
    return EITHER.mul(EITHER.unsqueeze(left.value, -1), EITHER.unsqueeze(right.value, -2))


@batches("aten::linalg_solve")
def _solve_any(call: Call) -> Any:
    """A vector for each is a matrix of one column; where all share the matrix, all vectors are columns of one."""
    own, right = call["A"], call["B"]
    if right.rank != 1 or own.rank != 2:
        return _solve_columns(call)
    if not own.is_batched:
        columns = EITHER.transpose(right.value, 0, 1)
        return EITHER.transpose(EITHER.linalg_solve(own.value, columns), 0, 1)
    column = EITHER.unsqueeze(right.value, -1)
    columns = column if right.is_batched else EITHER.unsqueeze(column, 0)
    return EITHER.squeeze(EITHER.linalg_solve(own.value, columns), -1)


_MATRICES = {"self": "B", "A": "B", "input2": "self"}


@batches("aten::linalg_solve_triangular", "aten::cholesky_solve")
def _solve_columns(call: Call) -> Any:
    """Where all share the matrix, right sides of all are columns, or rows, of one."""
    matrix = next(name for name in ("input2", "A", "self") if name in call.names)
    sides = _MATRICES[matrix]
    own, right = call[matrix], call[sides]
    if own.is_batched or own.rank != 2 or right.rank != 2:
        return _solve(call)
    arguments = [a.value if isinstance(a, Operand) else a for a in call.arguments]
    position = call.names[sides]
    if call.get("left", True) is False:
        arguments[position] = EITHER.flatten(right.value, 0, 1)
        return EITHER.unflatten(call.run(arguments), 0, [call.size, right.value.shape[1]])
    arguments[position] = EITHER.flatten(EITHER.permute(right.value, [1, 0, 2]), 1, 2)
    return EITHER.permute(EITHER.unflatten(call.run(arguments), 1, [call.size, right.value.shape[2]]), [1, 0, 2])


@batches("aten::linalg_lstsq")
def _least_squares(call: Call) -> Any:
    """By the driver that gives no residuals: whether others do depends on the ranks of all."""
    own, right = call["self"], call["b"]
    if call.get("driver") not in (None, "gelsy") or own.rank != 2 or right.rank not in (1, 2):
        return None
    sides = _for_each(right, call.size)
    sides = EITHER.unsqueeze(sides, -1) if right.rank == 1 else sides
    solution, residuals, rank, values = call.run([_for_each(own, call.size), sides, *call.arguments[2:]])
    solution = EITHER.squeeze(solution, -1) if right.rank == 1 else solution
    nothing = [EITHER.expand(EITHER.unsqueeze(one, 0), [call.size, 0]) for one in (residuals, values)]
    return solution, nothing[0], rank, nothing[1]


@batches("aten::triangular_solve")
def _solve(call: Call) -> Any:
    """Matrices in the last two axes of each; those that all share are repeated, as native code has no others."""
    operands = [a for a in call.arguments if isinstance(a, Operand)]
    if any(o.rank < 2 for o in operands) or len({o.rank for o in operands}) > 1:
        return None
    return call.run([_for_each(a, call.size) if isinstance(a, Operand) else a for a in call.arguments])


def _for_each(operand: Operand, size: Any) -> Any:
    """A tensor for each example."""
    if operand.is_batched:
        return operand.value
    return EITHER.expand(EITHER.unsqueeze(operand.value, 0), [size, *operand.value.shape])


@batches("aten::einsum")
def _einsum(call: Call) -> Any:
    """With one more letter, for the batch, in front of what has one and of the result."""
    equation = call["equation"].replace(" ", "")
    terms, arrow, result = equation.partition("->")
    letter = next((one for one in ascii_letters if one not in equation), None)
    if letter is None:
        return None
    if not arrow:
        counts = Counter(terms.replace(",", "").replace(".", ""))
        result = ("..." if "..." in terms else "") + "".join(sorted(one for one, n in counts.items() if n == 1))
    operands = call["tensors"]
    lettered = [letter + t if o.is_batched else t for t, o in zip(terms.split(","), operands, strict=True)]
    return call.run([f"{','.join(lettered)}->{letter}{result}", [o.value for o in operands], *call.arguments[2:]])


def _scaled_sum(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (self if beta == 1 else self * beta) + scaled


decomposes("aten::addmm")(
    lambda f, self, mat1, mat2, beta, alpha: _scaled_sum(self, f.mm(mat1, mat2), beta, alpha)
)
decomposes("aten::addmv")(lambda f, self, mat, vec, beta, alpha: _scaled_sum(self, f.mv(mat, vec), beta, alpha))
decomposes("aten::addr")(
    lambda f, self, vec1, vec2, beta, alpha: _scaled_sum(self, f.outer(vec1, vec2), beta, alpha)
)
decomposes("aten::baddbmm")(
    lambda f, self, batch1, batch2, beta, alpha: _scaled_sum(self, f.bmm(batch1, batch2), beta, alpha)
)
decomposes("aten::addbmm")(
    lambda f, self, batch1, batch2, beta, alpha: _scaled_sum(self, f.sum(f.bmm(batch1, batch2), [0]), beta, alpha)
)
decomposes("aten::vdot")(lambda f, self, other: f.dot(f.conj(self), other))


def _crossed(f: Any, self: Any, other: Any, dim: Any) -> Any:
    """Differences of products of the three parts along an axis, which is counted from the last: others broadcast."""
    rank = self.dim()
    axis = (0 if rank == 1 else list(self.shape).index(3)) if dim is None else dim
    axis = axis if axis < 0 else axis - rank
    a, b = ([f.select(x, axis, k) for k in range(3)] for x in (self, other))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return f.stack(parts, axis)


def _all_products(f: Any, self: Any, other: Any) -> Any:
    """Every element of the first times the whole second."""
    rank = max(self.dim(), other.dim())
    a = [1] * (rank - self.dim()) + list(self.shape)
    b = [1] * (rank - other.dim()) + list(other.shape)
    left = f.reshape(self, [n for size in a for n in (size, 1)])
    right = f.reshape(other, [n for size in b for n in (1, size)])
    return f.reshape(left * right, [m * n for m, n in zip(a, b, strict=True)])


decomposes("aten::cross", "aten::linalg_cross")(_crossed)
decomposes("aten::kron")(_all_products)
