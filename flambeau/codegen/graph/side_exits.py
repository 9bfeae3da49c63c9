"""Ways out of a native function: exit points that Python runs, errors, and allocations that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.entry import abi
from flambeau.codegen.graph.exit_points import RARE, ExitPoint
from flambeau.codegen.graph.native_values import CannotCompileError, words_of
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.representation import word_count
from flambeau.codegen.graph.tensors.new_arrays import REFUSED, new_block_function
from flambeau.codegen.graph.tensors.tensor_constants import is_tensor_constant
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
        self._blocks: dict[tuple[tuple[Node, ...], tuple[str, ...]], tuple[int, str]] = {}
        """Blocks that leave, by what failed and the words of its record: the line that each began with, and its label.
        """

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
        self._store_record(self.point(nodes, _inputs(nodes)))

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
        nodes = (node,) if isinstance(node, Node) else node
        inputs = node.operands if isinstance(node, Node) else _inputs(nodes)
        key = nodes, self._record_words(inputs)
        fine = e.label("fine")
        failed = self._earlier_block(key)
        if failed:
            e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
        else:
            failed = e.label("failed")
            e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
            self._blocks[key] = len(e.lines), failed
            e.start(failed)
            self._store_record(self.point(nodes, inputs))
        e.start(fine)

    def _record_words(self, inputs: Sequence[Value]) -> tuple[str, ...]:
        """What a record of these holds: checks of one node differ in their conditions alone."""
        return tuple([w for v in inputs if not _is_constant(v) for w in words_of(self.values.get(v))])

    def _earlier_block(self, key: tuple[tuple[Node, ...], tuple[str, ...]]) -> str:
        """The label of an earlier block that leaves for the same nodes with the same values; "" if there is none, or
        what it was emitted with was taken back, or is kept apart.
        """
        at, label = self._blocks.get(key, (0, ""))
        try:
            if label:
                self.e.lines.index(f"{label}:", at)
        except ValueError:
            return ""
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

    def new_block_of(self, itemsize: int, sizes: Sequence[Register], node: Node) -> Register:
        """A block for a tensor of these sizes; leaves the function where no tensor has them."""
        e = self.e
        if e.lanes > 1:
            raise CannotCompileError("a new tensor in each iteration of a loop")
        function = new_block_function(self.parts.functions, len(sizes))
        listed = ", ".join(f"i64 {s}" for s in sizes)
        block = e.define(f"call ptr @{function}(ptr {self.context}, i64 {itemsize}, {listed})", "ptr", 1)
        missing, fine = e.label("missing"), e.label("fine")
        e.raw(f"br i1 {e.icmp('ule', block, REFUSED)}, label %{missing}, label %{fine}, {RARE}")
        e.start(missing)
        refused, hoist, self.hoist = e.icmp("eq", block, REFUSED), self.hoist, None  # it is known here alone
        self.fail_if(refused, node)
        self.hoist = hoist
        self._leave_without_memory()
        e.start(fine)
        return block

    def leave_without_memory_if(self, condition: Register) -> None:
        """Leave the function where a condition holds, because there was no memory for the node at hand."""
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self._leave_without_memory()
        e.start(fine)

    def _leave_without_memory(self) -> None:
        self.leave_with(memory.number(abi.NO_MEMORY_AT - len(self.parts.allocating)))
        self.parts.allocating.append(self.current)


def _is_constant(value: Value) -> bool:
    """Whether an exit point has a constant of its own; tensors are passed."""
    return (
        value.defining_node is not None and value.defining_node.op == "prim::Constant" and not is_tensor_constant(value)
    )


def _inputs(nodes: Sequence[Node]) -> Sequence[Value]:
    """What nodes need that Python is to run."""
    inside = {v for n in nodes for inner in _within(n) for v in inner.results}
    inside |= {v for n in nodes for inner in _within(n) for b in inner.nested_blocks for v in b.parameters}
    return [v for n in nodes for v in _operands(n) if v not in inside]


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
