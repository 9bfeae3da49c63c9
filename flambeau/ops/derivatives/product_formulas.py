"""The formulas of products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import by_transposed, transposed_by
from flambeau.ops.derivatives.shapes import adjoint, scaled
from flambeau.schema.dtype import bool_
from flambeau.schema.gradient import Formula, Product, decomposed, formulas, passed_on


def _outer(f: Any, x: Any, y: Any) -> Any:
    return f.unsqueeze(x, -1) * f.unsqueeze(y, -2)


formulas(
    "aten::mm",
    self=Formula(lambda f, grad, mat2: f.mm(grad, adjoint(f, mat2)), product=Product("grad", "mat2", False)),
    mat2=Formula(lambda f, grad, self: f.mm(adjoint(f, self), grad), product=Product("self", "grad", True)),
)
formulas(
    "aten::bmm",
    self=lambda f, grad, mat2: f.bmm(grad, adjoint(f, mat2)),
    mat2=lambda f, grad, self: f.bmm(adjoint(f, self), grad),
)
formulas(
    "aten::mv",
    self=lambda f, grad, vec: _outer(f, grad, f.conj(vec)),
    vec=lambda f, grad, self: f.mv(adjoint(f, self), grad),
)
formulas(
    "aten::dot",
    self=lambda f, grad, tensor: grad * f.conj(tensor),
    tensor=lambda f, grad, self: grad * f.conj(self),
)
formulas(
    "aten::vdot",
    self=lambda f, grad, other: f.conj(grad) * other,
    other=lambda f, grad, self: grad * self,
)
formulas(
    "aten::outer",
    "aten::ger",
    self=lambda f, grad, vec2: f.mv(grad, f.conj(vec2)),
    vec2=lambda f, grad, self: f.mv(f.transpose(grad, 0, 1), f.conj(self)),
)


def _left(f: Any, grad: Any, self_sizes: Sequence[int], other: Any) -> Any:
    """The gradient of the left factor of `matmul`; axes that were broadcast are still there."""
    rank = other.dim()
    if rank == 1:
        return grad * f.conj(other) if len(self_sizes) == 1 else _outer(f, grad, f.conj(other))
    if rank == len(self_sizes) == 2:
        return f.mm(grad, adjoint(f, other))
    if len(self_sizes) == 1:
        return f.squeeze(f.matmul(f.conj(other), f.unsqueeze(grad, -1)), -1)
    return f.over_arrays(by_transposed, lambda f, grad, other: f.matmul(grad, adjoint(f, other)), grad, other)


def _right(f: Any, grad: Any, self: Any, other_sizes: Sequence[int]) -> Any:
    """The same of the right factor."""
    rank = self.dim()
    if rank == len(other_sizes) == 2:
        return f.mm(adjoint(f, self), grad)
    if len(other_sizes) == 1:
        if rank == 1:
            return grad * f.conj(self)
        return f.squeeze(f.matmul(adjoint(f, self), f.unsqueeze(grad, -1)), -1)
    if rank == 1:
        return _outer(f, f.conj(self), grad)
    if len(other_sizes) == 2:  # one product over all batches
        number = math.prod(self.shape[:-1])
        rows = f.reshape(self, [number, self.shape[-1]])
        return f.mm(adjoint(f, rows), f.reshape(grad, [number, grad.shape[-1]]))
    return f.over_arrays(transposed_by, lambda f, self, grad: f.matmul(adjoint(f, self), grad), self, grad)


formulas(
    "aten::matmul",
    "aten::linalg_matmul",
    self=Formula(_left, product=Product("grad", "other", False)),
    other=Formula(_right, product=Product("self", "grad", True)),
)


def _linear_input(f: Any, grad: Any, weight: Any) -> Any:
    return f.matmul(grad, f.conj(weight)) if weight.dim() == 2 else f.unsqueeze(grad, -1) * f.conj(weight)


def _linear_weight(f: Any, grad: Any, input: Any, weight_sizes: Sequence[int]) -> Any:
    if input.dim() == 2 and len(weight_sizes) == 2:
        return f.mm(f.transpose(grad, 0, 1), f.conj(input))
    number = math.prod(input.shape[:-1])
    rows = f.reshape(input, [number, input.shape[-1]])
    if len(weight_sizes) == 1:
        return f.mv(f.transpose(f.conj(rows), 0, 1), f.reshape(grad, [number]))
    return f.mm(f.transpose(f.reshape(grad, [number, grad.shape[-1]]), 0, 1), f.conj(rows))


formulas(
    "aten::linear",
    input=_linear_input,
    weight=Formula(_linear_weight, product=Product("grad", "input", True)),
    bias=passed_on,
)


formulas(
    "aten::addmm",
    self=lambda grad, beta: scaled(grad, beta),
    mat1=lambda f, grad, mat2, alpha: scaled(f.mm(grad, adjoint(f, mat2)), alpha),
    mat2=lambda f, grad, mat1, alpha: scaled(f.mm(adjoint(f, mat1), grad), alpha),
)
formulas(
    "aten::addmv",
    self=lambda grad, beta: scaled(grad, beta),
    mat=lambda f, grad, vec, alpha: scaled(_outer(f, grad, f.conj(vec)), alpha),
    vec=lambda f, grad, mat, alpha: scaled(f.mv(adjoint(f, mat), grad), alpha),
)
formulas(
    "aten::addr",
    self=lambda grad, beta: scaled(grad, beta),
    vec1=lambda f, grad, vec2, alpha: scaled(f.mv(grad, f.conj(vec2)), alpha),
    vec2=lambda f, grad, vec1, alpha: scaled(f.mv(f.transpose(grad, 0, 1), f.conj(vec1)), alpha),
)
formulas(
    "aten::baddbmm",
    self=lambda grad, beta: scaled(grad, beta),
    batch1=lambda f, grad, batch2, alpha: scaled(f.bmm(grad, adjoint(f, batch2)), alpha),
    batch2=lambda f, grad, batch1, alpha: scaled(f.bmm(adjoint(f, batch1), grad), alpha),
)


def _each(f: Any, grad: Any, like: Any) -> Any:
    return f.expand(f.unsqueeze(grad, 0), [like.shape[0], *grad.shape])


formulas(
    "aten::addbmm",
    self=lambda grad, beta: scaled(grad, beta),
    batch1=lambda f, grad, batch2, alpha: scaled(f.bmm(_each(f, grad, batch2), adjoint(f, batch2)), alpha),
    batch2=lambda f, grad, batch1, alpha: scaled(f.bmm(adjoint(f, batch1), _each(f, grad, batch1)), alpha),
)


@decomposed("aten::inner")
def _inner(f: Any, self: Any, other: Any) -> Any:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    rows = f.matmul(f.reshape(self, [-1, self.shape[-1]]), f.transpose(f.reshape(other, [-1, other.shape[-1]]), 0, 1))
    return f.reshape(rows, [*self.shape[:-1], *other.shape[:-1]])


def _folded_dims(x: Any, dims: Any) -> list[list[int]]:
    """Two lists of dimensions, where they are said by their number, one each, or as such lists."""
    listed = dims if isinstance(dims, int | list | tuple) else dims.tolist()
    if isinstance(listed, int):
        return [[*range(x.dim() - listed, x.dim())], [*range(listed)]]
    return [[*d] if isinstance(d, list | tuple) else [d] for d in listed]


def _of_one_size(f: Any, x: Any, folded: Sequence[int], y: Any, others: Sequence[int]) -> tuple[Any, Any]:
    """Both factors, of one size along what is summed: a size of one is broadcast."""
    for a, b in zip(folded, others, strict=True):
        if x.shape[a] == 1 and y.shape[b] != 1:
            y = f.sum(y, [b], True)
        elif y.shape[b] == 1 and x.shape[a] != 1:
            x = f.sum(x, [a], True)
    return x, y


@decomposed("aten::tensordot")
def _tensordot(f: Any, **operands: Any) -> Any:
    """Overloads call their operands by other names, and have one for both lists of dimensions."""
    self, other, *dims = operands.values()
    dims_self, dims_other = dims if len(dims) == 2 else _folded_dims(self, dims[0])
    folded, others = [d % self.dim() for d in dims_self], [d % other.dim() for d in dims_other]
    self, other = _of_one_size(f, self, folded, other, others)
    left = [d for d in range(self.dim()) if d not in folded]
    right = [d for d in range(other.dim()) if d not in others]
    sizes = [self.shape[d] for d in left] + [other.shape[d] for d in right]
    length = 1
    for d in folded:
        length *= self.shape[d]
    rows = f.reshape(f.permute(self, [*left, *folded]), [math.prod(self.shape[d] for d in left), length])
    columns = f.reshape(f.permute(other, [*others, *right]), [length, math.prod(other.shape[d] for d in right)])
    return f.reshape(f.mm(rows, columns), sizes)


def _kron_parts(self: Any, other: Any) -> tuple[list[int], list[int]]:
    """The sizes of both factors, in as many dimensions."""
    rank = max(self.dim(), other.dim())
    return [1] * (rank - self.dim()) + list(self.shape), [1] * (rank - other.dim()) + list(other.shape)


def _of_kron(f: Any, grad: Any, self: Any, other: Any, is_left: bool) -> Any:
    """The gradient of the factor that `is_left` chooses: of each element the sum over where it was multiplied."""
    a, b = _kron_parts(self, other)
    blocks = f.reshape(grad, [n for pair in zip(a, b, strict=True) for n in pair])
    factor, sizes = (other, b) if is_left else (self, a)
    along = [n for size in sizes for n in ((1, size) if is_left else (size, 1))]
    product = blocks * f.reshape(f.conj(factor), along)
    folded = [2 * d + is_left for d in range(len(a))]
    kept = self if is_left else other
    return f.reshape(f.sum(product, folded) if folded else product, list(kept.shape))


formulas(
    "aten::kron",
    self=lambda f, grad, self, other: _of_kron(f, grad, self, other, True),
    other=lambda f, grad, self, other: _of_kron(f, grad, self, other, False),
)


@decomposed("aten::chain_matmul")
def _chain(f: Any, matrices: Sequence[Any]) -> Any:
    return f.linalg_multi_dot(matrices) if len(matrices) > 1 else matrices[0]


@decomposed("aten::linalg_multi_dot")
def _multi_dot(f: Any, tensors: Sequence[Any]) -> Any:
    result = tensors[0]
    for one in tensors[1:]:
        result = f.matmul(result, one)
    return result


@decomposed("aten::linalg_vecdot")
def _vecdot(f: Any, x: Any, y: Any, dim: int) -> Any:
    return f.sum(f.conj(x) * y, [dim])


@decomposed("aten::bilinear")
def _bilinear(f: Any, input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    sizes = [*input1.shape[:-1], weight.shape[0]]
    x, y = f.reshape(input1, [-1, input1.shape[-1]]), f.reshape(input2, [-1, input2.shape[-1]])
    result = f.reshape(f.sum(f.matmul(f.unsqueeze(x, 0), weight) * y, [-1]).t(), sizes)
    return result if bias is None else result + bias


formulas(
    "aten::trace",
    self=lambda f, grad, self_sizes: f.where(f.eye(*self_sizes, dtype=bool_, device=grad.device), grad, 0),
)


def _cross_axis(self: Any, dim: Any) -> Any:
    """The axis of the three parts: the first of that size where none is said."""
    return dim if dim is not None else list(self.shape).index(3)


formulas(
    "aten::cross",
    "aten::linalg_cross",
    self=lambda f, grad, self, other, dim: f.linalg_cross(f.conj(other), grad, dim=_cross_axis(self, dim)),
    other=lambda f, grad, self, dim: f.linalg_cross(grad, f.conj(self), dim=_cross_axis(self, dim)),
)


def _letters(equation: str, tensors: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters of their own in the place of `...`."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    unused = [c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation]
    longest = max(
        (t.dim() - len(term.replace("...", "")) for term, t in zip(terms, tensors, strict=True) if "..." in term),
        default=0,
    )
    dots = "".join(unused[:longest])
    if not arrow:
        seen = "".join(terms).replace(".", "")
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(seen) if seen.count(c) == 1))
    shown = []
    for term, tensor in zip(terms, tensors, strict=True):
        number = tensor.dim() - len(term.replace("...", ""))
        shown.append(term.replace("...", dots[len(dots) - number :] if number else ""))
    return shown, right.replace("...", dots)


def _sizes(terms: Sequence[str], tensors: Sequence[Any]) -> dict[str, Any]:
    """The size that each letter stands for: of those that broadcast, the one that is not 1."""
    sizes: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        for letter, size in zip(term, tensor.shape, strict=True):
            if letter not in sizes or sizes[letter] == 1:
                sizes[letter] = size
    return sizes


def _einsum(f: Any, grad: Any, equation: str, tensors: Sequence[Any]) -> list[Any]:
    """Each operand's gradient is a sum of the same kind: over the result's letters and those of the others."""
    terms, result = _letters(equation, tensors)
    sizes = _sizes(terms, tensors)
    gradients = []
    for at, term in enumerate(terms):
        others = [(o, t) for k, (o, t) in enumerate(zip(terms, tensors, strict=True)) if k != at]
        own = "".join(dict.fromkeys(term))
        known = [c for c in own if c in result or any(c in o for o, _ in others)]
        inputs = [grad, *[f.conj(t) for _, t in others]]
        gradient = f.einsum(f"{','.join([result, *[o for o, _ in others]])}->{''.join(known)}", inputs)
        for axis, letter in enumerate(own):  # letters that were summed alone
            if letter not in known:
                gradient = f.unsqueeze(gradient, axis)
        gradient = _expanded(f, gradient, [sizes[c] for c in own])
        gradients.append(_on_diagonals(f, gradient, own, term))
    return gradients


def _expanded(f: Any, x: Any, sizes: list[Any]) -> Any:
    """A tensor repeated along axes of size one, where there are such that a run of Python can tell."""
    are_known = all(type(n) is int for n in (*sizes, *x.shape))
    return x if are_known and list(x.shape) == sizes else f.expand(x, sizes)


def _on_diagonals(f: Any, gradient: Any, own: str, term: str) -> Any:
    """Letters that an operand has twice: its gradient lies on the diagonal."""
    axes = list(own)
    for letter in own:
        for _ in range(term.count(letter) - 1):
            gradient = f.diag_embed(f.movedim(gradient, axes.index(letter), -1))
            axes = [a for k, a in enumerate(axes) if k != axes.index(letter)] + [letter, letter]
    order = []
    for letter in term:
        axis = next(k for k, a in enumerate(axes) if a == letter and k not in order)
        order.append(axis)
    return f.permute(gradient, order) if order != list(range(len(order))) else gradient


formulas("aten::einsum", tensors=_einsum)
