"""Which sizes operators' results have, as symbols: those of their operands, of which a rule of each says which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis.constant_evaluation import known
from flambeau.autodiff.symbolic_sizes import ONE, Size, Sizes, broadcast, listed_rules, met, named_sizes, size_rules
from flambeau.ir.graph import Node, Value
from flambeau.schema.opdef import UNKNOWN

MOST: Final = 2**63 - 1
"""The end of slices that have none, as archives write it."""


@size_rules(
    "aten::clone", "aten::contiguous", "aten::detach", "aten::alias", "aten::zeros_like", "aten::ones_like",
    "aten::empty_like", "aten::full_like", "aten::rand_like", "aten::randn_like", "aten::to", "aten::type_as",
    "aten::softmax", "aten::_softmax", "aten::log_softmax", "aten::_log_softmax", "aten::cumsum", "aten::cumprod",
    "aten::flip", "aten::roll", "aten::dropout", "aten::layer_norm", "aten::copy_", "aten::fill_", "aten::zero_",
    "aten::masked_fill", "aten::index_add", "aten::index_copy", "aten::scatter", "aten::scatter_add", "aten::triu",
    "aten::tril", "prims::convert_element_type", "prim::unchecked_cast", "aten::linalg_inv", "aten::inverse",
    "aten::linalg_cholesky", "aten::cholesky", "aten::sort", "aten::logcumsumexp", "aten::cummax", "aten::cummin",
    "aten::slice_scatter", "aten::select_scatter", "aten::diagonal_scatter", "aten::index_put",
)  # fmt: skip
def _same(node: Node, operands: Sequence[Sizes]) -> Sizes:
    return operands[0]


@size_rules("aten::transpose")
def _transpose(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, first, second = operands[0], known(node.operand(1)), known(node.operand(2))
    if sizes is None or not isinstance(first, int) or not isinstance(second, int):
        return None
    swapped = list(sizes)
    if swapped:
        swapped[first], swapped[second] = swapped[second], swapped[first]
    return tuple(swapped)


@size_rules("aten::t", "aten::numpy_T")
def _turned(node: Node, operands: Sequence[Sizes]) -> Sizes:
    return None if operands[0] is None else operands[0][::-1]


@size_rules("aten::mT", "aten::mH", "aten::adjoint")
def _turned_matrices(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes = operands[0]
    return None if sizes is None or len(sizes) < 2 else (*sizes[:-2], sizes[-1], sizes[-2])


@size_rules("aten::permute")
def _permuted(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, axes = operands[0], known(node.operand(1))
    if sizes is None or not isinstance(axes, list) or len(axes) != len(sizes):
        return None
    return tuple([sizes[axis] for axis in axes])


@size_rules("aten::diagonal")
def _diagonal(node: Node, operands: Sequence[Sizes]) -> Sizes:
    """The main diagonal of axes of one size."""
    sizes, (offset, *axes) = operands[0], map(known, node.operands[1:])
    if not sizes or offset != 0 or not all(isinstance(axis, int) for axis in axes):
        return None
    one, other = (axis % len(sizes) for axis in axes)
    along = sizes[one] if sizes[one] is sizes[other] else Size()
    return (*(size for axis, size in enumerate(sizes) if axis not in (one, other)), along)


@size_rules("aten::diag")
def _diag(node: Node, operands: Sequence[Sizes]) -> Sizes:
    """The matrix with a vector as its main diagonal, or a matrix's main diagonal."""
    sizes = operands[0]
    if not sizes or known(node.operand(1)) != 0:
        return None
    if len(sizes) == 1:
        return sizes[0], sizes[0]
    return (sizes[0] if sizes[0] is sizes[1] else Size(),)


@size_rules("aten::unsqueeze")
def _unsqueeze(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, axis = operands[0], known(node.operand(1))
    if sizes is None or not isinstance(axis, int):
        return None
    own_axis = axis % (len(sizes) + 1)
    return (*sizes[:own_axis], ONE, *sizes[own_axis:])


@size_rules("aten::select")
def _select(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, axis = operands[0], known(node.operand(1))
    if not sizes or not isinstance(axis, int):
        return None
    own_axis = axis % len(sizes)
    return sizes[:own_axis] + sizes[own_axis + 1 :]


@size_rules("aten::mm", "aten::bmm", "aten::matmul")
def _product(node: Node, operands: Sequence[Sizes]) -> Sizes:
    left, right = operands[0], operands[1]
    if not left or not right:
        return None
    batches = broadcast([left[:-2], right[:-2]])
    return None if batches is None else (*batches, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


@size_rules("aten::addmm", "aten::baddbmm", "aten::addmv")
def _added_product(node: Node, operands: Sequence[Sizes]) -> Sizes:
    """What is added is broadcast to the product."""
    return _product(node, operands[1:])


@size_rules("aten::outer", "aten::ger")
def _outer(node: Node, operands: Sequence[Sizes]) -> Sizes:
    left, right = operands[0], operands[1]
    return None if left is None or right is None else (*left, *right)


@size_rules("aten::linalg_solve", "aten::linalg_solve_triangular")
def _solution(node: Node, operands: Sequence[Sizes]) -> Sizes:
    """Of one system, for one right side or several: as these are."""
    matrix, right = operands[0], operands[1]
    is_one = matrix is not None and right is not None and len(matrix) == 2 and len(right) <= 2
    return right if is_one else None


@size_rules("aten::expand_as", "aten::view_as", "aten::reshape_as")
def _as_other(node: Node, operands: Sequence[Sizes]) -> Sizes:
    return operands[1]


@size_rules("aten::gather")
def _gathered(node: Node, operands: Sequence[Sizes]) -> Sizes:
    return operands[2]


@size_rules("aten::index_select")
def _chosen(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, axis, index_sizes = operands[0], known(node.operand(1)), operands[2]
    if not sizes or not isinstance(axis, int) or index_sizes is None or len(index_sizes) != 1:
        return None
    own_axis = axis % len(sizes)
    return (*sizes[:own_axis], index_sizes[0], *sizes[own_axis + 1 :])


@size_rules("aten::linear")
def _linear(node: Node, operands: Sequence[Sizes]) -> Sizes:
    left, weight = operands[0], operands[1]
    if left is None or weight is None or len(weight) != 2:
        return None
    return (*left[:-1], weight[0])


@size_rules("aten::embedding")
def _embedding(node: Node, operands: Sequence[Sizes]) -> Sizes:
    table, numbers = operands[0], operands[1]
    return None if table is None or numbers is None or len(table) != 2 else (*numbers, table[1])


@size_rules("aten::slice")
def _slice(node: Node, operands: Sequence[Sizes]) -> Sizes:
    sizes, axis = operands[0], known(node.operand(1))
    if not sizes or not isinstance(axis, int):
        return None
    own_axis, (start, end, step) = axis % len(sizes), map(known, node.operands[2:])
    part = Size()
    if isinstance(start, int | None) and isinstance(end, int | None) and isinstance(step, int):
        part = sizes[own_axis].sliced(start or 0, None if end == MOST else end, step)
    return (*sizes[:own_axis], part, *sizes[own_axis + 1 :])


@listed_rules("aten::stack")
def _stacked(node: Node, items: Sequence[tuple[Size, ...]]) -> Sequence[Sizes]:
    axis, first = known(node.operand(1)), items[0]
    if not isinstance(axis, int):
        return [None]
    own_axis = axis % (len(first) + 1)
    count = ONE if len(items) == 1 else Size(is_one=False)
    return [(*first[:own_axis], count, *first[own_axis:])]


@listed_rules("aten::cat")
def _joined(node: Node, items: Sequence[tuple[Size, ...]]) -> Sequence[Sizes]:
    axis, first = known(node.operand(1)), items[0]
    if not isinstance(axis, int) or not first or any(len(item) != len(first) for item in items):
        return [None]
    own_axis = axis % len(first)
    return [(*first[:own_axis], Size(), *first[own_axis + 1 :])]


@listed_rules("aten::einsum")
def _einsum(node: Node, items: Sequence[tuple[Size, ...]]) -> Sequence[Sizes]:
    equation = known(node.operand(0))
    if not isinstance(equation, str) or "." in equation or "->" not in equation:
        return [None]
    left, _, right = equation.replace(" ", "").partition("->")
    sizes: dict[str, Size] = {}
    for term, item in zip(left.split(","), items, strict=False):
        if len(term) != len(item):
            return [None]
        for letter, size in zip(term, item, strict=True):
            sizes[letter] = met(sizes[letter], size) if letter in sizes else size
    return [tuple([sizes[letter] for letter in right]) if set(right) <= set(sizes) else None]


@listed_rules("flambeau::recurrent_layer")
def _recurrent_layer(node: Node, items: Sequence[tuple[Size, ...]]) -> Sequence[Sizes]:
    xs, hidden, memory = items[:3]
    return (*xs[:-1], *hidden[1:]), hidden, memory, None


@size_rules("aten::mv")
def _matrix_vector(node: Node, operands: Sequence[Sizes]) -> Sizes:
    return None if not operands[0] else operands[0][:1]


@size_rules(
    "aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::logsumexp", "aten::var", "aten::std", "aten::prod",
    "aten::max", "aten::min", "aten::norm", "aten::linalg_vector_norm",
)
def _reduced(node: Node, operands: Sequence[Sizes]) -> Sizes:
    """Of a reduction over axes that are known."""
    sizes, definition = operands[0], node.definition
    if sizes is None or definition is None or "dim" not in definition.schema.index:
        return None
    index = definition.schema.index
    dim, keeps = known(node.operand(index["dim"])), known(node.operand(index["keepdim"]))
    axes = [dim] if isinstance(dim, int) else dim
    if keeps is UNKNOWN or not isinstance(axes, list) or not all(isinstance(a, int) for a in axes):
        return None
    folded = {a % max(len(sizes), 1) for a in axes} or set(range(len(sizes)))
    return tuple(ONE if a in folded else size for a, size in enumerate(sizes) if keeps or a not in folded)


@named_sizes("aten::reshape", "aten::view", "aten::new_zeros", "aten::new_ones", "aten::expand", "aten::broadcast_to")
def _second(node: Node) -> Value:
    return node.operand(1)


@named_sizes("aten::zeros", "aten::ones", "aten::full", "aten::rand", "aten::randn", "aten::empty")
def _first(node: Node) -> Value:
    return node.operand(0)
