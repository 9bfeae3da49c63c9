"""Take out of a way back what only handles gradients that are not there.

```
%z : Tensor = prim::AutogradZero()
%a : Tensor = prim::AutogradAdd(%g, %z)              %r : Tensor = aten::mul(%g, %c)
%r : Tensor = prim::GradOf[name="aten::mul"](%a)  →
  block0():
    %m : Tensor = aten::mul(%a, %c)
    -> (%m)
```

A gradient is undefined if it comes from `prim::AutogradZero` alone, and defined if it is a parameter or the result of
an operator. Sums of which one side is undefined are the other, of two defined ones `aten::add`; a `prim::GradOf` of
undefined gradients is undefined, one of defined gradients is what its block says; `prim::AutogradAnyNonZero` of what
is known is a constant. What only the run knows, behind branches and loops, stays (`lower_grad_of`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

from flambeau.ir import constants
from flambeau.ir.clone import move_nodes
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.passes import dce
from flambeau.passes.lower_grad_of import GRAD_OF, gradients_of
from flambeau.schema.types import TENSOR, ListType, TensorType

ZERO: Final = "prim::AutogradZero"
ADD: Final = "prim::AutogradAdd"
ANY: Final = "prim::AutogradAnyNonZero"
_OURS: Final = frozenset({ZERO, ADD, ANY, GRAD_OF})


class State(enum.Enum):
    """What is known of a gradient."""

    UNDEFINED = "undefined"
    DEFINED = "defined"
    UNKNOWN = "unknown"


def do(graph: Graph) -> bool:
    """Specialise a graph whose tensors that are parameters are defined; whether anything changed."""
    if not any(node.op in _OURS for node in graph.listed_nodes()):
        return False
    states = _States(graph)
    changed = [_rewrite(node, states) for node in graph.listed_nodes() if node.op in _OURS | {"prim::If"}]
    return dce.do(graph) or any(changed)


def undefined(graph: Graph) -> Value:
    """The gradient that is not there, at the insertion point."""
    return graph.insert(ZERO, [], [TENSOR]).result()


class _States:
    """The state of each value; of what `prim::AutogradAnyNonZero` gives, whether it is known to be true or false."""

    def __init__(self, graph: Graph) -> None:
        self._states: dict[Value, State] = {}
        self._answers: dict[Value, bool] = {}
        self._block(graph.body)

    def of(self, value: Value) -> State:
        """Operators give tensors."""
        if value.defining_node is not None and value.defining_node.op == ZERO:
            return State.UNDEFINED
        return self._states.get(value, State.DEFINED)

    def answer(self, value: Value) -> bool | None:
        """The value of a condition, if it is known."""
        if constants.is_constant(value):
            return bool(constants.constant_value(value))
        return self._answers.get(value)

    def _block(self, block: Block) -> None:
        for node in block:
            if node.op == "prim::Loop":
                self._loop(node)
                continue
            for inner in node.nested_blocks:
                self._block(inner)
            rule = _RULES.get(node.op)
            if rule is not None:
                rule(self, node)

    def _sum(self, node: Node) -> None:
        states = {self.of(v) for v in node.operands}
        self._states[node.result()] = State.DEFINED if State.DEFINED in states else _joined(states)

    def _go_back(self, node: Node) -> None:
        state = _joined({self.of(v) for v in gradients_of(node)})
        self._states.update((v, state) for v in node.results)

    def _ask(self, node: Node) -> None:
        states = {self.of(v) for v in node.operands}
        self._answers.pop(node.result(), None)
        if State.DEFINED in states or states <= {State.UNDEFINED}:
            self._answers[node.result()] = State.DEFINED in states

    def _branch(self, node: Node) -> None:
        answer, blocks = self.answer(node.operand(0)), node.nested_blocks
        taken = blocks if answer is None else blocks[:1] if answer else blocks[1:]
        for number, result in enumerate(node.results):
            if _is_tensor(result):
                self._states[result] = _joined({self.of(block.returns[number]) for block in taken})

    def _loop(self, node: Node) -> None:
        """What a loop carries is defined if it begins and goes on so, else unknown: found by going around until nothing
        changes."""
        (body,) = node.nested_blocks
        carried = [n for n, v in enumerate(node.results) if _is_tensor(v)]
        states = {n: self.of(node.operand(n + 2)) for n in carried}
        while True:
            self._states.update((body.parameters[n + 1], states[n]) for n in carried)
            self._block(body)
            joined = {n: _joined({states[n], self.of(body.returns[n + 1])}) for n in carried}
            if joined == states:
                break
            states = joined
        self._states.update((node.result(n), states[n]) for n in carried)


_RULES: Final[dict[str, Callable[[_States, Node], None]]] = {
    ADD: _States._sum,
    ANY: _States._ask,
    GRAD_OF: _States._go_back,
    "prim::If": _States._branch,
}


def _joined(states: set[State]) -> State:
    return next(iter(states)) if len(states) == 1 else State.UNKNOWN


def _rewrite(node: Node, states: _States) -> bool:
    """Write a node as what is known of its operands allows; whether that is otherwise than before."""
    if not node.is_inserted:
        return False
    if node.op == "prim::If":
        answer = states.answer(node.operand(0)) if not constants.is_constant(node.operand(0)) else None
        if answer is not None:
            _inline(node, node.nested_blocks[0 if answer else 1])
        return answer is not None
    if node.op == GRAD_OF:
        return _rewrite_grad_of(node, states)
    return node.op == ADD and _rewrite_sum(node, states)


def _rewrite_sum(node: Node, states: _States) -> bool:
    graph, (first, second) = node.graph, node.operands
    known = states.of(first), states.of(second)
    if State.UNDEFINED in known:
        total = second if known[0] is State.UNDEFINED else first
    elif known == (State.DEFINED, State.DEFINED):
        with graph.inserting(node), graph.at_range(node.range):
            one = insert_constant(graph, 1)
            total = graph.insert("aten::add", [first, second, one], [node.result().static_type]).result()
    else:
        return False
    node.result().replace_uses_with(total)
    node.erase()
    return True


def _rewrite_grad_of(node: Node, states: _States) -> bool:
    known = {states.of(v) for v in gradients_of(node)}
    if known <= {State.UNDEFINED}:
        with node.graph.inserting(node):
            for result in node.results:
                result.replace_uses_with(undefined(node.graph))
        node.erase()
        return True
    if known == {State.DEFINED} and node.nested_blocks:
        _inline(node, node.nested_blocks[0])
        return True
    return False


def _inline(node: Node, body: Block) -> None:
    """Put the nodes of a block in the place of the node that it belongs to."""
    for result, value in zip(node.results, move_nodes(body, node), strict=True):
        result.replace_uses_with(value)
    node.erase()


def _is_tensor(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, TensorType) or (isinstance(type_, ListType) and isinstance(type_.element, TensorType))
