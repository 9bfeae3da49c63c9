"""Writes through views, and to what has views: the tape after an update in place.

A view knows the tensor that it shows (`_base`). When either is written while gradients are recorded, the base gets a
node for all its elements, `CopySlices`, of which those that were written come through the operation, the others from
before. Views made earlier read from that node when they are next used: as the elements of the base that they show.

>>> import flambeau
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> y = x * 1
>>> y[0].mul_(5)
tensor(5., grad_fn=<AsStridedBackward0>)
>>> y.sum().backward()
>>> x.grad
tensor([5., 1.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.autograd.node import Edge, Gradients, Node
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.dispatch import call
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import VIEW_NODE


class Window:
    """Which elements of a base a view shows."""

    def __init__(self, base: Tensor, view: Tensor) -> None:
        if base._array.dtype != view._array.dtype:
            raise NotImplementedError(
                f"a view of {base.dtype} as {view.dtype} was written while gradients were recorded: write to the "
                "tensor itself"
            )
        self.sizes = tuple(base._array.shape)
        self.view_sizes = tuple(view._array.shape)
        self._indices = _indices(base, view)

    def read(self, whole: Tensor) -> Any:
        """The view's elements of a tensor as large as the base."""
        flat = OPERATORS.reshape(whole, [-1])
        return OPERATORS.reshape(OPERATORS.index_select(flat, 0, self._indices), list(self.view_sizes))

    def written(self, whole: Tensor, part: Tensor | None) -> Any:
        """A tensor as large as the base with other elements, or zeros, in the place of the view's."""
        flat = OPERATORS.reshape(whole, [-1])
        if part is None:
            return OPERATORS.reshape(OPERATORS.index_fill(flat, 0, self._indices, 0), list(self.sizes))
        part = OPERATORS.reshape(part, [-1])
        return OPERATORS.reshape(OPERATORS.index_copy(flat, 0, self._indices, part), list(self.sizes))

    def spread(self, part: Tensor) -> Any:
        """Zeros as large as the base with the view's elements added up where they are."""
        flat = part.new_zeros([int(np.prod(self.sizes))])
        return OPERATORS.reshape(
            OPERATORS.index_add(flat, 0, self._indices, OPERATORS.reshape(part, [-1])), list(self.sizes)
        )


def _indices(base: Tensor, view: Tensor) -> Tensor:
    """For each element of the view, which one of the base it is, counted in row-major order."""
    item = base._array.itemsize
    lowest = base._array.__array_interface__["data"][0]
    first = (view._array.__array_interface__["data"][0] - lowest) // item
    extent = 1 + sum((n - 1) * (s // item) for n, s in zip(base._array.shape, base._array.strides, strict=True))
    numbers = np.zeros(max(extent, 1), np.int64)
    lying = np.lib.stride_tricks.as_strided(numbers, base._array.shape, [s // item * 8 for s in base._array.strides])
    lying[...] = np.arange(base._array.size).reshape(base._array.shape)
    shown = np.lib.stride_tricks.as_strided(
        numbers[first:], view._array.shape, [s // item * 8 for s in view._array.strides]
    )
    indices = wrap(np.ascontiguousarray(shown).reshape(-1))
    return indices if is_readable(base) else call("aten::to", indices, base.device)


class CopySlices(Node):
    """A base after an operation wrote some of its elements in place."""

    __slots__ = ("function", "window")

    def __init__(self, before: Edge, window: Window, function: Node) -> None:
        super().__init__((before, *function.edges[1:]))
        self.window = window
        self.function = function

    def apply(self, gradients: Gradients) -> Gradients:
        """Of the elements written, through the operation; of the others as they are."""
        gradient = gradients[0]
        assert gradient is not None
        own, *others = self.function.apply([self.window.read(gradient)])
        rest = None if self.edges[0] is None else self.window.written(gradient, own)
        return [rest, *others]

    def release(self) -> None:
        """Let go of what the operation saved."""
        self.function.release()


class AsStridedBackward0(Node):
    """A view of a base that was written after the view was made."""

    __slots__ = ("shown", "window")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        super().__init__(((base._node, base.output_nr),))
        self.shown = base._node
        self.window = Window(base, view)

    def apply(self, gradients: Gradients) -> Gradients:
        """Zeros where the base has other elements."""
        gradient = gradients[0]
        assert gradient is not None
        return [self.window.spread(gradient)]


@VIEW_NODE.provide
def current_node(view: Tensor) -> Any:
    """The node of a view: as it was recorded, or made anew if its base was written since. Raises RuntimeError for one
    of several views that an operator gave, if it was."""
    base, node = view._base, view._node
    if base is None or base._node is None or view._array.dtype.kind not in "fcV":
        return node
    if node is None or getattr(node, "shown", None) is not base._node:
        if node is not None:
            node.refuse_shown(view)
        node = AsStridedBackward0(base, view)
        _becomes_result(view, node)
    return node


def _becomes_result(tensor: Tensor, node: Node) -> None:
    before = tensor._node
    tensor._node, tensor.output_nr = node, 0
    if before is not None and before.extras is not None:
        before.hand_over(tensor, node, 0)


def note_written(target: Tensor, before: Edge, node: Node) -> None:
    """A tensor was written by an operation: it, or what it is a view of, has a new node."""
    base = target._base
    if base is None:
        _becomes_result(target, node)
        return
    _becomes_result(base, CopySlices(before, Window(base, target), node))
    base._requires_grad = False
    _becomes_result(target, AsStridedBackward0(base, target))


def base_edge(target: Tensor) -> Edge:
    """Where the gradient of the elements goes that a write through a view leaves."""
    base = target._base
    return None if base is None or base._node is None else (base._node, base.output_nr)
