"""Have a way back say of gradients that are there at times only whether they are: by further results.

```
%g : Float(*), %h : bool = prim::If(%c)
  block0():
    %a : Float(*) = aten::mul(%grad_0, %w)
    -> (%a, True)
  block1():
    %z : Float(*) = aten::zeros_like(%x)
    -> (%z, False)
return (%g, %h)
```

What a loop adds to in each round is there where there was a round. Of lists that change there is one of bools beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flambeau.analysis.gradients import is_real
from flambeau.autodiff.lists import list_changes
from flambeau.autodiff.presence import (
    CONSTRUCTS,
    UNPACKS,
    Presence,
    Presences,
    changes_list,
    constructed,
    gives_item,
    takes_item,
)
from flambeau.autodiff.writes import writes_first
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import BOOL, INT, ListType
from flambeau.util.record import dataclass

Flag = bool | Value
_BOOLS = ListType(BOOL)


def add(graph: Graph, seeds: Sequence[Value]) -> tuple[list[Presence], list[int | None]]:
    """Of each gradient that a graph gives whether it is there; and which of the results that are added says so, for
    those that are there at times. `seeds` are the gradients of results that are there."""
    presences = Presences(graph, seeds)
    returned = list(map(presences.of, graph.returns))
    if Presence.AT_TIMES not in returned:
        return returned, [None] * len(returned)
    flags, gradients = _Flags(graph, presences), graph.returns
    flags.block(graph.body)
    numbers = [
        graph.add_return(flags.value(flags.of(value), graph.body)) if presence is Presence.AT_TIMES else None
        for value, presence in zip(gradients, returned, strict=True)
    ]
    return returned, numbers


@dataclass(frozen=True, slots=True)
class _Carried:
    """A flag that a loop carries."""

    end: Callable[[], Flag]
    """What a round gives."""
    take: Callable[[Flag], None]
    """Takes what the loop gives."""


class _Flags:
    """Of each value that is there at times the bool that says so, computed beside it."""

    def __init__(self, graph: Graph, presences: Presences) -> None:
        self._graph = graph
        self._presences = presences
        self._flags: dict[Value, Flag] = {}
        self._memory: dict[Value, Flag] = {}
        """Of tensors that are written, as far as the walk has come."""
        self._lists: dict[Value, Value] = {}
        """Of lists that change, the bools of their items."""
        self._read_lists = {
            presences.place(operand)
            for node in graph.listed_nodes()
            for operand in node.operands
            if isinstance(operand.static_type, ListType) and presences.is_memory(operand)
            if gives_item(node) or not changes_list(node)
            if any(map(self._has_flag, node.results))
        }
        """The lists whose items are read, one by one or all, each with a flag of its own."""

    def of(self, value: Value) -> Flag:
        """Whether a value is there now."""
        presences = self._presences
        if not is_real(value.static_type):
            return False
        if presences.is_memory(value):
            return True if isinstance(value.static_type, ListType) else self._memory.get(presences.place(value), False)
        return self._flags.get(value, presences.made(value) is Presence.ALWAYS)

    def _read(self, value: Value) -> Flag:
        """Whether something of a value is there now: of a list that changes, one of its items."""
        if value not in self._presences.roots and (bools := self._lists.get(self._presences.place(value))) is not None:
            return self._graph.insert("aten::any", [bools], [BOOL]).result()
        return self.of(value)

    def value(self, flag: Flag, block: Block) -> Value:
        """A flag as a value, at the end of a block."""
        with self._graph.inserting(block):
            return self._inserted(flag)

    def _inserted(self, flag: Flag) -> Value:
        return flag if isinstance(flag, Value) else insert_constant(self._graph, flag)

    def _either(self, flags: Iterable[Flag]) -> Flag:
        total: Flag = False
        for flag in flags:
            if total is True or flag is True:
                total = True
            elif total is False or flag is False or total is flag:
                total = flag if total is False else total
            else:
                total = self._graph.insert("aten::__or__", [total, flag], [BOOL]).result()
        return total

    def block(self, block: Block) -> None:
        """Put the flags of a block's values into it."""
        for node in list(block):
            with self._graph.inserting(node.next or block.return_node):
                if node.op == "prim::If":
                    self._branch(node)
                elif node.op == "prim::Loop":
                    self._loop(node)
                else:
                    self._node(node)

    def _set(self, value: Value, flag: Flag) -> None:
        if self._presences.made(value) is Presence.AT_TIMES:
            self._flags[value] = flag
        else:
            flag = self._presences.made(value) is Presence.ALWAYS
        if value in self._presences.roots:
            self._memory[value] = flag

    def _node(self, node: Node) -> None:
        if node.op in UNPACKS and (maker := constructed(node.operand(0), self._presences)) is not None:
            for result, item in zip(node.results, maker.operands, strict=True):
                self._set(result, self.of(item))
        elif node.operands and self._presences.place(node.operand(0)) in self._read_lists and self._item(node):
            pass
        elif node.op in CONSTRUCTS and node.result() in self._read_lists:
            flags = [self._inserted(self.of(v)) for v in node.operands]
            self._lists[node.result()] = self._graph.insert("prim::ListConstruct", flags, [_BOOLS]).result()
        elif writes_first(node):
            root = self._presences.place(node.operand(0))
            self._memory[root] = self._either(map(self.of, node.operands))
        elif any(self._has_flag(v) for v in node.results):
            flag = self._either(map(self._read, node.operands))
            for result in node.results:
                self._set(result, flag)
        else:
            for result in node.results:
                self._set(result, False)

    def _has_flag(self, value: Value) -> bool:
        return self._presences.made(value) is Presence.AT_TIMES

    def _item(self, node: Node) -> bool:
        """Do to the list of bools what is done to a list; False for what does nothing to it."""
        if node.op not in list_changes:
            return False
        bools, graph = self._lists[self._presences.place(node.operand(0))], self._graph
        operands = [bools, *node.operands[1:]]
        if takes_item(node):
            added = operands[-1]
            is_list = added.static_type == node.operand(0).static_type
            operands[-1] = self._bools(added) if is_list else self._inserted(self.of(added))
            graph.insert(node.op, operands, [_BOOLS] if node.results else [])
        elif not node.results:
            graph.insert(node.op, operands, [])
        else:
            self._set(node.result(), graph.insert(node.op, operands, [BOOL]).result())
        return True

    def _bools(self, items: Value) -> Value:
        """The list of bools of a list whose items are put into another."""
        own, maker = self._lists.get(self._presences.place(items)), constructed(items, self._presences)
        if own is not None:
            return own
        if maker is not None:
            flags = [self._inserted(self.of(v)) for v in maker.operands]
            return self._graph.insert("prim::ListConstruct", flags, [_BOOLS]).result()
        one = self._graph.insert("prim::ListConstruct", [self._inserted(self.of(items))], [_BOOLS]).result()
        count = self._graph.insert("aten::len", [items], [INT]).result()
        return self._graph.insert("aten::mul", [one, count], [_BOOLS]).result()

    def _branch(self, node: Node) -> None:
        start, ends, results = self._memory, [], node.results
        for block in node.nested_blocks:
            self._memory = dict(start)
            self.block(block)
            ends.append((self._memory, list(map(self.of, block.returns))))
        (memory, ones), (other_memory, others) = ends
        self._memory = {}
        for root in {**memory, **other_memory}:
            self._memory[root] = self._met(node, memory.get(root, False), other_memory.get(root, False))
        for result, one, other in zip(results, ones, others, strict=True):
            self._set(result, self._met(node, one, other) if self._has_flag(result) else False)

    def _met(self, node: Node, one: Flag, other: Flag) -> Flag:
        """The flag behind a branch."""
        if one is other:
            return one
        for flag, block in zip((one, other), node.nested_blocks, strict=True):
            block.add_return(self.value(flag, block))
        return node.add_result(BOOL)

    def _loop(self, node: Node) -> None:
        (body,) = node.nested_blocks
        starts = list(map(self.of, node.operands[2:]))
        ends, results = body.returns[1:], node.results
        carried: list[_Carried] = []
        for parameter, end, start, result in zip(body.parameters[1:], ends, starts, results, strict=True):
            self._carry_value(node, (parameter, end, result), start, carried)
        behind = self._carry_memory(node, carried)
        self.block(body)
        self._memory.update(behind)
        for flag in carried:
            body.add_return(self.value(flag.end(), body))
        for flag in carried:
            flag.take(node.add_result(BOOL))

    def _carry_value(
        self, node: Node, values: tuple[Value, Value, Value], start: Flag, carried: list[_Carried]
    ) -> None:
        """The flag of what a loop carries: in its body now, behind it when `carried` is taken."""
        parameter, end, result = values
        if parameter is end or not self._has_flag(parameter):
            self._set(parameter, start)
            self._set(result, start)
        elif self._presences.made(end) is Presence.ALWAYS and _goes_on(node):
            self._set(parameter, self._after_rounds(node, start, is_inside=True))
            self._set(result, self._after_rounds(node, start))
        else:
            self._set(parameter, self._carry(node, start))
            carried.append(_Carried(lambda: self.of(end), lambda flag: self._set(result, flag)))

    def _carry_memory(self, node: Node, carried: list[_Carried]) -> dict[Value, Flag]:
        """The flags of tensors that a loop adds to and did not make: those behind it that are known now."""
        presences, known = self._presences, {}
        written = {presences.place(n.operand(0)) for n in node.nested_blocks[0].walk() if writes_first(n)}
        for root, start in list(self._memory.items()):
            if root not in written or presences.before[node].get(root) is not Presence.AT_TIMES:
                continue
            if presences.behind[node].get(root) is Presence.ALWAYS and _goes_on(node):
                self._memory[root] = self._after_rounds(node, start, is_inside=True)
                known[root] = self._after_rounds(node, start)
            else:
                self._memory[root] = self._carry(node, start)
                carried.append(self._of_memory(root))
        return known

    def _of_memory(self, root: Value) -> _Carried:
        return _Carried(lambda: self._memory[root], lambda flag: self._memory.update({root: flag}))

    def _carry(self, node: Node, start: Flag) -> Value:
        """A flag that a loop carries, in its body."""
        with self._graph.inserting(node):
            node.add_operand(self._inserted(start))
        return node.nested_blocks[0].add_parameter(BOOL)

    def _after_rounds(self, node: Node, start: Flag, *, is_inside: bool = False) -> Flag:
        """Whether something was there, or a round of a loop has ended: all of them, or inside one before this."""
        (body,) = node.nested_blocks
        insertion_point = (body.first or body.return_node) if is_inside else (node.next or node.owner_block.return_node)
        with self._graph.inserting(insertion_point):
            rounds = body.parameters[0] if is_inside else node.operand(0)
            zero = insert_constant(self._graph, 0)
            return self._either([start, self._graph.insert("aten::gt", [rounds, zero], [BOOL]).result()])


def _goes_on(loop: Node) -> bool:
    """Whether a loop has as many rounds as it says."""
    conditions = (loop.operand(1), loop.nested_blocks[0].returns[0])
    return all(constants.is_constant(v) and constants.constant_value(v) is True for v in conditions)
