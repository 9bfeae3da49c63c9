"""Text of thread-mapped loop nests."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.cuda.mapped import (
    Assign,
    AtomicAdd,
    Barrier,
    For,
    If,
    Index,
    MappedKernel,
    Operand,
    Program,
    Read,
    ReadVector,
    Shuffle,
    Special,
    Statement,
    Var,
    Write,
    WriteVector,
)
from flambeau.codegen.kernel.nest import Const, Let
from flambeau.codegen.kernel.printer import print_number


def print_program(program: Program) -> str:
    """The text of all its kernels."""
    return "\n".join(map(print_mapped, program.kernels))


def print_mapped(kernel: MappedKernel) -> str:
    """The text of one kernel."""
    lines = [f"mapped {kernel.name} threads {kernel.threads} {{"]
    if kernel.sizes:
        lines.append("  size " + ", ".join(f"#{s}" for s in kernel.sizes))
    for m in kernel.memories:
        role = "" if m.space == "shared" else f"{m.role} "
        lines.append(f"  {m.space} {role}{m.name}: {m.dtype}[{_list(m.sizes)}]")
    lines += ["  " + line for line in _body(kernel.body)]
    return "\n".join([*lines, "}"]) + "\n"


def print_statement(statement: Statement) -> str:
    """The first line of a statement's text."""
    return next(_lines(statement))


def _list(operands: tuple[Operand, ...]) -> str:
    return ", ".join(map(str, operands))


def _body(body: tuple[Statement, ...]) -> Iterator[str]:
    for statement in body:
        yield from _lines(statement)


def _lines(s: Statement) -> Iterator[str]:
    if isinstance(s, For | If):
        if isinstance(s, For):
            yield f"for {s.index} = {s.start} to {s.stop} step {s.step} {{"
        else:
            yield f"if {s.condition} {{"
        for line in _body(s.body):
            yield "  " + line
        yield "}"
    else:
        yield _simple(s)


def _simple(s: Statement) -> str:
    match s:
        case Const():
            return f"{s.name}: {s.dtype} = const {print_number(s.value)}"
        case Let():
            return f"{s.name}: {s.dtype} = {s.op} {', '.join(s.args)}"
        case Special():
            return f"{s.name} = {s.what}"
        case Index():
            return f"{s.name} = {s.op} {_list(s.args)}"
        case Read():
            return f"{s.name}: {s.dtype} = load {s.memory}[{_list(s.at)}]"
        case Write():
            return f"store {s.memory}[{_list(s.at)}], {s.value}"
        case AtomicAdd():
            return f"add {s.memory}[{_list(s.at)}], {s.value}"
        case ReadVector():
            return f"{', '.join(s.names)}: {s.dtype} = load {s.memory}[{_list(s.at)}] along {s.dimension}"
        case WriteVector():
            return f"store {s.memory}[{_list(s.at)}] along {s.dimension}, {', '.join(s.values)}"
        case Var():
            return f"var {s.name}: {s.dtype} = {s.initial}"
        case Assign():
            return f"{s.name} <- {s.value}"
        case Shuffle():
            return f"{s.name}: {s.dtype} = shuffle {s.how} {s.value}, {s.lane}"
        case _:
            assert isinstance(s, Barrier), s
            return "barrier"
