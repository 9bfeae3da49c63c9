"""The nodes of the tape: one for each recorded operator, with edges to the nodes that made its operands.

>>> import flambeau
>>> x = flambeau.ones(2, requires_grad=True)
>>> node = (x * 3).sum().grad_fn
>>> node.name(), node.next_functions[0][0].name()
('SumBackward0', 'MulBackward0')
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from flambeau.autograd.hook_results import RETURNED, name_of, replaced
from flambeau.tensor import layout
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor
from flambeau.util.float_errors import ignored
from flambeau.util.hooks import RemovableHandle, add_hook
from flambeau.util.locks import Lock

Gradients = list[Tensor | None]
Edge = tuple[Any, int] | None
"""Where a gradient goes on: to a result of a node, to a leaf (with 0), or nowhere."""

next_number: Final = itertools.count().__next__
"""The number of the next node."""



class GradientEdge(NamedTuple):
    """Where a gradient goes: `backward` and `grad` take it in place of a tensor, which need not live any more.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> edge = flambeau.autograd.graph.get_gradient_edge(x * 3)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None
    """What the tensor was like: its sizes and dtype, for who starts there without a gradient."""


class Extras:
    """What users hang onto a node."""

    __slots__ = ("metadata", "place", "post_hooks", "pre_hooks", "result_hooks", "retained")

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.result_hooks: dict[int, Callable[..., Any]] = {}
        """Called with the gradients of the results: hooks of the tensors, which say what these gradients are."""
        self.pre_hooks: dict[int, Callable[..., Any]] = {}
        """Called with the gradients of the results, before the node runs, which gets what they return."""
        self.post_hooks: dict[int, Callable[..., Any]] = {}
        """Called with the gradients of the operands and those of the results, after it ran."""
        self.retained: list[tuple[int, ref[Tensor]]] = []
        """Results that keep their gradients, with which one they are."""
        self.place: str | None = None
        """Where it was made, as text, while anomalies are looked for."""


class Node(ABC):
    """An operation on the tape. Numbers grow as nodes are made: operands have smaller ones than what uses them.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> node = (x * 3).grad_fn
    >>> node.name(), isinstance(node, Node)
    ('MulBackward0', True)
    """

    __slots__ = ("__weakref__", "edges", "extras", "sequence")

    numbers = 0
    """Operands that may be tensors and are numbers: nothing flows to them, and who looks on finds an edge for each."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = edges
        """One for each tensor that a gradient flows to."""
        self.sequence = next_number()
        self.extras: Extras | None = None
        """What users hung onto it."""

    def with_extras(self) -> Extras:
        """What users hung onto it, to add to."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @abstractmethod
    def apply(self, gradients: Gradients) -> Gradients:
        """The gradients of the operands, one for each edge, from those of the results."""

    def apply_plainly(self, gradients: Gradients) -> Gradients:
        """The same while nothing is recorded and nobody intercepts operators."""
        return self.apply(gradients)

    def release(self) -> None:  # noqa: B027 - there are nodes that save nothing
        """Let go of what was saved for the way back."""

    def refuse_write(self, view: Tensor) -> None:  # noqa: B027 - most nodes refuse none
        """Raise RuntimeError if one of the results, a view, may not be written in place."""

    def refuse_shown(self, view: Tensor) -> None:  # noqa: B027 - most nodes refuse none
        """Raise RuntimeError if one of the results, a view, may not be used when its base was written since."""

    def name(self) -> str:
        """What kind of operation it is: `MulBackward0`."""
        return type(self).__name__

    @property
    def operation(self) -> str:
        """What kind of operation it is, as messages say it: `Mul`, `Pow1`."""
        return self.name().replace("Backward", "").removesuffix("0")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the operands, each with which of its results it was; None for what asks for nothing."""
        return tuple([_shown(edge) for edge in (*self.edges, *[None] * self.numbers)])

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for whoever wants to remember something about the node."""
        return self.with_extras().metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node ran; a tuple that it returns takes the place of
        `grad_inputs`."""
        return add_hook(self.with_extras().post_hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node runs; a tuple that it returns takes their place."""
        return add_hook(self.with_extras().pre_hooks, hook)

    def register_result_hook(self, index: int, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(gradient)` with the gradient of one result; a tensor that it returns takes its place."""

        def on_result(gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...] | None:
            if index >= len(gradients) or (gradient := gradients[index]) is None:
                return None
            return (*gradients[:index], replaced(hook, gradient), *gradients[index + 1 :])

        return add_hook(self.with_extras().result_hooks, on_result)

    def retain(self, tensor: Tensor) -> None:
        """Keep the gradient of a result in its `grad`."""
        if not self.is_retained(tensor):
            self.with_extras().retained.append((tensor.output_nr, ref(tensor)))

    def is_retained(self, tensor: Tensor) -> bool:
        """Whether the gradient of a result is kept."""
        return self.extras is not None and any(kept() is tensor for _, kept in self.extras.retained)

    def hand_over(self, tensor: Tensor, node: Node, number: int) -> None:
        """A result is one of another node's by now, as it was written: its gradient is kept there, if it was here."""
        if self.is_retained(tensor):
            extras = self.with_extras()
            extras.retained = [(index, kept) for index, kept in extras.retained if kept() is not tensor]
            node.with_extras().retained.append((number, ref(tensor)))

    def __call__(self, *gradients: Tensor | None) -> Any:
        """Run the node: the gradients of the operands; one alone if there is one."""
        results = self.apply(list(gradients))
        return results[0] if len(results) == 1 else tuple(results)


class AccumulateGrad(Node):
    """The end of the tape at a leaf, as `next_functions` shows it: gradients are added to `variable.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__(())
        self.variable = variable

    def name(self) -> str:
        """The name that PyTorch has for it."""
        return "torch::autograd::AccumulateGrad"

    def apply(self, gradients: Gradients) -> Gradients:
        """Add the gradient."""
        if gradients[0] is not None:
            accumulate(self.variable, gradients[0], may_keep=False)
        return []


class Leaf:
    """What is known of a leaf besides its gradient: hooks, and the node that stands for it.

    The leaf has it, so that a hook that knows its own leaf keeps it alive no longer than a cycle of Python's objects.
    """

    __slots__ = ("hooks", "node", "post_hooks")

    anyone_waits = False
    """Whether anybody ever asked to be called when the gradient of a leaf is complete."""

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[..., Any]] = {}
        """Called with the gradient before it is added."""
        self.post_hooks: dict[int, Callable[..., Any]] = {}
        """Called with the leaf after it was."""
        self.node: ref[AccumulateGrad] | None = None

    def add_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(gradient)` when all of a gradient is there."""
        Leaf.anyone_waits = True
        return add_hook(self.hooks, hook)

    def add_post_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(leaf)` after a gradient was added."""
        Leaf.anyone_waits = True
        return add_hook(self.post_hooks, hook)


_accumulating: Final = Lock()
_ADDED: Final = (np.dtype(np.float32), np.dtype(np.float64))
FEW: Final = 1 << 16
"""Elements up to which no threads would share an addition."""


def leaf_of(tensor: Tensor) -> Leaf:
    """What is known of a leaf; from now on, if nothing was."""
    leaf = known_leaf(tensor)
    if leaf is None:
        leaf = tensor._leaf = Leaf()
    return leaf


def known_leaf(tensor: Tensor) -> Leaf | None:
    """What is known of a leaf; None if nothing is."""
    return tensor._leaf  # type: ignore[no-any-return]


def accumulator(tensor: Tensor) -> AccumulateGrad:
    """The node that stands for a leaf: the same as long as somebody has it."""
    leaf = leaf_of(tensor)
    node = None if leaf.node is None else leaf.node()
    if node is None:
        node = AccumulateGrad(tensor)
        leaf.node = ref(node)
    return node


def edge_of(tensor: Tensor | GradientEdge) -> Edge:
    """Where a tensor's gradient goes: to the node that made it, or to the leaf itself; None if it asks for none."""
    if isinstance(tensor, GradientEdge):
        return (tensor.node.variable, 0) if isinstance(tensor.node, AccumulateGrad) else tensor[:2]
    node = tensor.grad_fn
    if node is not None:
        return (node, tensor.output_nr)
    return (tensor, 0) if tensor._requires_grad else None


def _shown(edge: Edge) -> tuple[Any, int]:
    if edge is None:
        return (None, 0)
    target, index = edge
    return (accumulator(target), 0) if isinstance(target, Tensor) else (target, index)


def accumulate(leaf: Tensor, gradient: Tensor, *, may_keep: bool) -> None:
    """Add to a leaf's gradient. `may_keep` says that nobody else has the memory of `gradient`."""
    with _accumulating:
        before = leaf._grad
        if before is None:
            if _lies_as(gradient, leaf):
                leaf.grad = gradient if may_keep else gradient.clone()
            else:
                leaf.grad = _laid_as(gradient, leaf)
        elif gradient.requires_grad or before.requires_grad:
            leaf.grad = before + gradient
        elif not _added_at_once(before, gradient):
            before.add_(gradient)


def _lies_as(gradient: Tensor, leaf: Tensor) -> bool:
    """Whether a gradient is in memory what its leaf's is to be: as the leaf itself, row-major where that has gaps."""
    is_plain = bool(gradient._array.flags.c_contiguous)
    if is_plain and leaf._array.flags.c_contiguous:
        return True
    sizes, strides = leaf._array.shape, leaf.stride()
    if gradient._array.shape != sizes or not layout.is_non_overlapping_and_dense(sizes, strides):
        return is_plain
    return all(size == 1 or a == b for size, a, b in zip(sizes, strides, gradient.stride(), strict=True))


def _laid_as(gradient: Tensor, leaf: Tensor) -> Tensor:
    """A copy of a gradient that lies as that of its leaf is to lie."""
    sizes, strides = leaf._array.shape, leaf.stride()
    if gradient._array.shape != sizes or not layout.is_non_overlapping_and_dense(sizes, strides):
        return gradient.contiguous()
    laid: Tensor = gradient.new_empty_strided(sizes, strides)
    return laid.copy_(gradient)


def _added_at_once(before: Tensor, gradient: Tensor) -> bool:
    """Add numbers of plain tensors that lie in another order each, which operators take more steps for."""
    if type(before) is not Tensor or type(gradient) is not Tensor or thread.handlers or thread.observer is not None:
        return False
    target, more = before._array, gradient._array
    is_simple = target.shape == more.shape and target.dtype is more.dtype and target.dtype in _ADDED
    if not is_simple or (target.flags.c_contiguous and more.flags.c_contiguous):
        return False
    with ignored():
        np.add(target, more, out=target)
    before.bump_version()
    return True


def added_in_place(total: Tensor, more: Tensor) -> bool:
    """Add few numbers of a plain tensor to those of another that nobody else has; whether they are such tensors."""
    if type(total) is not Tensor or type(more) is not Tensor or thread.handlers or thread.observer is not None:
        return False
    target, added = total._array, more._array
    if target.shape != added.shape or target.dtype is not added.dtype or target.dtype not in _ADDED:
        return False
    if target.size > FEW:
        return False
    with ignored():
        np.add(target, added, out=target)
    return True


def call_post_hooks(leaf: Tensor) -> None:
    """Call who asked to be called after a gradient was added to a leaf."""
    known = known_leaf(leaf)
    if known is not None:
        for hook in list(known.post_hooks.values()):
            returned = hook(leaf)
            if returned is not None:
                raise RuntimeError(RETURNED.format(name=name_of(hook), kind=type(returned).__name__))
