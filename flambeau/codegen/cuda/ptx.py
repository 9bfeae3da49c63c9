"""LLVM text to PTX, through the NVPTX target that llvmlite brings.

>>> from flambeau.codegen.cuda.ptx import architecture
>>> architecture("sm_90")
'sm_90'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from flambeau.codegen.cuda.emit import emit_module, symbol_of
from flambeau.codegen.cuda.mapped import Program
from flambeau.codegen.llvm.engine import available
from flambeau.codegen.llvm.object_cache import key_of, object_cache
from flambeau.codegen.llvm.pass_runs import run_passes
from flambeau.util.locks import NoForkLock

TRIPLE = "nvptx64-nvidia-cuda"
ARCHITECTURES = (
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103",
    "sm_120",
)  # fmt: skip
"""Devices that code can be made for: Volta and later, whose shuffles name their threads."""
_lock = NoForkLock()


def architecture(name: str) -> str:
    """``name`` if it is one that code can be made for; raises ``ValueError`` naming those that are."""
    if name not in ARCHITECTURES:
        raise ValueError(f"no device architecture is called {name!r}; write one of {', '.join(ARCHITECTURES)}")
    return name


@cache
def _target(arch: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features="", opt=3)


def to_ptx(text: str, arch: str) -> str:
    """PTX of an LLVM module, made now or found in the cache on disk.

    Raises ``ValueError`` for an unknown architecture, ``RuntimeError`` without llvmlite.
    """
    architecture(arch)
    if not available():
        raise RuntimeError("PTX needs llvmlite, which is not installed: pip install llvmlite")
    import llvmlite
    import llvmlite.binding as llvm

    cache, key = object_cache(), key_of("PTX", text, arch, llvmlite.__version__)
    kept = None if cache is None else cache.load(key, arch)
    if kept is not None:
        return kept.decode()
    with _lock:
        machine = _target(arch)
        module = llvm.parse_assembly(text, llvm.create_context())
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
        # Variables are stack slots in the text; the passes make them registers and move addresses out of loops.
        run_passes(llvm, module, machine)
        ptx = str(machine.emit_assembly(module))
    if cache is not None:
        cache.store(key, ptx.encode(), arch)
    return ptx


def programs_ptx(programs: Sequence[Program], arch: str, notes: Mapping[str, str]) -> str:
    """One PTX module with the kernels of all programs; ``notes`` are put as comments before the kernels they name.

    Raises ``LoweringError`` for an operation that has no device code, and as ``to_ptx`` does.
    """
    kernels = [k for p in programs for k in p.kernels]
    text = to_ptx(emit_module(kernels), arch)
    for kernel in kernels:
        if kernel.name in notes:
            comment = "".join(f"// {line}\n" for line in notes[kernel.name].splitlines())
            text = text.replace(f"\t// .globl\t{symbol_of(kernel)}\n", comment, 1)
    return text
