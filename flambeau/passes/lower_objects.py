"""Do without objects that nobody else ever sees: their attributes become values.

```
%c : C = prim::CreateObject()
 = prim::SetAttr[name="n"](%c, %k)
%a : int = prim::GetAttr[name="n"](%c)          →     %b : int = aten::add(%k, %one)
%b : int = aten::add(%a, %one)
```

An object qualifies if all that is done with it is reading and assigning attributes, at any depth of branches and loops,
and no attribute may be read before it is assigned. What is assigned in a branch or a loop becomes a result of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import ClassType, Type

CREATE, GET, SET = "prim::CreateObject", "prim::GetAttr", "prim::SetAttr"
IF, LOOP = "prim::If", "prim::Loop"


def do(graph: Graph) -> bool:
    """Lower every object that can be; one that was held by another can be once that is gone."""
    changed = False
    while True:
        lowered = [_lower(node) for node in graph.listed_nodes() if node.op == CREATE]
        if not any(lowered):
            return changed
        changed = True


def _lower(node: Node) -> bool:
    value = node.result()
    touched = _touched(value)
    if touched is None or not isinstance(value.static_type, ClassType):
        return False
    scalars = _Scalars(value.static_type, touched)
    following = list(_behind(node))
    if not scalars.is_assigned_before_use(following, set()):
        return False
    scalars.lower(following, {})
    node.erase()
    return True


def _behind(node: Node) -> Iterator[Node]:
    following = node.next
    while following is not None:
        yield following
        following = following.next


def _touched(value: Value) -> set[Node] | None:
    """The nodes that read and assign attributes, and the branches and loops around them; None for other uses."""
    home, touched = value.owner_block, set[Node]()
    for use in value.uses():
        node = use.user
        if node.op not in (GET, SET) or use.offset != 0:
            return None
        while node not in touched:
            touched.add(node)
            block = node.owner_block
            if block is home:
                break
            if block.owner_node is None or block.owner_node.op not in (IF, LOOP):
                return None
            node = block.owner_node
    return touched


class _Scalars:
    """The attributes of one object as values."""

    def __init__(self, type_: ClassType, touched: set[Node]) -> None:
        self._type = type_
        self._touched = touched

    def is_assigned_before_use(self, nodes: Iterable[Node], known: set[str]) -> bool:
        """Whether every attribute surely has a value where it is read. Adds to `known` what has one behind `nodes`."""
        for node in nodes:
            if node not in self._touched:
                continue
            if node.op == GET and node.attribute("name") not in known:
                return False
            if node.op == SET:
                known.add(node.attribute("name"))
            branches = [set(known) for _ in node.nested_blocks]
            if not all(map(self.is_assigned_before_use, node.nested_blocks, branches)):
                return False
            if node.op == IF:
                known |= set.intersection(*branches)
        return True

    def lower(self, nodes: Iterable[Node], state: dict[str, Value]) -> None:
        """Take the reads and assignments away. `state` has the value of each attribute, before and behind `nodes`."""
        for node in nodes:
            if node not in self._touched:
                continue
            if node.op == GET:
                node.result().replace_uses_with(state[node.attribute("name")])
                node.erase()
            elif node.op == SET:
                state[node.attribute("name")] = node.operand(1)
                node.erase()
            elif node.op == IF:
                self._branch(node, state)
            else:
                self._loop(node, state)

    def _branch(self, node: Node, state: dict[str, Value]) -> None:
        written = self._written(node)
        ends = [dict(state) for _ in node.nested_blocks]
        for block, end in zip(node.nested_blocks, ends, strict=True):
            self.lower(list(block), end)
        for name in written:
            values = [end.get(name) for end in ends]
            known = [v for v in values if v is not None]
            if len(known) < len(values):
                state.pop(name, None)  # nobody reads it before it is assigned again
                continue
            for block, value in zip(node.nested_blocks, known, strict=True):
                block.add_return(value)
            state[name] = node.add_result(self._type_of(name), name)

    def _loop(self, node: Node, state: dict[str, Value]) -> None:
        (body,) = node.nested_blocks
        carried = [name for name in self._written(node) if name in state]
        inside = dict(state)
        for name in carried:
            node.add_operand(state[name])
            inside[name] = body.add_parameter(self._type_of(name), name)
        self.lower(list(body), inside)
        for name in carried:
            body.add_return(inside[name])
            state[name] = node.add_result(self._type_of(name), name)

    def _written(self, node: Node) -> list[str]:
        """The attributes that are assigned somewhere inside, in order."""
        return list(dict.fromkeys(self._assigned(node.nested_blocks)))

    def _assigned(self, blocks: Iterable[Block]) -> Iterator[str]:
        for block in blocks:
            for node in block:
                if node in self._touched:
                    if node.op == SET:
                        yield node.attribute("name")
                    yield from self._assigned(node.nested_blocks)

    def _type_of(self, name: str) -> Type:
        attribute = self._type.definition.attribute(name)
        assert attribute is not None
        type_: Type = attribute.type
        return type_
