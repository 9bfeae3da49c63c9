"""From a graph to the text of one native function: blocks, branches and loops.

The graph is walked once in order. A value that control flow merges lives in stack slots. What a slot holds is assumed
from the first way it is reached; if a later way needs something wider, the walk starts again with that (`WidenError`),
so that no separate inference has to say what the lowerings say already. Of strides, and of what stacks hold, a walk
learns all that it meets before it starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_effect
from flambeau.codegen.graph import call_stack, memory, native_values
from flambeau.codegen.graph.containers import dicts, lists
from flambeau.codegen.graph.entry import abi
from flambeau.codegen.graph.entry.foreign_code import ForeignCode
from flambeau.codegen.graph.exit_points import RARE, ExitPoint
from flambeau.codegen.graph.groups import group_runner
from flambeau.codegen.graph.lifetimes import SAME_VALUE
from flambeau.codegen.graph.loops import teams
from flambeau.codegen.graph.loops.control import HINTS
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.loops.loops import emit_loop
from flambeau.codegen.graph.lowerings import lower
from flambeau.codegen.graph.module import Callee, Module, NewCalleeError, UnknownResultError
from flambeau.codegen.graph.native_values import CannotCompileError, OptionalValue, words_of
from flambeau.codegen.graph.objects.class_fields import LearnedFields
from flambeau.codegen.graph.random.draw_slots import give_back, new_slot
from flambeau.codegen.graph.representation import Representation, llvm_words
from flambeau.codegen.graph.runtime import METADATA, POLL_INTERVAL, PREFIX, ask_text, clock_text, runtime_text
from flambeau.codegen.graph.scope import Scope
from flambeau.codegen.graph.side_exits import SideExits
from flambeau.codegen.graph.slots import Assumptions, Slots
from flambeau.codegen.graph.tensors import tensor_constants
from flambeau.codegen.graph.tensors.tensor_constants import TensorConstant, refuse_shared
from flambeau.codegen.graph.value_table import ValueTable
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.late_functions import late_text
from flambeau.codegen.llvm.llvm_switches import LOADS_EACH_TIME
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.opdef import Effect
from flambeau.util.record import dataclass, field

SYMBOL = "flambeau_function"
NODES_PER_OPERATOR = 50
"""How many nodes native code must be for to make up for one that Python runs, where there are no loops."""
NODES_PER_GROUP = 4
"""Nodes that take no longer than the launch of a kernel."""
MOST_TIDIED = 100_000
"""Characters of text with loops over elements for which a few of LLVM's passes run."""
LONG = 150_000
"""Characters of text from which on all of LLVM's passes take half a second."""


@dataclass(slots=True)
class FunctionText:
    """What was made of a graph."""

    text: str
    exit_points: tuple[ExitPoint, ...]
    results: tuple[Representation, ...]
    libm: tuple[str, ...]
    record_words: int
    operators: tuple[ExitPoint, ...]
    """Exit points whose nodes Python runs in every iteration of a loop, or in every call where there are no loops."""
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
    nodes: int = 0
    """How many nodes of the graph it is for."""
    routines: tuple[str, ...] = ()
    """Routines over tensors that it calls, by symbol."""
    allocating: tuple[Node | None, ...] = ()
    """What asks for memory, in the order of the codes of failure."""
    parallel: int = 0
    """Loops whose iterations run at the same time."""
    element_loops: int = 0
    """Loops over elements, written by lowerings, for which LLVM's passes are worth their time."""
    walks: int = 0
    """Loops that lowerings wrote, of whatever kind."""
    learned: LearnedFields = field(default_factory=dict)
    """How tensors in attributes of objects look."""

    @property
    def has_short_walks(self) -> bool:
        """Whether there are loops that lowerings wrote, in a text for which a few passes take a tenth of a second at
        most: elements are four times as long on their way without them."""
        return self.walks > 0 and len(self.text) <= MOST_TIDIED

    @property
    def mostly_launches(self) -> bool:
        """Whether loops spend their time in kernels: none computes with numbers or elements alone, and there is a group
        for every few nodes, or so much text that LLVM's passes would take longer than they ever save.
        """
        has_work = self.tight_loops or self.element_loops or self.lanes or self.parallel or self.callees
        are_many = len(self.groups) * NODES_PER_GROUP >= self.nodes or len(self.text) > LONG
        return bool(self.groups) and not has_work and are_many

    @property
    def cost(self) -> str:
        """Why the machine would be as fast; empty where native code gains.

        Each operator that Python runs costs more from native code than from the machine: as much as native code gains
        on `NODES_PER_OPERATOR` others.
        """
        node = self.costly
        if node is None:
            return ""
        return f"{node.op} has no native form, and no loop makes up for calling it from native code ({node.range})"

    @property
    def costly(self) -> Node | None:
        """The first node that Python runs, where that makes native code as slow as the machine."""
        is_slow = len(self.operators) * NODES_PER_OPERATOR > self.nodes and not self.tight_loops
        return self.operators[0].nodes[0] if is_slow else None


class Observer(Protocol):
    """Who adds code of its own around what is emitted, such as counters."""

    def begin(self, fn: FunctionEmitter) -> None:
        """A function is about to be emitted."""

    def enter(self, block: Block) -> None:
        """The nodes of a block are next."""

    def node(self, node: Node, emit: Callable[[Node], None]) -> None:
        """Emit a node by calling `emit`."""

    def lower(self, node: Node, emit: Callable[[Node], None]) -> None:
        """Emit a node that is neither a branch nor a loop by calling `emit`."""

    def leave(self) -> None:
        """The function is about to return."""


class FunctionEmitter:
    """Emits one function: `values`, `exits` and `slots` say what has become of the graph so far."""

    def __init__(
        self, graph: Graph, alias: AliasAnalysis, assumed: Assumptions, target: Target, module: Module | None = None,
        *, has_record: bool = True, observer: Observer | None = None,
    ) -> None:  # fmt: skip
        """`has_record`: the function says where it failed, and with which operands."""
        self._observer = observer
        self.graph = graph
        self.alias = alias
        self.module = module or Module()
        self.parts = self.module.parts.copied()
        self.e = LaneEmitter(target, declarations=self.parts.declarations, libm=self.parts.libm)
        self.values = ValueTable(graph, alias, self.e, self.parts)
        self.exits = SideExits(self.values, self.parts, has_record=has_record)
        self.slots = Slots(self.values, self.exits, assumed, partial(lists.list_of, self))
        self.poll_counter = self.e.slot("i64", 8)
        self.draws = new_slot(self.e, graph) if has_record else None
        self.scope = Scope(graph.find("prim::Loop") is not None)
        self.can_share = has_record and observer is None
        self.has_arguments = False
        self.has_unknown = False
        """Whether a way was left out that calls a function of which nothing tells yet what it gives."""
        if observer is not None:
            observer.begin(self)

    def run(self, parameters: Sequence[Representation]) -> FunctionText:
        """The text of the function, for parameters that look like this. Raises `WidenError` where an assumption did not
        hold, `CannotCompileError` with the reason where there is none.
        """
        with self.walking():
            return self._run(parameters)

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Within a `with`, the graph is walked: what it ends in counts only if nothing was learned on the way."""
        try:
            yield
        except (CannotCompileError, KernelError, NewCalleeError, UnknownResultError):
            self.slots.start_again_with_what_was_learned()
            raise
        self.slots.start_again_with_what_was_learned()

    def _run(self, parameters: Sequence[Representation]) -> FunctionText:
        e, parts = self.e, self.parts
        self.has_arguments = True
        refuse_shared(self.graph, self.alias)
        e.entry.append(f"  store i64 {POLL_INTERVAL}, ptr {self.poll_counter}")
        if self.module.callees:
            self._prepare_calls()
        self._parameters(parameters)
        results = self._body()
        e.raw(f"store i64 0, ptr {self.exits.code_slot}")
        e.branch(self.exits.exit)
        e.start(self.exits.exit)
        self._leave()
        return FunctionText(
            self._text(), tuple(parts.exit_points), results, self._c_functions(), parts.record_words,
            tuple(parts.operators), tuple(parts.groups), parts.tight_loops, tuple(parts.lanes),
            tuple(parts.foreign.values()), tuple(parts.tensors), tuple(self.module.callees.values()),
            parts.nodes, tuple(parts.routines), tuple(parts.allocating), len(parts.parallel),
            parts.element_loops, parts.walks, self.module.learned,
        )  # fmt: skip

    def _c_functions(self) -> tuple[str, ...]:
        return (*self.parts.libm, *(call_stack.ASKED if self.module.callees and call_stack.CAN_ASK else ()))

    def _prepare_calls(self) -> None:
        """What functions that call themselves ask the context for."""
        e = self.e
        frame = e.define("call ptr @llvm.frameaddress.p0(i32 0)", "ptr", 1)
        floor = e.define(f"getelementptr i8, ptr {frame}, i64 -{call_stack.SHALLOW}", "ptr", 1)
        memory.store_word(e, self.exits.context, CONTEXT.word("floor"), floor)
        memory.store_word(e, self.exits.context, CONTEXT.word("calls"), memory.number(POLL_INTERVAL))
        for name in ("floor_known", "trace"):
            memory.store_word(e, self.exits.context, CONTEXT.word(name), memory.number(0))

    def _body(self) -> tuple[Representation, ...]:
        """The graph's block, and its results as words."""
        at_return = self.block(self.graph.body, ())
        results = [self.values.get(v) for v in self.graph.returns]
        for value, native in zip(self.graph.returns, results, strict=True):
            self.values.keep(native, value, at_return, self.graph.returns)
        for value in at_return:
            self.values.release(value)
        index = 0
        out = Register("%results", "ptr", 1)
        for native in results:
            for word in words_of(native):
                memory.store_word(self.e, out, index, word)
                index += 1
        return tuple(r.rep for r in results)

    def _parameters(self, parameters: Sequence[Representation]) -> None:
        index, arguments = 0, Register("%arguments", "ptr", 1)
        for value, rep in zip(self.graph.parameters, parameters, strict=True):
            words = []
            for kind in llvm_words(rep):
                words.append(memory.load_word(self.e, arguments, index, kind))
                if kind == "ptr":
                    self.e.origins[words[-1].text] = 0
                index += 1
            self.values.native[value] = self.values.densified(native_values.from_words(rep, words), value.static_type)

    def _leave(self) -> None:
        if self._observer is not None:
            self._observer.leave()
        give_back(self)
        e = self.e
        thread = memory.load_word(e, self.exits.context, CONTEXT.word("thread"), "ptr")
        back, out = e.label("back"), e.label("out")
        e.branch_if(e.icmp("ne", thread, Register("null", "ptr", 1)), back, out)
        e.start(back)
        e.raw(f"call void @{PREFIX}restore_thread(ptr {thread})")
        memory.store_word(e, self.exits.context, CONTEXT.word("thread"), Register("null", "ptr", 1))
        e.branch(out)
        e.start(out)
        if self.scope.has_loops or self.module.callees:
            polled = memory.load_word(e, self.exits.context, CONTEXT.word("polled"), "i64")
            left = e.define(f"load i64, ptr {self.poll_counter}", "i64", 1)
            many = e.icmp("slt", left, memory.number(POLL_INTERVAL - abi.LONG_FROM))
            is_long = e.binary("or", many, e.icmp("ne", polled, memory.number(0)))
            memory.store_word(e, self.exits.context, CONTEXT.word("long"), e.convert("zext", is_long, "i64"))
        code = e.define(f"load i64, ptr {self.exits.code_slot}", "i64", 1)
        e.raw(f"ret i64 {code}")

    def _text(self) -> str:
        e, parts = self.e, self.parts
        head = f"define i64 @{SYMBOL}(ptr %context, ptr noalias %arguments, ptr noalias %results) #0 {{"
        body = "\n".join([head, "entry:", *e.entry, *e.lines, "}"])
        cells = "\n".join(f"@{s.cell} = external global i8" for s in parts.groups)
        asks = ask_text() if parts.groups or parts.asks else ""
        symbols = tensor_constants.declarations(parts.tensors)
        groups = group_runner.call_text() if parts.groups else ""
        declared = (d for d in e.declarations if d not in groups)
        calls = (call_stack.call_stack_text(), *self.module.texts) if self.module.callees else ()
        pieces = (teams.pieces_text(parts.parallel, parts.record_words),) if parts.parallel else ()
        e.fresh = max(e.fresh, parts.fresh)
        runtime = (runtime_text(), clock_text(), asks, groups)
        texts = (*runtime, cells, symbols, *declared, *parts.functions.values(), *calls, *pieces, body)
        loads = LOADS_EACH_TIME if parts.repeats_loads and not parts.reads_what_it_wrote else ""
        return "\n".join((*texts, loads, METADATA, HINTS, *parts.notes, *e.scopes(), late_text(parts.late)))

    # -- blocks -------------------------------------------------------------------------------------------------------

    def block(self, block: Block, own: Sequence[Value]) -> list[Value]:
        """The nodes of a block; gives the values that end with it. `own` are parameters it has references of."""
        if self._observer is not None:
            self._observer.enter(block)
        with self.values.known_sizes.within_block():
            return self._nodes(block, own)

    def _nodes(self, block: Block, own: Sequence[Value]) -> list[Value]:
        for value in block.parameters:
            self.values.known_sizes.note(self.values.native.get(value))
        values_here = [*own, *(v for n in block.own_nodes() for v in n.results)]
        at, at_return = self.values.lifetimes.ends(block, values_here)
        leaving = _before_raise(block)
        for node in block.own_nodes():
            if node.op in ("prim::Constant", "prim::Uninitialized"):
                if node.op == "prim::Constant" and isinstance(node.attributes.get("value"), dict | set):
                    dicts.constant(self, node)
                continue
            if leaving and node is leaving[0]:
                self.exits.leave_at(leaving)
                return []
            self.node(node)
            for value in node.results:
                self.values.known_sizes.note(self.values.native.get(value))
            for value in at.get(node, ()):
                self.values.release(value)
        return at_return

    def node(self, node: Node) -> None:
        """One node."""
        if self._observer is None:
            self._node(node)
        else:
            self._observer.node(node, self._node)

    def _node(self, node: Node) -> None:
        self.exits.current = node
        self.parts.nodes += 1
        if node.op == "prim::If":
            self._branch(node)
        elif node.op == "prim::Loop":
            emit_loop(self, node)
        elif node.op in SAME_VALUE:
            self._same(node)
        else:
            try:
                self.lower(node)
            except CannotCompileError as reason:
                where = f" ({node.range})" if node.range is not None else ""
                reason.node = reason.node or node
                if node.op in str(reason):
                    raise
                named = CannotCompileError(f"{node.op}: {reason}{where}")
                named.node = reason.node
                raise named from None

    def lower(self, node: Node) -> None:
        """A node that is neither a branch nor a loop."""
        if self._observer is None:
            lower(self, node)
        else:
            self._observer.lower(node, self._lower)

    def _lower(self, node: Node) -> None:
        lower(self, node)

    def _same(self, node: Node) -> None:
        native = self.values.get(node.operand(0))
        if isinstance(native, OptionalValue) and node.op != "prim::profile":
            native = native.inner
        self.values.set(node.result(0), native)

    def _branch(self, node: Node) -> None:
        e = self.e
        condition = self.values.truth(node.operand(0))
        known = {"true": 0, "false": 1}.get(condition.text)
        if known is not None:
            self._only_arm(node, node.nested_blocks[known])
            return
        labels = [e.label("then"), e.label("else")]
        after = e.label("after")
        cold = [_ends_in_raise(b) for b in node.nested_blocks]
        weight = f", {RARE}" if cold[0] and not cold[1] else ""
        e.raw(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}{weight}")
        slots: dict[Value, tuple[Representation, list[Register]]] = {}
        is_left_out = False
        for arm in sorted((0, 1), key=lambda k: cold[k]):
            e.start(labels[arm])
            start = len(e.lines)
            with self.scope.within_branch(is_rare=cold[arm]):
                try:
                    self._arm(node, node.nested_blocks[arm], slots)
                except UnknownResultError:
                    if is_left_out or cold[1 - arm]:
                        raise
                    is_left_out = True
                    del e.lines[start:]
            e.branch(after)
        e.start(after)
        for value in node.results:
            rep, own_slots = slots[value]
            self.values.set_new(value, self.slots.load(own_slots, rep))

    def _only_arm(self, node: Node, block: Block) -> None:
        at_return = self.block(block, ())
        for value, result in zip(node.results, block.returns, strict=True):
            native = self.values.get(result)
            self.values.keep(native, result, at_return, block.returns)
            self.values.set_new(value, native)
        for value in at_return:
            self.values.release(value)

    def _arm(self, node: Node, block: Block, slots: dict[Value, tuple[Representation, list[Register]]]) -> None:
        at_return = self.block(block, ())
        if _ends_in_raise(block):
            for value in node.results:
                if value not in slots:
                    raise CannotCompileError("both ways of a branch raise")
            self.e.start(self.e.label("never"))
            return
        for value, result in zip(node.results, block.returns, strict=True):
            native = self.values.get(result)
            if value not in slots:
                rep = self.slots.assume(value, native.rep)
                slots[value] = (rep, self.slots.new(rep))
            rep, own_slots = slots[value]
            native = self.slots.fit(value, native, rep)
            self.values.keep(native, result, at_return, block.returns)
            self.slots.store(own_slots, native)
        for value in at_return:
            self.values.release(value)


def _ends_in_raise(block: Block) -> bool:
    return any(n.op == "prim::RaiseException" for n in block.own_nodes())


def _may_wait(node: Node) -> bool:
    """Whether Python may run a node once the function is left: one that at most draws numbers, or words an error."""
    return own_effect(node) in (Effect.NONE, Effect.RANDOM) or node.op == "^message"


def _before_raise(block: Block) -> list[Node]:
    """The nodes that end in an exception, from the first that only serves to word it; none where nothing raises."""
    raising = next((n for n in block.own_nodes() if n.op == "prim::RaiseException"), None)
    if raising is None:
        return []
    nodes = [raising]
    current = raising.previous
    while current is not None and not current.nested_blocks and _may_wait(current):
        nodes.insert(0, current)
        current = current.previous
    return nodes
