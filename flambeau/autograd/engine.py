"""The way back over the tape.

Nodes are numbered as they are made, and a node's operands were made before it: the engine always runs the node with the
highest number that has a gradient, so that all that it will get has arrived. It keeps no stack and no state between
runs: chains may be long, several threads may go back at the same time, and a hook may start a run of its own.
"""

from __future__ import annotations

import heapq
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd import anomaly_mode
from flambeau.autograd.anomaly_mode import STATE as ANOMALY
from flambeau.autograd.leaves import Leaves, Target, after, before
from flambeau.autograd.node import Edge, Extras, Gradients, Node
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor


class _Local(threading.local):
    def __init__(self) -> None:
        self.runs: list[Run] = []


_local: Final = _Local()


def current_run() -> Run:
    """The run that this thread is in the middle of: hooks ask."""
    return _local.runs[-1]


NO_RUN: Final = "Final callbacks can only be installed during backward pass."
_push: Final = heapq.heappush
_SEQUENCE: Final = operator.attrgetter("sequence")


def is_for_targets() -> bool:
    """Whether the run that goes on in this thread gives gradients of some tensors, and adds to no `grad` of others."""
    return bool(_local.runs) and _local.runs[-1].has_targets


def queue_callback(callback: Callable[[], object]) -> None:
    """Have a function called when the run that goes on in this thread is over: hooks ask for it.

    Raises RuntimeError outside of a run.

    >>> import flambeau
    >>> x = flambeau.ones(1, requires_grad=True)
    >>> _ = x.register_hook(lambda g: queue_callback(lambda: print("all are there:", x.grad)))
    >>> (x * 2).sum().backward()
    all are there: tensor([2.])
    """
    if not _local.runs:
        raise RuntimeError(NO_RUN)
    run = _local.runs[-1]
    run.callbacks = [*(run.callbacks or ()), callback]


class Run:
    """One run over the tape."""

    __slots__ = (
        "_create_graph", "_ends_at_targets", "_heap", "_keep", "_leaves", "_node_targets", "_pending", "_reached",
        "_reaching", "_roots", "_targets", "at_end", "callbacks", "captured",
    )  # fmt: skip

    def __init__(
        self, *, keep: bool, create_graph: bool, targets: Sequence[Edge] | None, ends_at_targets: bool = False
    ) -> None:
        self._keep = keep
        self._create_graph = create_graph
        self._ends_at_targets = ends_at_targets
        """Whether nothing goes on from a target, not even to another one."""
        self._pending: dict[Node, Gradients] = {}
        self._heap: list[tuple[int, Node]] = []
        self._targets = None if targets is None else {(id(t[0]), t[1]) for t in targets if t is not None}
        self._leaves = Leaves(self._targets)
        self._node_targets = any(t is not None and not isinstance(t[0], Tensor) for t in targets or ())
        """Whether the gradient of a result is asked for, and not only those of leaves."""
        self._reaching: set[int] | None = None
        self._roots: list[Edge] = []
        self._reached: set[int] | None = None
        self.at_end: list[Callable[[], object]] = []
        """Called when the run is over, whether it succeeded or not."""
        self.callbacks: list[Callable[[], object]] | None = None
        """What users have called when all gradients of a run that succeeds are where they belong, in this order."""
        self.captured: dict[Target, Tensor] = {}
        """The gradients that were asked for."""

    @property
    def has_targets(self) -> bool:
        """Whether gradients of some tensors alone are asked for."""
        return self._targets is not None

    def start(self, edge: Edge, gradient: Tensor) -> None:
        """Begin with the gradient of a tensor."""
        self._roots.append(edge)
        if edge is not None and edge[1] == 0 and not (self._heap or self._reaching or isinstance(edge[0], Tensor)):
            self._wait(edge[0], [gradient])
            return
        following, waiting = self._send([edge], [gradient])
        if following is not None:
            self._wait(following, waiting)

    def run(self) -> None:
        """Go back to where the tape ends."""
        before = mode.enabled
        _local.runs.append(self)
        try:
            mode.enabled = self._create_graph and not mode.inference
            self._leaves.await_complete(self._roots)
            self._go_back()
        except BaseException:
            self.end()
            raise
        finally:
            mode.enabled = before
            _local.runs.pop()

    def _go_back(self) -> None:
        heap, pending, pop, keep = self._heap, self._pending, heapq.heappop, self._keep
        is_plain, send = self._is_plain(), self._sender()
        is_unwatched = is_plain and not self._node_targets
        is_direct = self._reaching is None and not self._leaves.missing
        following: Node | None = None
        waiting: Gradients = []
        while following is not None or heap:
            if following is None:
                node = pop(heap)[1]
                gradients = pending.pop(node)
            else:
                node, gradients = following, waiting
            if is_unwatched and node.extras is None and not ANOMALY.is_enabled:
                results = node.apply_plainly(gradients)
            else:
                watched = self._run_watched(node, gradients, is_plain)
                if watched is None:
                    following = None
                    continue
                results = watched
            if not keep:
                node.release()
            edges = node.edges
            following = _only_node(edges, results) if is_direct and not heap else None
            if following is None:
                following, waiting = send(edges, results)
            else:  # as most are: nothing else waits
                waiting = [results[0]]

    def _is_plain(self) -> bool:
        """Whether nothing is recorded, and nobody intercepts operators."""
        return not (self._create_graph or thread.handlers)

    def _sender(self) -> Any:
        """What hands gradients on."""
        return self._send_and_deliver if self._leaves.missing else self._send

    def _run_watched(self, node: Node, gradients: Gradients, is_plain: bool) -> Gradients | None:
        """What a node gives its operands, past hooks, what was asked for, and the search for anomalies; None where
        nothing is asked for behind it."""
        extras = node.extras
        if extras is not None:
            gradients = _of_results(extras, gradients)
        if self._node_targets and self._captures(node, gradients):
            return None
        if extras is not None:
            gradients = before(extras, gradients)
        if ANOMALY.is_enabled:
            results = anomaly_mode.run(node, gradients)
        else:
            results = node.apply_plainly(gradients) if is_plain else node.apply(gradients)
        return results if extras is None else after(extras, results, gradients, node.numbers)

    def end(self) -> None:
        """The run is over."""
        while self.at_end:
            self.at_end.pop()()

    def will_reach(self, edge: Edge) -> bool:
        """Whether the run computes a gradient for where an edge leads, now or later or before."""
        if self._reached is None:
            self._reached = set()
            waiting = [root[0] for root in self._roots if root is not None]
            while waiting:
                one = waiting.pop()
                if id(one) in self._reached or (self._reaching is not None and id(one) not in self._reaching):
                    continue
                self._reached.add(id(one))
                if not isinstance(one, Tensor):
                    waiting.extend(edge[0] for edge in one.edges if edge is not None)
        return edge is not None and id(edge[0]) in self._reached

    def restrict(self, roots: Sequence[Edge]) -> None:
        """Only run nodes that lead to one of the targets."""
        self._reaching = _reaching(roots, self._targets or set())

    def _send(self, edges: Sequence[Edge], gradients: Gradients) -> tuple[Node | None, Gradients]:
        """Hand gradients on to where edges lead. Where nothing waits, and they lead to a single node, this comes next:
        it, and what its gradients are; else None."""
        pending, reaching, heap, leaves = self._pending, self._reaching, self._heap, self._leaves.found
        following: Node | None = None
        own: Gradients = []
        for edge, gradient in zip(edges, gradients, strict=True):
            if gradient is None or edge is None:
                continue
            target, index = edge
            if reaching is not None and id(target) not in reaching:
                continue
            if type(target) is Tensor or isinstance(target, Tensor):
                if id(target) in leaves:
                    self._leaves.add(target, gradient)
                else:
                    leaves[id(target)] = (target, gradient)
                continue
            waiting = own if target is following else pending.get(target)
            if waiting is not None:
                _add(waiting, index, gradient)
                continue
            fresh: Gradients = [gradient] if index == 0 else [*[None] * index, gradient]
            if following is None and not heap:
                following, own = target, fresh
                continue
            if following is not None:
                pending[following] = own
                _push(heap, (-following.sequence, following))
                following = None
            pending[target] = fresh
            _push(heap, (-target.sequence, target))
        return following, own

    def _send_and_deliver(self, edges: Sequence[Edge], gradients: Gradients) -> tuple[Node | None, Gradients]:
        """The same, and leaves whose users wait for all that comes get it."""
        sent = self._send(edges, gradients)
        self._leaves.deliver_complete(edges)
        return sent

    def _wait(self, node: Node, gradients: Gradients) -> None:
        """Have a node run when all that its results' gradients consist of has arrived."""
        self._pending[node] = gradients
        _push(self._heap, (-node.sequence, node))

    def _captures(self, node: Node, gradients: Gradients) -> bool:
        """Keep the gradients that were asked for; whether there is nothing behind the node."""
        assert self._targets is not None
        is_target = False
        for index, gradient in enumerate(gradients):
            if (id(node), index) in self._targets:
                is_target = True
                if gradient is not None:
                    self.captured[(id(node), index)] = gradient
        return (is_target and self._ends_at_targets) or not any(self._is_reached(edge) for edge in node.edges)

    def _is_reached(self, edge: Edge) -> bool:
        return edge is not None and (self._reaching is None or id(edge[0]) in self._reaching)

    def finish(self, roots: Sequence[Tensor]) -> None:
        """Hand the gradients of leaves to whoever asked, or add them to the leaves."""
        _local.runs.append(self)
        try:
            self._leaves.deliver(self.captured, roots)
            for callback in self.callbacks or ():
                callback()
        finally:
            _local.runs.pop()
            self.end()


def _only_node(edges: Sequence[Edge], gradients: Gradients) -> Node | None:
    """The node that one gradient goes to, if there is no other, and the node is at its first result."""
    if len(edges) != 1 or len(gradients) != 1 or gradients[0] is None:
        return None
    edge = edges[0]
    if edge is None or edge[1] != 0 or isinstance(edge[0], Tensor):
        return None
    node: Node = edge[0]
    return node


def _add(gradients: Gradients, index: int, gradient: Tensor) -> None:
    """Add to the gradient of one of a node's results."""
    if index < len(gradients):
        before = gradients[index]
        gradients[index] = gradient if before is None else before + gradient
    else:
        gradients.extend([None] * (index - len(gradients)))
        gradients.append(gradient)


def _reaching(roots: Sequence[Edge], targets: set[Target]) -> set[int] | None:
    """The nodes from which one of the targets is reached, and the targets; None if the tape ends at targets only."""
    wanted = {identity for identity, _ in targets}
    visited: set[int] = set()
    nodes: list[Node] = []
    has_others = False
    waiting = [edge[0] for edge in roots if edge is not None]
    while waiting:
        one = waiting.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        if isinstance(one, Tensor):
            has_others = has_others or id(one) not in wanted
            continue
        nodes.append(one)
        for edge in one.edges:
            if edge is not None and id(edge[0]) not in visited:
                waiting.append(edge[0])
    if not has_others:
        return None
    nodes.sort(key=_SEQUENCE)
    reaching = visited & wanted
    for node in nodes:
        for edge in node.edges:
            if edge is not None and id(edge[0]) in reaching:
                reaching.add(id(node))
                break
    return reaching


def _of_results(extras: Extras, gradients: Gradients) -> Gradients:
    """What hooks of tensors make of the gradients of a node's results, which are then kept where that was asked for."""
    for hook in list(extras.result_hooks.values()):
        gradients = list(hook(tuple(gradients)) or gradients)
    for index, kept in extras.retained:
        result, gradient = kept(), gradients[index] if index < len(gradients) else None
        if result is not None and gradient is not None:
            result.grad = gradient.clone() if result.grad is None else result.grad + gradient
    return gradients
