"""How a body ended, and what goes with it, as values of their own: what native code has registers for.

(%how, %what) of type (int, Any)   →   %how : int, and a value for each type that `%what` is taken for
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir import constants
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.kinds import CONTROL
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import ANY, INT, TupleType, Type

OUTCOME = TupleType((INT, ANY))


class Outcomes:
    """Takes the outcome of a body apart, through its branches and loops."""

    def __init__(self, graph: Graph, types: Sequence[Type]) -> None:
        """`types` are those that the second part is taken for."""
        self.graph = graph
        self.types = tuple(types)
        self._parts: dict[Value, list[Value]] = {}
        self._unset = [graph.insert("prim::Uninitialized", (), (t,)).result() for t in (INT, *types)]
        """Each part where nothing is known of it, made at the insertion point."""

    def split(self, block: Block) -> None:
        """Give every outcome in a block parts, inner blocks first, and let what hands one on hand its parts on."""
        for node in list(block):
            if node.op == "prim::If":
                self._branch(node)
            elif node.op == "prim::Loop":
                self._loop(node)

    def parts_of(self, value: Value) -> list[Value]:
        """An outcome's parts: how, and what as each of the types."""
        if value not in self._parts:
            maker = value.defining_node
            assert maker is not None
            if maker.op == "prim::Uninitialized":
                return self._unset
            how, what = self._constants(maker) if maker.op == constants.CONSTANT else maker.operands
            typed = zip(self.types, self._unset[1:], strict=True)
            self._parts[value] = [how, *(what if is_subtype(what.static_type, t) else unset for t, unset in typed)]
        return self._parts[value]

    def _constants(self, maker: Node) -> tuple[Value, Value]:
        how, what = constants.constant_value(maker.result())
        with self.graph.inserting(maker):
            return constants.insert_constant(self.graph, how), constants.insert_constant(self.graph, what)

    def _branch(self, node: Node) -> None:
        for inner in node.nested_blocks:
            self.split(inner)
        for index in reversed(_outcomes(node.results)):
            for inner in node.nested_blocks:
                for part in self.parts_of(inner.returns[index]):
                    inner.add_return(part)
            self._parts[node.result(index)] = [node.add_result(t) for t in (INT, *self.types)]

    def _loop(self, node: Node) -> None:
        body = node.nested_blocks[0]
        carried = _outcomes(node.results)
        for index in carried:
            for part in self.parts_of(node.operand(index + 2)):
                node.add_operand(part)
            self._parts[body.parameters[index + 1]] = [body.add_parameter(t) for t in (INT, *self.types)]
        self.split(body)
        for index in carried:
            for part in self.parts_of(body.returns[index + 1]):
                body.add_return(part)
            self._parts[node.result(index)] = [node.add_result(t) for t in (INT, *self.types)]


def remove_whole(block: Block) -> None:
    """Take the outcomes themselves away, of which nobody needs more than the parts; outer nodes first."""
    for node in reversed(list(block)):
        indexes = _outcomes(node.results) if node.op in CONTROL else []
        before = 2 if node.op == "prim::Loop" else 0
        for index in reversed(indexes):
            node.remove_result(index)
            for inner in node.nested_blocks:
                inner.remove_return(index + before // 2)
            if before:
                node.remove_operand(index + before)
        for inner in node.nested_blocks:
            remove_whole(inner)
        if before:
            for index in reversed(indexes):
                node.nested_blocks[0].remove_parameter(index + 1)
        if node.op == "prim::TupleConstruct" and node.result().static_type == OUTCOME and not node.result().is_used:
            node.erase()


def _outcomes(values: Sequence[Value]) -> list[int]:
    return [k for k, v in enumerate(values) if v.static_type == OUTCOME]
