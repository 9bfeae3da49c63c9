"""What every kernel must hold, checked in one pass that collects all faults before it raises."""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES, KernelError
from flambeau.codegen.kernel.nest import (
    ONE,
    Accumulate,
    Const,
    Extent,
    Kernel,
    Let,
    Load,
    Loop,
    Position,
    Running,
    Statement,
    Store,
    Within,
    walk,
)
from flambeau.codegen.kernel.opset import REDUCERS, TRAPPING, reduced_dtype, result_dtype
from flambeau.codegen.kernel.printer import print_kernel


def verify(kernel: Kernel) -> None:
    """Raise ``KernelError`` naming every fault, with the kernel's text."""
    faults = _Verifier(kernel).run()
    if faults:
        raise KernelError("kernel is not well formed:\n  " + "\n  ".join(faults) + "\n" + print_kernel(kernel))


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.faults: list[str] = []
        self.buffers = {b.name: b for b in kernel.buffers}
        self.defined: set[str] = set()
        self.group_of: dict[str, tuple[str, ...]] = {}
        self.indexed = {a for s in walk(kernel.body) if isinstance(s, Load) for a, _ in s.at}
        self.filled: set[str] = set()
        """Buffers that something before has stored to, at every place."""
        self.within: dict[str, str] = {}
        self.met: set[str] = set()
        self.running: set[str] = set()

    def run(self) -> list[str]:
        if len(self.buffers) != len(self.kernel.buffers):
            self.faults.append("two buffers have one name")
        for b in self.kernel.buffers:
            if b.dtype not in ELEMENT_TYPES:
                self.faults.append(f"buffer {b.name}: unknown dtype {b.dtype}")
            self.faults += [
                f"buffer {b.name}: unknown axis {a}" for a in b.axes if a != ONE and a not in self.kernel.axes
            ]
        self.body(self.kernel.body, {}, (), {})
        return self.faults

    def body(
        self, body: tuple[Statement, ...], scope: dict[str, str], axes: tuple[str, ...], open_: dict[str, Loop]
    ) -> None:
        scope = dict(scope)
        for statement in body:
            if isinstance(statement, Loop):
                self.loop(statement, scope, axes, open_)
            else:
                try:
                    self.simple(statement, scope, axes, open_)
                except KernelError as error:
                    self.faults.append(str(error))

    def loop(self, loop: Loop, scope: dict[str, str], axes: tuple[str, ...], open_: dict[str, Loop]) -> None:
        for a in loop.axes:
            if a not in self.kernel.axes:
                self.faults.append(f"loop over unknown axis {a}")
            if a in axes:
                self.faults.append(f"loop over axis {a} inside a loop over it")
            if a in self.indexed:
                self.faults.append(f"loop over axis {a}, which values go along")
            if self.group_of.setdefault(a, loop.axes) != loop.axes:
                self.faults.append(f"axis {a} stands in two different groups of loop axes")
        for c in loop.carries:
            if c.reducer not in REDUCERS:
                self.faults.append(f"carry {c.name}: unknown reducer {c.reducer}")
            elif c.dtype in ELEMENT_TYPES and ELEMENT_TYPES[c.dtype].kind not in REDUCERS[c.reducer]:
                self.faults.append(f"carry {c.name}: {c.reducer} is not defined for {c.dtype}")
            self.define(c.name, None, scope)
        self.body(loop.body, scope, axes + loop.axes, {**open_, **{c.name: loop for c in loop.carries}})
        for c in loop.carries:
            scope[c.name] = reduced_dtype(c.reducer, c.dtype)

    def define(self, name: str, dtype: str | None, scope: dict[str, str]) -> None:
        if name in self.defined:
            self.faults.append(f"{name} is defined twice")
        self.defined.add(name)
        if dtype is not None:
            scope[name] = dtype

    def dtype(self, name: str, scope: dict[str, str]) -> str:
        if name not in scope:
            raise KernelError(f"{name} is read where it is not defined")
        return scope[name]

    def simple(self, s: Statement, scope: dict[str, str], axes: tuple[str, ...], open_: dict[str, Loop]) -> None:
        if isinstance(s, Const):
            self.define(s.name, s.dtype, scope)
        elif isinstance(s, Position | Extent):
            self.define(s.name, "int64", scope)
            wanted = axes if isinstance(s, Position) else self.kernel.axes
            self.faults += [f"{s.name}: axis {a} is not in scope" for a in s.axes if a not in wanted]
        elif isinstance(s, Running):
            self.define(s.name, s.dtype, scope)
            carry = next((c for c in open_[s.carry].carries if c.name == s.carry), None) if s.carry in open_ else None
            if carry is None or carry.reducer in ("argmax", "argmin"):
                raise KernelError(f"{s.name}: no loop here carries {s.carry}")
            if carry.dtype != s.dtype:
                raise KernelError(f"{s.name}: {s.carry} carries {carry.dtype}, not {s.dtype}")
            if s.carry not in self.met:
                raise KernelError(f"{s.name}: {s.carry} is read before it meets the value of this iteration")
            self.running.add(s.carry)
        elif isinstance(s, Within):
            self.define(s.name, "int64", scope)
            self.within[s.name] = s.axis
            if self.dtype(s.value, scope) != "int64" or s.axis not in self.kernel.axes:
                raise KernelError(f"{s.name}: within takes an int64 and an axis, got {s.value}, {s.axis}")
        elif isinstance(s, Load):
            self.places(s, scope)
            self.access(s.buffer, axes + tuple(a for a, _ in s.at), "out", "load")
            self.define(s.name, s.dtype, scope)
            if s.dtype != self.buffers[s.buffer].dtype:
                raise KernelError(f"{s.name}: load of {s.buffer} gives {self.buffers[s.buffer].dtype}, not {s.dtype}")
        elif isinstance(s, Let):
            operands = tuple(self.dtype(a, scope) for a in s.args)
            got = s.dtype if s.op == "cast" and len(operands) == 1 else result_dtype(s.op, operands)
            self.define(s.name, s.dtype, scope)
            if got != s.dtype:
                raise KernelError(f"{s.name}: {s.op} gives {got}, not {s.dtype}")
        elif isinstance(s, Store):
            self.access(s.buffer, axes + tuple(a for a, _ in s.at), "in", "store")
            if self.dtype(s.value, scope) != self.buffers[s.buffer].dtype:
                raise KernelError(f"store of {self.dtype(s.value, scope)} {s.value} to {s.buffer}")
            if s.at:
                self.changes(s, axes, scope)
            elif s.op:
                raise KernelError(f"store {s.buffer}: {s.op} belongs to places that values say")
            else:
                self.filled.add(s.buffer)
                self.stored_once(s, axes)
        elif isinstance(s, Accumulate):
            if s.carry not in open_:
                raise KernelError(f"{s.carry} <- {s.value} stands outside the loop that carries {s.carry}")
            carry = next(c for c in open_[s.carry].carries if c.name == s.carry)
            if s.carry in self.running:
                raise KernelError(f"{s.carry} meets a value after its running state is read")
            self.met.add(s.carry)
            if self.dtype(s.value, scope) != carry.dtype:
                raise KernelError(f"{s.carry} carries {carry.dtype}, got {self.dtype(s.value, scope)}")
            if (s.position is not None) != (carry.reducer in ("argmax", "argmin")):
                raise KernelError(f"{s.carry}: 'at' belongs to argmax and argmin, and only there")

    def places(self, s: Load, scope: dict[str, str]) -> None:
        self.lie_within(s.name, s.at, scope)
        if s.at and s.buffer in self.buffers and self.buffers[s.buffer].role != "in":
            raise KernelError(f"{s.name}: only inputs are loaded at places that values say")

    def lie_within(self, what: str, at: tuple[tuple[str, str], ...], scope: dict[str, str]) -> None:
        for axis, value in at:
            self.dtype(value, scope)
            if self.within.get(value) != axis:
                raise KernelError(f"{what}: {value} is not known to lie within {axis}")

    def changes(self, s: Store, axes: tuple[str, ...], scope: dict[str, str]) -> None:
        """A store at places that values say."""
        what, dtype = f"store {s.buffer}", self.buffers[s.buffer].dtype
        self.lie_within(what, s.at, scope)
        if self.buffers[s.buffer].role != "out":
            raise KernelError(f"{what}: only outputs are changed at places that values say")
        if s.buffer not in self.filled:
            raise KernelError(f"{what}: places are changed before a loop has filled it")
        self.faults += [f"{what}: a loop runs over axis {a} here" for a, _ in s.at if a in axes]
        if s.op and (s.op in TRAPPING or result_dtype(s.op, (dtype, dtype)) != dtype):
            raise KernelError(f"{what}: {s.op} does not put two {dtype} together")

    def stored_once(self, s: Store, axes: tuple[str, ...]) -> None:
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
