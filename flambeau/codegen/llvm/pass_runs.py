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
    _run(llvm, builder.getModulePassManager(), module, builder)


def tidy(llvm: Any, module: Any, machine: Any) -> None:
    """Run a few passes, which take a tenth of the time: what lies in slots is in registers then, what is constant is
    folded, and blocks that follow each other are one.
    """
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    _run(llvm, passes, module, builder)


def _run(llvm: Any, passes: Any, module: Any, builder: Any) -> None:
    try:
        passes.run(module, builder)
    finally:
        # Up to llvmlite 0.50 at least, closing a pass manager frees nothing: its first base class has a `_dispose` that
        # hides the one which does, and a process grows by 0.1 MB for each module.
        llvm.newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()
