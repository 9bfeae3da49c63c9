"""The one place that talks to LLVM: text to object code to an address, in a shared ORC JIT.

Kernels with explicit vectors go straight to instruction selection: the mid-level pipeline costs half the compile time
and makes them slower. Code lives as long as the ``NativeCode`` that owns it. Compiling is serialised by a lock.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.lanes import PREFIX
from flambeau.codegen.llvm.memory import ALLOCATE, FREE


@dataclass(slots=True)
class NativeCode:
    """Linked code: addresses by symbol, and the tracker that frees the code when this object goes."""

    addresses: dict[str, int]
    text: str
    object_bytes: int
    milliseconds: float
    tracker: Any = field(repr=False)


def available() -> bool:
    """Whether LLVM can be loaded here."""
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


_FEATURES = {
    "x86-64": {"sse2": True},
    "x86-64-v2": {"sse2": True},
    "x86-64-v3": {"avx2": True},
    "x86-64-v4": {"avx2": True, "avx512f": True, "avx512dq": True},
}
"""What lesser processors of this kind have; with these the code for other machines is tested on this one."""


class Engine:
    """An ORC JIT for this machine, or for a lesser processor of its kind, named as LLVM does."""

    def __init__(self, cpu: str | None = None) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self.triple = llvm.get_process_triple()
        self.cpu = cpu or llvm.get_host_cpu_name()
        host = llvm.get_host_cpu_features()
        features: dict[str, bool] = _FEATURES[cpu] if cpu is not None else dict(host)
        self.features = "" if cpu is not None else host.flatten()
        self._machine = self._new_machine()
        self._layout = str(self._machine.target_data)
        self._jit = llvm.create_lljit_compiler(self._new_machine())
        wide = features.get("avx512f", False) and features.get("avx512dq", False)
        bits = 512 if wide else 256 if features.get("avx2", False) else 128
        has_many = wide or self.triple.startswith(("aarch64", "arm64"))
        self.target = Target(vector_bits=bits, has_scalef=wide, vector_registers=32 if has_many else 16)

    def _new_machine(self, opt: int = 2) -> Any:
        llvm = self._llvm
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt, reloc="pic", codemodel="default", jit=True
        )

    def link(
        self,
        text: str,
        exports: tuple[str, ...],
        imports: dict[str, int],
        *,
        is_glue: bool = False,
        optimise: bool = False,
    ) -> NativeCode:
        """Compile and link ``text``; ``imports`` gives the address of every external symbol.

        Glue is compiled in a fifth of the time, and a call through it takes a few nanoseconds more. With ``optimise``,
        LLVM's passes run first: for scalar code, whose loops they turn into vectors.
        """
        llvm = self._llvm
        with self._lock:
            start = time.perf_counter()
            machine = self._new_machine(0) if is_glue else self._machine
            image = machine.emit_object(self._prepared(text, optimise))
            # Where the processor lacks an instruction, LLVM calls a C function: fma, roundeven, memset.
            builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
            for name, address in imports.items():
                builder = builder.import_symbol(name, address)
            for name in exports:
                builder = builder.export_symbol(name)
            tracker = builder.link(self._jit, f"flambeau_library_{next(self._numbers)}")
            addresses = {name: tracker[name] for name in exports}
            spent = (time.perf_counter() - start) * 1e3
        return NativeCode(addresses, text, len(image), spent, tracker)

    def assembly(self, text: str, *, optimise: bool = False) -> str:
        """The machine instructions of ``text``."""
        with self._lock:
            return str(self._machine.emit_assembly(self._prepared(text, optimise)))

    def optimised_ir(self, text: str) -> str:
        """``text`` after LLVM's passes, as ``link`` runs them with ``optimise``."""
        with self._lock:
            return str(self._prepared(text, optimise=True))

    def _prepared(self, text: str, optimise: bool) -> Any:
        module = self._parse(text)
        if optimise:
            options = self._llvm.create_pipeline_tuning_options(speed_level=2)
            options.loop_vectorization = options.slp_vectorization = True
            builder = self._llvm.create_pass_builder(self._machine, options)
            builder.getModulePassManager().run(module, builder)
        return module

    def _parse(self, text: str) -> Any:
        module = self._llvm.parse_assembly(text)
        module.verify()
        module.triple = self.triple
        module.data_layout = self._layout
        return module


_engine_lock = threading.RLock()
_engines: list[Engine] = []


@contextmanager
def using(other: Engine) -> Iterator[None]:
    """Compile with another engine for a while, for tests; kernels compiled before keep their code."""
    with _engine_lock:
        before = _engines[:]
        _engines[:] = [other]
    try:
        yield
    finally:
        with _engine_lock:
            _engines[:] = before


def engine() -> Engine:
    """The process's engine, made at first use."""
    with _engine_lock:
        if not _engines:
            _engines.append(Engine())
        return _engines[0]


@cache
def _c_library() -> ctypes.CDLL:
    name = "ucrtbase" if sys.platform == "win32" else ctypes.util.find_library("m")
    return ctypes.CDLL(name)


def c_imports(names: tuple[str, ...]) -> dict[str, int]:
    """Addresses of C math functions under the symbols that kernels call."""
    library = _c_library()
    found: dict[str, int] = {}
    for name in names:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        assert address is not None, name
        found[PREFIX + name] = address
    return found


def memory_imports() -> dict[str, int]:
    """Python's raw allocator, which may be called without the GIL."""
    api = ctypes.pythonapi
    pairs = ((ALLOCATE, api.PyMem_RawMalloc), (FREE, api.PyMem_RawFree))
    return {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in pairs}
