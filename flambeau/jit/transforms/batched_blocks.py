"""What the blocks of a graph for an example are for all examples: branches and loops that these share.

What examples choose, each for itself, raises `UntraceableError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.analysis.effects import is_only_read
from flambeau.autodiff.proxies import TensorProxy, UntraceableError, refuse
from flambeau.ir.clone import clone_node
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.jit.transforms.examples import Example, ExampleBuilder, Examples
from flambeau.program.gradients import GRADIENT
from flambeau.program.tangents import TANGENTS
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import IntType, ListType, TensorType, Type, without_refinement

CONTIGUOUS: Final = 0
"""The number of the memory format that goes row by row."""
batched_nodes: Final = RuleTable[Callable[["Batching", Node], None]]("what nodes are for whole batches")


class WrittenError(Exception):
    """Examples write into a tensor that all of them share."""

    def __init__(self, written: Value) -> None:
        super().__init__(f"examples write into {written}")
        self.written = written


class Batching:
    """Builds the graph for all examples, node by node."""

    def __init__(self, graph: Graph, builder: ExampleBuilder, own: set[Value]) -> None:
        self.graph = graph
        self.builder = builder
        self._own = own
        self.values: dict[Value, Value] = {}
        """From each value of the graph for an example to the one for all."""
        self.batched: set[Value] = set()
        """Those of the former that differ among examples. Of tuples and lists, all parts do."""

    # -- values -------------------------------------------------------------------------------------------------------

    def moved(self, value: Value, start: int, end: int) -> Value:
        """A tensor with one of its axes somewhere else."""
        rank = TensorProxy(self.builder.whole, value).dim()
        if not -rank <= end < rank:
            raise UntraceableError("an axis that is none of it")
        if start == end % rank:
            return value
        order = [axis for axis in range(rank) if axis != start]
        order.insert(end % rank, start)
        moved: Value = self.builder.whole.operators.permute(TensorProxy(self.builder.whole, value), order).value
        return moved

    def of_each(self, value: Value, *, is_changed: bool = False) -> Value:
        """A tensor as one of each example, repeated if all share it; in memory of its own, if it `is_changed`."""
        new = self.values[value]
        if value in self.batched:
            return new
        if not isinstance(value.static_type, TensorType):
            raise UntraceableError(f"a {value.static_type} of each example")
        whole = self.builder.whole
        shared = TensorProxy(whole, new)
        repeated = whole.operators.expand(shared, [self.builder.size_of_batch, *shared.shape])
        result: Value = (whole.operators.clone(repeated, memory_format=CONTIGUOUS) if is_changed else repeated).value
        return result

    def _proxy(self, value: Value) -> Any:
        """What stands for an operand."""
        type_ = value.static_type
        if isinstance(type_, ListType) and isinstance(type_.element, TensorType) and value in self.batched:
            maker = value.defining_node
            if maker is None or not self.has_all_items(value):
                raise UntraceableError("a list of tensors that something changes")
            return [self._proxy(item) for item in maker.operands]
        new = self.values[value]
        return Example(self.builder, new) if value in self.batched else self.builder.proxy(new)

    def has_all_items(self, value: Value) -> bool:
        """Whether the items of a list are those that it was made of."""
        maker = value.defining_node
        return maker is not None and maker.op == "prim::ListConstruct" and is_only_read(value)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Insert what the nodes of a block are for all examples."""
        for node in block:
            with self.graph.at_range(node.range):
                self._node(node)

    def _node(self, node: Node) -> None:
        if node.op == "prim::ListConstruct" and node.result() in self._own:
            self.construct(node)
        elif not self._concerns_examples(node):
            self.graph.insert_node(clone_node(node, self.graph, self.values))
            for result in self._own.intersection(node.results):
                self.batched.discard(result)  # a body may be gone through again
                self.values[result] = self.of_each(result, is_changed=True)
                self.batched.add(result)
        elif (rule := batched_nodes.get(node.op)) is not None:
            rule(self, node)
        elif node.definition is None or node.op in (GRADIENT, TANGENTS) or node.definition.family == "metadata":
            refuse(f"{node.op} of examples")
        else:
            self.operator(node)

    def _concerns_examples(self, node: Node) -> bool:
        inner = (n for block in node.nested_blocks for n in (*block.walk(), block.return_node))
        return any(v in self.batched for n in (node, *inner) for v in n.operands)

    def operator(self, node: Node) -> None:
        """An operator, by the rule that `vmap` has for it."""
        definition = node.definition
        assert definition is not None
        if definition.schema.is_mutable:
            written = shown_by(node.operand(0))
            if node.operand(0) not in self.batched:
                raise WrittenError(written)
        results = self.builder.insert(definition, [self._proxy(v) for v in node.operands])
        parts = results if isinstance(results, tuple) else (results,)
        if len(parts) != len(node.results) and isinstance(results, list):
            parts = (results,)
        for old, part, returned in zip(node.results, parts, definition.schema.returns, strict=True):
            new = self.values[old] = self.builder.value(part, returned.type)
            if _is_of_each(part):
                self.batched.add(old)
                if not (isinstance(new.static_type, TensorType) and new.static_type.rank is not None):
                    new.set_type(of_batch(old.static_type))

    def branch(self, node: Node) -> None:
        """A condition that all examples share."""
        if node.operand(0) in self.batched:
            refuse("a condition that differs among examples")
        new = self.graph.insert("prim::If", [self.values[node.operand(0)]], 0)
        for block in node.nested_blocks:
            with self.graph.inserting(new.add_block()):
                self.block(block)
        for index, result in enumerate(node.results):
            ways = [block.returns[index] for block in node.nested_blocks]
            is_batched = any(way in self.batched for way in ways)
            for way, block in zip(ways, new.nested_blocks, strict=True):
                with self.graph.inserting(block):
                    value = self.of_each(way) if is_batched else self.values[way]
                block.add_return(value)
            type_ = result.static_type
            self.values[result] = new.add_result(of_batch(type_) if is_batched else type_)
            if is_batched:
                self.batched.add(result)

    def loop(self, node: Node) -> None:
        """A loop of as many iterations for all examples. What differs among them after one differs from the start."""
        [body] = node.nested_blocks
        carried, starts = body.parameters[1:], node.operands[2:]
        differing = {n for n, start in enumerate(starts) if start in self.batched}
        while True:
            new = self._loop_with(node, differing)
            later = {n for n in range(len(carried)) if body.returns[n + 1] in self.batched}
            if later <= differing:
                break
            differing |= later
            new.erase()
        with self.graph.inserting(new.nested_blocks[0]):
            returned = [
                self.of_each(value) if n in differing else self.values[value]
                for n, value in enumerate(body.returns[1:])
            ]
        for value in returned:
            new.nested_blocks[0].add_return(value)
        for n, result in enumerate(node.results):
            self.values[result] = new.add_result(new.nested_blocks[0].parameters[n + 1].static_type)
            if n in differing:
                self.batched.add(result)

    def _loop_with(self, node: Node, differing: set[int]) -> Node:
        """A loop without results yet, of whose carried values some differ."""
        [body] = node.nested_blocks
        if body.returns[0] in self.batched or node.operand(1) in self.batched:
            refuse("a loop whose condition differs among examples")
        starts = [
            self.of_each(value, is_changed=True) if n in differing else self.values[value]
            for n, value in enumerate(node.operands[2:])
        ]
        new = self.graph.insert("prim::Loop", [*(self.values[v] for v in node.operands[:2]), *starts], 0)
        block = new.add_block()
        self.values[body.parameters[0]] = block.add_parameter(IntType())
        for n, old in enumerate(body.parameters[1:]):
            self.values[old] = block.add_parameter(of_batch(old.static_type) if n in differing else old.static_type)
            if n in differing:
                self.batched.add(old)
        with self.graph.inserting(block):
            self.block(body)
        if body.returns[0] in self.batched:
            refuse("a loop whose condition differs among examples")
        block.add_return(self.values[body.returns[0]])
        return new

    def construct(self, node: Node) -> None:
        """A list of tensors of each example."""
        items = [self.of_each(v) for v in node.operands]
        new = self.graph.insert(node.op, items, [of_batch(node.result().static_type)])
        self.values[node.result()] = new.result()
        self.batched.add(node.result())


def shown_by(value: Value) -> Value:
    """The tensor whose memory a value shows."""
    node = value.defining_node
    while node is not None and node.definition is not None and node.definition.family in ("view", "in_place"):
        value = node.operand(0)
        node = value.defining_node
    is_made_there = node is not None and (
        node.op == "prim::ListConstruct" if node.definition is None else node.definition.schema.returns[0].alias is None
    )
    if not is_made_there:
        refuse("a write of examples into what may be something else's memory")
    return value


def _is_of_each(part: Any) -> bool:
    if isinstance(part, list | tuple):
        return any(map(_is_of_each, part))
    return isinstance(part, Example | Examples)


def of_batch(type_: Type) -> Type:
    """The type of what is that type for each example: tensors have one more axis."""
    if isinstance(type_, ListType):
        return ListType(of_batch(type_.element))
    if not isinstance(type_, TensorType):
        raise UntraceableError(f"a {type_} of each example")
    if type_.sizes is None:
        return without_refinement(type_)
    return type_.refine(sizes=(None, *[1 if size == 1 else None for size in type_.sizes]), strides=None)


batched_nodes("prim::If")(Batching.branch)
batched_nodes("prim::Loop")(Batching.loop)
batched_nodes("prim::ListConstruct")(Batching.construct)
