"""The leaves that a run over the tape has come to, and their gradients: handed to who asked, or added to `grad`.

Hooks of leaves run as soon as a leaf's gradient is complete, and what they give is added when the run is over: one that
raises leaves all leaves as they were. Leaves whose users wait for `grad` (`register_post_accumulate_grad_hook`) get it
at once, so that they may use it and let it go while the run goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from flambeau.autograd.hook_results import replaced, replaced_all
from flambeau.autograd.node import (
    Edge,
    Extras,
    Gradients,
    Leaf,
    accumulate,
    added_in_place,
    call_post_hooks,
    known_leaf,
)
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.tensor import Tensor

Target = tuple[int, int]
"""A place where a gradient is asked for: the identity of a node or a leaf, and which result."""


def _references_of_a_loop() -> int:
    """References to what a loop over pairs in a dictionary has, when nobody else has it: interpreters differ."""
    for _, one in {0: (None, object())}.values():
        return sys.getrefcount(one)
    return 0


UNHELD: Final = _references_of_a_loop()
"""References to a leaf's gradient when nobody but the run has it."""


class Leaves:
    """The leaves of one run."""

    __slots__ = ("_hooked", "_summed", "_targets", "found", "missing")

    def __init__(self, targets: set[Target] | None) -> None:
        self._targets = targets
        self.found: dict[int, tuple[Tensor, Tensor]] = {}
        """Leaves with their gradients so far, by identity."""
        self.missing: dict[int, int] = {}
        """How many edges have not been taken yet to leaves whose users wait, or have hooks."""
        self._summed: set[int] = set()
        """Leaves whose gradient so far is a sum that nobody else has."""
        self._hooked: set[int] = set()
        """Leaves whose hooks have run."""

    def await_complete(self, roots: Sequence[Edge]) -> None:
        """Count the edges to leaves whose users wait, or have hooks."""
        if not Leaf.anyone_waits or self._targets is not None:
            return
        seen: set[int] = set()
        waiting = [edge[0] for edge in roots if edge is not None]
        while waiting:
            node = waiting.pop()
            if id(node) in seen or isinstance(node, Tensor):
                continue
            seen.add(id(node))
            for edge in node.edges:
                if edge is None:
                    continue
                if not isinstance(edge[0], Tensor):
                    waiting.append(edge[0])
                elif (known := known_leaf(edge[0])) is not None and (known.post_hooks or known.hooks):
                    self.missing[id(edge[0])] = self.missing.get(id(edge[0]), 0) + 1

    def add(self, leaf: Tensor, gradient: Tensor) -> None:
        """Note another gradient of a leaf that the run has come to: a leaf that is used often has one sum, which is
        written over."""
        identity = id(leaf)
        before = self.found[identity][1]
        if identity in self._summed and not mode.enabled and added_in_place(before, gradient):
            return
        self._summed.add(identity)
        self.found[identity] = (leaf, before + gradient)

    def deliver_complete(self, edges: Sequence[Edge]) -> None:
        """Run hooks of leaves, and deliver to those whose users wait, where these edges were the last ones."""
        for edge in edges:
            if edge is None or (left := self.missing.get(id(edge[0]))) is None:
                continue
            self.missing[id(edge[0])] = left - 1
            if left == 1 and (pair := self.found.pop(id(edge[0]), None)) is not None:
                leaf, gradient = pair
                gradient = _hooked(leaf, gradient, with_node=True)
                known = known_leaf(leaf)
                if known is not None and known.post_hooks:
                    accumulate(leaf, gradient, may_keep=False)
                    _afterwards(leaf, gradient)
                else:
                    self.found[id(leaf)] = (leaf, gradient)
                    self._hooked.add(id(leaf))

    def deliver(self, captured: dict[Target, Tensor], roots: Sequence[Tensor]) -> None:
        """Give `captured` the gradients that were asked for, or add all to their leaves; `roots` began the run."""
        for identity, (leaf, gradient) in list(self.found.items()):
            if leaf._leaf is not None and identity not in self._hooked:
                self.found[identity] = (leaf, _hooked(leaf, gradient, with_node=self._targets is None))
        shared: set[int] | None = None
        for leaf, gradient in self.found.values():
            if self._targets is not None:
                if (id(leaf), 0) in self._targets:
                    captured[(id(leaf), 0)] = gradient
                continue
            if leaf._grad is not None:
                accumulate(leaf, gradient, may_keep=False)
            else:
                if shared is None:
                    shared = {id(root._storage) for root in roots}
                is_referenced = sys.getrefcount(gradient) > UNHELD  # by a hook, or by whoever has a result's gradient
                is_own = not is_referenced and id(gradient._storage) not in shared and _is_all(gradient)
                accumulate(leaf, gradient, may_keep=is_own)
            if shared is not None:
                shared.add(id(gradient._storage))
            if leaf._leaf is not None:
                _afterwards(leaf, gradient)


def _is_all(tensor: Tensor) -> bool:
    """Whether a tensor is all that its memory holds."""
    array, storage = tensor._array, tensor._storage
    if array is storage.base:
        return True
    return tensor.device.type == "cuda" and array.nbytes == storage.nbytes()


def _extras(leaf: Tensor) -> Extras | None:
    """What users hung onto the node that stands for a leaf."""
    known = known_leaf(leaf)
    node = None if known is None or known.node is None else known.node()
    return None if node is None else node.extras


def _hooked(leaf: Tensor, gradient: Tensor, *, with_node: bool) -> Tensor:
    """What hooks of a leaf make of its gradient, and those of its node if something is added."""
    known = known_leaf(leaf)
    if known is not None:
        for hook in list(known.hooks.values()):
            gradient = replaced(hook, gradient)
    extras = _extras(leaf) if with_node else None
    if extras is not None:
        [changed] = before(extras, [gradient])
        gradient = gradient if changed is None else changed
    return gradient


def _afterwards(leaf: Tensor, gradient: Tensor) -> None:
    """Call who waited for a leaf's `grad`, then the hooks of its node."""
    call_post_hooks(leaf)
    extras = _extras(leaf)
    if extras is not None:
        after(extras, [], [gradient])


def before(extras: Extras, gradients: Gradients) -> Gradients:
    """What hooks of a node make of the gradients of its results, before it runs."""
    for hook in list(extras.pre_hooks.values()):
        returned = hook(tuple(gradients))
        if returned is not None:
            gradients = replaced_all(hook, returned, gradients)
    return gradients


def after(extras: Extras, results: Gradients, gradients: Gradients, numbers: int = 0) -> Gradients:
    """What hooks of a node make of the gradients of its operands, after it ran; they see None for each operand that is
    a number."""
    shown = [*results, *[None] * numbers]
    for hook in list(extras.post_hooks.values()):
        returned = hook(tuple(shown), tuple(gradients))
        if returned is not None:
            shown = replaced_all(hook, returned, shown)
    return shown[: len(results)]
