"""What the vector axis has beyond whole vectors: a masked iteration, or ones of fewer lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Carry
from flambeau.codegen.llvm import memory, reduce
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant
from flambeau.codegen.llvm.first_lanes import First


def masked(
    e: Emitter, lanes: int, start: Value, high: Value, scope: Scope, iteration: Callable[[Scope], None]
) -> None:
    """An iteration with a mask, where anything is left; the carried states go on in ``scope``."""
    rest, after, before = e.label("rest"), e.label("after"), e.block
    e.branch_if(e.icmp("slt", start, high), rest, after)
    e.start(rest)
    child = scope.child()
    left = e.binary("sub", high, start)
    child.first = First(left)
    child.mask = e.icmp("slt", memory.iota(lanes), e.splat(left, lanes))
    iteration(child)
    end = e.block
    e.branch(after)
    e.start(after)
    for name, state in scope.carries.items():
        merged = []
        for full, part in zip(state, child.carries[name], strict=True):
            phi = e.name("c")
            e.phi(phi, full, [(full, before), (part, end)])
            merged.append(Value(phi, full.type, full.lanes))
        scope.carries[name] = merged


def narrowing(
    e: Emitter, carries: Sequence[Carry], lanes: int, start: Value, high: Value, scope: Scope,
    iterations: Callable[[Value, Value, int], None],
) -> None:  # fmt: skip
    """The rest of a fold by fewer lanes, and then one by one; `iterations` runs those from one place to another.

    An element that was written just before is had at once by a load of it alone, and much later by one of its
    neighbours too, which a loop that folds what it wrote in its last iteration waits for.
    """
    types = {c.name: (c.reducer, element_type(c.dtype)) for c in carries}
    for name, (reducer, t) in types.items():
        state = scope.carries[name]
        while state[0].lanes > lanes:
            half = state[0].lanes // 2
            halves = [[e.part(v, first, half) for v in state] for first in (0, half)]
            state = reduce.combine(e, reducer, t, *halves)
        scope.carries[name] = state
    whole = e.binary("and", e.binary("sub", high, start), int_constant(-lanes, "i64", 1))
    end = e.binary("add", start, whole)
    iterations(start, end, lanes)
    for name, (reducer, t) in types.items():
        scope.carries[name] = reduce.across_lanes(e, reducer, t, scope.carries[name])
    iterations(end, high, 1)
