"""Native code for specialised kernels under their schedules, shared by all that have the same text."""

from __future__ import annotations

import ctypes
import time
import weakref
from functools import partial
from typing import Any

from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.llvm.emitted import KernelText, Needs
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine, memory_imports
from flambeau.codegen.llvm.native_text import NativeText
from flambeau.codegen.llvm.nest import emit_kernel
from flambeau.codegen.llvm.stages import emit_staged, is_staged
from flambeau.codegen.products import Tiling, emit_product
from flambeau.codegen.schedule import Schedule
from flambeau.util import log
from flambeau.util.locks import Lock
from flambeau.util.progress import progress
from flambeau.util.record import dataclass, replace

SYMBOL = "flambeau_kernel"
"""Symbol of every kernel; each is linked apart, so that equal kernels have equal text."""
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Variant:
    """Native code for one specialised kernel under one schedule."""

    kernel: Kernel
    schedule: Schedule
    native: KernelText
    code: NativeCode
    entry: Any
    """The kernel as a ctypes function of (block, low, high)."""
    milliseconds: float

    @property
    def address(self) -> int:
        """Where the code is."""
        return self.code.addresses[self.native.symbol]


_variants: weakref.WeakValueDictionary[str, Variant] = weakref.WeakValueDictionary()
"""Code in use, by kernel text and schedule; it is freed with the last launch that uses it."""
_variants_lock = Lock()


def variant_text(kernel: Kernel, schedule: Schedule) -> str:
    """What tells kernels under their schedules apart, whatever they are called."""
    return f"{schedule.key()}\n{print_kernel(replace(kernel, name='kernel'))}"


def compile_variant(kernel: Kernel, schedule: Schedule, what: str = "") -> Variant:
    """Native code for ``kernel``, shared by all that have the same text, which is ``what`` where that is known."""
    what = what or variant_text(kernel, schedule)
    key = f"{engine().identity}\n{what}"
    with _variants_lock:
        variant = _variants.get(key)
        if variant is None:
            start = time.perf_counter()
            with progress(f"compiling kernel {kernel.name}"):
                jit = engine()
                native, code = jit.link_kernel(
                    what, SYMBOL, partial(_emit, kernel, schedule, jit.target), partial(_imports, schedule)
                )
            spent = (time.perf_counter() - start) * 1e3
            variant = Variant(kernel, schedule, native, code, _ENTRY(code.addresses[native.symbol]), spent)
            _variants[key] = variant
            if log.level("codegen"):
                log.write("codegen", _log_entry(variant))
        return variant


def _imports(schedule: Schedule, needs: Needs) -> dict[str, int]:
    """The addresses of what a kernel's function calls."""
    imports = c_imports(needs.libm)
    if needs.needs_memory:
        imports.update(memory_imports())
    if isinstance(schedule, Tiling):
        imports.update(schedule.imports())
    return imports


def _emit(kernel: Kernel, schedule: Schedule, target: Target) -> NativeText:
    if isinstance(schedule, Tiling):
        return emit_product(kernel, schedule, target, SYMBOL)
    emit = emit_staged if is_staged(kernel, schedule) else emit_kernel
    return emit(hoist(kernel), schedule, target, SYMBOL)


def _log_entry(variant: Variant) -> str:
    text = f"kernel {variant.kernel.name} in {variant.milliseconds:.1f} ms: {variant.schedule.key().strip()}"
    details = (print_kernel(variant.kernel), variant.native.text)[: log.level("codegen") - 1]
    return "\n".join((text, *details))
