"""Loop nests as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.te.expressions import Buffer, Expr
from flambeau.te.statements import SERIAL, Allocate, Body, Loop, Statement, Store, When

_SIGNS = {"sum": "+=", "prod": "*="}
_CALLED = {"max": "max", "min": "min", "maxnum": "maxnum", "any": "any", "all": "all"}


def nest_text(inputs: Sequence[Buffer], outputs: Sequence[Buffer], body: Body) -> str:
    """The text of a nest: its memory, then its statements."""
    lines = [f"{role} {_declared(b)}" for role, buffers in (("in", inputs), ("out", outputs)) for b in buffers]
    return "\n".join([*lines, *body_lines(body)]) + "\n"


def _declared(b: Buffer) -> str:
    return f"{b.name}: {b.dtype}[{', '.join(map(str, b.shape))}]"


def body_lines(body: Body) -> Iterator[str]:
    """The lines of some statements."""
    for s in body:
        yield from _lines(s)


def _lines(s: Statement) -> Iterator[str]:
    if isinstance(s, Loop):
        kind = "" if s.kind == SERIAL else f"{s.kind} "
        start = "" if str(s.start) == "0" else f"{s.start}, "
        yield f"{kind}for {s.name} in range({start}{s.stop}):"
    elif isinstance(s, When):
        yield f"if {s.condition}:"
    else:
        yield _simple(s)
        return
    yield from (f"    {line}" for line in body_lines(s.body))


def _simple(s: Store | Allocate) -> str:
    if isinstance(s, Allocate):
        return f"local {_declared(s.buffer)}"
    at = element_text(s.buffer, s.indices)
    if s.reducer in _SIGNS:
        return f"{at} {_SIGNS[s.reducer]} {s.value}"
    if s.reducer:
        return f"{at} = {_CALLED[s.reducer]}({at}, {s.value})"
    return f"{at} = {s.value}"


def element_text(buffer: Buffer, indices: tuple[Expr, ...]) -> str:
    """An element as it is written."""
    return f"{buffer.name}[{', '.join(map(str, indices))}]"
