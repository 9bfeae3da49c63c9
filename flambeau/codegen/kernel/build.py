"""Builds kernels statement by statement; equal pure expressions in one scope become one.

Example::

    b = KernelBuilder("scale", ("i",))
    b.input("x", "float32", ("i",))
    b.output("y", "float32", ("i",))
    with b.loop("i"):
        b.store("y", b.apply("mul", b.load("x"), b.const(2.0, "float32")))
    kernel = b.kernel()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Buffer,
    Carry,
    Const,
    Definition,
    Extent,
    Kernel,
    Let,
    Load,
    Loop,
    Number,
    Position,
    Running,
    Seldom,
    Statement,
    Store,
    Within,
)
from flambeau.codegen.kernel.opset import reduced_dtype, result_dtype
from flambeau.codegen.kernel.printer import print_number
from flambeau.codegen.kernel.verify import verify


class SeldomValue:
    """A value that statements which seldom run come to.

    >>> value = SeldomValue('%4')
    >>> value.give('%3', 's0')
    >>> value.value, value.otherwise
    ('%3', 's0')
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def give(self, value: str, otherwise: str) -> None:
        """Say what the value is where the statements ran, and elsewhere."""
        self.value, self.otherwise = value, otherwise


class KernelBuilder:
    """Collects buffers and statements; values are their names.

    >>> from flambeau.codegen.kernel import print_kernel
    >>> b = KernelBuilder('doubled', ('i',))
    >>> x = b.input('x', 'float32', ('i',))
    >>> b.output('y', 'float32', ('i',))
    'y'
    >>> with b.loop('i'):
    ...     value = b.load(x)
    ...     b.store('y', b.apply('add', value, value))
    >>> print(print_kernel(b.kernel()), end='')
    kernel doubled {
      axes i
      in x: float32[i]
      out y: float32[i]
      for i {
        %0: float32 = load x[i]
        %1: float32 = add %0, %0
        store y[i], %1
      }
    }
    """

    def __init__(self, name: str, axes: tuple[str, ...]) -> None:
        self.name = name
        self.axes = axes
        self.dtypes: dict[str, str] = {}
        """Element type of every value so far."""
        self._buffers: dict[str, Buffer] = {}
        self._bodies: list[list[Statement]] = [[]]
        self._known: list[dict[tuple[object, ...], str]] = [{}]
        self._counter = 0

    def input(self, name: str, dtype: str, axes: tuple[str, ...]) -> str:
        """Declare an input buffer; returns its name."""
        return self._declare(Buffer(name, dtype, "in", axes))

    def output(self, name: str, dtype: str, axes: tuple[str, ...], *, like: tuple[str, ...] | None = None) -> str:
        """Declare an output buffer; returns its name."""
        return self._declare(Buffer(name, dtype, "out", axes, like))

    def scratch(self, name: str, dtype: str, axes: tuple[str, ...]) -> str:
        """Declare a scratch buffer; returns its name."""
        return self._declare(Buffer(name, dtype, "scratch", axes))

    def const(self, value: Number, dtype: str) -> str:
        """A literal."""
        name = self._name()
        return self._define(Const(name, dtype, value), ("const", dtype, print_number(value)), dtype)

    def load(self, buffer: str, at: tuple[tuple[str, str], ...] = ()) -> str:
        """The element of ``buffer`` at the current iteration, and for the axes in ``at`` where these values say."""
        dtype = self._buffers[buffer].dtype
        if self._buffers[buffer].role == "in":
            return self._define(Load(self._name(), dtype, buffer, at), ("load", buffer, at), dtype)
        return self._define(Load(self._name(), dtype, buffer), None, dtype)

    def within(self, value: str, axis: str) -> str:
        """An int64 that must be a place along ``axis``, which no loop runs over; calls where it is not are refused."""
        return self._define(Within(self._name(), value, axis), ("within", value, axis), "int64")

    def position(self, *axes: str) -> str:
        """Row-major index over ``axes``, int64."""
        return self._define(Position(self._name(), axes), ("position", axes), "int64")

    def extent(self, *axes: str) -> str:
        """Product of the sizes of ``axes``, int64."""
        return self._define(Extent(self._name(), axes), ("extent", axes), "int64")

    def running(self, carry: Carry) -> str:
        """The state of a loop that is open here, after what it met so far."""
        return self._define(Running(self._name(), carry.dtype, carry.name), None, carry.dtype)

    def apply(self, op: str, *args: str) -> str:
        """One operation; raises ``KernelError`` where it does not apply to the operands' types."""
        dtype = result_dtype(op, tuple(self.dtypes[a] for a in args))
        return self._define(Let(self._name(), dtype, op, args), (op, args), dtype)

    def cast(self, value: str, dtype: str) -> str:
        """``value`` in another element type."""
        if self.dtypes[value] == dtype:
            return value
        return self._define(Let(self._name(), dtype, "cast", (value,)), ("cast", value, dtype), dtype)

    def store(self, buffer: str, value: str, at: tuple[tuple[str, str], ...] = (), op: str = "") -> None:
        """Write ``value`` at the current iteration, for the axes in ``at`` where these values say; with ``op``, put it
        together with what is there.
        """
        self._bodies[-1].append(Store(buffer, value, at, op))

    def accumulate(self, carry: str, value: str, position: str | None = None) -> None:
        """Fold ``value`` into ``carry``."""
        self._bodies[-1].append(Accumulate(carry, value, position))

    @contextmanager
    def loop(self, *axes: str, carries: tuple[Carry, ...] = ()) -> Iterator[None]:
        """Statements added inside run for every iteration over ``axes``; ``carries`` can be read afterwards."""
        self._bodies.append([])
        self._known.append({})
        yield
        self._known.pop()
        body = self._bodies.pop()
        self._bodies[-1].append(Loop(axes, carries, tuple(body)))
        for carry in carries:
            self.dtypes[carry.name] = reduced_dtype(carry.reducer, carry.dtype)

    @contextmanager
    def seldom(self, when: str) -> Iterator[SeldomValue]:
        """Statements added inside run where ``when`` is true; say with `SeldomValue.give` what they come to."""
        self._bodies.append([])
        self._known.append({})
        value = SeldomValue(self._name())
        self._counter += 1
        yield value
        self._known.pop()
        body = self._bodies.pop()
        dtype = self.dtypes[value.otherwise]
        self._bodies[-1].append(Seldom(value.name, dtype, when, tuple(body), value.value, value.otherwise))
        self.dtypes[value.name] = dtype

    def kernel(self) -> Kernel:
        """The finished kernel, verified."""
        ordered = [b for role in ("in", "out", "scratch") for b in self._buffers.values() if b.role == role]
        kernel = Kernel(self.name, self.axes, tuple(ordered), tuple(self._bodies[0]))
        verify(kernel)
        return kernel

    def _declare(self, buffer: Buffer) -> str:
        if buffer.name in self._buffers:
            raise KernelError(f"buffer {buffer.name} is declared twice")
        self._buffers[buffer.name] = buffer
        return buffer.name

    def _name(self) -> str:
        return f"%{self._counter}"

    def _define(self, statement: Definition, key: tuple[object, ...] | None, dtype: str) -> str:
        if key is not None:
            for known in self._known:
                if key in known:
                    return known[key]
        self._counter += 1
        self._bodies[-1].append(statement)
        self.dtypes[statement.name] = dtype
        if key is not None:
            self._known[-1][key] = statement.name
        return statement.name
