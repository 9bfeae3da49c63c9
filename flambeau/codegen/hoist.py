"""Moves what does not change in a loop out of it: ``for i { for j { %0 = exp load w[i] } }`` computes it once an i."""

from __future__ import annotations

from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Kernel, Statement
from flambeau.codegen.kernel.opset import TRAPPING
from flambeau.util.record import replace


def hoist(kernel: Kernel) -> Kernel:
    """``kernel`` with one axis a loop, and each definition as far out as its operands allow."""
    buffers = {b.name: b for b in kernel.buffers}
    body = _out_of(tuple(_single(s) for s in kernel.body), buffers)
    return Kernel(kernel.name, kernel.axes, kernel.buffers, body)


def _single(statement: Statement) -> Statement:
    """Loops over one axis each; carried states stay with the outermost."""
    if isinstance(statement, nest.Seldom):
        return replace(statement, body=tuple(map(_single, statement.body)))
    if not isinstance(statement, nest.Loop):
        return statement
    body = tuple(_single(s) for s in statement.body)
    for axis in reversed(statement.axes[1:]):
        body = (nest.Loop((axis,), (), body),)
    return nest.Loop(statement.axes[:1], statement.carries, body)


def _out_of(body: tuple[Statement, ...], buffers: dict[str, nest.Buffer]) -> tuple[Statement, ...]:
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, nest.Seldom):
            result.append(replace(statement, body=_out_of(statement.body, buffers)))
            continue
        if not isinstance(statement, nest.Loop):
            result.append(statement)
            continue
        inner = _out_of(statement.body, buffers)
        fixed = {c.name for c in statement.carries}
        kept: list[Statement] = []
        for s in inner:
            if statement.axes and _is_free(s, statement.axes, fixed, buffers):
                result.append(s)
            else:
                kept.append(s)
                fixed |= _defines(s)
        result.append(nest.Loop(statement.axes, statement.carries, tuple(kept)))
    return tuple(result)


def _defines(s: Statement) -> set[str]:
    if isinstance(s, nest.Loop):
        return {c.name for c in s.carries}
    return set() if isinstance(s, nest.Store | nest.Accumulate) else {s.name}


def _is_free(s: Statement, axes: tuple[str, ...], fixed: set[str], buffers: dict[str, nest.Buffer]) -> bool:
    if isinstance(s, nest.Const | nest.Extent):
        return True
    if isinstance(s, nest.Position):
        return not set(s.axes) & set(axes)
    if isinstance(s, nest.Load):
        buffer = buffers[s.buffer]
        is_fixed = {value for _, value in s.at} & fixed
        return buffer.role == "in" and not set(buffer.axes) & set(axes) and not is_fixed
    if isinstance(s, nest.Within):
        # The operator looks at its indices whether or not there is something to load.
        return s.value not in fixed
    if isinstance(s, nest.Let):
        # An integer division may report an error, which a loop without iterations must not.
        traps = s.op in TRAPPING and element_type(s.dtype).is_integer
        return not traps and not set(s.args) & fixed
    return False
