"""Sizes as lists of ints: how shapes broadcast and what reductions leave of them."""

from __future__ import annotations

from flambeau.ops.language.declare import declare

Sizes = list[int]


def infer_size(a: Sizes, b: Sizes) -> Sizes:
    """What two shapes broadcast to. Raises RuntimeError when they do not.

    >>> infer_size([2, 1], [3])
    [2, 3]
    """
    rank = max(len(a), len(b))
    result = []
    for i in range(-rank, 0):
        x = a[i] if -i <= len(a) else 1
        y = b[i] if -i <= len(b) else 1
        if x != y and 1 not in (x, y):
            raise RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) "
                f"at non-singleton dimension {rank + i}"
            )
        result.append(y if x == 1 else x)
    return result


def broadcast_sizes(*shapes: Sizes) -> Sizes:
    """What any number of shapes broadcast to."""
    result: Sizes = []
    for shape in shapes:
        result = infer_size(result, shape)
    return result


def reduction_sizes(size: Sizes, axes: Sizes, keepdim: bool) -> Sizes:
    """The shape after the dimensions `axes` were reduced.

    >>> reduction_sizes([2, 3, 4], [-1], True)
    [2, 3, 1]
    """
    reduced = {axis % len(size) for axis in axes} if size else set()
    if keepdim:
        return [1 if i in reduced else n for i, n in enumerate(size)]
    return [n for i, n in enumerate(size) if i not in reduced]


def size_if_not_equal(own: Sizes, other: Sizes) -> Sizes | None:
    """The first shape, unless both are the same."""
    return None if own == other else own


declare("aten::_infer_size(int[] a, int[] b) -> int[]", infer_size)
declare("aten::broadcast_shapes(int[] a, int[] b) -> int[]", infer_size)
declare("prim::BroadcastSizes(...) -> int[]", broadcast_sizes)
declare("prim::ReductionSizes(int[] size, int[] red_axes, bool keepdim=False) -> int[]", reduction_sizes)
declare("aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", size_if_not_equal)
