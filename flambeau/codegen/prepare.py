"""Takes costly values that repeat out of a kernel: those that vary along its last axis but not along the outer ones.

    y[i, j] = (x[i, j] - m[j]) * log(v[j])        ->      h[j] = log(v[j])  for every j,  before
                                                          y[i, j] = (x[i, j] - m[j]) * h[j]

Such a loop only fills scratch memory; every thread runs it for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Buffer,
    Definition,
    Kernel,
    Let,
    Load,
    Loop,
    Position,
    Seldom,
    Statement,
    Store,
    Within,
    main_loops,
)
from flambeau.codegen.kernel.opset import TRAPPING
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import replace

LARGEST = 1 << 17
"""Bytes of a prepared row."""
FEWEST = 8
"""Times that it is read, at least."""


def prepare(special: Specialized, is_costly: Callable[[str], bool]) -> Specialized:
    """The kernel with rows prepared; as it was where there is nothing to gain."""
    kernel = special.kernel
    loop = _repeating_loop(special)
    if loop is None:
        return special
    free, rows = _varying_along(loop, kernel, loop.axes[-1])
    wanted = _outermost(loop, rows, is_costly)
    if not wanted:
        return special
    scratch = {name: Buffer(f"h{k}", rows[name].dtype, "scratch", loop.axes[-1:]) for k, name in enumerate(wanted)}
    before = Loop(loop.axes[-1:], (), (*_copies(free, wanted), *(Store(b.name, f"{n}h") for n, b in scratch.items())))
    inside = Loop(loop.axes, (), _live(_reading(loop.body, scratch)))
    body = tuple(x for s in kernel.body for x in ((before, inside) if s is loop else (s,)))
    prepared = Kernel(kernel.name, kernel.axes, kernel.buffers + tuple(scratch.values()), body)
    return Specialized(prepared, special.sizes, special.strides, special.axes)


def _repeating_loop(special: Specialized) -> Loop | None:
    """The one loop over rows of a kernel, if it has enough of them to read a prepared one, and no loop inside."""
    loops = main_loops(special.kernel)
    if len(loops) != 1 or loops[0].carries or len(loops[0].axes) < 2:
        return None
    if any(isinstance(s, Loop | Seldom) for s in loops[0].body):
        return None
    *outer, last = (special.sizes[a] for a in loops[0].axes)
    return loops[0] if math.prod(outer) >= FEWEST and last * 8 <= LARGEST else None


def _reading(body: tuple[Statement, ...], scratch: dict[str, Buffer]) -> tuple[Statement, ...]:
    """The statements with prepared values read from scratch."""
    return tuple(
        Load(s.name, s.dtype, scratch[s.name].name) if isinstance(s, Let) and s.name in scratch else s for s in body
    )


def _varying_along(loop: Loop, kernel: Kernel, last: str) -> tuple[dict[str, Definition], dict[str, Let | Load]]:
    """What a loop defines that varies along its last axis at most, has no effect, and can be computed apart; of these,
    what does vary along it.
    """
    buffers = {b.name: b for b in kernel.buffers}
    varies: dict[str, set[str]] = {}
    free: dict[str, Definition] = {}
    for s in loop.body:
        if isinstance(s, Store | Accumulate | Loop | Seldom | Position | Within) or (isinstance(s, Load) and s.at):
            continue
        varies[s.name] = set()
        if isinstance(s, Load):
            varies[s.name] = set(buffers[s.buffer].axes)
        elif isinstance(s, Let):
            traps = s.op in TRAPPING and element_type(s.dtype).is_integer
            varies[s.name] = set(loop.axes) if traps else set().union(*(varies.get(a, set(loop.axes)) for a in s.args))
        if varies[s.name] <= {last}:
            free[s.name] = s
    return free, {n: s for n, s in free.items() if isinstance(s, Let | Load) and varies[n] == {last}}


def _outermost(loop: Loop, rows: dict[str, Let | Load], is_costly: Callable[[str], bool]) -> list[str]:
    """Costly values, or values made of such, that others than these use."""
    heavy: set[str] = set()
    for s in rows.values():
        if isinstance(s, Let) and (is_costly(s.op) or heavy & set(s.args)):
            heavy.add(s.name)
    used = {a for s in loop.body for a in _operands(s) if a in heavy and not (isinstance(s, Let) and s.name in heavy)}
    return [name for name in rows if name in used]


def _operands(s: Statement) -> tuple[str, ...]:
    if isinstance(s, Let):
        return s.args
    if isinstance(s, Load):
        return tuple(value for _, value in s.at)
    if isinstance(s, Within):
        return (s.value,)
    return (s.value,) if isinstance(s, Store | Accumulate) else ()


def _copies(free: dict[str, Definition], wanted: list[str]) -> list[Definition]:
    """The definitions that the wanted ones need, renamed."""
    needed: set[str] = set()
    stack = list(wanted)
    while stack:
        name = stack.pop()
        if name in free and name not in needed:
            needed.add(name)
            stack.extend(_operands(free[name]))
    return [_renamed(s, set(free)) for name, s in free.items() if name in needed]


def _renamed(s: Definition, names: set[str]) -> Definition:
    if isinstance(s, Let):
        return replace(s, name=f"{s.name}h", args=tuple(f"{a}h" if a in names else a for a in s.args))
    return replace(s, name=f"{s.name}h")


def _live(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Without definitions that nothing uses."""
    used: set[str] = set()
    kept: list[Statement] = []
    for s in reversed(body):
        if isinstance(s, Store | Accumulate | Loop) or s.name in used:
            kept.append(s)
            used.update(_operands(s))
    return tuple(reversed(kept))
