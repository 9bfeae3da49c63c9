"""What every kernel must hold, checked in one pass that collects all faults before it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import COMPLEX, ELEMENT_TYPES, HALVES, KernelError
from flambeau.codegen.kernel.nest import ONE, Kernel, Statement, walk
from flambeau.codegen.kernel.opset import REDUCERS, TRAPPING, reduced_dtype, result_dtype
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.util.record import dataclass, replace


def verify(kernel: Kernel) -> None:
    """Raise ``KernelError`` naming every fault, with the kernel's text.

    >>> from flambeau.codegen.kernel import parse_kernel
    >>> verify(parse_kernel('kernel k {\\n  axes i\\n  out y: float32[i]\\n  for i {\\n    store y[i], %9\\n  }\\n}'))
    Traceback (most recent call last):
        ...
    flambeau.codegen.kernel.dtypes.KernelError: kernel is not well formed:
      %9 is read where it is not defined
    kernel k {
      axes i
      out y: float32[i]
      for i {
        store y[i], %9
      }
    }
    """
    faults = _Verifier(kernel).run()
    if faults:
        raise KernelError("kernel is not well formed:\n  " + "\n  ".join(faults) + "\n" + print_kernel(kernel))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a statement may name."""

    dtypes: dict[str, str]
    """Of the values that are defined here."""
    axes: tuple[str, ...]
    """Over which loops run here."""
    carries: dict[str, nest.Carry]
    """Of the loops around, by name."""


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.faults: list[str] = []
        self.buffers = {b.name: b for b in kernel.buffers}
        self.defined: set[str] = set()
        self.group_of: dict[str, tuple[str, ...]] = {}
        self.indexed = {a for s in walk(kernel.body) if isinstance(s, nest.Load) for a, _ in s.at}
        self.filled: set[str] = set()
        """Buffers that something before has stored to, at every place."""
        self.within: dict[str, str] = {}
        self.met: set[str] = set()
        self.running: set[str] = set()

    def run(self) -> list[str]:
        if len(self.buffers) != len(self.kernel.buffers):
            self.faults.append("two buffers have one name")
        for b in self.kernel.buffers:
            if b.dtype not in ELEMENT_TYPES | HALVES | COMPLEX:
                self.faults.append(f"buffer {b.name}: unknown dtype {b.dtype}")
            self.faults += [
                f"buffer {b.name}: unknown axis {a}" for a in b.axes if a != ONE and a not in self.kernel.axes
            ]
        self.body(self.kernel.body, _Scope({}, (), {}))
        return self.faults

    def body(self, body: tuple[Statement, ...], scope: _Scope) -> None:
        self.statements(body, replace(scope, dtypes=dict(scope.dtypes)))

    def statements(self, body: tuple[Statement, ...], scope: _Scope) -> None:
        for statement in body:
            if isinstance(statement, nest.Loop):
                self.loop(statement, scope)
                continue
            try:
                _CHECKS[type(statement)](self, statement, scope)
            except KernelError as error:
                self.faults.append(str(error))

    def loop(self, loop: nest.Loop, scope: _Scope) -> None:
        for axis in loop.axes:
            self.loop_axis(axis, loop, scope)
        for c in loop.carries:
            if c.reducer not in REDUCERS:
                self.faults.append(f"carry {c.name}: unknown reducer {c.reducer}")
            elif c.dtype in HALVES | COMPLEX or (
                c.dtype in ELEMENT_TYPES and ELEMENT_TYPES[c.dtype].kind not in REDUCERS[c.reducer]
            ):
                self.faults.append(f"carry {c.name}: {c.reducer} is not defined for {c.dtype}")
            self.define(c.name, None, scope)
        carries = {**scope.carries, **{c.name: c for c in loop.carries}}
        self.body(loop.body, _Scope(scope.dtypes, scope.axes + loop.axes, carries))
        for c in loop.carries:
            scope.dtypes[c.name] = reduced_dtype(c.reducer, c.dtype)

    def loop_axis(self, axis: str, loop: nest.Loop, scope: _Scope) -> None:
        if axis not in self.kernel.axes:
            self.faults.append(f"loop over unknown axis {axis}")
        if axis in scope.axes:
            self.faults.append(f"loop over axis {axis} inside a loop over it")
        if axis in self.indexed:
            self.faults.append(f"loop over axis {axis}, which values go along")
        if self.group_of.setdefault(axis, loop.axes) != loop.axes:
            self.faults.append(f"axis {axis} stands in two different groups of loop axes")

    def define(self, name: str, dtype: str | None, scope: _Scope) -> None:
        if name in self.defined:
            self.faults.append(f"{name} is defined twice")
        self.defined.add(name)
        if dtype is not None:
            scope.dtypes[name] = dtype

    def dtype(self, name: str, scope: _Scope) -> str:
        if name not in scope.dtypes:
            raise KernelError(f"{name} is read where it is not defined")
        return scope.dtypes[name]

    # --- statements, each as `_CHECKS` says

    def const(self, s: nest.Const, scope: _Scope) -> None:
        self.define(s.name, s.dtype, scope)

    def position(self, s: nest.Position, scope: _Scope) -> None:
        self.axis_number(s, scope, scope.axes)

    def extent(self, s: nest.Extent, scope: _Scope) -> None:
        self.axis_number(s, scope, self.kernel.axes)

    def axis_number(self, s: nest.Position | nest.Extent, scope: _Scope, axes: tuple[str, ...]) -> None:
        self.define(s.name, "int64", scope)
        self.faults += [f"{s.name}: axis {a} is not in scope" for a in s.axes if a not in axes]

    def running_state(self, s: nest.Running, scope: _Scope) -> None:
        self.define(s.name, s.dtype, scope)
        carry = scope.carries.get(s.carry)
        if carry is None or carry.reducer in ("argmax", "argmin"):
            raise KernelError(f"{s.name}: no loop here carries {s.carry}")
        if carry.dtype != s.dtype:
            raise KernelError(f"{s.name}: {s.carry} carries {carry.dtype}, not {s.dtype}")
        if s.carry not in self.met:
            raise KernelError(f"{s.name}: {s.carry} is read before it meets the value of this iteration")
        self.running.add(s.carry)

    def within_axis(self, s: nest.Within, scope: _Scope) -> None:
        self.define(s.name, "int64", scope)
        self.within[s.name] = s.axis
        if self.dtype(s.value, scope) != "int64" or s.axis not in self.kernel.axes:
            raise KernelError(f"{s.name}: within takes an int64 and an axis, got {s.value}, {s.axis}")

    def load(self, s: nest.Load, scope: _Scope) -> None:
        self.lie_within(s.name, s.at, scope)
        if s.at and s.buffer in self.buffers and self.buffers[s.buffer].role != "in":
            raise KernelError(f"{s.name}: only inputs are loaded at places that values say")
        self.access(s.buffer, scope.axes + tuple(a for a, _ in s.at), "out", "load")
        self.define(s.name, s.dtype, scope)
        if s.dtype != self.buffers[s.buffer].dtype:
            raise KernelError(f"{s.name}: load of {s.buffer} gives {self.buffers[s.buffer].dtype}, not {s.dtype}")

    def let(self, s: nest.Let, scope: _Scope) -> None:
        operands = tuple(self.dtype(a, scope) for a in s.args)
        got = s.dtype if s.op == "cast" and len(operands) == 1 else result_dtype(s.op, operands)
        self.define(s.name, s.dtype, scope)
        if got != s.dtype:
            raise KernelError(f"{s.name}: {s.op} gives {got}, not {s.dtype}")

    def seldom(self, s: nest.Seldom, scope: _Scope) -> None:
        if self.dtype(s.when, scope) != "bool" or self.dtype(s.otherwise, scope) != s.dtype:
            raise KernelError(f"{s.name}: seldom takes a bool and another {s.dtype}, got {s.when}, {s.otherwise}")
        inner = replace(scope, dtypes=dict(scope.dtypes))
        self.statements(s.body, inner)
        if inner.dtypes.get(s.value) != s.dtype:
            raise KernelError(f"{s.name}: no {s.dtype} in its body is called {s.value}")
        if any(isinstance(inside, nest.Store | nest.Position | nest.Within) for inside in walk(s.body)):
            raise KernelError(f"{s.name}: its body only computes")
        self.define(s.name, s.dtype, scope)

    def store(self, s: nest.Store, scope: _Scope) -> None:
        self.access(s.buffer, scope.axes + tuple(a for a, _ in s.at), "in", "store")
        if self.dtype(s.value, scope) != self.buffers[s.buffer].dtype:
            raise KernelError(f"store of {self.dtype(s.value, scope)} {s.value} to {s.buffer}")
        if s.at:
            self.changes(s, scope)
        elif s.op:
            raise KernelError(f"store {s.buffer}: {s.op} belongs to places that values say")
        else:
            self.filled.add(s.buffer)
            self.stored_once(s, scope.axes)

    def accumulate(self, s: nest.Accumulate, scope: _Scope) -> None:
        if s.carry not in scope.carries:
            raise KernelError(f"{s.carry} <- {s.value} stands outside the loop that carries {s.carry}")
        carry = scope.carries[s.carry]
        if s.carry in self.running:
            raise KernelError(f"{s.carry} meets a value after its running state is read")
        self.met.add(s.carry)
        if self.dtype(s.value, scope) != carry.dtype:
            raise KernelError(f"{s.carry} carries {carry.dtype}, got {self.dtype(s.value, scope)}")
        if (s.position is not None) != (carry.reducer in ("argmax", "argmin")):
            raise KernelError(f"{s.carry}: 'at' belongs to argmax and argmin, and only there")

    def lie_within(self, what: str, at: tuple[tuple[str, str], ...], scope: _Scope) -> None:
        for axis, value in at:
            self.dtype(value, scope)
            if self.within.get(value) != axis:
                raise KernelError(f"{what}: {value} is not known to lie within {axis}")

    def changes(self, s: nest.Store, scope: _Scope) -> None:
        """A store at places that values say."""
        what, dtype = f"store {s.buffer}", self.buffers[s.buffer].dtype
        self.lie_within(what, s.at, scope)
        if self.buffers[s.buffer].role != "out":
            raise KernelError(f"{what}: only outputs are changed at places that values say")
        if s.buffer not in self.filled:
            raise KernelError(f"{what}: places are changed before a loop has filled it")
        self.faults += [f"{what}: a loop runs over axis {a} here" for a, _ in s.at if a in scope.axes]
        if s.op and (s.op in TRAPPING or result_dtype(s.op, (dtype, dtype)) != dtype):
            raise KernelError(f"{what}: {s.op} does not put two {dtype} together")

    def stored_once(self, s: nest.Store, axes: tuple[str, ...]) -> None:
        """A loop over an axis that an output does not have would store it often, or never where the axis is empty."""
        buffer = self.buffers[s.buffer]
        repeats = [a for a in axes if a not in buffer.axes]
        if buffer.role == "out" and repeats:
            self.faults.append(f"store {s.buffer}: it does not vary along {', '.join(repeats)}, over which a loop runs")

    def access(self, name: str, axes: tuple[str, ...], refused: str, verb: str) -> None:
        if name not in self.buffers:
            raise KernelError(f"no buffer is called {name}")
        buffer = self.buffers[name]
        if buffer.role == refused:
            raise KernelError(f"cannot {verb} '{refused}' buffer {name}")
        missing = [a for a in buffer.moving_axes if a not in axes]
        if missing:
            raise KernelError(f"{verb} {name}: no loop over {', '.join(missing)} here")


_CHECKS: dict[type[Statement], Callable[[_Verifier, Any, _Scope], None]] = {
    nest.Const: _Verifier.const,
    nest.Position: _Verifier.position,
    nest.Extent: _Verifier.extent,
    nest.Running: _Verifier.running_state,
    nest.Within: _Verifier.within_axis,
    nest.Load: _Verifier.load,
    nest.Let: _Verifier.let,
    nest.Store: _Verifier.store,
    nest.Seldom: _Verifier.seldom,
    nest.Accumulate: _Verifier.accumulate,
}
"""What is checked of each kind of statement but loops."""
