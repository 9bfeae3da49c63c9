"""Iterations in which a loop writes the element that its other iterations read.

    for j in range(n):
        d[i, j] = min(d[i, j], d[i, k] + d[k, j])      # iteration k writes d[i, k]

LLVM runs several iterations at once only where what a stretch of iterations writes lies apart from what they read. A
stretch that ends before such an iteration, and the next that begins behind it, do. Which iterations these are is found
out once before the loop; one that is found wrongly, or not at all, changes how fast the loop is and nothing else.
"""

from __future__ import annotations

from collections import Counter

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops import hoisted_bounds_checks
from flambeau.codegen.graph.loops.lanes_emitter import Accesses, LaneEmitter, Part
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Affine, ArrayValue, Scalar
from flambeau.codegen.llvm.emitter import Value as Register

MOST = 3
"""Iterations at which stretches end: each costs some instructions before the loop."""


def note(fn: EmittedFunction, x: ArrayValue, index: Scalar, axis: int, data: Register) -> None:
    """Remember which index of a tensor leads to an address."""
    accesses, iterations = fn.e.accesses, fn.scope.iterations
    if accesses is None or iterations is None:
        return
    affine = hoisted_bounds_checks.affine_of(fn, index)
    start, parts = accesses.paths.get(x.data.text, (x.data.text, ()))
    if affine is not None and (parts or iterations.is_outside(x.data)) and iterations.is_outside(x.strides[axis]):
        accesses.paths[data.text] = (start, (*parts, (affine, x.strides[axis])))


def iterations_of(e: LaneEmitter, accesses: Accesses) -> list[Register]:
    """The iterations in question, as registers that are set before the loop; any may lie outside of it."""
    iterations: dict[tuple[str, str], Register] = {}
    reads = [accesses.paths[r] for r in accesses.read if r in accesses.paths]
    for address, size in accesses.written.items():
        start, parts = accesses.paths.get(address, ("", ()))
        step = _step(parts, size)
        if step is None:
            continue
        for other, fixed in reads:
            if other == start and (address, str(fixed)) not in iterations and not any(map(_moves, fixed)):
                iterations[address, str(fixed)] = _iteration(e, parts, fixed, step)
    return list(dict.fromkeys(iterations.values()))[:MOST]


def _moves(part: Part) -> bool:
    return part[0].slope != 0 or part[0].step is not None


def _step(parts: tuple[Part, ...], size: int) -> int | None:
    """By how many bytes an address moves each iteration, where that is one element."""
    moving = [p for p in parts if _moves(p)]
    if len(moving) != 1 or moving[0][0].step is not None or moving[0][0].slope not in (-1, 1):
        return None
    return moving[0][0].slope * size if memory.literal(moving[0][1]) == size else None


def _iteration(e: LaneEmitter, parts: tuple[Part, ...], fixed: tuple[Part, ...], step: int) -> Register:
    """The iteration in which an address that moves by ``step`` is one that does not."""
    start = [(Affine(a.invariants, 0, a.offset), stride) for a, stride in parts]
    ahead, behind = Counter(map(_key, fixed)), Counter(map(_key, start))
    far = _bytes(e, [p for p in fixed if ahead[_key(p)] > behind[_key(p)]])
    near = _bytes(e, [p for p in start if behind[_key(p)] > ahead[_key(p)]])
    distance = memory.subtract(e, far, near)
    known = memory.literal(distance)
    if known is not None:
        return number(known // step)
    shift = abs(step).bit_length() - 1
    iteration = e.binary("ashr", distance, number(shift)) if shift else distance
    return iteration if step > 0 else e.binary("sub", number(0), iteration)


def _key(part: Part) -> str:
    return str(part)


def _bytes(e: LaneEmitter, parts: list[Part]) -> Register:
    """How far indexes lead."""
    total = number(0)
    for affine, stride in parts:
        total = memory.add(e, total, memory.multiply(e, hoisted_bounds_checks.first_of(e, affine), stride))
    return total
