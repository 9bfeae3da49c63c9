"""Kernel to text; ``parser`` reads it back to an equal kernel."""

from __future__ import annotations

import math

from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Kernel, Number, Statement


def print_kernel(kernel: Kernel) -> str:
    """The text of ``kernel``, ending in a newline.

    >>> from flambeau.codegen.kernel import parse_kernel
    >>> text = ('kernel k {\\n  axes i\\n  out y: float32[i]\\n'
    ...         '  for i {\\n    %0: float32 = const 1.0\\n    store y[i], %0\\n  }\\n}\\n')
    >>> print_kernel(parse_kernel(text)) == text
    True
    """
    buffers = {b.name: b for b in kernel.buffers}
    lines = [f"kernel {kernel.name} {{"]
    lines.append(f"  axes {', '.join(kernel.axes)}".rstrip())
    for b in kernel.buffers:
        lines.append(f"  {b.role} {b.name}: {b.dtype}[{', '.join(b.axes)}]{_order(b)}")
    _print_body(kernel.body, buffers, "  ", lines)
    lines.append("}")
    return "\n".join(lines) + "\n"


def _order(b: nest.Buffer) -> str:
    if b.like is None:
        return ""
    return f" like {', '.join(b.like)}" if b.like else " row-major"


def print_number(value: Number) -> str:
    """A literal that reads back to the same value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return repr(value)


def _print_body(body: tuple[Statement, ...], buffers: dict[str, nest.Buffer], indent: str, lines: list[str]) -> None:
    for statement in body:
        if isinstance(statement, nest.Loop):
            carries = ", ".join(f"{c.name}: {c.dtype} = {c.reducer}" for c in statement.carries)
            head = f"for {', '.join(statement.axes)}".rstrip()
            lines.append(f"{indent}{head}{' reduce ' + carries if carries else ''} {{")
            _print_body(statement.body, buffers, indent + "  ", lines)
            lines.append(indent + "}")
        elif isinstance(statement, nest.Seldom):
            lines.append(f"{indent}{statement.name}: {statement.dtype} = seldom {statement.when} {{")
            _print_body(statement.body, buffers, indent + "  ", lines)
            lines.append(f"{indent}}} {statement.value}, {statement.otherwise}")
        else:
            lines.append(indent + print_statement(statement, buffers))


def _access(buffer: nest.Buffer, at: tuple[tuple[str, str], ...] = ()) -> str:
    indices = dict(at)
    return f"{buffer.name}[{', '.join(indices.get(a, a) for a in buffer.axes)}]"


def print_statement(statement: Statement, buffers: dict[str, nest.Buffer]) -> str:
    """The line of a statement that is no loop; ``buffers`` are those it reads and writes, by their names.

    >>> print_statement(nest.Const("%0", "float32", 1.0), {})
    '%0: float32 = const 1.0'
    """
    if isinstance(statement, nest.Const):
        return f"{statement.name}: {statement.dtype} = const {print_number(statement.value)}"
    if isinstance(statement, nest.Position):
        return f"{statement.name}: int64 = position {', '.join(statement.axes)}".rstrip()
    if isinstance(statement, nest.Extent):
        return f"{statement.name}: int64 = extent {', '.join(statement.axes)}".rstrip()
    if isinstance(statement, nest.Load):
        return f"{statement.name}: {statement.dtype} = load {_access(buffers[statement.buffer], statement.at)}"
    if isinstance(statement, nest.Running):
        return f"{statement.name}: {statement.dtype} = running {statement.carry}"
    if isinstance(statement, nest.Within):
        return f"{statement.name}: int64 = within {statement.value}, {statement.axis}"
    if isinstance(statement, nest.Let):
        return f"{statement.name}: {statement.dtype} = {statement.op} {', '.join(statement.args)}"
    if isinstance(statement, nest.Store):
        op = f"{statement.op} " if statement.op else ""
        return f"store {_access(buffers[statement.buffer], statement.at)}, {op}{statement.value}"
    assert isinstance(statement, nest.Accumulate)
    at = f" at {statement.position}" if statement.position is not None else ""
    return f"{statement.carry} <- {statement.value}{at}"
