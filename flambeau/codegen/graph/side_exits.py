"""Ways out of a native function: exit points that Python runs, errors, and allocations that fail."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph import abi, lanes_emit, memory
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar, words_of
from flambeau.codegen.graph.representation import Array, Element, Representation, word_count
from flambeau.codegen.graph.slots import Assumptions, Slots
from flambeau.codegen.graph.tensor_constants import is_tensor_constant
from flambeau.codegen.layouts import BLOCK_DATA, CONTEXT
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

RARE = "!prof !20"
Call = tuple[str, SourceRange | None]
"""A function that was called, and where."""


@dataclass(slots=True)
class ExitPoint:
    """A place that Python may have to run: nodes, and the values they take from and give to native code."""

    number: int
    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    input_reps: tuple[Representation, ...]
    outputs: tuple[Value, ...] = ()
    output_reps: tuple[Representation, ...] = ()
    cell: str = ""
    """For a fused group: the symbol of its chain of plans."""
    changed: tuple[int, ...] = ()
    """Inputs that are lists, and that the nodes change."""
    is_called: bool = False
    """Whether Python runs the nodes whenever they are reached, not only where something is out of the ordinary."""
    is_embedded: bool = False
    """For a fused group: whether the function has code of its own for it, so that its plans serve the rest only."""
    reason: str = ""
    """Why it is Python that does, where that is about the node's operands and not about its kind."""
    call_chain: tuple[Call, ...] = ()
    """Calls of functions through which a failure came here, the outermost first."""


class SideExits(Slots):
    """Sites, and branches to the function's end."""

    def __init__(self, graph: Graph, facts: AliasAnalysis, assumed: Assumptions, target: Target) -> None:
        super().__init__(graph, facts, assumed, target)
        self.context = Register("%context", "ptr", 1)
        self.code_slot = self.e.slot("i64", 8)
        self.exit = self.e.label("exit")
        self.exit_points: list[ExitPoint] = []
        self.record_words = 1
        self.current: Node | None = None
        """What is being lowered."""
        self.allocating: list[Node | None] = []
        """The nodes that ask for memory, by how far the code of their failure lies below `NO_MEMORY_AT`."""

    def exit_point(self, nodes: Sequence[Node], inputs: Sequence[Value]) -> ExitPoint:
        """A place that Python may be asked to run."""
        if self.e.lanes > 1:
            raise CannotCompileError("Python runs it, for one iteration of a loop at a time")
        used = [v for v in dict.fromkeys(inputs) if not _is_constant(v)]
        reps = tuple(self.get(v).rep for v in used)
        exit_point = ExitPoint(len(self.exit_points), tuple(nodes), tuple(used), reps)
        self.exit_points.append(exit_point)
        self.record_words = max(self.record_words, sum(map(word_count, reps)))
        return exit_point

    def exit_at(self, nodes: Sequence[Node]) -> None:
        """Leave the function: Python runs the nodes, the last of which raises."""
        made = {v for n in nodes for inner in _within(n) for v in inner.outputs}
        made |= {v for n in nodes for inner in _within(n) for b in inner.blocks for v in b.inputs}
        inputs = [v for n in nodes for v in _operands(n) if v not in made]
        self._store_record(self.exit_point(nodes, inputs))

    def _store_record(self, exit_point: ExitPoint) -> None:
        e = self.e
        record = memory.load_word(e, self.context, CONTEXT.word("record"), "ptr")
        place = 0
        for value in exit_point.inputs:
            for word in words_of(self.get(value)):
                memory.store_word(e, record, place, word)
                place += 1
        self.exit_with(Register(str(exit_point.number + 1), "i64", 1))

    def exit_with(self, code: Register) -> None:
        """Leave the function with a code."""
        self.e.raw(f"store i64 {code}, ptr {self.code_slot}")
        self.e.branch(self.exit)

    def fail_if(self, condition: Register, node: Node | tuple[Node, ...]) -> None:
        """Leave the function where a condition holds: Python runs the node, or several, which raises."""
        if condition.text == "false":
            return
        e = self.e
        if e.lanes > 1:
            lanes_emit.fail(e, condition)
            return
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        if isinstance(node, Node):
            self._store_record(self.exit_point((node,), node.inputs))
        else:
            self.exit_at(node)
        e.start(fine)

    def exit_unless_zero(self, code: Register) -> None:
        """Leave the function with a code unless it is 0."""
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {e.icmp('ne', code, memory.number(0))}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self.exit_with(code)
        e.start(fine)

    def new_block(self, size: Register) -> Register:
        """A block with room for so many bytes after its first 64."""
        e = self.e
        if e.lanes > 1:
            raise CannotCompileError("a new tensor in each iteration of a loop")
        block = e.define(f"call ptr @new_block(ptr {self.context}, i64 {size})", "ptr", 1)
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {e.icmp('eq', block, Register('null', 'ptr', 1))}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self.exit_with(memory.number(abi.NO_MEMORY_AT - len(self.allocating)))
        self.allocating.append(self.current)
        e.start(fine)
        return block

    def converted(self, native: Native, rep: Representation) -> Native:
        """A value as a wider representation; an element goes to memory of its own, which nobody holds yet."""
        is_element = isinstance(rep, Array) and rep.rank == 0 and native.rep == Element(rep.dtype)
        if not (is_element and isinstance(native, Scalar) and isinstance(rep, Array)):
            return super().converted(native, rep)
        size = memory.element(rep.dtype).itemsize
        block = self.new_block(memory.number(size))
        memory.store_word(self.e, block, 0, memory.number(0))
        data = memory.offset_address(self.e, block, memory.number(BLOCK_DATA), memory.number(1), 1)
        memory.store_element(self.e, data, native.register, rep.dtype)
        return ArrayValue(rep, block, data, (), ())

    def spilled(self, words: Sequence[Register]) -> Register:
        """Words in memory: the address of the first."""
        place = self.e.slot(f"[{max(1, len(words))} x i64]", 16)
        for k, word in enumerate(words):
            memory.store_word(self.e, place, k, word)
        return place


def _is_constant(value: Value) -> bool:
    """Whether an exit point has a constant of its own; tensors are passed."""
    return value.node is not None and value.node.kind == "prim::Constant" and not is_tensor_constant(value)


def _within(node: Node) -> Sequence[Node]:
    found = [node]
    for block in node.blocks:
        for inner in block:
            found.extend(_within(inner))
    return found


def _operands(node: Node) -> Sequence[Value]:
    found = list(node.inputs)
    for block in node.blocks:
        for inner in block:
            found.extend(_operands(inner))
        found.extend(block.outputs)
    return found
