"""Normal numbers in blocks of sixteen (Box and Muller, 1958), by the loops of NumPy's own logarithm, cosine and sine.

So numbers have the bits that NumPy's way gives.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from flambeau.codegen.llvm.builder import IMPORTED, FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.twister.numbers import function
from flambeau.codegen.twister.words import WIDE, pieces
from flambeau.codegen.ufunc_loops import loop_of

_LOOP: Final = "void (ptr, ptr, ptr, ptr)"
_FUNCTIONS: Final = ("log", "cos", "sin")
_BLOCKS: Final = 64
"""Blocks that are made together."""
_SIZES: Final = {"float": 4, "double": 8}
_DTYPES: Final[dict[str, np.dtype[Any]]] = {"float": np.dtype(np.float32), "double": np.dtype(np.float64)}


def loop_types() -> dict[str, str]:
    """The types of NumPy's loops, by the names that modules import them by."""
    return {f"{name}_{element}": _LOOP for element in _SIZES for name in _FUNCTIONS}


def loop_addresses() -> dict[str, int] | None:
    """Where NumPy's loops are, by symbol; None where there are none that take nothing but arrays."""
    known = {}
    for element, dtype in _DTYPES.items():
        for name in _FUNCTIONS:
            loop = loop_of(getattr(np, name), (dtype, dtype))
            if loop is None or loop.data:
                return None
            known[f"{IMPORTED}{name}_{element}"] = loop.function
    return known


def add_normals(m: ModuleBuilder, element: str) -> None:
    """``normal_float`` or ``normal_double``: `count` numbers, a multiple of sixteen, of mean 0 and variance 1.

    Of a block, eight uniform numbers say how far from 0 pairs are, and eight more in which direction.
    """
    f = function(m, f"normal_{element}")
    state, out, count, _, _ = f.parameters
    size = _SIZES[element]
    scratch = [f.slot(f"[{WIDE * _BLOCKS} x {element}]") for _ in range(4)]
    away, angle, other, log = scratch
    loops = _Loops(f, element)
    with pieces(f, f.op("lshr", count, 4), _BLOCKS) as (first, blocks):
        target = f.at(out, f.op("shl", first, 4), element)
        f.call(f"{element}s", state, target, f.op("shl", blocks, 4), 0, 0)
        elements = f.op("shl", blocks, 3)

        def halves(k: Value) -> tuple[Value, Value]:
            block = f.at(target, f.op("shl", k, 4), element)
            return block, f.at(block, WIDE, element)

        def at(memory: Value, k: Value) -> Value:
            return f.at(memory, f.op("shl", k, 3), element)

        def read(address: Value) -> Value:
            return f.read(address, element, WIDE, align=size)

        with f.loop(blocks) as k:
            near, far = map(read, halves(k))
            f.write(f.fsub(f.like(near, 1.0), near), at(away, k), align=size)
            f.write(f.fmul(float_constant(2 * math.pi, element, WIDE), far), at(angle, k), align=size)
        loops.run("log", away, log, elements)
        loops.run("cos", angle, away, elements)
        loops.run("sin", angle, other, elements)
        with f.loop(blocks) as k:
            squared = f.fmul(f.like(read(at(log, k)), -2.0), read(at(log, k)))
            length = f.intrinsic("sqrt", squared)
            for half, direction in zip(halves(k), (away, other), strict=True):
                f.write(f.fmul(length, read(at(direction, k))), half, align=size)
    f.ret()


class _Loops:
    """Calls of NumPy's loops on arrays side by side."""

    def __init__(self, f: FunctionBuilder, element: str) -> None:
        self._f, self._element = f, element
        self._addresses, self._count, self._steps = f.slot("[2 x ptr]"), f.slot("i64"), f.slot("[2 x i64]")
        for k in range(2):
            f.set_word(self._steps, k, _SIZES[element])

    def run(self, name: str, source: Value, target: Value, count: Value) -> None:
        """target[k] = name(source[k])."""
        f = self._f
        f.store(self._count, count)
        f.store(self._addresses, source)
        f.store(f.at(self._addresses, 1), target)
        f.call(f"{name}_{self._element}", self._addresses, self._count, self._steps, NULL)
