"""Loop nests: what a kernel means, with no word on how fast.

A kernel has axes (their sizes are known at run time), buffers indexed by axes, and statements::

    kernel softmax {
      axes r, c
      in x: float32[r, c]
      out y: float32[r, c]
      scratch s: float32[c]
      for r {
        for c reduce m: float32 = maxnum {
          %0: float32 = load x[r, c]
          m <- %0
        }
        for c reduce t: float32 = sum {
          %1: float32 = load x[r, c]
          %2: float32 = sub %1, m
          %3: float32 = exp %2
          store s[c], %3
          t <- %3
        }
        for c {
          %4: float32 = load s[c]
          %5: float32 = div %4, t
          store y[r, c], %5
        }
      }
    }

The address of ``x[r, c]`` is ``base + r * stride(x, r) + c * stride(x, c)`` with strides given at run time; a buffer
that lacks an axis does not move along it. A carried state is updated by ``<-`` and may be read after its loop only. The
order in which it meets its values is not part of the meaning, unless a ``running`` state is read. A scratch buffer
lives for one iteration of the loops outside its own axes. An axis that stands in buffers only is one that values go
along:
``load w[%2, d1]`` with ``w: float32[g0, d1]`` and ``%2: int64 = within %1, g0``. An output that loops have filled may
be changed at places that values say, iteration by iteration in order: ``store y[%2, d1], %3`` writes there, and
``store y[%2, d1], add %3`` puts what is there and ``%3`` together.
"""

from __future__ import annotations

from typing import TypeAlias

from flambeau.util.record import dataclass

Number: TypeAlias = "int | float | bool"

ONE = "1"
"""Stands in a buffer's axes for a dimension of size one (a kept dimension of a reduction)."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory the kernel reads or writes.

    >>> Buffer("y", "float32", "out", ("r", ONE)).moving_axes
    ('r',)
    """

    name: str
    dtype: str
    role: str
    """``in``, ``out`` or ``scratch``."""
    axes: tuple[str, ...]
    like: tuple[str, ...] | None = None
    """Of a result: the inputs as which it lies in memory, the one that decides first in front; what they leave open is
    row-major. None for all inputs in order, nothing for row-major, as folds and row operators write.
    """

    @property
    def moving_axes(self) -> tuple[str, ...]:
        """The axes without the places of size one."""
        return tuple(a for a in self.axes if a != ONE)


@dataclass(frozen=True, slots=True)
class Const:
    """``name: dtype = const value``.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Const("%0", "float32", 1.0), {})
    '%0: float32 = const 1.0'
    """

    name: str
    dtype: str
    value: Number


@dataclass(frozen=True, slots=True)
class Position:
    """``name: int64 = position a, b``: row-major index of the current iteration over these axes.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Position("%0", ("r", "c")), {})
    '%0: int64 = position r, c'
    """

    name: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """``name: int64 = extent a, b``: product of these axes' sizes.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Extent("%0", ("r", "c")), {})
    '%0: int64 = extent r, c'
    """

    name: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """``name: int64 = within value, a``: the value, which must be a place along the axis; others are reported.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Within("%2", "%1", "g0"), {})
    '%2: int64 = within %1, g0'
    """

    name: str
    value: str
    axis: str


@dataclass(frozen=True, slots=True)
class Load:
    """``name: dtype = load buffer[axes]``, or with a value (of a ``within``) where an axis stands.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> w = Buffer("w", "float32", "in", ("g0", "d1"))
    >>> print_statement(Load("%3", "float32", "w", (("g0", "%2"),)), {"w": w})
    '%3: float32 = load w[%2, d1]'
    """

    name: str
    dtype: str
    buffer: str
    at: tuple[tuple[str, str], ...] = ()
    """Axes of the buffer that no loop runs over, each with the value that says where."""


@dataclass(frozen=True, slots=True)
class Let:
    """``name: dtype = op a, b``; ``cast`` takes its type from ``dtype``.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Let("%2", "float32", "sub", ("%1", "m")), {})
    '%2: float32 = sub %1, m'
    """

    name: str
    dtype: str
    op: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """``name: dtype = running carry``: the state after what it met up to here, iteration by iteration in row-major
    order.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Running("%4", "float32", "t"), {})
    '%4: float32 = running t'
    """

    name: str
    dtype: str
    carry: str


@dataclass(frozen=True, slots=True)
class Store:
    """``store buffer[axes], value``, or with a value (of a ``within``) where an axis stands, and ``op value``.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> y = Buffer("y", "float32", "out", ("g0", "d1"))
    >>> print_statement(Store("y", "%3", (("g0", "%2"),), "add"), {"y": y})
    'store y[%2, d1], add %3'
    """

    buffer: str
    value: str
    at: tuple[tuple[str, str], ...] = ()
    """Axes of an output that no loop runs over here, each with the value that says where."""
    op: str = ""
    """The operation that puts what is there and the value together; empty where the value takes its place."""


@dataclass(frozen=True, slots=True)
class Accumulate:
    """``carry <- value``, with ``at position`` for argmax and argmin.

    >>> from flambeau.codegen.kernel.printer import print_statement
    >>> print_statement(Accumulate("m", "%0", "%1"), {})
    'm <- %0 at %1'
    """

    carry: str
    value: str
    position: str | None = None


@dataclass(frozen=True, slots=True)
class Carry:
    """State that a loop carries from iteration to iteration and leaves behind under its name.

    >>> Carry("t", "float32", "sum").reducer
    'sum'
    """

    name: str
    dtype: str
    reducer: str


@dataclass(frozen=True, slots=True)
class Loop:
    """``for a, b reduce s: float32 = sum { ... }``: row-major over the axes.

    >>> fold = Loop(("c",), (Carry("t", "float32", "sum"),), (Accumulate("t", "%0"),))
    >>> [type(s).__name__ for s in walk((fold,))]
    ['Loop', 'Accumulate']
    """

    axes: tuple[str, ...]
    carries: tuple[Carry, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Seldom:
    """``name: dtype = seldom when { ... } value, otherwise``: what `body` leaves under the name of a value where a bool
    is true, as it seldom is; elsewhere another value.

    >>> Seldom("%4", "float32", "%2", (Const("%3", "float32", 1.0),), "%3", "s0").otherwise
    's0'
    """

    name: str
    dtype: str
    when: str
    body: tuple[Statement, ...]
    value: str
    otherwise: str


Definition: TypeAlias = Const | Position | Extent | Within | Load | Let | Running
Statement: TypeAlias = Definition | Store | Accumulate | Loop | Seldom


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loop nest with its interface: input buffers first, then outputs, in the order of the call.

    >>> from flambeau.codegen.kernel import parse_kernel
    >>> text = ('kernel k {\\n  axes i\\n  out y: float32[i]\\n'
    ...         '  for i {\\n    %0: float32 = const 1.0\\n    store y[i], %0\\n  }\\n}\\n')
    >>> kernel = parse_kernel(text)
    >>> kernel.axes, [b.name for b in kernel.outputs]
    (('i',), ['y'])
    """

    name: str
    axes: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        return tuple(b for b in self.buffers if b.role == "in")

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return tuple(b for b in self.buffers if b.role == "out")

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return tuple(b for b in self.buffers if b.role == "scratch")

    def buffer(self, name: str) -> Buffer:
        """The buffer called ``name``."""
        return next(b for b in self.buffers if b.name == name)


def walk(body: tuple[Statement, ...]) -> list[Statement]:
    """Every statement, one that holds others before these."""
    statements: list[Statement] = []
    for statement in body:
        statements.append(statement)
        if isinstance(statement, Loop | Seldom):
            statements.extend(walk(statement.body))
    return statements


def placed_axes(kernel: Kernel) -> frozenset[str]:
    """The axes that values go along."""
    return frozenset(s.axis for s in walk(kernel.body) if isinstance(s, Within))


def index_axes(kernel: Kernel) -> frozenset[str]:
    """The axes that no loop runs over, where values say the place."""
    return placed_axes(kernel) - {a for s in walk(kernel.body) if isinstance(s, Loop) for a in s.axes}


def scatters(kernel: Kernel) -> bool:
    """Whether it stores at places that values say."""
    return any(isinstance(s, Store) and s.at for s in walk(kernel.body))


def main_loops(kernel: Kernel) -> list[Loop]:
    """The outermost loops but for those that only prepare scratch memory."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    scratch = {b.name for b in kernel.scratch}
    return [loop for loop in loops if loop.carries or not _prepares(loop, scratch)]


def _prepares(loop: Loop, scratch: set[str]) -> bool:
    stores = [s for s in walk(loop.body) if isinstance(s, Store)]
    return bool(stores) and all(s.buffer in scratch for s in stores)


def axis_groups(kernel: Kernel) -> tuple[tuple[str, ...], ...]:
    """The distinct tuples of axes that loops run over, outermost first."""
    seen: dict[tuple[str, ...], None] = {}
    for statement in walk(kernel.body):
        if isinstance(statement, Loop):
            seen.setdefault(statement.axes)
    return tuple(seen)
