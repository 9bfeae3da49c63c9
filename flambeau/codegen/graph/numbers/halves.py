"""Half precision in native code: kept, moved, and converted to and from float32; nothing is computed in it."""

from __future__ import annotations

from flambeau.codegen.graph.memory import HALVES
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.runtime import ELEMENTS
from flambeau.codegen.llvm.emitter import Emitter
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.half_precision import narrow, widen
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType


def check(source: DType, target: DType) -> None:
    """Raise `CannotCompileError` for a conversion other than between halves and what they are converted by."""
    is_read = source in HALVES and target in (dtypes.float32, dtypes.float64)
    is_written = source is dtypes.float32 and target in HALVES
    if (source in HALVES or target in HALVES) and not is_read and not is_written:
        raise CannotCompileError(f"a conversion from {source.name} to {target.name}")


def load(e: Emitter, address: Register, dtype: DType) -> Register:
    """A number of half precision as the float32 that it is."""
    return widen(e, e.define(f"load i16, ptr {address}, align 2, {ELEMENTS}", "i16", 1), dtype.name)


def store(e: Emitter, address: Register, value: Register, dtype: DType) -> None:
    """Write a float32 as a number of half precision."""
    e.raw(f"store i16 {narrow(e, value, dtype.name)}, ptr {address}, align 2, {ELEMENTS}")
