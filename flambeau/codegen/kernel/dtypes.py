"""Element types a kernel computes in or keeps elements in, by name, with what each backend needs to know of them.

Names are those of ``flambeau.schema.dtype``; a kernel keeps the name only, so that its text stands alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type."""

    name: str
    bits: int
    """Width in memory; a bool takes one byte there."""
    kind: str
    """``float``, ``int`` (signed), ``uint``, ``bool``, or one of two that are kept in memory: ``half``, computed in
    float32, and ``complex``, computed part by part.
    """
    llvm: str
    """Type of a value in a register; ``i1`` for bool, that of both parts for a complex number."""
    memory: str
    """Type of a value in memory."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.name)

    @property
    def itemsize(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")


ELEMENT_TYPES: dict[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("float32", 32, "float", "float", "float"),
        ElementType("float64", 64, "float", "double", "double"),
        ElementType("int8", 8, "int", "i8", "i8"),
        ElementType("int16", 16, "int", "i16", "i16"),
        ElementType("int32", 32, "int", "i32", "i32"),
        ElementType("int64", 64, "int", "i64", "i64"),
        ElementType("uint8", 8, "uint", "i8", "i8"),
        ElementType("uint16", 16, "uint", "i16", "i16"),
        ElementType("uint32", 32, "uint", "i32", "i32"),
        ElementType("uint64", 64, "uint", "i64", "i64"),
        ElementType("bool", 8, "bool", "i1", "i8"),
    )
}


HALVES: dict[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("float16", 16, "half", "i16", "i16"),
        ElementType("bfloat16", 16, "half", "i16", "i16"),
    )
}
"""Element types that kernels load, store, choose among and convert, as their bits; nothing is computed in them."""


COMPLEX: dict[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("complex64", 64, "complex", "float", "<2 x float>"),
        ElementType("complex128", 128, "complex", "double", "<2 x double>"),
    )
}
"""Element types that kernels load, take apart, put together and store; parts lie side by side in registers too."""
PARTS = {"complex64": "float32", "complex128": "float64"}
"""What the parts of complex numbers are."""
WHOLE = {part: name for name, part in PARTS.items()}


def element_type(name: str) -> ElementType:
    """The element type called ``name``, halves and complex numbers among them; raises ``KernelError`` for one that
    kernels do not know.

    >>> element_type('float32').itemsize, element_type('bool').llvm
    (4, 'i1')
    """
    element = ELEMENT_TYPES.get(name) or HALVES.get(name) or COMPLEX.get(name)
    return element if element is not None else computed_type(name)


def computed_type(name: str) -> ElementType:
    """The same, but ``KernelError`` for halves and complex numbers too: kernels do not compute in them."""
    try:
        return ELEMENT_TYPES[name]
    except KeyError:
        known = ", ".join(ELEMENT_TYPES)
        raise KernelError(f"kernels do not compute in dtype '{name}'; they know {known}") from None


class KernelError(ValueError):
    """A kernel that is not well formed, or arrays that do not fit it."""
