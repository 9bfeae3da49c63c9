"""From a graph to the text of one native function: blocks, branches and loops.

The graph is walked once in order. A value that control flow merges lives in stack slots. What a slot holds is assumed
from the first way it is reached; if a later way needs something wider, the walk starts again with that (`WidenError`),
so that no separate inference has to say what the lowerings say already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_pure
from flambeau.codegen.graph import abi, call_stack, group_runner, meetings, memory, native_values
from flambeau.codegen.graph.control import HINTS
from flambeau.codegen.graph.foreign import ForeignCode
from flambeau.codegen.graph.hoisted_bounds_checks import Iterations
from flambeau.codegen.graph.lanes_emitter import Places
from flambeau.codegen.graph.lifetimes import SAME_VALUE
from flambeau.codegen.graph.loops import emit_loop
from flambeau.codegen.graph.lowerings import lower
from flambeau.codegen.graph.module import Callee, Module, UnknownResultError
from flambeau.codegen.graph.native_values import CannotCompileError, Native, OptionalValue, words_of
from flambeau.codegen.graph.representation import Representation, llvm_words
from flambeau.codegen.graph.runtime import ASK, METADATA, POLL_INTERVAL, PREFIX, TEXT
from flambeau.codegen.graph.side_exits import RARE, ExitPoint, SideExits
from flambeau.codegen.graph.slots import Assumptions
from flambeau.codegen.graph.tensor_constants import TensorConstant, declarations, refuse_shared
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

SYMBOL = "flambeau_function"


@dataclass(slots=True)
class FunctionText:
    """What was made of a graph."""

    text: str
    exit_points: tuple[ExitPoint, ...]
    results: tuple[Representation, ...]
    libm: tuple[str, ...]
    record_words: int
    operators: tuple[ExitPoint, ...]
    """Sites whose nodes Python runs in every iteration of a loop, or in every call where there are no loops."""
    groups: tuple[ExitPoint, ...]
    tight_loops: int
    """Innermost loops that nothing leaves: where native code gains most."""
    lanes: tuple[Node, ...]
    """Counted loops that run several iterations at a time."""
    foreign: tuple[ForeignCode, ...] = ()
    """Functions of other compilers that it calls."""
    tensors: tuple[TensorConstant, ...] = ()
    """Constant tensors that it refers to."""
    callees: tuple[Callee, ...] = ()
    """Functions of the program that it calls."""
    allocating: tuple[Node | None, ...] = ()
    """What asks for memory, in the order of the codes of failure."""

    @property
    def cost(self) -> str:
        """Why the machine would be as fast; empty where native code gains.

        Each operator that Python runs costs more from native code than from the machine.
        """
        node = self.costly
        if node is None:
            return ""
        return f"{node.kind} has no native form, and no loop makes up for calling it from native code ({node.range})"

    @property
    def costly(self) -> Node | None:
        """The first node that Python runs, where that makes native code as slow as the machine."""
        return self.operators[0].nodes[0] if self.operators and not self.tight_loops else None


@dataclass(slots=True)
class Scope:
    """Where code is being put."""

    iterations: Iterations | None = None
    """The innermost counted loop, if this is its fast copy."""

    @contextmanager
    def within_branch(self, places: Places | None, *, is_rare: bool) -> Iterator[None]:
        """What is put meanwhile is not reached by every iteration; `is_rare` if it ends in an exception."""
        iterations = self.iterations
        if iterations is None or places is None:
            yield
            return
        before = iterations.is_straight, iterations.is_rare, places.is_straight
        iterations.is_straight = places.is_straight = False
        iterations.is_rare |= is_rare
        try:
            yield
        finally:
            iterations.is_straight, iterations.is_rare, places.is_straight = before


class FunctionEmitter(SideExits):
    """Emits one function."""

    def __init__(
        self, graph: Graph, facts: AliasAnalysis, assumed: Assumptions, target: Target, module: Module | None = None
    ) -> None:
        super().__init__(graph, facts, assumed, target)
        self.module = module or Module()
        self.poll_counter = self.e.slot("i64", 8)
        self.operators: list[ExitPoint] = []
        self.groups: list[ExitPoint] = []
        self.scope = Scope()
        self.has_loops = graph.find("prim::Loop") is not None
        self.has_unknown = False
        """Whether a way was left out that calls a function of which nothing tells yet what it gives."""
        self.loop_depth = 0
        self.tight_loops = 0
        self.lanes: list[Node] = []
        self.notes: list[str] = []
        """What loops say to LLVM of themselves."""
        self.foreign: dict[str, ForeignCode] = {}
        self.asks = False
        """Whether the code calls Python."""
        self.tensors: list[TensorConstant] = []
        self.module.lend(self)

    def run(self, parameters: Sequence[Representation]) -> FunctionText:
        e = self.e
        refuse_shared(self.graph, self.facts)
        e.entry.append(f"  store i64 {POLL_INTERVAL}, ptr {self.poll_counter}")
        if self.module.callees:
            self._prepare_calls()
        self._parameters(parameters)
        results = self._body()
        e.raw(f"store i64 0, ptr {self.code_slot}")
        e.branch(self.exit)
        e.start(self.exit)
        self._leave()
        return FunctionText(
            self._text(), tuple(self.exit_points), results, self._c_functions(), self.record_words,
            tuple(self.operators), tuple(self.groups), self.tight_loops, tuple(self.lanes),
            tuple(self.foreign.values()), tuple(self.tensors), tuple(self.module.callees.values()),
            tuple(self.allocating),
        )  # fmt: skip

    def _c_functions(self) -> tuple[str, ...]:
        return (*self.e.libm, *(call_stack.ASKED if self.module.callees and call_stack.CAN_ASK else ()))

    def _prepare_calls(self) -> None:
        """What functions that call themselves ask the context for."""
        e = self.e
        frame = e.define("call ptr @llvm.frameaddress.p0(i32 0)", "ptr", 1)
        floor = e.define(f"getelementptr i8, ptr {frame}, i64 -{call_stack.SHALLOW}", "ptr", 1)
        memory.store_word(e, self.context, CONTEXT.word("floor"), floor)
        memory.store_word(e, self.context, CONTEXT.word("calls"), memory.number(POLL_INTERVAL))
        for name in ("floor_known", "trace"):
            memory.store_word(e, self.context, CONTEXT.word(name), memory.number(0))

    def _body(self) -> tuple[Representation, ...]:
        """The graph's block, and its results as words."""
        at_return = self.block(self.graph.block, ())
        results = [self.get(v) for v in self.graph.outputs]
        for value, native in zip(self.graph.outputs, results, strict=True):
            self.keep(native, value, at_return, self.graph.outputs)
        for value in at_return:
            self.release(value)
        place = 0
        out = Register("%results", "ptr", 1)
        for native in results:
            for word in words_of(native):
                memory.store_word(self.e, out, place, word)
                place += 1
        return tuple(r.rep for r in results)

    def _parameters(self, parameters: Sequence[Representation]) -> None:
        place, given = 0, Register("%arguments", "ptr", 1)
        for value, rep in zip(self.graph.inputs, parameters, strict=True):
            words = []
            for kind in llvm_words(rep):
                words.append(memory.load_word(self.e, given, place, kind))
                if kind == "ptr":
                    self.e.origins[words[-1].text] = 0
                place += 1
            self.native[value] = self.densified(native_values.from_words(rep, words), value.type)

    def _leave(self) -> None:
        e = self.e
        thread = memory.load_word(e, self.context, CONTEXT.word("thread"), "ptr")
        back, out = e.label("back"), e.label("out")
        e.branch_if(e.icmp("ne", thread, Register("null", "ptr", 1)), back, out)
        e.start(back)
        e.raw(f"call void @{PREFIX}restore_thread(ptr {thread})")
        memory.store_word(e, self.context, CONTEXT.word("thread"), Register("null", "ptr", 1))
        e.branch(out)
        e.start(out)
        if self.has_loops or self.module.callees:
            polled = memory.load_word(e, self.context, CONTEXT.word("polled"), "i64")
            left = e.define(f"load i64, ptr {self.poll_counter}", "i64", 1)
            many = e.icmp("slt", left, memory.number(POLL_INTERVAL - abi.LONG_FROM))
            is_long = e.binary("or", many, e.icmp("ne", polled, memory.number(0)))
            memory.store_word(e, self.context, CONTEXT.word("long"), e.convert("zext", is_long, "i64"))
        code = e.define(f"load i64, ptr {self.code_slot}", "i64", 1)
        e.raw(f"ret i64 {code}")

    def _text(self) -> str:
        e = self.e
        head = f"define i64 @{SYMBOL}(ptr %context, ptr noalias %arguments, ptr noalias %results) #0 {{"
        body = "\n".join([head, "entry:", *e.entry, *e.lines, "}"])
        cells = "\n".join(f"@{s.cell} = external global i8" for s in self.groups)
        asks = ASK if self.groups or self.asks else ""
        held = declarations(self.tensors)
        groups = group_runner.CALL if self.groups else ""
        declared = (d for d in e.declarations if d not in groups)
        calls = (call_stack.TEXT, *self.module.texts) if self.module.callees else ()
        e.fresh = max(e.fresh, self.module.fresh)
        parts = (TEXT, asks, groups, cells, held, *declared, *self.functions.values(), *calls, body)
        return "\n".join((*parts, METADATA, HINTS, *self.notes, *e.scopes(), ""))

    def constant(self, node: Node) -> Native:
        """A constant: a tensor by its symbols, anything else as literals."""
        held = node.attributes.get("value")
        if not isinstance(held, Tensor):
            return super().constant(node)
        self.tensors.append(TensorConstant(len(self.tensors), held))
        native = self.tensors[-1].native()
        self.e.origins[native.owner.text] = self.e.origins[native.data.text] = 0
        return native

    # -- blocks -------------------------------------------------------------------------------------------------------

    def block(self, block: Block, own: Sequence[Value]) -> list[Value]:
        """The nodes of a block; gives the values that end with it. `own` are parameters it holds."""
        values_here = [*own, *(v for n in block for v in n.outputs)]
        at, at_return = self.lifetimes.ends(block, values_here)
        leaving = _before_raise(block)
        for node in block:
            if node.kind in ("prim::Constant", "prim::Uninitialized"):
                continue
            if leaving and node is leaving[0]:
                self.exit_at(leaving)
                return []
            self.node(node)
            for value in at.get(node, ()):
                self.release(value)
        return at_return

    def node(self, node: Node) -> None:
        """One node."""
        self.current = node
        if node.kind == "prim::If":
            self._branch(node)
        elif node.kind == "prim::Loop":
            emit_loop(self, node)
        elif node.kind in SAME_VALUE:
            self._same(node)
        else:
            try:
                self.lower(node)
            except CannotCompileError as reason:
                where = f" ({node.range})" if node.range is not None else ""
                reason.node = reason.node or node
                if node.kind in str(reason):
                    raise
                named = CannotCompileError(f"{node.kind}: {reason}{where}")
                named.node = reason.node
                raise named from None

    def lower(self, node: Node) -> None:
        """A node that is neither a branch nor a loop."""
        lower(self, node)

    def _same(self, node: Node) -> None:
        native = self.get(node.input(0))
        if isinstance(native, OptionalValue) and node.kind != "prim::profile":
            native = native.inner
        self.set(node.output(0), native)

    def _branch(self, node: Node) -> None:
        e = self.e
        condition = self.truth(node.input(0))
        known = {"true": 0, "false": 1}.get(condition.text)
        if known is not None:
            self._only_arm(node, node.blocks[known])
            return
        labels = [e.label("then"), e.label("else")]
        after = e.label("after")
        cold = [_ends_in_raise(b) for b in node.blocks]
        weight = f", {RARE}" if cold[0] and not cold[1] else ""
        e.raw(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}{weight}")
        slots: dict[Value, tuple[Representation, list[Register]]] = {}
        lone = meetings.storing_arm(e, node)
        order = sorted((0, 1), key=lambda k: (cold[k], k != lone))
        is_left_out, store, ends = False, None, {}
        for arm in order:
            e.start(labels[arm])
            start = len(e.lines)
            with self.scope.within_branch(e.places, is_rare=cold[arm]):
                try:
                    self._arm(node, node.blocks[arm], slots)
                except UnknownResultError:
                    if is_left_out or cold[1 - arm]:
                        raise
                    is_left_out = True
                    del e.lines[start:]
            if arm == lone:
                store = meetings.take_store(e, start)
            elif store is not None:
                old = meetings.keep(e, store)
            ends[arm] = e.block
            e.branch(after)
        e.start(after)
        if store is not None and lone is not None:
            meetings.store_either(e, store, ends[lone], old, ends[1 - lone])
        for value in node.outputs:
            rep, places = slots[value]
            self.set_new(value, self.load_slots(places, rep))

    def _only_arm(self, node: Node, block: Block) -> None:
        at_return = self.block(block, ())
        for value, given in zip(node.outputs, block.outputs, strict=True):
            native = self.get(given)
            self.keep(native, given, at_return, block.outputs)
            self.set_new(value, native)
        for value in at_return:
            self.release(value)

    def _arm(self, node: Node, block: Block, slots: dict[Value, tuple[Representation, list[Register]]]) -> None:
        at_return = self.block(block, ())
        if _ends_in_raise(block):
            for value in node.outputs:
                if value not in slots:
                    raise CannotCompileError("both ways of a branch raise")
            self.e.start(self.e.label("never"))
            return
        for value, given in zip(node.outputs, block.outputs, strict=True):
            native = self.get(given)
            if value not in slots:
                rep = self.assume(value, native.rep)
                slots[value] = (rep, self.slots(rep))
            rep, places = slots[value]
            native = self.fit(value, native, rep)
            self.keep(native, given, at_return, block.outputs)
            self.store_slots(places, native)
        for value in at_return:
            self.release(value)


def _ends_in_raise(block: Block) -> bool:
    return any(n.kind == "prim::RaiseException" for n in block)


def _before_raise(block: Block) -> list[Node]:
    """The nodes that end in an exception, from the first that only serves to word it; none where nothing raises."""
    raising = next((n for n in block if n.kind == "prim::RaiseException"), None)
    if raising is None:
        return []
    nodes = [raising]
    current = raising.previous
    while current is not None and not current.blocks and (is_pure(current) or current.kind == "^message"):
        nodes.insert(0, current)
        current = current.previous
    return nodes
