"""From a graph to the text of one native function: blocks, branches, loops, and who holds what.

The graph is walked once in order. A value that control flow merges lives in stack slots, which LLVM makes registers.
What a slot holds is assumed from the first way it is reached; if a later way needs something wider, the walk starts
again with that (`_Widen`), so that no separate inference has to say what the lowerings say already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_pure
from flambeau.codegen.llvm.emitter import Emitter, Target
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole import abi, lists, memory, values
from flambeau.codegen.whole.lifetimes import SAME_VALUE, Lifetimes
from flambeau.codegen.whole.loops import Turns, emit_loop
from flambeau.codegen.whole.representation import (
    Array,
    Element,
    Fixed,
    Listed,
    Optional,
    Representation,
    holds_blocks,
    llvm_words,
    word_count,
)
from flambeau.codegen.whole.runtime import ASK, GROUPS, METADATA, PREFIX, TEXT
from flambeau.codegen.whole.values import CannotCompile, Native, OptionalValue, Scalar, words_of
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.util.record import dataclass

SYMBOL = "flambeau_function"
UNINITIALIZED = object()
"""What a value is on a way on which nobody will look at it."""
RARE = "!prof !20"


@dataclass(slots=True)
class Site:
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


@dataclass(slots=True)
class FunctionText:
    """What was made of a graph."""

    text: str
    sites: tuple[Site, ...]
    results: tuple[Representation, ...]
    libm: tuple[str, ...]
    record_words: int
    operators: tuple[Site, ...]
    """Sites whose nodes Python runs in every turn of a loop, or in every call where there are no loops."""
    groups: tuple[Site, ...]
    tight_loops: int
    """Innermost loops that nothing leaves: where native code gains most."""

    @property
    def cost(self) -> str:
        """Why the machine would be as fast; empty where native code gains.

        Each operator that Python runs costs more from native code than from the machine.
        """
        if not self.operators or self.tight_loops:
            return ""
        node = self.operators[0].nodes[0]
        return f"{node.kind} has no native form, and no loop makes up for calling it from native code ({node.range})"


class _Widen(Exception):
    """An assumption did not hold; a wider one has been noted."""


def compile_function(graph: Graph, parameters: Sequence[Representation], target: Target) -> FunctionText:
    """The text of a graph whose inputs look like this. Raises `CannotCompile` with the reason where there is none."""
    assumed: dict[Value, Representation] = {}
    facts = AliasAnalysis(graph)
    for _ in range(64):
        try:
            return FunctionEmitter(graph, facts, assumed, target).run(parameters)
        except _Widen:
            continue
    raise CannotCompile("the types of values that loops carry do not settle")


@dataclass(slots=True)
class Scope:
    """Where code is being put."""

    turns: Turns | None = None
    """The innermost counted loop, if this is its fast copy and its straight part."""


class FunctionEmitter:
    """Emits one function. `native` holds what each value of the graph has become."""

    def __init__(self, graph: Graph, facts: AliasAnalysis, assumed: dict[Value, Representation], target: Target) -> None:
        self.graph = graph
        self.facts = facts
        self.lifetimes = Lifetimes(graph, facts)
        self.e = Emitter(target)
        self.native: dict[Value, Native] = {}
        self.owned: set[Value] = set()
        self.sites: list[Site] = []
        self.operators: list[Site] = []
        self.groups: list[Site] = []
        self.scope = Scope()
        self.functions: dict[str, str] = {}
        """Text of helper functions made on the way, by name."""
        self.context = Register("%context", "ptr", 1)
        self._assumed = assumed
        self.has_loops = graph.find("prim::Loop") is not None
        self.loop_depth = 0
        self.tight_loops = 0
        self.asks = False
        """Whether the code calls Python."""
        self._record = 1
        self._written: dict[Value, bool] = {}

    def run(self, parameters: Sequence[Representation]) -> FunctionText:
        e = self.e
        self.code_slot = e.slot("i64", 8)
        self.ticks = e.slot("i64", 8)
        e.entry.append(f"  store i64 65536, ptr {self.ticks}")
        self.exit = e.label("exit")
        self._parameters(parameters)
        results = self._body()
        e.raw(f"store i64 0, ptr {self.code_slot}")
        e.branch(self.exit)
        e.start(self.exit)
        self._leave()
        return FunctionText(
            self._text(), tuple(self.sites), results, tuple(e.libm), self._record, tuple(self.operators),
            tuple(self.groups), self.tight_loops,
        )  # fmt: skip

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
                place += 1
            self.native[value] = self.densified(values.from_words(rep, words))

    def densified(self, value: Native) -> Native:
        """The value with strides that follow from sizes computed instead of remembered."""
        if isinstance(value, values.TupleValue):
            return values.TupleValue(tuple(map(self.densified, value.items)))
        if not isinstance(value, values.ArrayValue) or value.rep.dense == 0:
            return value
        first = value.rep.rank - value.rep.dense
        itemsize = memory.element(value.rep.dtype).itemsize
        dense = memory.dense_strides(self.e, value.sizes[first:], itemsize)
        return values.ArrayValue(value.rep, value.owner, value.data, value.sizes, (*value.strides[:first], *dense))

    def _leave(self) -> None:
        e = self.e
        thread = memory.load_word(e, self.context, abi.CONTEXT_WORDS["thread"], "ptr")
        back, out = e.label("back"), e.label("out")
        e.branch_if(e.icmp("ne", thread, Register("null", "ptr", 1)), back, out)
        e.start(back)
        e.raw(f"call void @{PREFIX}restore_thread(ptr {thread})")
        memory.store_word(e, self.context, abi.CONTEXT_WORDS["thread"], Register("null", "ptr", 1))
        e.branch(out)
        e.start(out)
        code = e.define(f"load i64, ptr {self.code_slot}", "i64", 1)
        e.raw(f"ret i64 {code}")

    def _text(self) -> str:
        e = self.e
        head = f"define i64 @{SYMBOL}(ptr %context, ptr noalias %arguments, ptr noalias %results) #0 {{"
        body = "\n".join([head, "entry:", *e.entry, *e.lines, "}"])
        cells = "\n".join(f"@{s.cell} = external global i8" for s in self.groups)
        rare = '!20 = !{!"branch_weights", i32 1, i32 1048576}'
        asks = ASK if self.groups or self.asks else ""
        parts = (TEXT, asks, GROUPS if self.groups else "", cells, *e.declarations, *self.functions.values(), body)
        return "\n".join((*parts, METADATA, rare, ""))

    # -- values -------------------------------------------------------------------------------------------------------

    def get(self, value: Value) -> Native:
        """What a value has become."""
        found = self.native.get(value)
        if found is None:
            node = value.node
            if node is not None and node.kind == "prim::Constant":
                found = self.native[value] = self.constant(node)
            elif node is not None and node.kind == "prim::Uninitialized":
                found = values.FixedValue(Fixed(UNINITIALIZED))
            else:
                raise CannotCompile(f"{value} has no native form")
        return found

    def constant(self, node: Node) -> Native:
        """A constant; its registers are literals."""
        return lists.constant(node.attributes.get("value"))

    def set(self, value: Value, native: Native) -> None:
        """Note what a value has become."""
        self.native[value] = native

    def set_new(self, value: Value, native: Native) -> None:
        """Note a value that comes with its own hold on its blocks."""
        self.native[value] = native
        if holds_blocks(native.rep):
            self.owned.add(value)

    def set_view(self, value: Value, native: Native) -> None:
        """Note a value that shows the blocks of another: it holds them itself unless it is only looked at."""
        self.native[value] = native
        if holds_blocks(native.rep) and not self.lifetimes.is_borrowed(value):
            self.retain(native)
            self.owned.add(value)

    def is_written(self, value: Value) -> bool:
        """Whether anything may write to a tensor."""
        found = self._written.get(value)
        if found is None:
            found = self._written[value] = self.facts.has_writers(value)
        return found

    # -- holding ------------------------------------------------------------------------------------------------------

    def retain(self, native: Native) -> None:
        """One more hold on every block of a value."""
        for block, _ in self._blocks(native):
            self.e.raw(f"call void @retain(ptr {block})")

    def drop(self, native: Native) -> None:
        """One hold less."""
        for block, rep in self._blocks(native):
            function = lists.release_function(self, rep) if isinstance(rep, Listed) else "release"
            self.e.raw(f"call void @{function}(ptr {block})")

    def _blocks(self, native: Native) -> list[tuple[Register, Array | Listed]]:
        """The blocks a value refers to; those of what is not there are null."""
        match native:
            case values.ArrayValue():
                return [(native.owner, native.rep)]
            case values.ListValue():
                return [(native.block, native.rep)]
            case values.TupleValue():
                return [b for item in native.items for b in self._blocks(item)]
            case OptionalValue():
                return self._blocks(native.inner)
            case _:
                return []

    def release(self, value: Value) -> None:
        """The end of a value."""
        if value in self.owned:
            self.drop(self.native[value])

    def keep(self, native: Native, value: Value, ending: list[Value], among: Sequence[Value]) -> None:
        """Make sure that a value that is passed on is held: its own hold goes along if it ends here, once."""
        if not holds_blocks(native.rep):
            return
        if value in self.owned and value in ending and sum(v is value for v in among) == 1:
            ending.remove(value)
        else:
            self.retain(native)

    # -- slots --------------------------------------------------------------------------------------------------------

    def slots(self, rep: Representation) -> list[Register]:
        """Stack slots for the words of a value."""
        return [self.e.slot(kind, 8) for kind in llvm_words(rep)]

    def store_slots(self, slots: Sequence[Register], native: Native) -> None:
        """Put a value into slots."""
        for slot, word in zip(slots, words_of(native), strict=True):
            self.e.raw(f"store {word.type} {word}, ptr {slot}")

    def load_slots(self, slots: Sequence[Register], rep: Representation) -> Native:
        """The value in slots."""
        kinds = llvm_words(rep)
        words = [self.e.define(f"load {k}, ptr {s}", k, 1) for k, s in zip(kinds, slots, strict=True)]
        return self.densified(values.from_words(rep, words))

    def assume(self, value: Value, rep: Representation) -> Representation:
        """What the slot of a merged value is made for: what was found out before, or what comes first."""
        found = self._assumed.get(value)
        if found is not None:
            return found
        if isinstance(rep, Fixed) and rep.value is UNINITIALIZED:
            return rep
        if isinstance(rep, Array) and rep.rank == 0 and not self.is_written(value):
            rep = Element(rep.dtype)
        if isinstance(rep, Element) and self.is_written(value):
            rep = Array(rep.dtype, 0)
        return rep

    def learn(self, value: Value, rep: Representation) -> None:
        """Note what is now known of a value, and start the walk again."""
        self._assumed[value] = rep
        raise _Widen

    def learned(self, value: Value) -> Representation | None:
        """What an earlier walk found out about a value."""
        return self._assumed.get(value)

    def fit(self, value: Value, native: Native, rep: Representation) -> Native:
        """A value in the representation of a slot; starts the walk again where the slot is too narrow."""
        if native.rep == rep:
            return native
        if isinstance(native.rep, Fixed) and native.rep.value is UNINITIALIZED:
            return values.from_words(rep, values.unused(rep))
        wider = native.rep if _is_uninitialized(rep) else values.join(rep, native.rep)
        if wider != rep:
            self.learn(value, wider)
        return self.converted(native, rep)

    def converted(self, native: Native, rep: Representation) -> Native:
        """A value as a wider representation."""
        if native.rep == rep:
            return native
        match rep:
            case Element() if isinstance(native, values.ArrayValue):
                return Scalar(rep, memory.load_element(self.e, native.data, rep.dtype))
            case Array() if isinstance(native, values.ArrayValue):
                return values.ArrayValue(rep, native.owner, native.data, native.sizes, native.strides)
            case Optional() if isinstance(native, values.FixedValue):
                absent = values.from_words(rep.inner, values.unused(rep.inner))
                return OptionalValue(rep, Register("false", "i1", 1), absent)
            case Optional() if isinstance(native, OptionalValue):
                return OptionalValue(rep, native.present, self.converted(native.inner, rep.inner))
            case Optional():
                return OptionalValue(rep, Register("true", "i1", 1), self.converted(native, rep.inner))
            case _ if isinstance(native, values.TupleValue) and not isinstance(rep, Listed):
                items = getattr(rep, "items", ())
                return values.TupleValue(
                    tuple(self.converted(i, r) for i, r in zip(native.items, items, strict=True))
                )
        raise CannotCompile(f"{values.describe(native.rep)} cannot stand for {values.describe(rep)}")

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
                self.leave_at(leaving)
                return []
            self.node(node)
            for value in at.get(node, ()):
                self.release(value)
        return at_return

    def node(self, node: Node) -> None:
        """One node."""
        from flambeau.codegen.whole.lowerings import lower

        if node.kind == "prim::If":
            self._branch(node)
        elif node.kind == "prim::Loop":
            emit_loop(self, node)
        elif node.kind in SAME_VALUE:
            self._same(node)
        else:
            try:
                lower(self, node)
            except CannotCompile as reason:
                where = f" ({node.range})" if node.range is not None else ""
                if node.kind in str(reason):
                    raise
                raise CannotCompile(f"{node.kind}: {reason}{where}") from None

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
        turns = self.scope.turns
        was_straight = turns is not None and turns.is_straight
        if turns is not None:
            turns.is_straight = False
        order = sorted((0, 1), key=lambda k: cold[k])
        for arm in order:
            e.start(labels[arm])
            self._arm(node, node.blocks[arm], slots)
            e.branch(after)
        if turns is not None:
            turns.is_straight = was_straight
        e.start(after)
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
                    raise CannotCompile("both ways of a branch raise")
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

    # -- scalars ------------------------------------------------------------------------------------------------------

    def scalar(self, value: Value) -> Scalar:
        """A value that is a number, or a tensor of one element in a register."""
        native = self.get(value)
        if isinstance(native, Scalar):
            return native
        raise CannotCompile(f"{value} is {values.describe(native.rep)}, not a number")

    def truth(self, value: Value) -> Register:
        """A bool's register."""
        native = self.scalar(value)
        if native.register.type != "i1":
            raise CannotCompile(f"{value} is no bool")
        return native.register

    def index(self, value: Value) -> Register:
        """An int's register."""
        native = self.scalar(value)
        if native.register.type != "i64":
            raise CannotCompile(f"{value} is no int")
        return native.register

    # -- leaving ------------------------------------------------------------------------------------------------------

    def site(self, nodes: Sequence[Node], inputs: Sequence[Value]) -> Site:
        """A place that Python may be asked to run."""
        used = [v for v in dict.fromkeys(inputs) if not _is_constant(v)]
        reps = tuple(self.get(v).rep for v in used)
        site = Site(len(self.sites), tuple(nodes), tuple(used), reps)
        self.sites.append(site)
        self._record = max(self._record, sum(map(word_count, reps)))
        return site

    def leave_at(self, nodes: Sequence[Node]) -> None:
        """Leave the function: Python runs the nodes, the last of which raises."""
        made = {v for n in nodes for inner in _within(n) for v in inner.outputs}
        made |= {v for n in nodes for inner in _within(n) for b in inner.blocks for v in b.inputs}
        inputs = [v for n in nodes for v in _operands(n) if v not in made]
        self._store_record(self.site(nodes, inputs))

    def _store_record(self, site: Site) -> None:
        e = self.e
        record = memory.load_word(e, self.context, abi.CONTEXT_WORDS["record"], "ptr")
        place = 0
        for value in site.inputs:
            for word in words_of(self.get(value)):
                memory.store_word(e, record, place, word)
                place += 1
        self.leave_with(Register(str(site.number + 1), "i64", 1))

    def leave_with(self, code: Register) -> None:
        """Leave the function with a code."""
        self.e.raw(f"store i64 {code}, ptr {self.code_slot}")
        self.e.branch(self.exit)

    def fail_if(self, condition: Register, node: Node | tuple[Node, ...]) -> None:
        """Leave the function where a condition holds: Python runs the node, or several, which raises."""
        if condition.text == "false":
            return
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {condition}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        if isinstance(node, Node):
            self._store_record(self.site((node,), node.inputs))
        else:
            self.leave_at(node)
        e.start(fine)

    def leave_unless_zero(self, code: Register) -> None:
        """Leave the function with a code unless it is 0."""
        e = self.e
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {e.icmp('ne', code, memory.number(0))}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self.leave_with(code)
        e.start(fine)

    def new_block(self, size: Register) -> Register:
        """A block with room for so many bytes after its first 64."""
        e = self.e
        block = e.define(f"call ptr @new_block(ptr {self.context}, i64 {size})", "ptr", 1)
        failed, fine = e.label("failed"), e.label("fine")
        e.raw(f"br i1 {e.icmp('eq', block, Register('null', 'ptr', 1))}, label %{failed}, label %{fine}, {RARE}")
        e.start(failed)
        self.leave_with(memory.number(abi.NO_MEMORY))
        e.start(fine)
        return block

    def spilled(self, words: Sequence[Register]) -> Register:
        """Words in memory: the address of the first."""
        place = self.e.slot(f"[{max(1, len(words))} x i64]", 16)
        for k, word in enumerate(words):
            memory.store_word(self.e, place, k, word)
        return place


def _is_uninitialized(rep: Representation) -> bool:
    return isinstance(rep, Fixed) and rep.value is UNINITIALIZED


def _is_constant(value: Value) -> bool:
    return value.node is not None and value.node.kind == "prim::Constant"


def _ends_in_raise(block: Block) -> bool:
    return any(n.kind == "prim::RaiseException" for n in block)


def _before_raise(block: Block) -> list[Node]:
    """The nodes that end in an exception, from the first that only serves to word it; none where nothing raises."""
    raising = next((n for n in block if n.kind == "prim::RaiseException"), None)
    if raising is None:
        return []
    nodes = [raising]
    current = raising.previous
    while current is not None and not current.blocks and is_pure(current):
        nodes.insert(0, current)
        current = current.previous
    return nodes


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


Lowering = Callable[[Any, Node], None]
