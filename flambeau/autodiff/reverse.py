"""The way back through a graph, block by block: each node's gradients are added to those of its operands.

The way back through a branch is a branch, taken on the same condition; through a loop, a loop of as many rounds, which
carries the gradients of what the loop carries, and of all that its body reads from around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flambeau.analysis.effects import is_only_read
from flambeau.analysis.gradients import carried
from flambeau.autodiff import list_values
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import gradient_type, zeros
from flambeau.autodiff.lists import Lists, list_changes
from flambeau.autodiff.memory import Memory
from flambeau.autodiff.operator_gradients import operand_gradients
from flambeau.autodiff.scope import Saved, Scope
from flambeau.autodiff.writes import is_view, writes_first
from flambeau.ir import constants
from flambeau.ir.constants import is_true
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import BOOL, INT, ListType, TensorType, without_refinement


class Reverse:
    """Builds the way back at the insertion point of a graph."""

    def __init__(self, builder: Builder, saved: Saved, relevant: set[Value], memory: Memory, lists: Lists) -> None:
        self._builder = builder
        self._graph: Graph = builder.graph
        self._saved = saved
        self._relevant = relevant
        self._memory = memory
        self._lists = lists
        self._outermost: dict[Value, Value] = {}
        self.sums: list[Node] = []
        """The nodes that add up what comes to one value along several ways."""

    # -- gradients ----------------------------------------------------------------------------------------------------

    def gradient(self, value: Value) -> Value | None:
        """The gradient of a value as far as it is added up."""
        if value in self._memory:
            return self._memory.total(value)
        if value in self._lists:
            return self._lists.total(value)
        scope = self._saved.scope
        while scope is not None:
            if value in scope.gradients:
                return scope.gradients[value]
            scope = scope.parent
        return self._outermost.get(value)

    def add(self, value: Value, gradient: Value) -> None:
        """Add to the gradient of a value."""
        if value not in self._relevant:
            return
        if value in self._memory:
            self._memory.add(value, gradient)
            return
        if value in self._lists:
            self._lists.add_all(value, gradient)
            return
        before = self.gradient(value)
        if before is not None:
            is_optional = list_values.is_optional_tensor(value.static_type)
            gradient = (
                list_values.added(self._builder, before, gradient, gradient_type(value))
                if is_optional else self._sum(before, gradient)
            )  # fmt: skip
        self._builder.sizes.set(gradient, self._builder.sizes.of(value))
        self._set(value, gradient)

    def _pass_on(self, value: Value, source: Value, gradient: Value) -> None:
        """Add the gradient of a value that control flow gives to that of the one that it was."""
        is_surely = isinstance(source.static_type, TensorType)
        if is_surely and source in self._relevant and list_values.is_optional_tensor(value.static_type):
            gradient = list_values.of_tensor(self._builder, gradient, source)
        self.add(source, gradient)

    def _set(self, value: Value, gradient: Value) -> None:
        scope = self._saved.scope
        (self._outermost if scope is None else scope.gradients)[value] = gradient

    def _sum(self, before: Value, gradient: Value) -> Value:
        builder, type_ = self._builder, before.static_type
        if not isinstance(type_, ListType):
            total: Value = (builder.proxy(before) + builder.proxy(gradient)).value
            added = total.defining_node
            if added is not None and added.op == "aten::expand":  # of the sum of single numbers that both repeat
                added = added.operand(0).defining_node
            if added is not None and isinstance(type_, TensorType):
                self.sums.append(added)
            return total
        parts = [v.defining_node for v in (before, gradient)]
        known = [node for node in parts if node is not None and node.op == "prim::ListConstruct"]
        if len(known) < len(parts) or not all(map(is_only_read, (before, gradient))):
            return list_values.total_of(builder, before, gradient)
        totals = [self._sum(*pair) for pair in zip(*(node.operands for node in known), strict=True)]
        return builder.graph.insert("prim::ListConstruct", totals, [without_refinement(type_)]).result()

    def _has_shadow(self, value: Value) -> bool:
        return value in self._memory or value in self._lists

    def _complete(self, value: Value) -> Value:
        gradient = self.gradient(value)
        return zeros(self._builder, value) if gradient is None else gradient

    # -- nodes --------------------------------------------------------------------------------------------------------

    def block(self, nodes: Iterable[Node]) -> None:
        """Go back through nodes, the last first."""
        for node in reversed(list(nodes)):
            self._node(node)

    def _node(self, node: Node) -> None:
        if self._changes_memory(node):
            return
        gradients = [self.gradient(v) if v in self._relevant else None for v in node.results]
        if all(g is None for g in gradients) and not self._is_changed_in(node):
            return
        with self._graph.at_range(node.range):
            if node.op == "prim::If":
                self._if(node)
            elif node.op == "prim::Loop":
                self._loop(node)
            else:
                self._operator(node, gradients)

    def _changes_memory(self, node: Node) -> bool:
        """Go back through what writes to memory, shows it, or makes or changes a list; False for other nodes."""
        if writes_first(node) and node.operand(0) in self._memory:
            self._write(node)
        elif node.op == "prim::ListConstruct" and node.result() in self._lists:
            self._list(node)
        elif not (is_view(node) and node.result() in self._memory):
            return self._lists.change(node, self)
        return True

    def _is_changed_in(self, node: Node) -> bool:
        """Whether something in the blocks of a node changes a list, or memory that has a gradient by now."""
        if self._memory.is_changed_in(node):
            return True
        changes = (n for block in node.nested_blocks for n in block.walk() if n.op in list_changes)
        return any(n.operand(0) in self._lists for n in changes)

    def _list(self, node: Node) -> None:
        """Go back to the elements that a list that changes begins with."""
        if self._lists.exists(node.result()):
            shadow = self._lists.shadow(node.result())
            for number, operand in enumerate(node.operands):
                self.add(operand, self._lists.item(shadow, self._builder.constant(number), operand))

    def _operator(self, node: Node, gradients: Sequence[Value | None]) -> None:
        wanted = [v in self._relevant for v in node.operands]
        if not any(wanted) or not carried(node, self._relevant):
            return
        self._saved.node = node
        operand_grads = operand_gradients(self._builder, node, gradients, wanted)
        self._saved.node = None
        for operand, gradient in zip(node.operands, operand_grads, strict=True):
            if gradient is not None:
                self.add(operand, gradient)

    def _write(self, node: Node) -> None:
        """Go back through a write: what was written gets the gradient of the elements, which then is that of those
        before."""
        target = node.operand(0)
        if not self._memory.exists(target):
            return
        builder = self._builder
        with self._graph.at_range(node.range):
            shadow = self._memory.shadow(target)
            gradient = builder.operators.clone(builder.proxy(shadow)).value
            builder.sizes.set(gradient, builder.sizes.of(target))
            wanted = [v in self._relevant for v in node.operands]
            wanted[0] = True
            self._saved.node = node
            operand_grads = operand_gradients(builder, node, [gradient], wanted)
            self._saved.node = None
            before = operand_grads[0]
            if before is None:
                builder.call("aten::zero_", (builder.proxy(shadow),), {})
            elif before is not gradient:
                builder.call("aten::copy_", (builder.proxy(shadow), builder.proxy(before)), {})
            for operand, added in list(zip(node.operands, operand_grads, strict=True))[1:]:
                if added is not None:
                    self.add(operand, added)

    def _if(self, node: Node) -> None:
        graph = self._graph
        branch = graph.insert("prim::If", [self._saved.use(node.operand(0))], [])
        scopes: list[Scope] = []
        for block in node.nested_blocks:
            with graph.inserting(branch.add_block()):
                scope = self._saved.enter(block)
                for result, returned in zip(node.results, block.returns, strict=True):
                    gradient = self.gradient(result) if result in self._relevant else None
                    if gradient is not None:
                        self._pass_on(result, returned, gradient)
                self.block(block)
                self._saved.leave()
            scopes.append(scope)
        inside = [set(_defined(block)) for block in node.nested_blocks]
        changed = dict.fromkeys(
            v for scope, own in zip(scopes, inside, strict=True) for v in scope.gradients if v not in own
        )
        for value in changed:
            for scope, block in zip(scopes, branch.nested_blocks, strict=True):
                gradient = scope.gradients.get(value)
                if gradient is None:
                    with graph.inserting(block):
                        gradient = self._complete(value)
                block.add_return(gradient)
            self._result(branch, value)

    def _result(self, branch: Node, value: Value) -> Value:
        result = branch.add_result(gradient_type(value))
        self._builder.sizes.set(result, self._builder.sizes.of(value))
        self._set(value, result)
        return result

    def _loop(self, node: Node) -> None:
        graph, (body,) = self._graph, node.nested_blocks
        count = self._saved.use(trip_count(node))
        pairs = zip(node.results, body.parameters[1:], strict=False)  # the trip count may be a result by now
        carried = [n for n, pair in enumerate(pairs) if not self._relevant.isdisjoint(pair)]
        around = [v for v in _read_from_around(body) if v in self._relevant and not self._has_shadow(v)]
        starts = list(map(self._complete, [*(node.result(n) for n in carried), *around]))
        goes_on = self._builder.constant(True, BOOL)
        loop = graph.insert("prim::Loop", [count, goes_on, *starts], [])
        parameters = [body.parameters[n + 1] for n in carried]
        self._body(loop.add_block(), body, carried, around, count, goes_on)
        results = []
        for value in (*parameters, *around):
            result = loop.add_result(gradient_type(value))
            self._builder.sizes.set(result, self._builder.sizes.of(value))
            results.append(result)
        for value, result in zip(around, results[len(carried) :], strict=True):
            self._set(value, result)
        for number, result in zip(carried, results, strict=False):
            self._pass_on(body.parameters[number + 1], node.operand(number + 2), result)

    def _body(
        self, back: Block, body: Block, carried: list[int], around: list[Value], count: Value, goes_on: Value
    ) -> None:
        """Fill the loop that goes back through a body."""
        graph = self._graph
        iteration = back.add_parameter(INT)
        with graph.inserting(back):
            scope = self._saved.enter(body)
            with graph.inserting(scope.marker):
                left = self._builder.node("aten::sub", [count, iteration])
                scope.values[body.parameters[0]] = (left - 1).value
            for value in (*(_carrying(body, n + 1) for n in carried), *around):
                self._carry(back, value)
            self._seed(scope, body, back, carried, around)
            self.block(body)
            ends = list(map(self._complete, [*(body.parameters[n + 1] for n in carried), *around]))
            self._saved.leave()
        for value in (goes_on, *ends):
            back.add_return(value)

    def _carry(self, back: Block, value: Value) -> None:
        parameter = back.add_parameter(gradient_type(value))
        self._builder.sizes.set(parameter, self._builder.sizes.of(value))

    def _seed(self, scope: Scope, body: Block, back: Block, carried: list[int], around: list[Value]) -> None:
        """Begin a round: with what was added up for values from around, and the gradients of what the round gives."""
        carried_gradients = back.parameters[1:]
        for value, parameter in zip(around, carried_gradients[len(carried) :], strict=True):
            scope.gradients[value] = parameter
        for number, parameter in zip(carried, carried_gradients, strict=False):
            returned = body.returns[number + 1]
            if returned in self._relevant:
                self._pass_on(body.parameters[number + 1], returned, parameter)


def _carrying(body: Block, number: int) -> Value:
    """Of what a round gives and what it begins with, the one whose type holds for both."""
    parameter = body.parameters[number]
    return parameter if list_values.is_optional_tensor(parameter.static_type) else body.returns[number]


def trip_count(loop: Node) -> Value:
    """How often the body of a loop ran: a further result, where that is not known before."""
    (body,) = loop.nested_blocks
    if is_true(loop.operand(1)) and is_true(body.returns[0]):
        return loop.operand(0)
    graph = body.graph
    with graph.inserting(loop):
        start = constants.insert_constant(graph, 0)
    loop.add_operand(start)
    body.add_parameter(INT)
    with graph.inserting(body):
        one = constants.insert_constant(graph, 1)
        body.add_return(graph.insert("aten::add", [body.parameters[0], one], [INT]).result())
    return loop.add_result(INT)


def _defined(block: Block) -> Iterable[Value]:
    """The values that are defined in a block, at any depth."""
    yield from block.parameters
    for node in block.walk():
        yield from node.results
        for inner in node.nested_blocks:
            yield from inner.parameters


def _read_from_around(block: Block) -> list[Value]:
    """The values that a block uses and does not define."""
    own = set(_defined(block))
    used: dict[Value, None] = {}
    for node in block.walk():
        used.update(dict.fromkeys(node.operands))
        for inner in node.nested_blocks:
            used.update(dict.fromkeys(inner.returns))
    used.update(dict.fromkeys(block.returns))
    return [v for v in used if v not in own]
