"""Loads, stores and addresses of the words and elements that native functions work on."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter, Write
from flambeau.codegen.graph.runtime import BLOCKS, ELEMENTS
from flambeau.codegen.kernel.dtypes import ElementType, computed_type
from flambeau.codegen.llvm.emitter import Emitter, int_constant
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

_COMPLEX = (dtypes.complex64, dtypes.complex128)
HALVES = (dtypes.float16, dtypes.bfloat16)
MOVED = (*_COMPLEX, *HALVES)
"""Dtypes of elements that are moved, and not computed with as they are."""


def element(dtype: DType) -> ElementType:
    """What native code needs to know of an element type. Raises `KernelError` for one it does not compute in."""
    return computed_type(dtype.name)


def itemsize(dtype: DType) -> int:
    """Bytes of an element. Raises `KernelError` for an element type that native code neither computes in nor moves."""
    return dtype.itemsize if dtype in MOVED else element(dtype).itemsize


def number(value: int) -> Register:
    """A 64-bit literal."""
    return int_constant(value, "i64", 1)


def literal(register: Register) -> int | None:
    """The number a register is, if it is a literal."""
    text = register.text
    return int(text) if text.lstrip("-").isdigit() else None


def multiply(e: Emitter, a: Register, b: Register, flags: str = "") -> Register:
    """A product, folded where both are literals or one of them is 1."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None:
        return number(x * y)
    if x == 1:
        return b
    if y == 1:
        return a
    return e.binary(f"mul{flags}", a, b)


def add(e: Emitter, a: Register, b: Register, flags: str = "") -> Register:
    """A sum, folded where both are literals or one of them is 0."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None:
        return number(x + y)
    if x == 0:
        return b
    if y == 0:
        return a
    return e.binary(f"add{flags}", a, b)


def subtract(e: Emitter, a: Register, b: Register) -> Register:
    """A difference, folded where both are literals or the second is 0."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None:
        return number(x - y)
    return a if y == 0 else e.binary("sub", a, b)


def word_address(e: Emitter, base: Register, index: int) -> Register:
    """The address of a word."""
    return base if index == 0 else e.define(f"getelementptr inbounds i64, ptr {base}, i64 {index}", "ptr", 1)


def load_word(e: Emitter, base: Register, index: int, kind: str, tag: str = BLOCKS) -> Register:
    """A word of a block, a context or an array of words, as a value of the LLVM type ``kind``."""
    address = word_address(e, base, index)
    stored = {"i1": "i8"}.get(kind, kind)
    value = e.define(f"load {stored}, ptr {address}, {tag}", stored, 1)
    return e.convert("trunc", value, "i1") if kind == "i1" else value


def store_word(e: Emitter, base: Register, index: int, value: Register, tag: str = BLOCKS) -> None:
    """Write a word, all 64 bits of it."""
    address = word_address(e, base, index)
    if value.type in ("i1", "i8", "i16", "i32"):
        value = e.convert("zext" if value.type == "i1" else "sext", value, "i64")
    elif value.type == "float":
        value = e.convert("zext", e.as_bits(value), "i64")
    e.raw(f"store {value.type} {value}, ptr {address}, {tag}")


def load_element(e: Emitter, address: Register, dtype: DType) -> Register:
    """An element of a tensor."""
    t = element(dtype)
    if isinstance(e, LaneEmitter) and e.gathers(address):
        value = e.gather(address, t.memory, t.itemsize)
    else:
        apart = e.reads(address) if isinstance(e, LaneEmitter) else ""
        value = e.define(f"load {t.memory}, ptr {address}, align {t.itemsize}, {ELEMENTS}{apart}", t.memory, 1)
    return e.icmp("ne", value, int_constant(0, "i8", value.lanes)) if t.kind == "bool" else value


def store_element(e: Emitter, address: Register, value: Register, dtype: DType) -> None:
    """Write an element of a tensor."""
    t = element(dtype)
    if t.kind == "bool":
        value = e.convert("zext", value, "i8")
    if isinstance(e, LaneEmitter) and e.lanes > 1:
        e.writes.append(Write(address, value, e.mask, t.itemsize))
        return
    if isinstance(e, LaneEmitter):
        e.put_one(address, value, t.itemsize, ELEMENTS)
    else:
        e.raw(f"store {t.memory} {value}, ptr {address}, align {t.itemsize}, {ELEMENTS}")


def move_element(e: Emitter, to: Register, source: Register, dtype: DType) -> None:
    """Copy an element; of a complex one both parts."""
    if dtype not in _COMPLEX:
        store_element(e, to, load_element(e, source, dtype), dtype)
        return
    part = dtype.to_real()
    step = number(part.itemsize)
    for index in (number(0), number(1)):
        addresses = [offset_address(e, base, index, step, part.itemsize) for base in (to, source)]
        store_element(e, addresses[0], load_element(e, addresses[1], part), part)


def offset_address(e: Emitter, base: Register, index: Register, stride: Register, itemsize: int) -> Register:
    """``base + index * stride``, in bytes; by elements where the stride is that of one element."""
    if literal(index) == 0:
        return base
    step = "i8"
    if literal(stride) == itemsize and itemsize in (1, 2, 4, 8):
        step = f"i{itemsize * 8}"
    else:
        index = multiply(e, index, stride, " nsw")
    lanes = max(base.lanes, index.lanes)
    text = f"getelementptr inbounds {step}, {base.full_type} {base}, {index.full_type} {index}"
    address = e.define(text, "ptr", lanes)
    if isinstance(e, LaneEmitter) and base.text in e.origins:
        e.origins[address.text] = e.origins[base.text]
    return address


def spilled(e: Emitter, words: Sequence[Register]) -> Register:
    """Words in memory: the address of the first."""
    address = e.slot(f"[{max(1, len(words))} x i64]", 16)
    for k, word in enumerate(words):
        store_word(e, address, k, word)
    return address


def empty_strides(e: Emitter, sizes: Sequence[Register], itemsize: int) -> tuple[Register, ...]:
    """Strides in bytes of a row-major array that may be empty: an axis of size 0 counts as one of size 1."""
    counted = [s if literal(s) else e.intrinsic("smax", s, number(1)) for s in sizes]
    return dense_strides(e, counted, itemsize)


def dense_strides(e: Emitter, sizes: Sequence[Register], itemsize: int) -> tuple[Register, ...]:
    """Strides in bytes of a row-major array that has elements."""
    strides: list[Register] = []
    step = number(itemsize)
    for size in reversed(sizes):
        strides.append(step)
        step = multiply(e, step, size, " nuw nsw")
    return tuple(reversed(strides))
