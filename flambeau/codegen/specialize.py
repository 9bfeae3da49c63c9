"""From a kernel and the shapes and strides of one call to a smaller kernel that runs fast for all calls like it.

Axes of size one disappear, broadcast inputs lose the axes they do not move along, the independent outer axes are
ordered by stride, neighbouring axes that every buffer walks as one become one. What remains is renamed, so that equal
loop nests have equal text whatever they came from::

    y[i, j, k] = exp x[i, j, k], x contiguous        ->  y[a] = exp x[a]
    y[i, j] = x[i, j] + w[j]                         ->  y[a, b] = x[a, b] + w[b]
"""

from __future__ import annotations

import math

from flambeau.codegen.kernel.dtypes import PARTS, element_type
from flambeau.codegen.kernel.nest import (
    ONE,
    Buffer,
    Extent,
    Kernel,
    Load,
    Loop,
    Position,
    Seldom,
    Statement,
    Store,
    Within,
    axis_groups,
    index_axes,
    main_loops,
    placed_axes,
    walk,
)
from flambeau.tensor.layout import elementwise_strides
from flambeau.util.record import dataclass, replace

Strides = dict[tuple[str, str], int]
"""Bytes from one iteration of an axis to the next, by (buffer, axis)."""


@dataclass(frozen=True, slots=True)
class Specialized:
    """A kernel for one pattern of strides, with the sizes and strides of the call at hand."""

    kernel: Kernel
    sizes: dict[str, int]
    strides: Strides
    axes: dict[str, tuple[str, ...]]
    """By axis, those of the original kernel that became it, outermost first; its strides are those of the last."""


def resized(special: Specialized, sizes: dict[str, int]) -> Specialized:
    """The same for other sizes of the original axes."""
    new = {axis: math.prod(sizes[part] for part in parts) for axis, parts in special.axes.items()}
    return Specialized(special.kernel, new, special.strides, special.axes)


def parallel_group(kernel: Kernel) -> tuple[str, ...]:
    """The axes of the outermost loop if its iterations are independent."""
    loops = main_loops(kernel)
    return loops[0].axes if len(loops) == 1 and not loops[0].carries else ()


def stride_order(kernel: Kernel, sizes: dict[str, int], strides: Strides) -> tuple[str, ...]:
    """The parallel axes in the order in which the inputs have them in memory, outermost first.

    It is the order that an elementwise operator's result has, so that results look the same however they were computed.
    """
    return _as_in_memory(parallel_group(kernel), _plain_inputs(kernel), sizes, strides)


def output_order(kernel: Kernel, output: Buffer, sizes: dict[str, int], strides: Strides) -> tuple[str, ...]:
    """The axes of an output in the order in which they lie in memory: that of inputs, or none for row-major."""
    deciding = {b.name: b for b in _plain_inputs(kernel)}
    if output.like is None:
        return _as_in_memory(output.moving_axes, list(deciding.values()), sizes, strides)
    buffers = [deciding[name] for name in output.like if name in deciding]
    return _as_in_memory(output.moving_axes, buffers, sizes, strides) if buffers else ()


def _plain_inputs(kernel: Kernel) -> list[Buffer]:
    indexed = index_axes(kernel)
    return [b for b in kernel.inputs if b.moving_axes and not indexed & set(b.axes)]


def filled_order(kernel: Kernel, output: Buffer, sizes: dict[str, int], strides: Strides) -> tuple[str, ...]:
    """The axes of an output whose places values change, in the order in which what it starts from lies in memory."""
    changed = placed_axes(kernel) & set(output.axes)
    fills = [s for s in walk(kernel.body) if isinstance(s, Loop) and changed & set(s.axes)]
    names = {s.buffer for loop in fills for s in walk(loop.body) if isinstance(s, Load)}
    return _as_in_memory(output.moving_axes, [b for b in kernel.inputs if b.name in names], sizes, strides)


def _as_in_memory(
    axes: tuple[str, ...], buffers: list[Buffer], sizes: dict[str, int], strides: Strides
) -> tuple[str, ...]:
    """Axes in the order in which an elementwise result of these buffers would have them, outermost first."""
    counts = tuple(sizes[a] for a in axes)
    operands = [tuple(abs(strides.get((b.name, a), 0)) for a in axes) for b in buffers if b.moving_axes]
    result = elementwise_strides(counts, operands)
    order = sorted(range(len(axes)), key=lambda k: (-result[k], counts[k] == 1, k))
    return tuple(axes[k] for k in order)


def specialize(kernel: Kernel, sizes: dict[str, int], strides: Strides, order: tuple[str, ...]) -> Specialized:
    """The smaller kernel; ``order`` is the order in which the parallel axes run."""
    gone = {a for a in kernel.axes if sizes[a] == 1} - placed_axes(kernel)
    buffers = _moving_buffers(kernel, gone, strides)
    parallel = parallel_group(kernel)
    groups = {g: tuple(a for a in (order if g == parallel else g) if a not in gone) for g in axis_groups(kernel)}
    merged = _merge(buffers, groups, sizes, strides, _needs_order(kernel, gone), placed_axes(kernel))
    return _Renaming(kernel, groups, merged).apply(buffers, sizes, strides)


def _moving_buffers(kernel: Kernel, gone: set[str], strides: Strides) -> tuple[Buffer, ...]:
    """The buffers without axes of size one, and inputs without those that they do not move along."""
    indexed = index_axes(kernel)
    still = {(name, a) for (name, a), step in strides.items() if step == 0 and a not in indexed}
    buffers = []
    for b in kernel.buffers:
        axes = tuple(a for a in b.axes if a != ONE and a not in gone)
        if b.role == "in":
            axes = tuple(a for a in axes if (b.name, a) not in still)
        buffers.append(Buffer(b.name, b.dtype, b.role, axes))
    return tuple(buffers)


def _needs_order(kernel: Kernel, gone: set[str]) -> set[tuple[str, ...]]:
    """Tuples of axes whose row-major position is read, so that only their own neighbours may merge."""
    return {tuple(a for a in s.axes if a not in gone) for s in walk(kernel.body) if isinstance(s, Position)}


def _merge(
    buffers: tuple[Buffer, ...], groups: dict[tuple[str, ...], tuple[str, ...]], sizes: dict[str, int],
    strides: Strides, positions: set[tuple[str, ...]], placed: frozenset[str],
) -> dict[str, str]:  # fmt: skip
    """Outer axis -> the inner axis it is folded into, for neighbours that every buffer walks as one."""
    into: dict[str, str] = {}
    for group in groups.values():
        for outer, inner in zip(reversed(group[:-1]), reversed(group[1:]), strict=True):
            walk_as_one = all(_walks_as_one(b, outer, inner, sizes[inner], strides) for b in buffers)
            walk_as_one = walk_as_one and not {outer, inner} & placed
            if walk_as_one and all(_positions_allow(p, outer, inner) for p in positions):
                into[outer] = into.get(inner, inner)
    return into


def _walks_as_one(b: Buffer, outer: str, inner: str, span: int, strides: Strides) -> bool:
    has_outer, has_inner = outer in b.axes, inner in b.axes
    if has_outer != has_inner:
        return False
    if not has_outer or b.role == "scratch":
        return not has_outer or b.axes.index(inner) == b.axes.index(outer) + 1
    return strides[b.name, outer] == strides[b.name, inner] * span


def _positions_allow(p: tuple[str, ...], outer: str, inner: str) -> bool:
    if outer not in p and inner not in p:
        return True
    return outer in p and inner in p and p.index(inner) == p.index(outer) + 1


class _Renaming:
    """New names for the axes that remain: `a0`, `a1`... for those of loops, `g0`... for those that values go along."""

    def __init__(
        self, kernel: Kernel, groups: dict[tuple[str, ...], tuple[str, ...]], merged: dict[str, str]
    ) -> None:
        self.kernel, self.groups = kernel, groups
        indexed = index_axes(kernel)
        looped = [axis for group in groups.values() for axis in group]
        self.names: dict[str, str] = {}
        """The name of each axis that is merged into no other."""
        for axis in looped:
            if axis not in merged:
                self.names.setdefault(axis, f"a{len(self.names)}")
        self.names.update({a: f"g{k}" for k, a in enumerate(a for a in kernel.axes if a in indexed)})
        self.final = {a: self.names[merged.get(a, a)] for a in looped} | {a: self.names[a] for a in indexed}
        """Of each axis of the original kernel that is not gone, what it became."""

    def apply(self, buffers: tuple[Buffer, ...], sizes: dict[str, int], strides: Strides) -> Specialized:
        new_sizes = dict.fromkeys(self.names.values(), 1)
        for axis, new in self.final.items():
            new_sizes[new] *= sizes[axis]
        moving = [(b.name, a) for b in buffers if b.role != "scratch" for a in b.axes if a in self.names]
        new_strides = {(name, self.names[a]): strides[name, a] for name, a in moving}
        new_buffers = tuple(Buffer(b.name, b.dtype, b.role, self.axes(b.axes)) for b in buffers)
        body = tuple(map(self.statement, self.kernel.body))
        parts = {new: tuple(a for a, n in self.final.items() if n == new) for new in self.names.values()}
        return Specialized(Kernel("k", tuple(self.names.values()), new_buffers, body), new_sizes, new_strides, parts)

    def axes(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.names[a] for a in axes if a in self.names)

    def at(self, indexes: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple((self.names[a], v) for a, v in indexes)

    def statement(self, s: Statement) -> Statement:
        if isinstance(s, Loop):
            return Loop(self.axes(self.groups[s.axes]), s.carries, tuple(map(self.statement, s.body)))
        if isinstance(s, Seldom):
            return replace(s, body=tuple(map(self.statement, s.body)))
        if isinstance(s, Position | Extent):
            return type(s)(s.name, self.axes(s.axes))
        if isinstance(s, Within):
            return Within(s.name, s.value, self.names[s.axis])
        if isinstance(s, Load) and s.at:
            return Load(s.name, s.dtype, s.buffer, self.at(s.at))
        if isinstance(s, Store) and s.at:
            return Store(s.buffer, s.value, self.at(s.at), s.op)
        return s


def widest_bits(kernel: Kernel) -> int:
    """Width of the widest element type that a value of the kernel has; of complex numbers a part is one."""
    dtypes = {b.dtype for b in kernel.buffers} | {getattr(s, "dtype", "bool") for s in walk(kernel.body)}
    return max((element_type(PARTS.get(d, d)).bits for d in dtypes), default=32)
