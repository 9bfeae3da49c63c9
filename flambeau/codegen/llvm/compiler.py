"""LLVM itself: text to object code, and its linker for what our own does not know.

Kernels with explicit vectors go straight to instruction selection: the mid-level pipeline costs half the compile time
and makes them slower. Loops over single elements need it; functions that mostly call kernels are tidied. What LLVM
refuses is a `NativeError`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.late_functions import split_late
from flambeau.codegen.llvm.llvm_switches import LOADS_EACH_TIME, without_carried_loads, without_strength_reduction
from flambeau.codegen.llvm.pass_runs import run_passes, tidy
from flambeau.codegen.llvm.processor import Processor
from flambeau.util.cached import cached_property

Result = TypeVar("Result")

ALL_PASSES_UP_TO = 200_000
"""Characters of text up to which LLVM does all it can. Its passes and register allocation are not linear."""
SOME_PASSES_UP_TO = 800_000
"""Characters of text up to which registers are still allocated well; beyond, instructions are chosen one by one."""


class NativeError(KernelError):
    """LLVM could not be loaded, or refuses what it was given: a mistake of the compiler's, not of the user's."""


class Compiler:
    """LLVM for one kind of processor. It loads LLVM; one thread may use it at a time."""

    def __init__(self, processor: Processor) -> None:
        try:
            import llvmlite.binding as llvm
        except (ImportError, OSError) as error:
            raise NativeError(f"LLVM cannot be loaded: {error}") from error
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._processor = processor
        self._numbers = itertools.count()
        self._layout = str(self._machine.target_data)

    @cached_property
    def _machine(self) -> Any:
        return self._new_machine()

    @cached_property
    def _plain_machine(self) -> Any:
        return self._new_machine(1)

    @cached_property
    def _quick_machine(self) -> Any:
        return self._new_machine(0)

    @cached_property
    def _jit(self) -> Any:
        return self._llvm.create_lljit_compiler(self._new_machine())

    def _new_machine(self, opt: int = 2) -> Any:
        processor = self._processor
        return self._llvm.Target.from_triple(processor.triple).create_target_machine(
            cpu=processor.cpu, features=processor.features, opt=opt, reloc="pic", codemodel="default", jit=True
        )

    def compile(self, text: str, *, is_glue: bool, optimise: bool, tidies: bool = False) -> bytes:
        """Object code of a module. Glue is compiled in a fifth of the time, and is slower; so is what is very large.

        `tidies`: a few of LLVM's passes run where not all do.
        """
        is_small = len(text) <= ALL_PASSES_UP_TO
        if is_glue or len(text) > SOME_PASSES_UP_TO:
            machine = self._quick_machine
        else:
            machine = self._machine if is_small else self._plain_machine
        tidies = tidies and machine is not self._quick_machine
        module = _refused_as(lambda: self._module(text, optimise and is_small, tidies=tidies))
        with self._emission(all_passes=optimise and is_small):
            content: bytes = _refused_as(lambda: machine.emit_object(module))
        return content

    def assembly(self, text: str, *, optimise: bool, tidies: bool = False, is_glue: bool = False) -> str:
        """The machine instructions of a module."""
        machine = self._quick_machine if is_glue else self._machine
        module = _refused_as(lambda: self._module(text, optimise, tidies=tidies))
        with self._emission(all_passes=optimise):
            return _refused_as(lambda: str(machine.emit_assembly(module)))

    def _emission(self, *, all_passes: bool) -> contextlib.AbstractContextManager[None]:
        """What holds while instructions are chosen."""
        return contextlib.nullcontext() if all_passes else without_strength_reduction(self._llvm)

    def optimised_ir(self, text: str) -> str:
        """A module after LLVM's passes."""
        return _refused_as(lambda: str(self._module(text, optimise=True)))

    def link(self, content: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> Any:
        """Put object code into memory: what comes back gives addresses by symbol, and owns the memory."""
        # Where the processor lacks an instruction, LLVM calls a C function: fma, roundeven, memset.
        builder = self._llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
        for name, address in imports.items():
            builder = builder.import_symbol(name, address)
        for name in exports:
            builder = builder.export_symbol(name)
        return _refused_as(lambda: builder.link(self._jit, f"flambeau_library_{next(self._numbers)}"))

    def _module(self, text: str, optimise: bool, *, tidies: bool = False) -> Any:
        # A context of its own: what the global one interns of a text, types and constants, stays for ever.
        context = self._llvm.create_context()
        early, late = split_late(text)
        module = self._parsed(early, context)
        if optimise:
            loads_each_time = LOADS_EACH_TIME in early
            with without_carried_loads(self._llvm) if loads_each_time else contextlib.nullcontext():
                run_passes(self._llvm, module, self._machine, vectorise=True)
        if late:
            module.link_in(self._parsed(late, context))
        if (tidies and not optimise) or (late and optimise):
            tidy(self._llvm, module, self._machine)
        return module

    def _parsed(self, text: str, context: Any) -> Any:
        module = self._llvm.parse_assembly(text, context)
        module.verify()
        module.triple = self._processor.triple
        module.data_layout = self._layout
        return module


def _refused_as(work: Callable[[], Result]) -> Result:
    try:
        return work()
    except RuntimeError as error:
        if isinstance(error, KernelError):
            raise
        raise NativeError(f"LLVM refused a module: {str(error).strip()}") from error
