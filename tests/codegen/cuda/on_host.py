"""Runs the LLVM text of device kernels on this machine's processor.

A block's threads are threads here, with a barrier where the device has one; shuffles pass values through a table. The
text is that which becomes PTX, but for the names of the device's intrinsics and the size of shared memory.
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.emit import emit_module, symbol_of
from flambeau.codegen.cuda.mapped import WARP, Barrier, MappedKernel, Shuffle, memory_shape, walk
from flambeau.codegen.cuda.runtime import arguments
from flambeau.codegen.cuda.threads import ERROR, raise_error

Array = npt.NDArray[Any]
INTRINSICS = {
    "llvm.nvvm.read.ptx.sreg.tid.x": "host_thread",
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "host_block",
    "llvm.nvvm.read.ptx.sreg.nctaid.x": "host_blocks",
    "llvm.nvvm.barrier.cta.sync.aligned.all": "host_barrier",
    "llvm.nvvm.shfl.sync.down.i32": "host_down",
    "llvm.nvvm.shfl.sync.up.i32": "host_up",
    "llvm.nvvm.shfl.sync.idx.i32": "host_from",
}
WORD = ctypes.c_int32


def host_text(text: str) -> str:
    """LLVM text of device code for this machine."""
    for name, own in INTRINSICS.items():
        text = text.replace(f"@{name}(", f"@{own}(")
    text = re.sub(
        r"external addrspace\(3\) global \[0 x i8\]", "internal addrspace(3) global [65536 x i8] poison", text
    )
    return text.replace("define ptx_kernel", "define")


def compile_for_host(text: str) -> Any:
    """An engine that holds the functions of an LLVM text."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    return engine


class HostGrid:
    """Runs the kernels of one program."""

    def __init__(self, bound: BoundProgram) -> None:
        assert bound.program is not None
        self.bound, self.program = bound, bound.program
        self.local = threading.local()
        self.block = self.blocks = 0
        self.words: list[int] = []
        self.all: threading.Barrier | None = None
        self.warps: list[threading.Barrier] = []
        self.engine = compile_for_host(host_text(emit_module(self.program.kernels)))
        thunk = ctypes.CFUNCTYPE(WORD)
        shuffle = ctypes.CFUNCTYPE(WORD, WORD, WORD, WORD, WORD)
        self.callbacks = {
            "host_thread": thunk(lambda: self.local.thread),
            "host_block": thunk(lambda: self.block),
            "host_blocks": thunk(lambda: self.blocks),
            "host_barrier": ctypes.CFUNCTYPE(None, WORD)(lambda _: self.wait()),
            "host_down": shuffle(lambda _, value, lanes, __: self.shuffle(value, self.lane + lanes)),
            "host_up": shuffle(lambda _, value, lanes, __: self.shuffle(value, self.lane - lanes)),
            "host_from": shuffle(lambda _, value, lane, __: self.shuffle(value, lane)),
        }
        module = next(iter(self.engine._modules))
        for name, callback in self.callbacks.items():
            try:
                value = module.get_function(name)
            except NameError:
                continue
            self.engine.add_global_mapping(value, ctypes.cast(callback, ctypes.c_void_p).value)
        self.engine.finalize_object()

    def run(self, *inputs: Array) -> tuple[Array, ...]:
        """The program's outputs."""
        bound, sizes = self.bound, self.program.all_sizes(self.bound.sizes)
        outputs = [np.full(o.memory_shape, 77).astype(o.dtype) for o in bound.outputs]
        kernel = bound.special.kernel
        memory = dict(zip([b.name for b in kernel.inputs + kernel.outputs], [*inputs, *outputs], strict=True))
        for own in self.program.work:
            memory[own.name] = np.empty(memory_shape(own, sizes), own.dtype)
        flag = memory[ERROR] = np.zeros(1, np.int32)
        for mapped in self.program.kernels:
            self.launch(mapped, arguments(mapped, bound, sizes, memory), mapped.grid.blocks(bound.sizes))
        raise_error(int(flag[0]), "kernel")
        return tuple(o.view(a) for o, a in zip(bound.outputs, outputs, strict=True))

    def launch(self, mapped: MappedKernel, given: tuple[Any, ...], blocks: int) -> None:
        """All blocks of one kernel, one after another."""
        words = [ctypes.c_int64(a.ctypes.data if isinstance(a, np.ndarray) else int(a)) for a in given]
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(words))(
            self.engine.get_function_address(symbol_of(mapped))
        )
        meet = any(isinstance(s, Barrier | Shuffle) for s in walk(mapped.body))
        self.blocks = blocks
        for self.block in range(blocks):
            if meet:
                self.together(mapped, lambda: function(*words))
            else:
                for self.local.thread in range(mapped.threads):
                    function(*words)

    def together(self, mapped: MappedKernel, call: Any) -> None:
        """The threads of a block at once."""
        self.words = [0] * mapped.threads
        self.all = threading.Barrier(mapped.threads)
        self.warps = [threading.Barrier(WARP) for _ in range(mapped.threads // WARP)]

        def body(number: int) -> None:
            self.local.thread = number
            call()

        running = [threading.Thread(target=body, args=(k,)) for k in range(mapped.threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(60)

    def wait(self) -> None:
        assert self.all is not None
        self.all.wait(30)

    @property
    def lane(self) -> int:
        """The number of this thread in its warp."""
        return int(self.local.thread) % WARP

    def shuffle(self, value: int, lane: int) -> int:
        """The value of another thread of the warp; its own where there is none of this number."""
        mine = self.local.thread
        warp = self.warps[mine // WARP]
        self.words[mine] = value
        warp.wait(30)
        first = mine - mine % WARP
        found = self.words[first + lane if 0 <= lane < WARP else mine]
        warp.wait(30)
        return found


def on_host(bound: BoundProgram, *inputs: Array) -> tuple[Array, ...]:
    """The outputs of a program's device code, run here."""
    return HostGrid(bound).run(*inputs)
