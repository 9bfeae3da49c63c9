"""A builder of functions over rows of floats: loops by vectors whose last may be a part, state kept in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.llvm import first_lanes
from flambeau.codegen.llvm.abi import NO_MEMORY
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import Operand, word
from flambeau.codegen.llvm.emitter import Target, Value, float_constant, float_literal, vector_type
from flambeau.codegen.llvm.memory import ALLOCATE, FREE, iota, suffix
from flambeau.util.record import dataclass

MEMORY: Final = {ALLOCATE.removeprefix("flambeau_"): "ptr (i64)", FREE.removeprefix("flambeau_"): "void (ptr)"}
"""What these functions import."""


@dataclass(frozen=True, slots=True)
class Floats:
    """The numbers that a module computes with, and the vectors that it has for them."""

    type: str
    """`float` or `double`."""
    target: Target

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return 4 if self.type == "float" else 8

    @property
    def lanes(self) -> int:
        """Numbers of a vector."""
        return self.target.vector_bits // (8 * self.itemsize)

    @property
    def has_masks(self) -> bool:
        """Whether a part of a vector is read and written by one instruction."""
        return self.target.vector_bits > 128

    @property
    def has_many_registers(self) -> bool:
        """Whether there are 32 vectors, not 16."""
        return self.target.vector_registers >= 32


class VectorFunction(FunctionBuilder):
    """A function of a module over floats. `floats` is set before anything is built."""

    floats: Floats

    @property
    def zero(self) -> Value:
        """A vector of zeros."""
        return float_constant(0.0, self.floats.type, self.floats.lanes)

    def bytes_of(self, count: Operand) -> Value:
        """Bytes of so many numbers."""
        return self.op("mul", self.typed(count, "i64"), self.floats.itemsize)

    def least_of(self, a: Value, b: Operand) -> Value:
        """The smaller of two words."""
        return self.pick(self.compare("slt", a, b), a, b)

    def most_of(self, a: Value, b: Operand) -> Value:
        """The larger of two words."""
        return self.pick(self.compare("sgt", a, b), a, b)

    def divided_up(self, a: Value, b: Operand) -> Value:
        """The quotient of two words that are not negative, rounded up."""
        divisor = self.typed(b, "i64")
        return self.op("udiv", self.op("add", a, self.op("sub", divisor, 1)), divisor)

    def moved(self, base: Value, *offsets: Operand) -> Value:
        """The address some bytes on."""
        for offset in offsets:
            base = self.at(base, offset, "i8")
        return base

    def aligned_memory(self, size: Value, error: Value) -> tuple[Value, Value]:
        """So many bytes, as they were allocated, and their first 64-byte boundary; where there are none, the function
        returns.
        """
        raw = self.call("allocate", self.op("add", size, 64))
        self.leave_without_memory(raw, error)
        address = self.define(f"ptrtoint ptr {raw} to i64", "i64")
        return raw, self.moved(raw, self.op("and", self.op("sub", word(0), address), 63))

    def leave_without_memory(self, raw: Value, error: Value) -> None:
        """Return from a function without results where memory could not be allocated, with that in the error flag."""
        with self.when(self.is_null(raw)):
            self.store(error, NO_MEMORY, "i32")
            self.ret()

    def vector(self, address: Value, mask: Value | None = None) -> Value:
        """A vector in memory; zeros where a mask has none."""
        t, lanes = self.floats.type, self.floats.lanes
        if mask is None:
            return self.read(address, t, lanes, align=self.floats.itemsize)
        vt, ending = vector_type(t, lanes), suffix(t, lanes)
        self.declare(f"declare {vt} @llvm.masked.load.{ending}.p0(ptr, i32, <{lanes} x i1>, {vt})")
        how = f"i32 {self.floats.itemsize}, <{lanes} x i1> {mask}, {vt} zeroinitializer"
        return self.define(f"call {vt} @llvm.masked.load.{ending}.p0(ptr {address}, {how})", t, lanes)

    def put_vector(self, value: Value, address: Value, mask: Value | None = None) -> None:
        """Write a vector, or the first lanes of it, which a mask has."""
        if mask is None:
            self.write(value, address, align=self.floats.itemsize)
            return
        if not self.floats.target.has_masks:
            first_lanes.store(self, value, address, self.floats.itemsize, first_lanes.of_mask(self, mask))
            return
        lanes = self.floats.lanes
        ending = suffix(self.floats.type, lanes)
        self.declare(f"declare void @llvm.masked.store.{ending}.p0({value.full_type}, ptr, i32, <{lanes} x i1>)")
        how = f"i32 {self.floats.itemsize}, <{lanes} x i1> {mask}"
        self.raw(f"call void @llvm.masked.store.{ending}.p0({value.full_type} {value}, ptr {address}, {how})")

    def mask_below(self, count: Value) -> Value:
        """The lanes below a count."""
        lanes = self.floats.lanes
        return self.define(f"icmp slt <{lanes} x i64> {iota(lanes)}, {self.splat(count, lanes)}", "i1", lanes)

    def span(self, count: Value) -> Span:
        """`count` numbers, to be gone over once or several times."""
        return Span(self, count)

    def fold(
        self, count: Value, state: Sequence[Value], body: Callable[[Value, Sequence[Value]], Sequence[Value]]
    ) -> list[Value]:
        """A state of vectors after `body(k, state)` for k = 0 .. count - 1."""
        before, head, step, after = self.block, self.label("head"), self.label("step"), self.label("folded")
        self.start(head)
        registers = [Value(self.name("s"), v.type, v.lanes) for v in (word(0), *state)]
        line = len(self.lines)
        self.branch_if(self.compare("slt", registers[0], count), step, after)
        self.start(step)
        new = [self.op("add", registers[0], 1), *body(registers[0], registers[1:])]
        phis, latch = zip(registers, (word(0), *state), new, strict=True), self.block
        self.lines[line:line] = [f"  {r} = phi {r.full_type} [{a}, %{before}], [{b}, %{latch}]" for r, a, b in phis]
        self.branch(head)
        self.start(after)
        return registers[1:]

    def sum_of_lanes(self, value: Value) -> Value:
        """The sum of the lanes of a vector."""
        name = f"llvm.vector.reduce.fadd.v{value.lanes}f{value.bits}"
        self.declare(f"declare {value.type} @{name}({value.type}, {value.full_type})")
        operands = f"{value.type} {float_literal(-0.0, value.type)}, {value.full_type} {value}"
        return self.define(f"call reassoc {value.type} @{name}({operands})", value.type)

    def first_of(self, value: Value) -> Value:
        """The first lane of a vector."""
        return self.define(f"extractelement {value.full_type} {value}, i64 0", value.type)

    def multiply_add(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, in one rounding where the processor does that."""
        return self.binary("fadd contract", self.binary("fmul contract", x, y), z)


class Span:
    """So many numbers: whole vectors, and what is left over, which one instruction reads where there are masks."""

    def __init__(self, f: VectorFunction, count: Value) -> None:
        self._f = f
        lanes = f.floats.lanes
        self._whole = f.op("sdiv", count, lanes)
        self._done = f.op("mul", self._whole, lanes)
        self._left = f.op("sub", count, self._done)
        self._mask = f.mask_below(self._left) if f.floats.has_masks else None

    def each(self, body: Callable[[Value, int, Value | None], None]) -> None:
        """Go over the numbers: `body(bytes from the start, lanes, mask)`."""
        f, lanes = self._f, self._f.floats.lanes
        with f.loop(self._whole) as k:
            body(f.op("mul", k, lanes * f.floats.itemsize), lanes, None)
        if self._mask is not None:
            with f.when(f.compare("sgt", self._left, 0)):
                body(f.bytes_of(self._done), lanes, self._mask)
            return
        with f.loop(self._left) as k:
            body(f.bytes_of(f.op("add", self._done, k)), 1, None)


class VectorModule:
    """A module of functions over floats of one type."""

    def __init__(self, floats: Floats) -> None:
        self.floats = floats
        self.builder = ModuleBuilder(MEMORY)

    def function(self, head: str, *parameters: str, exported: bool = False) -> VectorFunction:
        """A new function: ``"void finish"``, ``"ptr y"``, ``"i64 n"``."""
        f = self.builder.special(VectorFunction, head, *parameters, exported=exported, attributes="nounwind")
        f.floats = self.floats
        return f
