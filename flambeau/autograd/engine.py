"""The way back over the tape.

Nodes are numbered as they are made, and a node's operands were made before it: the engine always runs the node with the
highest number that has a gradient, so that all that it will get has arrived. It keeps no stack and no state between
runs: chains may be long, several threads may go back at the same time, and a hook may start a run of its own.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd.node import Edge, Gradients, Node, accumulate, known_leaf, replaced
from flambeau.tensor.grad_mode import set_grad_enabled
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


class Run:
    """One run over the tape."""

    def __init__(
        self, *, keep: bool, create_graph: bool, targets: Sequence[Edge] | None, ends_at_targets: bool = False
    ) -> None:
        self._keep = keep
        self._create_graph = create_graph
        self._ends_at_targets = ends_at_targets
        """Whether nothing goes on from a target, not even to another one."""
        self._pending: dict[Node, Gradients] = {}
        self._heap: list[tuple[int, Node]] = []
        self._leaves: dict[int, tuple[Tensor, Tensor]] = {}
        self._targets = None if targets is None else {(id(t[0]), t[1]) for t in targets if t is not None}
        self._reaching: set[int] | None = None
        self.captured: dict[Target, Tensor] = {}
        """The gradients that were asked for."""

    def start(self, edge: Edge, gradient: Tensor) -> None:
        """Begin with the gradient of a tensor."""
        self._send(edge, gradient)

    def run(self) -> None:
        """Go back to where the tape ends."""
        with set_grad_enabled(self._create_graph):
            while self._heap:
                _, node = heapq.heappop(self._heap)
                self._step(node, self._pending.pop(node))

    def restrict(self, roots: Sequence[Edge]) -> None:
        """Only run nodes that lead to one of the targets."""
        self._reaching = _reaching(roots, self._targets or set())

    def _send(self, edge: Edge, gradient: Tensor) -> None:
        if edge is None:
            return
        target, index = edge
        if isinstance(target, Tensor):
            known = self._leaves.get(id(target))
            self._leaves[id(target)] = (target, gradient if known is None else known[1] + gradient)
            return
        if self._reaching is not None and id(target) not in self._reaching:
            return
        waiting = self._pending.get(target)
        if waiting is None:
            waiting = self._pending[target] = []
            heapq.heappush(self._heap, (-target.sequence, target))
        if len(waiting) <= index:
            waiting.extend([None] * (index + 1 - len(waiting)))
        before = waiting[index]
        waiting[index] = gradient if before is None else before + gradient

    def _step(self, node: Node, gradients: Gradients) -> None:
        gradients = _hooked(node, gradients)
        if self._targets is not None:
            for index, gradient in enumerate(gradients):
                if gradient is not None and (id(node), index) in self._targets:
                    self.captured[(id(node), index)] = gradient
            is_end = self._ends_at_targets and any(
                (id(node), index) in self._targets for index in range(len(gradients))
            )
            if is_end or not any(self._is_reached(edge) for edge in node.edges):
                return
        results = node.apply(gradients)
        if node.post_hooks:
            results = _after(node, results, gradients)
        if not self._keep:
            node.release()
        for edge, gradient in zip(node.edges, results, strict=True):
            if gradient is not None and edge is not None:
                self._send(edge, gradient)

    def _is_reached(self, edge: Edge) -> bool:
        return edge is not None and (self._reaching is None or id(edge[0]) in self._reaching)

    def finish(self, roots: Sequence[Tensor]) -> None:
        """Hand the gradients of leaves to whoever asked, or add them to the leaves."""
        shared = {id(root._storage) for root in roots}
        for leaf, gradient in self._leaves.values():
            known = known_leaf(leaf)
            if known is not None:
                for hook in list(known.hooks.values()):
                    gradient = replaced(hook(gradient), gradient)
            if self._targets is not None:
                if (id(leaf), 0) in self._targets:
                    self.captured[(id(leaf), 0)] = gradient
                continue
            array = gradient._array
            is_held = sys.getrefcount(gradient) > UNHELD  # by a hook, or by whoever has a result's gradient
            is_own = not is_held and id(gradient._storage) not in shared and array is gradient._storage.base
            shared.add(id(gradient._storage))
            accumulate(leaf, gradient, may_keep=is_own and bool(array.flags.c_contiguous))
            if known is not None:
                for hook in list(known.post_hooks.values()):
                    hook(leaf)


def _reaching(roots: Sequence[Edge], targets: set[Target]) -> set[int]:
    """The nodes from which one of the targets is reached."""
    wanted = {identity for identity, _ in targets}
    found: dict[int, Any] = {}
    waiting = [edge[0] for edge in roots if edge is not None]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            if isinstance(one, Node):
                waiting.extend(edge[0] for edge in one.edges if edge is not None)
    order = sorted((n for n in found.values() if isinstance(n, Node)), key=lambda n: n.sequence)
    reaching = {identity for identity in found if identity in wanted}
    for node in order:
        if any(edge is not None and id(edge[0]) in reaching for edge in node.edges):
            reaching.add(id(node))
    return reaching


def _hooked(node: Node, gradients: Gradients) -> Gradients:
    for hook in list(node.pre_hooks.values()):
        replaced = hook(tuple(gradients))
        if replaced is not None:
            gradients = list(replaced)
    return gradients


def _after(node: Node, results: Gradients, gradients: Gradients) -> Gradients:
    for hook in list(node.post_hooks.values()):
        replaced = hook(tuple(results), tuple(gradients))
        if replaced is not None:
            results = list(replaced) if isinstance(replaced, tuple) else [replaced]
    return results
