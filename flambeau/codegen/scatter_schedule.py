"""How places that values say are best changed: which iterations may meet at one place, and whether lanes pay."""

from __future__ import annotations

import math

from flambeau.codegen.costs import NANOSECONDS, iterations_of
from flambeau.codegen.kernel.nest import Kernel, Let, Load, Loop, Store, Within, walk
from flambeau.codegen.specialize import Specialized

COMPUTED = 0.1
"""Nanoseconds of work on a value from which lanes pay that then change places one after another."""
FEW_PLACES, FEW_ELEMENTS = 64, 8
"""Rows, and elements of a row, from which a masked store to a row does not meet the next load of it too soon."""


def meets_itself(kernel: Kernel, axis: str) -> bool:
    """Whether iterations of the axis may change one place, so that its lanes go there one after another."""
    loops = [s for s in walk(kernel.body) if isinstance(s, Loop) and axis in s.axes]
    changes = [s for loop in loops for s in walk(loop.body) if isinstance(s, Store) and s.at]
    return any(axis not in kernel.buffer(s.buffer).axes for s in changes)


def is_little_work(kernel: Kernel, axis: str) -> bool:
    """Whether iterations of the axis compute next to nothing."""
    lets = [s for loop in walk(kernel.body) if isinstance(loop, Loop) and axis in loop.axes for s in walk(loop.body)]
    return sum(NANOSECONDS.get(s.op, 0.012) for s in lets if isinstance(s, Let)) < COMPUTED


def is_better_alone(special: Specialized, axis: str) -> bool:
    """Whether elements had better be changed one at a time: each lane at a place of its own, or few lanes at few."""
    changes = [(s, iterations) for s, iterations in iterations_of(special) if isinstance(s, Store) and s.at]
    if not is_little_work(special.kernel, axis) or not changes:
        return False
    return all(_is_change_alone(special, axis, s, iterations) for s, iterations in changes)


def _is_change_alone(special: Specialized, axis: str, change: Store, iterations: int) -> bool:
    """`is_better_alone` for one of the stores of a kernel, which runs so many times."""
    kernel = special.kernel
    buffer, along = kernel.buffer(change.buffer), {a for a, _ in change.at}
    if axis not in buffer.axes or axis in along or iterations < math.prod(special.sizes[a] for a in buffer.axes):
        return False
    if special.sizes[axis] < FEW_ELEMENTS and all(special.sizes[a] <= FEW_PLACES for a in along):
        return True
    return bool(_varying(kernel, axis) & {value for _, value in change.at})


SIDE_BY_SIDE = 4
"""Changes whose places are looked at before the first of them is made."""


def changes_side_by_side(kernel: Kernel, axis: str | None) -> int:
    """How many iterations of loops that change one element each to take together; 1 where they depend on each other."""
    loops = [s for s in walk(kernel.body) if isinstance(s, Loop)]
    inner = [s for s in loops if s.axes and axis not in s.axes and not any(isinstance(x, Loop) for x in s.body)]
    changes = any(isinstance(s, Store) and s.at for loop in inner for s in loop.body)
    depend = any(loop.carries for loop in loops) or any(_reads_what_it_changes(loop) for loop in inner)
    return SIDE_BY_SIDE if changes and not depend else 1


def _reads_what_it_changes(loop: Loop) -> bool:
    changed = {s.buffer for s in loop.body if isinstance(s, Store)}
    return any(isinstance(s, Load) and s.buffer in changed for s in loop.body)


def _varying(kernel: Kernel, axis: str) -> set[str]:
    """The values that are loaded along an axis, and those made of them."""
    varying: set[str] = set()
    for s in walk(kernel.body):
        if isinstance(s, Load):
            varies = axis in kernel.buffer(s.buffer).axes or any(value in varying for _, value in s.at)
        elif isinstance(s, Let):
            varies = any(a in varying for a in s.args)
        else:
            varies = isinstance(s, Within) and s.value in varying
        if varies and isinstance(s, Load | Let | Within):
            varying.add(s.name)
    return varying
