"""Ways out of a native function: exit points that Python runs, errors, and allocations that fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flambeau.codegen.graph import abi, memory
from flambeau.codegen.graph.exit_points import RARE, ExitPoint
from flambeau.codegen.graph.native_values import CannotCompileError, words_of
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.representation import word_count
from flambeau.codegen.graph.tensor_constants import is_tensor_constant
from flambeau.codegen.graph.value_table import ValueTable
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value

CONTEXT_REGISTER = Register("%context", "ptr", 1)


class SideExits:
    """Exit points, and branches to the function's end."""

    def __init__(self, values: ValueTable, parts: Parts, *, has_record: bool = True) -> None:
        self.e = values.e
        self.values = values
        self.parts = parts
        self.has_record = has_record
        """Whether a failure says where it was, and with which operands."""
        self.context = CONTEXT_REGISTER
        self.code_slot = self.e.slot("i64", 8)
        self.exit = self.e.label("exit")
        self.hoist: Callable[[Register], bool] | None = None
        """Asked of the condition of a failure: whether it is looked at before the loop that is being emitted."""
        self.current: Node | None = None
        """What is being lowered."""
        self._blocks: dict[tuple[tuple[Node, ...], str], tuple[int, str]] = {}
        """Blocks that leave, by what failed and what they do: the line that each began with, and its label."""

    def point(self, nodes: Sequence[Node], inputs: Sequence[Value], *, repeats: bool = False) -> ExitPoint:
        """A place that Python may be asked to run. `repeats`: an input for each time that a value is among them."""
        if self.e.lanes > 1:
            raise CannotCompileError("Python runs it, for one iteration of a loop at a time")
        used = [v for v in (inputs if repeats else dict.fromkeys(inputs)) if not _is_constant(v)]
        reps = tuple(self.values.get(v).rep for v in used)
        exit_point = ExitPoint(len(self.parts.exit_points), tuple(nodes), tuple(used), reps)
        self.parts.exit_points.append(exit_point)
        self.parts.record_words = max(self.parts.record_words, sum(map(word_count, reps)))
        return exit_point

    def leave_at(self, nodes: Sequence[Node]) -> None:
        """Leave the function: Python runs the nodes, the last of which raises."""
        inside = {v for n in nodes for inner in _within(n) for v in inner.results}
        inside |= {v for n in nodes for inner in _within(n) for b in inner.nested_blocks for v in b.parameters}
        inputs = [v for n in nodes for v in _operands(n) if v not in inside]
        self._store_record(self.point(nodes, inputs))

    def _store_record(self, exit_point: ExitPoint) -> None:
        e = self.e
        if not self.has_record:
            self.leave_with(memory.number(1))
            return
        record = memory.load_word(e, self.context, CONTEXT.word("record"), "ptr")
        index = 0
        for value in exit_point.inputs:
            for word in words_of(self.values.get(value)):
                memory.store_word(e, record, index, word)
                index += 1
        self.leave_with(Register(str(exit_point.number + 1), "i64", 1))

    def leave_with(self, code: Register) -> None:
        """Leave the function with a code."""
        self.e.raw(f"store i64 {code}, ptr {self.code_slot}")
        self.e.branch(self.exit)

    def fail_if(self, condition: Register, node: Node | tuple[Node, ...]) -> None:
        """Leave the function where a condition holds: Python runs the node, or several, which raises."""
        if condition.text == "false":
            return
        e = self.e
        if e.lanes > 1:
            e.bail_if(condition)
            return
        if self.hoist is not None and self.hoist(condition):
            return
        failed, fine = e.label("failed"), e.label("fine")
        before, exit_points = len(e.lines), len(self.parts.exit_points)
        e.start(failed)
        if isinstance(node, Node):
            self._store_record(self.point((node,), node.operands))
        else:
            self.leave_at(node)
        nodes = (node,) if isinstance(node, Node) else node
        earlier = self._equal_block(nodes, before)
        if earlier:
            del e.lines[before:], self.parts.exit_points[exit_points:]
        e.lines.insert(before, f"  br i1 {condition}, label %{earlier or failed}, label %{fine}, {RARE}")
        e.start(fine)

    def _equal_block(self, nodes: tuple[Node, ...], start: int) -> str:
        """The label of an earlier block that leaves for the same nodes with the same values as the one that begins on a
        line; "" if there is none. Checks of one node differ in their conditions alone.
        """
        lines = self.e.lines
        stored = [line for line in lines[start + 1 :] if not line.endswith(f", ptr {self.code_slot}")]
        key = nodes, _without_names(stored)
        at, label = self._blocks.get(key, (0, ""))
        if label:
            try:  # unless what it was emitted with was taken back, or is kept apart
                lines.index(f"{label}:", at, start)
            except ValueError:
                label = ""
        if not label:
            self._blocks[key] = start, lines[start].removesuffix(":")
        return label

    def leave_unless_zero(self, code: Register) -> None:
        """Leave the function with a code unless it is 0."""
        with self.leaving_unless_zero(code):
            pass

    @contextmanager
    def leaving_unless_zero(self, code: Register) -> Iterator[None]:
        """The same, behind what is emitted meanwhile: other ways out for some codes."""
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {e.icmp('ne', code, memory.number(0))}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        yield
        self.leave_with(code)
        e.start(fine)

    def new_block(self, size: Register) -> Register:
        """A block with room for so many bytes after its first 64."""
        e = self.e
        if e.lanes > 1:
            raise CannotCompileError("a new tensor in each iteration of a loop")
        block = e.define(f"call ptr @new_block(ptr {self.context}, i64 {size})", "ptr", 1)
        self.leave_without_memory_if(e.icmp("eq", block, Register("null", "ptr", 1)))
        return block

    def leave_without_memory_if(self, condition: Register) -> None:
        """Leave the function where a condition holds, because there was no memory for the node at hand."""
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self.leave_with(memory.number(abi.NO_MEMORY_AT - len(self.parts.allocating)))
        self.parts.allocating.append(self.current)
        e.start(fine)


_NAME = re.compile(r"%[\w.]+")


def _without_names(lines: Sequence[str]) -> str:
    """The text of a block, its own values called by number.

    >>> _without_names(["  %v7 = load i64, ptr %x", "  store i64 %v7, ptr %y"])
    '  %0 = load i64, ptr %x\\n  store i64 %0, ptr %y'
    """
    own: dict[str, str] = {}
    for line in lines:
        name, is_definition, _ = line.strip().partition(" = ")
        if is_definition:
            own[name] = f"%{len(own)}"
    return _NAME.sub(lambda match: own.get(match[0], match[0]), "\n".join(lines))


def _is_constant(value: Value) -> bool:
    """Whether an exit point has a constant of its own; tensors are passed."""
    return (
        value.defining_node is not None and value.defining_node.op == "prim::Constant" and not is_tensor_constant(value)
    )


def _within(node: Node) -> Sequence[Node]:
    nodes = [node]
    for block in node.nested_blocks:
        for inner in block:
            nodes.extend(_within(inner))
    return nodes


def _operands(node: Node) -> Sequence[Value]:
    operands = list(node.operands)
    for block in node.nested_blocks:
        for inner in block:
            operands.extend(_operands(inner))
        operands.extend(block.returns)
    return operands
