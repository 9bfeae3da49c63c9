"""The machine: one loop over instructions.

Calls of a program's functions push a frame on a list and do not use Python's own stack. Nothing is kept in `Code`, so
that any number of threads may run it. What the loop does itself is there for speed; other instructions are functions
in `SELDOM`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.interpreter import structural
from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.code import Block, Code, Instruction, Op, Site, step_by_step
from flambeau.interpreter.compile import code_of, compile_graph
from flambeau.interpreter.fork_site import ForkSite
from flambeau.interpreter.hot_functions import OFTEN, run_whole
from flambeau.interpreter.hot_loops import HOT, WatchedLoop
from flambeau.interpreter.seldom import REGISTER_OPERATIONS, warn
from flambeau.interpreter.task_length import length_of
from flambeau.interpreter.traceback import Active, located
from flambeau.ir.graph import Graph
from flambeau.ops.language.int64 import wrap
from flambeau.program.function import Function
from flambeau.program.instances import definition_of, unset
from flambeau.program.object import UNSET
from flambeau.tensor import dispatch
from flambeau.util.errors import CALLS_TOO_DEEP

CALL1: Final = Op.CALL1
CALL2: Final = Op.CALL2
CALL3: Final = Op.CALL3
CALL: Final = Op.CALL
DO2: Final = Op.DO2
ADD: Final = Op.ADD
MOVE: Final = Op.MOVE
DROP: Final = Op.DROP
GET_ATTR: Final = Op.GET_ATTR
WARN: Final = Op.WARN
ENTERED: Final = Op.ENTERED
LEFT: Final = Op.LEFT
JUMP: Final = Op.JUMP
RESUME: Final = Op.RESUME
BRANCH: Final = Op.BRANCH
FOR: Final = Op.FOR
LOOP: Final = Op.LOOP
WHILE: Final = Op.WHILE
CALL_FUNCTION: Final = Op.CALL_FUNCTION
CALL_METHOD: Final = Op.CALL_METHOD
RETURN: Final = Op.RETURN

Registers = list[Any]
DEEPEST: Final = 100_000
"""Calls within calls: a program that calls itself without end must not take all memory."""


def _waits() -> bool:
    """Of a function without a plan nobody has looked at what it waits for."""
    return True


def _fork(regs: Registers, d: int, f: Any, a: tuple[int, ...], b: Any) -> None:
    """Of a node that a plan belongs to, the plan says how tasks run; others are run by the machine."""
    site = f if isinstance(f, ForkSite) else ForkSite(partial(call, f), _waits, length_of(f))
    regs[d] = site.fork(*[regs[i] for i in a])


def _await(regs: Registers, d: int, f: Any, a: tuple[int, ...], b: Any) -> None:
    regs[d] = Await(partial(call, f), *[regs[i] for i in a])


SELDOM: Final = {**REGISTER_OPERATIONS, Op.FORK: _fork, Op.AWAIT: _await}
BlocksOf = Callable[[Code], tuple[Block, ...]]
Frame = tuple[Code, Registers, int, tuple[int, ...], int, BlocksOf]
"""A caller: its code and registers, the block to go on with, where results go, the site of the call, and how it gets
its blocks."""


def interpret(graph: Graph, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Compile a graph and run it once; its results."""
    return run(compile_graph(graph), inputs)


def call(function: Function, *arguments: Any) -> Any:
    """Run a function on all its arguments in schema order: the result, or a tuple of several, or None for none."""
    results = run(code_of(function), arguments)
    return results[0] if len(results) == 1 else results or None


def run(code: Code, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run code; its results.

    Raises ScriptError for what the program raises, ExecutionError for what an operator refuses, both with the program's
    traceback. KeyboardInterrupt and its like pass as they are. Contexts that the program entered are left in any case.
    """
    if len(inputs) != len(code.parameters):
        raise TypeError(f"{code.name}() takes {len(code.parameters)} arguments but {len(inputs)} were given")
    hot = code.hot
    hot.calls += 1
    if hot.calls > OFTEN and (results := run_whole(code, inputs)) is not None:
        return results
    regs = code.template.copy()
    regs[: len(inputs)] = inputs
    blocks_of = _blocks_of()
    blocks = blocks_of(code)
    stack: list[Frame] = []
    contexts: list[Any] = []
    warned: set[tuple[Any, ...]] = set()
    block = 0
    site = 0
    try:
        while True:
            straight, last = blocks[block]
            for op, d, f, a, b, site in straight:
                if op is CALL2:
                    regs[d] = f(regs[a], regs[b])
                elif op is ADD:
                    regs[d] = value = regs[a] + regs[b]
                    if value.bit_length() > 63:
                        regs[d] = wrap(value)
                elif op is CALL1:
                    regs[d] = f(regs[a])
                elif op is MOVE:
                    regs[d] = regs[a]
                elif op is CALL3:
                    regs[d] = f(regs[a], regs[b[0]], regs[b[1]])
                elif op is CALL:
                    regs[d] = f(*[regs[i] for i in a])
                elif op is DROP:
                    for i in a:
                        regs[i] = None
                elif op is DO2:
                    f(regs[a], regs[b])
                elif op is GET_ATTR:
                    value = regs[a].values[b]
                    if value is UNSET:
                        raise unset(f, regs[a].type.name)
                    regs[d] = value
                elif op is WARN:
                    warn(regs[a], regs[b], (*[frame[4] for frame in stack], code, site), warned)
                elif op is ENTERED:
                    contexts.append(regs[a])
                elif op is LEFT:
                    contexts.pop()
                else:
                    SELDOM[op](regs, d, f, a, b)
            op, d, f, a, b, site = last
            if op is BRANCH:
                block = a if regs[d] else b
            elif op is JUMP:
                block = a
            elif op is FOR or op is LOOP or op is WHILE:
                if op is WHILE:
                    goes_on = regs[d]
                else:
                    regs[d] = value = regs[d] + 1
                    goes_on = value < regs[a] and (op is FOR or regs[f])
                if not goes_on:
                    block = b[1]
                    continue
                block, after, loop = b
                if loop is not None:
                    loop.heat += 1
                    rounds = loop.function(code, regs, last) if loop.heat > HOT else None
                    if rounds is not None:
                        try:
                            rounds(regs)
                        except BaseException as error:
                            site = loop.site_of(error.__traceback__)
                            raise
                        block = after
            elif op is RESUME:
                blocks_of = _blocks_of()
                blocks = blocks_of(code)
                block = b[0]
            elif op is RETURN:
                results = tuple([regs[i] for i in a])
                if not stack:
                    return results
                code, regs, block, d, site, blocks_of = stack.pop()
                blocks = blocks_of(code)
                for i, value in zip(d, results, strict=True):
                    regs[i] = value
            else:
                arguments = [regs[i] for i in a]
                for i in b[1]:
                    regs[i] = None
                if len(stack) >= DEEPEST:
                    raise RecursionError(CALLS_TOO_DEEP)
                stack.append((code, regs, b[0], d, site, blocks_of))
                blocks_of = _blocks_of()
                code = code_of(callee(op, f, arguments))
                regs = code.template.copy()
                regs[: len(arguments)] = arguments
                blocks = blocks_of(code)
                block = site = 0
    except BaseException as error:
        active: list[Active] = [(frame[0], frame[4]) for frame in stack]
        active.append((code, site))
        leave(contexts, error)
        if isinstance(error, Exception):
            raise located(error, active) from error
        raise


def callee(op: Op, f: Any, arguments: list[Any]) -> Function:
    """The function of a call: a method of the first argument, the one named, or the first argument itself."""
    if op is CALL_METHOD:
        method: Function = structural.method_of(arguments, f)
        return method
    function = arguments.pop(0) if f is None else f
    assert isinstance(function, Function)
    return function


def _blocks_of() -> BlocksOf:
    """How to get a code's blocks: with the kernels themselves, or through this thread's interceptors if it has any."""
    return _observed if dispatch.is_intercepted() else _direct


def _direct(code: Code) -> tuple[Block, ...]:
    return code.blocks


def _observed(code: Code) -> tuple[Block, ...]:
    observed = code.observed
    if observed is None:
        observed = code.observed = tuple(
            (tuple(_through_dispatch(i, code.sites[i[5]]) for i in straight), step_by_step(last, WatchedLoop()))
            for straight, last in code.blocks
        )
    return observed


def _through_dispatch(instruction: Instruction, site: Site) -> Instruction:
    definition = site.definition
    op, d, f, a, b, site_index = instruction
    if definition is None or f is not definition.kernel or not dispatch.concerns_tensors(definition.schema):
        return instruction

    def observed(*arguments: Any) -> Any:
        return dispatch.run(definition, arguments)

    return op, d, observed, a, b, site_index


def leave(contexts: list[Any], error: BaseException) -> None:
    """Leave the contexts that are still entered, the last first. The error goes on, whatever they answer."""
    for context in reversed(contexts):
        definition = definition_of(context)
        if definition is not None:
            call(definition.method("__exit__"), context, None, None, None)
        else:
            context.__exit__(type(error), error, error.__traceback__)
