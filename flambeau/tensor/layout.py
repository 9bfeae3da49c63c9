"""Pure integer algebra of sizes and strides (in elements), as PyTorch does it.

>>> contiguous_strides((2, 3, 4))
(12, 4, 1)
>>> view_strides((2, 3), (1, 2), (6,)) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Sizes = Sequence[int]
Strides = Sequence[int]


def contiguous_strides(sizes: Sizes) -> tuple[int, ...]:
    """Row-major strides; a dimension of size 0 counts as 1."""
    strides = [1] * len(sizes)
    step = 1
    for i in range(len(sizes) - 1, -1, -1):
        strides[i] = step
        step *= sizes[i] or 1
    return tuple(strides)


def is_contiguous(sizes: Sizes, strides: Strides) -> bool:
    """Whether elements lie in row-major order without gaps; strides of dimensions of size 1 do not matter."""
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return 0 in sizes
            expected *= size
    return True


def channels_last_strides(sizes: Sizes) -> tuple[int, ...]:
    """Strides that put dimension 1 last, for 4 or 5 dimensions."""
    strides = [0] * len(sizes)
    step = 1
    for dim in (1, *range(len(sizes) - 1, 1, -1), 0):
        strides[dim] = step
        step *= sizes[dim]
    return tuple(strides)


def is_channels_last(sizes: Sizes, strides: Strides) -> bool:
    """Whether elements lie in channels-last order without gaps (4 or 5 dimensions)."""
    expected = 1
    for dim in (1, *range(len(sizes) - 1, 1, -1), 0):
        if sizes[dim] != 1:
            if strides[dim] != expected:
                return False
            expected *= sizes[dim]
    return True


def permuted_strides(sizes: Sizes, order: Sequence[int]) -> tuple[int, ...]:
    """Dense strides where `order` names the dimensions from outermost to innermost."""
    strides = [0] * len(sizes)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= sizes[dim] or 1
    return tuple(strides)


def is_non_overlapping_and_dense(sizes: Sizes, strides: Strides) -> bool:
    """Whether some permutation of the dimensions is contiguous."""
    if len(sizes) == 1:
        return sizes[0] < 2 or strides[0] == 1
    expected = 1
    for stride, size in sorted((st, si) for si, st in zip(sizes, strides, strict=True) if si >= 2):
        if stride != expected:
            return 0 in sizes
        expected *= size
    return True


def preserved_strides(sizes: Sizes, strides: Strides) -> tuple[int, ...]:
    """The strides a copy gets that keeps its source's format: its own when dense, else those of the same order of
    dimensions."""
    if is_non_overlapping_and_dense(sizes, strides):
        return tuple(strides)
    return elementwise_strides(sizes, [strides])


def elementwise_strides(sizes: Sizes, operands: Sequence[Strides]) -> tuple[int, ...]:
    """Strides of a new result of an elementwise operator.

    `operands` are the strides of each operand broadcast to `sizes` (0 where it was expanded). The result is dense,
    and its dimensions are ordered as in the operands; the first operand that can tell two dimensions apart decides.
    """
    return permuted_strides(sizes, elementwise_order(sizes, operands))


def elementwise_order(sizes: Sizes, operands: Sequence[Strides]) -> list[int]:
    """The dimensions from outermost to innermost, in which an elementwise operator goes over its operands.

    >>> elementwise_order((4, 3), [(1, 4)])
    [1, 0]
    """
    order = list(range(len(sizes) - 1, -1, -1))
    """Dimensions from innermost to outermost."""
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            decision = _compare(order[j], order[at], sizes, operands)
            if decision > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif decision < 0:
                break
    return order[::-1]


def _compare(a: int, b: int, sizes: Sizes, operands: Sequence[Strides]) -> int:
    """1 if dimension `a` belongs outside `b`, -1 if inside, 0 if no operand tells."""
    for strides in operands:
        stride_a, stride_b = strides[a], strides[b]
        if stride_a == 0 or stride_b == 0:
            continue
        if stride_a < stride_b:
            return -1
        if stride_a > stride_b:
            return 1
        if sizes[a] > sizes[b]:
            return 1
    return 0


class BroadcastError(RuntimeError):
    """Shapes that do not go together."""

    def __init__(self, message: str, shapes: Sequence[Sizes], *, is_assignment: bool = False) -> None:
        super().__init__(message)
        self.shapes = [tuple(shape) for shape in shapes]
        self.is_assignment = is_assignment
        """Whether the second was to be written over the first."""


def broadcast(*shapes: Sizes) -> tuple[int, ...]:
    """The common size of operands. Raises BroadcastError naming the first pair that does not fit."""
    result: tuple[int, ...] = tuple(shapes[0]) if shapes else ()
    for shape in shapes[1:]:
        result = _broadcast_two(result, shape, shapes)
    return result


def spreads_to(shape: Sizes, target: Sizes) -> bool:
    """Whether what has one shape is repeated to what has another, without a change to that.

    >>> spreads_to((3,), (2, 3)), spreads_to((2, 3), (3,)), spreads_to((2,), (2, 3))
    (True, False, False)
    """
    lead = len(target) - len(shape)
    return lead >= 0 and all(own in (1, wanted) for own, wanted in zip(shape, target[lead:], strict=True))


def broadcast_into(target: Sizes, source: Sizes) -> None:
    """Raise BroadcastError unless what has one shape can be written over what has another."""
    try:
        shape = broadcast(target, source)
    except BroadcastError as error:
        raise BroadcastError(str(error), error.shapes, is_assignment=True) from None
    if shape != tuple(target):
        text = f"output with shape {list(target)} doesn't match the broadcast shape {list(shape)}"
        raise BroadcastError(text, (target, source), is_assignment=True)


def _broadcast_two(a: Sizes, b: Sizes, shapes: Sequence[Sizes]) -> tuple[int, ...]:
    if tuple(a) == tuple(b):
        return tuple(a)
    rank = max(len(a), len(b))
    result = [1] * rank
    for i in range(-1, -rank - 1, -1):
        x = a[i] if -i <= len(a) else 1
        y = b[i] if -i <= len(b) else 1
        if x != y and x != 1 and y != 1:
            at = f"at non-singleton dimension {rank + i}"
            text = f"The size of tensor a ({x}) must match the size of tensor b ({y}) {at}"
            raise BroadcastError(text, shapes)
        result[i] = y if x == 1 else x
    return tuple(result)


def expand(sizes: Sizes, strides: Strides, target: Sizes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of the view that repeats size-1 dimensions to `target`, where -1 keeps a size."""
    if len(target) < len(sizes):
        raise RuntimeError(
            f"expand(tensor of shape {list(sizes)}, size={list(target)}): the number of sizes provided "
            f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(sizes)})"
        )
    new_sizes, new_strides = [0] * len(target), [0] * len(target)
    lead = len(target) - len(sizes)
    for i in range(len(target) - 1, -1, -1):
        old = sizes[i - lead] if i >= lead else 1
        stride = (
            strides[i - lead] if i >= lead else (new_sizes[i + 1] * new_strides[i + 1] if i + 1 < len(target) else 1)
        )
        wanted = target[i]
        if wanted == -1:
            if i < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            wanted = old
        if wanted != old:
            if old != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) must match the existing size ({old}) at "
                    f"non-singleton dimension {i}.  Target sizes: {list(target)}.  Tensor sizes: {list(sizes)}"
                )
            stride = 0
        new_sizes[i], new_strides[i] = wanted, stride
    return tuple(new_sizes), tuple(new_strides)


def infer_size(shape: Sizes, numel: int) -> tuple[int, ...]:
    """`shape` with its one -1 filled in. Raises RuntimeError when it cannot hold `numel` elements."""
    known, inferred = 1, -1
    for i, size in enumerate(shape):
        if size == -1:
            if inferred >= 0:
                raise RuntimeError("only one dimension can be inferred")
            inferred = i
        elif size < 0:
            raise RuntimeError(f"invalid shape dimension {size} at index {i} of shape {list(shape)}")
        else:
            known *= size
    if inferred < 0:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:inferred], numel // known, *shape[inferred + 1 :])


def view_strides(sizes: Sizes, strides: Strides, target: Sizes) -> tuple[int, ...] | None:
    """Strides that show the same elements as `target` without moving them, or None when there are none."""
    if not sizes:
        return (1,) * len(target)
    numel = prod(sizes)
    if numel == 0:
        return tuple(strides) if tuple(sizes) == tuple(target) else contiguous_strides(target)
    result = [0] * len(target)
    view_dim = len(target) - 1
    chunk_stride = strides[-1]
    chunk_numel = view_numel = 1
    for dim in range(len(sizes) - 1, -1, -1):
        chunk_numel *= sizes[dim]
        if dim == 0 or (sizes[dim - 1] != 1 and strides[dim - 1] != chunk_numel * chunk_stride):
            while view_dim >= 0 and (view_numel < chunk_numel or target[view_dim] == 1):
                result[view_dim] = view_numel * chunk_stride
                view_numel *= target[view_dim]
                view_dim -= 1
            if view_numel != chunk_numel:
                return None
            if dim > 0:
                chunk_stride = strides[dim - 1]
                chunk_numel = view_numel = 1
    return tuple(result) if view_dim == -1 else None


def wrap_dim(dim: int, rank: int, *, allow_scalar: bool = True) -> int:
    """`dim` counted from the front. Raises IndexError when it is out of range; a 0-d tensor allows -1 and 0."""
    span = rank
    if span == 0:
        if not allow_scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        span = 1
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim + span if dim < 0 else dim


def min_storage_elements(sizes: Sizes, strides: Strides) -> int:
    """How many elements of storage a view reaches, counted from its first element."""
    if 0 in sizes:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
