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
from weakref import ref

from flambeau.autograd.node import Edge, Gradients, Node
from flambeau.autograd.saved import SHOWN_RESULTS
from flambeau.autograd.windows import Window
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import VIEW_NODE


class CopySlices(Node):
    """A base after an operation wrote some of its elements in place."""

    __slots__ = ("function", "window")

    def __init__(self, before: Edge, window: Window, function: Node) -> None:
        super().__init__((before, *function.edges[1:]))
        self.window = window
        self.function = function

    def name(self) -> str:
        """The name that PyTorch has for it."""
        return "torch::autograd::CopySlices"

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

    def __init__(self, base: Node, number: int, window: Window) -> None:
        super().__init__(((base, number),))
        self.shown = base
        self.window = window

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
        node = AsStridedBackward0(base._node, base.output_nr, Window(base, view))
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
    window = Window(base, target)
    slices = CopySlices(before, window, node)
    behind: ref[Node] = ref(slices)
    SHOWN_RESULTS[node] = lambda: AsStridedBackward0(_alive(behind), 0, window)
    _becomes_result(base, slices)
    base._requires_grad = False
    _becomes_result(target, AsStridedBackward0(slices, 0, window))


def _alive(node: ref[Node]) -> Node:
    """The node that a function is a part of: it lives while the function runs."""
    alive = node()
    assert alive is not None
    return alive


def base_edge(target: Tensor) -> Edge:
    """Where the gradient of the elements goes that a write through a view leaves."""
    base = target._base
    return None if base is None or base._node is None else (base._node, base.output_nr)
