"""From a graph to `Code`: registers for values, jumps for branches and loops, drops where values end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.interpreter.code import Code, Instruction, Op, Site
from flambeau.interpreter.hot_loops import HotLoop
from flambeau.interpreter.literals import literal
from flambeau.interpreter.liveness import CONSTANTS, Known, ends, is_constant, is_same_value, outer_uses, source
from flambeau.interpreter.registers import Registers
from flambeau.interpreter.select import Selected, select
from flambeau.ir.constants import is_true
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.program.function import Function
from flambeau.tensor.autocast import autocast

INT64_MAX = (1 << 63) - 1


OnLoop = Callable[[Node], Callable[[int], None] | None]
"""Gives what is called with the iterations of a loop when it ends; None for a loop that nobody watches."""


def compile_graph(
    graph: Graph,
    name: str = "",
    on_loop: OnLoop | None = None,
    on_entry: Callable[[], None] | None = None,
    *,
    as_written: bool = False,
) -> Code:
    """The code of a graph; tracebacks show the last part of `name`. Raises RuntimeError for a node nothing can run.

    `on_entry` is called whenever the code begins to run. In code `as_written`, blocks in mixed precision have operators
    go through this thread's interceptors; elsewhere the graph itself has the casts.
    """
    short_name = (name or graph.name).rpartition(".")[2] or "<graph>"
    return _Compiler(graph, short_name, on_loop, on_entry, as_written=as_written).code()


def code_of(function: Function) -> Code:
    """The code of a function, made at its first call."""
    code = function.bytecode
    if code is None:
        changes = function.changes
        code = function.bytecode = compile_graph(function.frozen_graph, function.short_name, as_written=True)
        if function.changes != changes:  # meanwhile, by another thread
            function.bytecode = None
    assert isinstance(code, Code)
    return code


def _casts(context: Value) -> bool:
    """Whether a context is one of mixed precision: operators are intercepted within."""
    node = context.defining_node
    return node is not None and node.attributes.get("callable") is autocast


class _Compiler:
    def __init__(
        self,
        graph: Graph,
        name: str,
        on_loop: OnLoop | None,
        on_entry: Callable[[], None] | None,
        *,
        as_written: bool,
    ) -> None:
        self.graph = graph
        self.as_written = as_written
        self.on_loop = on_loop
        self.on_entry = on_entry
        self.name = name
        self.registers = Registers()
        self.blocks: list[list[Instruction]] = [[]]
        self.current = self.blocks[0]
        self.sites: list[Site] = [Site("prim::Param", None, (), None)]
        self.minus_one = -1
        self.none = self.spare = -1
        self.used: Known = {}

    def code(self) -> Code:
        inputs = self.graph.parameters
        for value in inputs:
            self.registers.take(value)
        for node in self.graph.listed_nodes():
            if node.op in CONSTANTS:
                contents = literal(node) if node.op == "prim::Constant" else None
                self.registers.constant(contents, node.result())
            elif node.op == "prim::Loop" and self.minus_one < 0:
                self.minus_one = self.registers.constant(-1)
            elif node.op == "prim::Exit" and self.none < 0:
                self.none, self.spare = self.registers.constant(None), self.registers.constant(None)
        if self.on_entry is not None:
            self.emit(Op.DO, f=self.on_entry, a=())
        self.block(self.graph.body, ())
        results = tuple(self.registers[source(v)] for v in self.graph.returns)
        self.site(self.graph.body.return_node)
        self.emit(Op.RETURN, a=results)
        return Code(
            name=self.name,
            parameters=tuple(v.static_type for v in inputs),
            result_count=len(results),
            template=self.registers.template,
            blocks=tuple((tuple(block[:-1]), block[-1]) for block in self.blocks),
            sites=tuple(self.sites),
            names=self.registers.names,
        )

    # -- instructions -------------------------------------------------------------------------------------------------

    def emit(self, op: Op, d: Any = 0, f: Any = None, a: Any = 0, b: Any = 0) -> None:
        self.current.append((op, d, f, a, b, len(self.sites) - 1))

    def site(self, node: Node, is_python: bool = False) -> None:
        self.sites.append(Site(node.op, node.range, node.call_chain, node.definition, is_python))

    def new_block(self) -> int:
        self.blocks.append([])
        return len(self.blocks) - 1

    def start(self, block: int) -> None:
        self.current = self.blocks[block]

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s]
        if len(pairs) == 1:
            self.emit(Op.MOVE, d=pairs[0][0], a=pairs[0][1])
        elif pairs:
            self.emit(Op.MOVES, d=tuple(t for t, _ in pairs), a=tuple(s for _, s in pairs))

    def drop(self, values: Sequence[Value], keep: Sequence[int] = ()) -> None:
        """End values, and drop what they hold unless the register has been written again."""
        self.drop_registers(tuple(r for r in self.end(values) if r not in keep))

    def drop_registers(self, dropped: tuple[int, ...]) -> None:
        """Let go of what registers hold."""
        if dropped:
            self.emit(Op.DROP, a=dropped)

    def end(self, values: Sequence[Value]) -> list[int]:
        """End values: the registers that still hold memory worth dropping."""
        ended = [self.registers.end(v) for v in values]
        return [register for register in ended if register is not None]

    # -- blocks and nodes ---------------------------------------------------------------------------------------------

    def block(self, block: Block, outer: Sequence[Value]) -> list[Value]:
        """Compile the nodes of a block; the values that end at its return."""
        last = ends(block, outer, self.used)
        self.drop(last.at_start)
        for node in block.own_nodes():
            if node.op in CONSTANTS or is_same_value(node):
                continue
            ended = last.at.get(node, [])
            if node.op == "prim::If":
                self.site(node)
                self.branch(node, ended)
            elif node.op == "prim::Loop":
                self.site(node)
                self.loop(node, ended)
            else:
                self.plain(node, ended)
        return last.at_return

    def plain(self, node: Node, ended: Sequence[Value]) -> None:
        """A node without blocks of its own: its instruction, and the end of the values that end with it."""
        registers = self.registers
        selected = select(node)
        self.site(node, selected.is_python)
        operands = tuple(registers[source(v)] for v in node.operands[selected.skip :])
        if node.op == "prim::Exit":
            self.emit(Op.LEFT, a=operands[0])
            operands = (*operands, self.none, self.none, self.none)
        unused, others = _split(ended, set(node.results))
        freed = [] if node.op == "prim::Enter" else self.end(others)
        skips_results = selected.op is Op.CALL and len(unused) == len(node.results)
        results = () if skips_results else tuple(map(registers.take, node.results))
        dropped = tuple(r for r in freed if r not in results)
        if selected.op in (Op.CALL_FUNCTION, Op.CALL_METHOD):
            following = self.new_block()
            results = results if node.op != "prim::Exit" else (self.spare,)
            self.emit(selected.op, d=results, f=selected.f, a=operands, b=(following, dropped))
            self.start(following)
        else:
            self.operate(selected, results, operands)
            self.drop_registers(dropped)
        if not skips_results:
            self.drop(unused)
        if node.op == "prim::Enter":  # its object is noted before its register may hold anything else
            self.emit(Op.ENTERED, a=operands[0])
            self.drop(others)
        if self.as_written and node.op in ("prim::Enter", "prim::Exit") and _casts(node.operand(0)):
            following = self.new_block()
            self.emit(Op.RESUME, b=(following,))
            self.start(following)

    def operate(self, selected: Selected, results: tuple[int, ...], operands: tuple[int, ...]) -> None:
        """The instruction of an operation that is neither a jump nor a call of a program's function."""
        op, f = selected.op, selected.f
        if op is not Op.CALL:
            many = op is Op.UNPACK
            first = operands[0] if operands else 0
            if op in (Op.TUPLE, Op.LIST, Op.DICT, Op.FORK, Op.AWAIT):
                self.emit(op, d=results[0], f=f, a=operands)
            elif op is Op.SET_ATTR:
                self.emit(op, d=operands[1], f=f, a=operands[0], b=selected.b)
            elif op is Op.ADD:
                self.emit(op, d=results[0], f=f, a=operands[0], b=operands[1])
            elif op is Op.WARN:
                self.emit(op, a=operands[0], b=operands[1])
            else:
                self.emit(op, d=results if many else results[0] if results else 0, f=f, a=first, b=selected.b)
        elif len(results) > 1:
            self.emit(Op.CALL_MANY, d=results, f=f, a=operands)
        elif not results:
            if len(operands) == 2:
                self.emit(Op.DO2, f=f, a=operands[0], b=operands[1])
            else:
                self.emit(Op.DO, f=f, a=operands)
        else:
            self.call(f, results[0], operands)

    def call(self, f: Any, result: int, operands: tuple[int, ...]) -> None:
        match operands:
            case ():
                self.emit(Op.CALL0, d=result, f=f)
            case (a,):
                self.emit(Op.CALL1, d=result, f=f, a=a)
            case (a, b):
                self.emit(Op.CALL2, d=result, f=f, a=a, b=b)
            case (a, b, c):
                self.emit(Op.CALL3, d=result, f=f, a=a, b=(b, c))
            case _:
                self.emit(Op.CALL, d=result, f=f, a=operands)

    # -- control ------------------------------------------------------------------------------------------------------

    def branch(self, node: Node, ended: Sequence[Value]) -> None:
        registers = self.registers
        condition = registers[source(node.operand(0))]
        outputs = node.results
        mine = set(outputs)
        results = [registers.take(v) for v in outputs]
        outer = [v for v in ended if v not in mine]
        arms = [self.new_block(), self.new_block()]
        after = self.new_block()
        self.emit(Op.BRANCH, d=condition, f=after, a=arms[0], b=arms[1])
        reserved = registers.reserve(results)
        state, since = registers.snapshot(), len(registers.template)
        for arm, block in zip(arms, node.nested_blocks, strict=True):
            registers.restore(state, since)
            registers.vacate(results)
            self.start(arm)
            for value, register in zip(block.returns, results, strict=True):
                if _is_own(source(value), block):
                    registers.want(source(value), register)
            at_return = self.block(block, outer)
            self.move(results, [registers[source(v)] for v in block.returns])
            self.drop(at_return, keep=results)
            self.emit(Op.JUMP, a=after)
        registers.restore(state, since)
        registers.release(reserved, results)
        for value in outer:
            registers.end(value)
        self.start(after)
        self.drop([v for v in ended if v in mine])

    def loop(self, node: Node, ended: Sequence[Value]) -> None:
        """A loop: what it carries lies in the registers of its results; a test before the body and after it."""
        registers = self.registers
        body = node.nested_blocks[0]
        limit, first_condition, *carried = (source(v) for v in node.operands)
        needed = {*outer_uses(body, self.used), limit, first_condition}
        unused, outer = _split(ended, set(node.results))
        self.carry(carried, set(outer) - needed, node.results)
        results = [registers[v] for v in node.results]
        self.drop([v for v in outer if v in registers and v not in needed], results)
        counter = registers.temporary()
        self.move([counter], [self.minus_one])
        reserved = registers.reserve((*results, counter))
        inside, after = self.new_block(), self.new_block()
        targets = (inside, after, HotLoop(inside))
        watching = self.on_loop(node) if self.on_loop is not None else None
        is_watched = watching is not None
        self.test(node, counter, limit, registers[first_condition], targets, is_watched=is_watched)
        self.start(inside)
        again, is_temporary = self.iteration(body, counter, results)
        self.test(node, counter, limit, again, targets, is_watched=is_watched)
        if is_temporary:
            registers.give_back(again)
        registers.release(reserved, (*results, counter))
        registers.give_back(counter)
        self.start(after)
        if watching is not None:
            self.emit(Op.DO, f=watching, a=(counter,))
        self.drop([v for v in (*outer, *unused) if v in registers])

    def iteration(self, body: Block, counter: int, carried: Sequence[int]) -> tuple[int, bool]:
        """The body of a loop, what it carries moved to the registers for it. The register that says whether there is
        another iteration, and whether that is a temporary one."""
        registers, at_loop = self.registers, self.sites[-1]
        registers.pin(body.parameters[0], counter)
        for parameter, register in zip(body.parameters[1:], carried, strict=True):
            registers.bind(parameter, register)
        condition, *outputs = (source(v) for v in body.returns)
        for value, register in zip(outputs, carried, strict=True):
            if _is_own(value, body):
                registers.want(value, register)
        at_return = self.block(body, ())
        sources, targets = [registers[v] for v in outputs], list(carried)
        again = registers[condition]
        if is_overwritten := again in targets:
            sources.append(again)
            again = registers.temporary()
            targets.append(again)
        self.sites.append(at_loop)
        self.move(targets, sources)
        self.drop(at_return, keep=carried)
        return again, is_overwritten

    def carry(self, carried: Sequence[Value], ending: set[Value], outputs: Sequence[Value]) -> None:
        """Bring what a loop carries into registers that are its results' afterwards.

        A value that nobody else needs gives its own register; others are copied.
        """
        registers = self.registers
        copied: list[tuple[int, int]] = []
        for value, output in zip(carried, outputs, strict=True):
            if value in ending and registers.is_own(value) and carried.count(value) == 1:
                registers.hand_over(value, output)
            else:
                copied.append((registers.take(output), registers[value]))
        self.move([t for t, _ in copied], [s for _, s in copied])

    def test(
        self, node: Node, counter: int, limit: Value, condition: int, targets: tuple[int, int, HotLoop], *,
        is_watched: bool,
    ) -> None:  # fmt: skip
        """Whether there is another iteration. Conditions and limits that are constants need no test."""
        always = all(is_true(source(v)) for v in (node.operand(1), node.nested_blocks[0].returns[0]))
        endless = is_constant(limit) and self.registers.template[self.registers[limit]] == INT64_MAX
        counts = source(node.nested_blocks[0].parameters[0]).is_used or not endless or is_watched
        if not counts:
            if always:
                self.emit(Op.JUMP, a=targets[0])
            else:
                self.emit(Op.WHILE, d=condition, b=targets)
        elif always:
            self.emit(Op.FOR, d=counter, a=self.registers[limit], b=targets)
        else:
            self.emit(Op.LOOP, d=counter, f=condition, a=self.registers[limit], b=targets)


def _split(values: Sequence[Value], results: set[Value]) -> tuple[list[Value], list[Value]]:
    """Values that are among the results of a node, and the others."""
    return [v for v in values if v in results], [v for v in values if v not in results]


def _is_own(value: Value, block: Block) -> bool:
    """Whether a value is made by a node of this very block."""
    return value.defining_node is not None and value.defining_node.owner_block is block and not is_constant(value)
