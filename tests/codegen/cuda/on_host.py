"""Runs the LLVM text of device kernels on this machine's processor.

A block's threads are threads here, which run in turn from barrier to barrier; shuffles pass values through a table. The
text is that which becomes PTX, but for the names of the device's intrinsics and the size of shared memory.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.emit import emit_module, symbol_of
from flambeau.codegen.cuda.mapped import WARP, Barrier, MappedKernel, Shuffle, memory_shape, walk
from flambeau.codegen.cuda.runtime import arguments
from flambeau.codegen.cuda.threads import ERROR, raise_error
from tests.codegen.cuda.bfloat_conversions import without_instructions

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
WITHIN_BLOCK, BETWEEN_BLOCKS = -1, -2


def host_text(text: str) -> str:
    """LLVM text of device code for this machine."""
    for name, own in INTRINSICS.items():
        text = text.replace(f"@{name}(", f"@{own}(")
    text = re.sub(
        r"external addrspace\(3\) global \[0 x i8\]", "internal addrspace(3) global [65536 x i8] poison", text
    )
    return without_instructions(text.replace("define ptx_kernel", "define"))


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


class Worker:
    """A thread that serves one kernel after another, as one of a block's: launches need not make any."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.turn.acquire()
        self.task: Callable[[], None] = lambda: None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.turn.acquire()
            self.task()


WORKERS: list[Worker] = []
"""Those that wait for a task; those of a launch that did not end are left alone."""


class Turns:
    """The threads of a block, one of which runs at a time: the next does where one waits for others, or ends."""

    def __init__(self, count: int) -> None:
        self.current, self.running = 0, count
        self.ready = deque(range(count))
        self.waiting: dict[int, list[int]] = {}
        self.locks: list[threading.Lock] = []
        self.ended = threading.Lock()

    def run(self, call: Callable[[], None]) -> None:
        """Run all of them to their ends."""

        def body() -> None:
            call()
            self.running -= 1
            self._next()

        workers = [WORKERS.pop() if WORKERS else Worker() for _ in range(self.running)]
        self.locks = [worker.turn for worker in workers]
        for worker in workers:
            worker.task = body
        self.ended.acquire()
        self._next()
        assert self.ended.acquire(timeout=60)
        assert self.running == 0, f"{self.running} threads of a block wait for others that do not come: {self.waiting}"
        WORKERS.extend(workers)

    def wait(self, group: int, count: int) -> None:
        """Let others run until so many of a group, the running thread among them, have come here."""
        mine = self.current
        here = self.waiting.setdefault(group, [])
        here.append(mine)
        if len(here) == count:
            self.ready.extend(self.waiting.pop(group))
        self._next()
        self.locks[mine].acquire()

    def _next(self) -> None:
        if self.ready:
            self.current = self.ready.popleft()
            self.locks[self.current].release()
        else:
            self.ended.release()


class HostGrid:
    """Runs the kernels of one program."""

    def __init__(self, bound: BoundProgram) -> None:
        assert bound.program is not None
        self.bound, self.program = bound, bound.program
        self.turns = Turns(0)
        self.block = self.blocks = 0
        self.words: list[int] = []
        self.others: list[int] = []
        """The words of every second shuffle: threads may still be reading those of the one before."""
        self.shuffles: list[int] = []
        self.engine = compile_for_host(host_text(emit_module(self.program.kernels)))
        thunk = ctypes.CFUNCTYPE(WORD)
        shuffle = ctypes.CFUNCTYPE(WORD, WORD, WORD, WORD, WORD)
        self.callbacks = {
            "host_thread": thunk(lambda: self.turns.current),
            "host_block": thunk(lambda: self.block),
            "host_blocks": thunk(lambda: self.blocks),
            "host_barrier": ctypes.CFUNCTYPE(None, WORD)(lambda _: self.turns.wait(WITHIN_BLOCK, len(self.words))),
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
        self.words, self.others = [0] * mapped.threads, [0] * mapped.threads
        self.shuffles = [0] * mapped.threads
        if meet:
            self.turns = Turns(mapped.threads)
            self.turns.run(lambda: self.all_blocks(lambda: function(*words)))
            return
        for self.block in range(blocks):
            for self.turns.current in range(mapped.threads):
                function(*words)

    def all_blocks(self, call: Callable[[], None]) -> None:
        """What one thread does: its part of each block, when all have ended theirs of the block before."""
        for block in range(self.blocks):
            self.block = block
            call()
            self.turns.wait(BETWEEN_BLOCKS, len(self.words))

    @property
    def lane(self) -> int:
        """The number of this thread in its warp."""
        return self.turns.current % WARP

    def shuffle(self, value: int, lane: int) -> int:
        """The value of another thread of the warp; its own where there is none of this number."""
        mine = self.turns.current
        words = self.others if self.shuffles[mine] % 2 else self.words
        self.shuffles[mine] += 1
        words[mine] = value
        first = mine - mine % WARP
        self.turns.wait(first // WARP, WARP)
        return words[first + lane if 0 <= lane < WARP else mine]


def on_host(bound: BoundProgram, *inputs: Array) -> tuple[Array, ...]:
    """The outputs of a program's device code, run here."""
    return HostGrid(bound).run(*inputs)
