"""Writes LLVM IR text: typed values, one method per instruction, the same code for scalars and vectors of any width.

Nothing here knows of kernels. Text is several times faster to produce than ``llvmlite.ir`` objects, and LLVM's own
parser checks it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Self

from flambeau.util.record import dataclass, field

INT_OF = {"float": "i32", "double": "i64"}
BITS = {"float": 32, "double": 64, "half": 16, "bfloat": 16, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
SPLITTER = 2.0**27 + 1.0
"""A double times this, and less what that is more than the double, is the upper half of its digits."""


class Value(str):
    """An SSA value or a constant: its text, its element type, its number of lanes (1: a scalar).

    Instructions are written with its text thousands of times: it is that text.
    """

    __slots__ = ("full_type", "lanes", "text", "type")
    text: str
    type: str
    lanes: int
    full_type: str

    def __new__(cls, text: str, type: str, lanes: int) -> Self:
        value = super().__new__(cls, text)
        value.text, value.type, value.lanes = text, type, lanes
        value.full_type = type if lanes == 1 else f"<{lanes} x {type}>"
        return value

    @property
    def bits(self) -> int:
        return BITS[self.type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and str.__eq__(self, other) and self.full_type == other.full_type

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"{self.full_type} {self.text}"


def vector_type(element: str, lanes: int) -> str:
    """``element`` or ``<lanes x element>``."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def float_literal(value: float, element: str) -> str:
    """An exact LLVM literal of the number, rounded to ``element``."""
    number = float(value)
    if element == "float":
        number = ctypes.c_float(number).value
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _splat_text(element: str, lanes: int, literal: str) -> str:
    return literal if lanes == 1 else f"splat ({element} {literal})"


def float_constant(value: float, element: str, lanes: int) -> Value:
    """The number in every lane."""
    return Value(_splat_text(element, lanes, float_literal(value, element)), element, lanes)


def constant_float(value: Value) -> float | None:
    """The number that a float constant has in every lane; None for what is computed."""
    literal = value.text.removeprefix(f"splat ({value.type} ").removesuffix(")")
    if value.type not in ("float", "double") or not literal.startswith("0x"):
        return None
    number: float = struct.unpack("<d", struct.pack("<Q", int(literal, 16)))[0]
    return number


def int_constant(value: int, element: str, lanes: int) -> Value:
    """The integer in every lane."""
    literal = ("true" if value else "false") if element == "i1" else str(value)
    return Value(_splat_text(element, lanes, literal), element, lanes)


@dataclass(slots=True)
class Target:
    """What instruction selection may assume of the machine."""

    vector_bits: int = 128
    has_scalef: bool = False
    """AVX-512: one instruction multiplies by a power of two with every overflow and subnormal case right."""
    table_lanes: int = 0
    """AVX2, AVX-512: among how many float32 of a register one instruction picks for each lane; 0 for none."""
    has_fma: bool = True
    """Whether a product and a sum rounded once are one instruction, not a call of the C library for each lane."""
    adds_pairs: bool = False
    """x86: one instruction multiplies integers of 16 bits and adds two neighbours."""
    adds_bytes: bool = False
    """AVX-512: one instruction adds up four products of bytes."""
    has_masks: bool = False
    """AVX-512: loads and stores of some lanes, of any width, that take as long as others."""
    vector_registers: int = 16
    converted_halves: tuple[str, ...] = ()
    """Dtypes of half precision that one instruction converts to float32 and back."""
    user_flags: str = ""
    """Fast-math flags of the user's own arithmetic; the math polynomials use none."""


@dataclass(slots=True)
class Emitter:
    """Appends instructions to ``lines`` and keeps the current block's label for phi nodes."""

    target: Target
    lines: list[str] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)
    """Stack slots, placed at the top of the function."""
    block: str = "entry"
    libm: dict[str, None] = field(default_factory=dict)
    """C library functions called, by their C names."""
    counter: int = 0

    # --- plumbing

    def name(self, stem: str = "v") -> str:
        self.counter += 1
        return f"%{stem}{self.counter}"

    def raw(self, text: str) -> None:
        self.lines.append("  " + text)

    def define(self, text: str, element: str, lanes: int) -> Value:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return Value(name, element, lanes)

    def label(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.raw(f"br label %{label}")

    def branch_if(self, condition: Value, yes: str, no: str) -> None:
        self.raw(f"br i1 {condition}, label %{yes}, label %{no}")

    def slot(self, type_text: str, align: int = 64) -> Value:
        name = self.name("slot")
        self.entry.append(f"  {name} = alloca {type_text}, align {align}")
        return Value(name, "ptr", 1)

    def declare(self, text: str) -> None:
        self.declarations.setdefault(text)

    # --- constants of another value's shape

    def like(self, a: Value, number: float) -> Value:
        """The number as a constant of the type and width of ``a``."""
        if a.type in INT_OF:
            return float_constant(number, a.type, a.lanes)
        return int_constant(int(number), a.type, a.lanes)

    def bits_like(self, a: Value, number: int) -> Value:
        """An integer constant as wide as the float ``a``."""
        return int_constant(number, INT_OF.get(a.type, a.type), a.lanes)

    def splat(self, a: Value, lanes: int) -> Value:
        if a.lanes == lanes:
            return a
        if not a.text.startswith("%"):
            return Value(_splat_text(a.type, lanes, a.text), a.type, lanes)
        vt = vector_type(a.type, lanes)
        first = self.define(f"insertelement {vt} poison, {a.type} {a}, i64 0", a.type, lanes)
        return self.define(f"shufflevector {vt} {first}, {vt} poison, <{lanes} x i32> zeroinitializer", a.type, lanes)

    # --- instructions

    def binary(self, op: str, a: Value, b: Value) -> Value:
        return self.define(f"{op} {a.full_type} {a}, {b}", a.type, a.lanes)

    def user(self, op: str, a: Value, b: Value) -> Value:
        return self.define(f"{op} {self.target.user_flags} {a.full_type} {a}, {b}", a.type, a.lanes)

    def fadd(self, a: Value, b: Value) -> Value:
        return self.binary("fadd", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self.binary("fsub", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self.binary("fmul", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.binary("fdiv", a, b)

    def fneg(self, a: Value) -> Value:
        return self.define(f"fneg {a.full_type} {a}", a.type, a.lanes)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """An LLVM intrinsic whose operands and result have one type."""
        a = args[0]
        suffix = (f"v{a.lanes}" if a.lanes > 1 else "") + (f"f{a.bits}" if a.type in INT_OF else a.type)
        self.declare(f"declare {a.full_type} @llvm.{name}.{suffix}({', '.join([a.full_type] * len(args))})")
        operands = ", ".join(f"{x.full_type} {x}" for x in args)
        return self.define(f"call {a.full_type} @llvm.{name}.{suffix}({operands})", a.type, a.lanes)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """``a * b + c``, rounded once, or almost: where no instruction does it, what more precise numbers give."""
        if self.target.has_fma or a.type not in INT_OF:
            return self.intrinsic("fma", a, b, c)
        if a.type == "double":
            return self._fma_of_parts(a, b, c)
        wide = [self.convert("fpext", x, "double") for x in (a, b, c)]
        return self.convert("fptrunc", self.fadd(self.fmul(wide[0], wide[1]), wide[2]), "float")

    def _fma_of_parts(self, a: Value, b: Value, c: Value) -> Value:
        """Product and sum with what each of them loses to rounding (Dekker 1971, Knuth), added at last.

        Rounded twice where factors are too large to be split, or something is not finite.
        """
        (a_high, a_low), (b_high, b_low) = (self._halves(x) for x in (a, b))
        product = self.fmul(a, b)
        rest = self.fsub(self.fmul(a_high, b_high), product)
        rest = self.fadd(self.fadd(rest, self.fmul(a_high, b_low)), self.fmul(a_low, b_high))
        rest = self.fadd(rest, self.fmul(a_low, b_low))
        total = self.fadd(product, c)
        added = self.fsub(total, product)
        lost = self.fadd(self.fsub(product, self.fsub(total, added)), self.fsub(c, added))
        result = self.fadd(total, self.fadd(lost, rest))
        return self.select(self.fcmp("uno", result, result), total, result)

    def _halves(self, a: Value) -> tuple[Value, Value]:
        """Two numbers of half the digits whose sum is ``a`` (Veltkamp)."""
        large = self.fmul(a, self.like(a, SPLITTER))
        high = self.fsub(large, self.fsub(large, a))
        return high, self.fsub(a, high)

    def fabs(self, a: Value) -> Value:
        return self.intrinsic("fabs", a)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self.define(f"fcmp {predicate} {a.full_type} {a}, {b}", "i1", a.lanes)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self.define(f"icmp {predicate} {a.full_type} {a}, {b}", "i1", a.lanes)

    def select(self, c: Value, a: Value, b: Value) -> Value:
        return self.define(f"select {c.full_type} {c}, {a.full_type} {a}, {b.full_type} {b}", a.type, a.lanes)

    def convert(self, op: str, a: Value, element: str) -> Value:
        """``zext``, ``trunc``, ``fptosi``, ``bitcast`` and their like."""
        return self.define(f"{op} {a.full_type} {a} to {vector_type(element, a.lanes)}", element, a.lanes)

    def as_bits(self, a: Value) -> Value:
        return self.convert("bitcast", a, INT_OF[a.type])

    def as_float(self, a: Value) -> Value:
        return self.convert("bitcast", a, "float" if a.type == "i32" else "double")

    def least(self, bound: Value, x: Value) -> Value:
        """min(bound, x), a nan in ``x`` kept (one machine instruction)."""
        return self.select(self.fcmp("olt", bound, x), bound, x)

    def most(self, bound: Value, x: Value) -> Value:
        """max(bound, x), a nan in ``x`` kept (one machine instruction)."""
        return self.select(self.fcmp("ogt", bound, x), bound, x)

    def polynomial(self, x: Value, coefficients: list[float]) -> Value:
        """Horner's rule, lowest coefficient first."""
        result = self.like(x, coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.like(x, c))
        return result

    def phi(self, name: str, a: Value, incoming: list[tuple[Value, str]]) -> None:
        """``name = phi`` in the current block."""
        pairs = ", ".join(f"[{value}, %{label}]" for value, label in incoming)
        self.raw(f"{name} = phi {a.full_type} {pairs}")

    def offset(self, base: Value, index: Value | int, element: str = "i8") -> Value:
        """The address so many elements behind another; bytes where nothing else is said."""
        return self.define(f"getelementptr {element}, ptr {base}, i64 {index}", "ptr", 1)

    def read(self, address: Value, element: str, lanes: int = 1, *, align: int = 0) -> Value:
        """A value in memory, at a multiple of ``align`` if that is not the usual for its type."""
        note = f", align {align}" if align else ""
        return self.define(f"load {vector_type(element, lanes)}, ptr {address}{note}", element, lanes)

    def write(self, value: Value, address: Value, *, align: int = 0) -> None:
        """Write a value to memory."""
        note = f", align {align}" if align else ""
        self.raw(f"store {value.full_type} {value}, ptr {address}{note}")

    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> Value:
        """Lanes of two vectors, those of the second counted behind those of the first."""
        listed = ", ".join(f"i32 {k}" for k in picks)
        text = f"shufflevector {a.full_type} {a}, {b.full_type} {b}, <{len(picks)} x i32> <{listed}>"
        return self.define(text, a.type, len(picks))

    def call_function(self, result: str, symbol: str, *arguments: Value) -> Value:
        """What a function of another module gives; nothing where its result is ``void``."""
        self.declare(f"declare {result} @{symbol}({', '.join([a.full_type for a in arguments])})")
        text = f"call {result} @{symbol}({', '.join([f'{a.full_type} {a}' for a in arguments])})"
        if result != "void":
            return self.define(text, result, 1)
        self.raw(text)
        return Value("", "void", 1)

    def any_lane(self, mask: Value) -> Value:
        """Whether any lane of a mask is set."""
        if mask.lanes == 1:
            return mask
        vt = mask.full_type
        self.declare(f"declare i1 @llvm.vector.reduce.or.v{mask.lanes}i1({vt})")
        return self.define(f"call i1 @llvm.vector.reduce.or.v{mask.lanes}i1({vt} {mask})", "i1", 1)

    def part(self, a: Value, first: int, lanes: int) -> Value:
        """``lanes`` lanes of ``a`` from ``first``."""
        picks = ", ".join(f"i32 {first + k}" for k in range(lanes))
        text = f"shufflevector {a.full_type} {a}, {a.full_type} poison, <{lanes} x i32> <{picks}>"
        return self.define(text, a.type, lanes)

    def gathered(self, numbers: list[Value]) -> Value:
        """A vector of scalars."""
        vt = vector_type(numbers[0].type, len(numbers))
        vector = Value("poison", numbers[0].type, len(numbers))
        for k, number in enumerate(numbers):
            text = f"insertelement {vt} {vector}, {number.type} {number}, i64 {k}"
            vector = self.define(text, number.type, len(numbers))
        return vector

    def joined(self, parts: list[Value]) -> Value:
        """Vectors of one width, or numbers, one after another; there are a power of two."""
        if parts[0].lanes == 1:
            return self.gathered(parts)
        while len(parts) > 1:
            lanes = parts[0].lanes
            picks = ", ".join(f"i32 {k}" for k in range(2 * lanes))
            vt = parts[0].full_type
            parts = [
                self.define(f"shufflevector {vt} {a}, {vt} {b}, <{2 * lanes} x i32> <{picks}>", a.type, 2 * lanes)
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]
