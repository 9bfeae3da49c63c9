"""Several matrix products at once: what `passes.batch_mm` makes of products that stand alone.

>>> import flambeau
>>> a, b = flambeau.ones(2, 3), flambeau.ones(3, 2)
>>> sum_of_products(a, a, b, b).tolist()
[[6.0, 6.0], [6.0, 6.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from flambeau.ir.graph import Node
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


def sum_of_products(*factors: Tensor) -> Tensor:
    """The sum of `left @ right`, of all left factors followed by all right ones: one product where they are alike.
    Raises RuntimeError where a product or a sum does."""
    count = len(factors) // 2
    left, right = factors[:count], factors[count:]
    if _are_alike(left) and _are_alike(right):
        return _product(dispatch.call("aten::cat", left, 1), dispatch.call("aten::cat", right, 0))
    return reduce(partial(dispatch.call, "aten::add"), map(_product, left, right))


def products_with(node: Node) -> Callable[..., Any]:
    """`prim::MMBatchSide`: the products of its first operand with each of the others, on the right of it if `side` is
    0, else on its left."""
    is_left = node.attribute("side") == 0

    def products(factor: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        if not _are_alike(others):
            return tuple([_product(factor, other) if is_left else _product(other, factor) for other in others])
        axis = 1 if is_left else 0
        together = dispatch.call("aten::cat", others, axis)
        whole = _product(factor, together) if is_left else _product(together, factor)
        parts = dispatch.call("aten::split", whole, others[0].shape[axis], axis)
        return tuple([dispatch.call("aten::clone", part) for part in parts])

    return products


def _product(left: Tensor, right: Tensor) -> Tensor:
    product: Tensor = dispatch.call("aten::mm", left, right)
    return product


def _are_alike(tensors: Sequence[Tensor]) -> bool:
    """Whether all are matrices of one dtype and one shape, which has elements."""
    first = tensors[0]
    return (
        first.ndim == 2
        and first.numel() > 0
        and all(t.dtype is first.dtype and t.shape == first.shape for t in tensors)
    )
