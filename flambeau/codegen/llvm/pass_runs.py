"""LLVM's passes over a module, for native code and for CUDA."""

from __future__ import annotations

from typing import Any


def run_passes(llvm: Any, module: Any, machine: Any, *, vectorise: bool = False) -> None:
    """Run what LLVM runs at `-O2` over a module for a machine; `llvm` is `llvmlite.binding`.

    With `vectorise`, loops and straight code become vectors wherever LLVM sees fit; else as llvmlite has it.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    if vectorise:
        options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        # Up to llvmlite 0.50 at least, closing a pass manager frees nothing: its first base class has a `_dispose` that
        # hides the one which does, and a process grows by 0.1 MB for each module.
        llvm.newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()
