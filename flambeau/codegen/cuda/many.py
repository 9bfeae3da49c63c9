"""One launch for many sets of vectors: each block looks up in a table which of them it is for, and where they lie.

What an optimiser does to a parameter is a pointwise kernel over vectors of one length; a model has hundreds of small
ones, whose launches would cost the host more than the device has to do. Blocks are shared out by lengths, once; the
addresses, and the numbers that kernels take, are brought over when they are others than before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen.cuda import ptx
from flambeau.codegen.cuda.bound_program import Layout, bind_program
from flambeau.codegen.cuda.emit import emit_module, parameters, symbol_of
from flambeau.codegen.cuda.mapped import MappedKernel
from flambeau.codegen.cuda.runtime import architecture_for
from flambeau.codegen.cuda.schedule import ACCESS_BYTES, CudaSchedule
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import Kernel
from flambeau.cuda import library
from flambeau.util.locks import Lock

THREADS: Final = 256
MOST_BLOCKS: Final = 256
"""Blocks of one set."""
_SAMPLE: Final = 1 << 13
"""A length for which the kernel is made; it takes any."""
_ENTRY: Final = """
define ptx_kernel void @flambeau_many(ptr addrspace(1) %shares, ptr addrspace(1) %places, i64 %first) #N {{
  %b32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = zext i32 %b32 to i64
  %whose = getelementptr i64, ptr addrspace(1) %shares, i64 %first
  %at = getelementptr i64, ptr addrspace(1) %whose, i64 %b
  %set = load i64, ptr addrspace(1) %at, !invariant.load !0
  %start = mul i64 %set, 3
  %row = getelementptr i64, ptr addrspace(1) %shares, i64 %start
  %size = load i64, ptr addrspace(1) %row, !invariant.load !0
  %row1 = getelementptr i64, ptr addrspace(1) %row, i64 1
  %before = load i64, ptr addrspace(1) %row1, !invariant.load !0
  %row2 = getelementptr i64, ptr addrspace(1) %row, i64 2
  %blocks = load i64, ptr addrspace(1) %row2, !invariant.load !0
  %block = sub i64 %b, %before
  %begin = mul i64 %set, {count}
  %words = getelementptr i64, ptr addrspace(1) %places, i64 %begin
{loads}
  call void @{symbol}({given}, i64 %block, i64 %blocks)
  ret void
}}
"""
_LOAD: Final = """  %a{k} = getelementptr i64, ptr addrspace(1) %words, i64 {k}
  %w{k} = load i64, ptr addrspace(1) %a{k}, !invariant.load !0
  %p{k} = inttoptr i64 %w{k} to ptr addrspace(1)"""


class ManyKernel:
    """A pointwise kernel over vectors of one length and numbers. Raises ``KernelError`` for another kernel.

    Args:
        kernel: the loop nest.
        is_aligned: whether all vectors begin at multiples of 16 bytes.
    """

    def __init__(self, kernel: Kernel, *, is_aligned: bool) -> None:
        vectors = [b for b in (*kernel.inputs, *kernel.outputs) if b.axes]
        if len(kernel.axes) != 1 or any(len(b.axes) != 1 for b in vectors) or kernel.scratch:
            raise KernelError(f"{kernel.name} is no kernel over vectors of one length")
        items = [element_type(b.dtype).itemsize for b in vectors]
        width = ACCESS_BYTES // max(items) if is_aligned else 1
        names = tuple(b.name for b in vectors) if width > 1 else ()
        schedule = CudaSchedule(threads=THREADS, width=width, wide=names)
        layouts = [
            Layout((_SAMPLE,), (element_type(b.dtype).itemsize,)) if b.axes else Layout((), ()) for b in kernel.inputs
        ]
        program = bind_program(kernel, (), layouts, schedule).program
        assert program is not None
        if len(program.kernels) != 1:
            raise KernelError(f"{kernel.name} is several kernels")
        self._mapped: MappedKernel = program.kernels[0]
        self.per_block = schedule.per_block
        self.order = tuple(p.name for p in parameters(self._mapped) if p.kind == "pointer")
        """The buffers by name, in the order of a set's addresses."""
        self._modules: dict[tuple[int, int], Any] = {}
        self._lock = Lock()

    def text(self) -> str:
        """LLVM text of the kernel."""
        mapped = self._mapped
        declared: list[str] = []
        loads: list[str] = []
        for p in parameters(mapped):
            if p.kind == "pointer":
                loads.append(_LOAD.format(k=len(loads)))
                declared.append(f"ptr addrspace(1) %p{len(loads) - 1}")
            elif p.kind == "size":
                declared.append("i64 %size")
            else:
                declared.append(f"i64 {element_type(mapped.memory(p.name).dtype).itemsize}")
        entry = _ENTRY.format(
            count=len(loads), loads="\n".join(loads), given=", ".join(declared), symbol=symbol_of(mapped)
        )
        return emit_module([mapped], {mapped.name: entry})

    def function(self) -> Any:
        """The kernel on the device in use, and the module that holds it."""
        cuda = library.cupy().cuda
        device = cuda.Device()
        key = (library.which(), int(device.id))
        with self._lock:
            if key not in self._modules:
                module = cuda.Module()
                module.load(ptx.to_ptx(self.text(), architecture_for(device.compute_capability)).encode())
                self._modules[key] = module
            module = self._modules[key]
        return module.get_function("flambeau_many"), module

    def shares(self, sizes: Sequence[int]) -> tuple[Any, int, int]:
        """How blocks are shared out to sets of these lengths: a table, where in it each block finds its set, and how
        many blocks there are."""
        rows, whose, before = [], [], 0
        for number, size in enumerate(sizes):
            blocks = max(1, min(MOST_BLOCKS, -(-size // self.per_block)))
            rows.append((size, before, blocks))
            whose.append(np.full(blocks, number, np.int64))
            before += blocks
        table = np.concatenate([np.array(rows, np.int64).reshape(-1), *whose])
        return table, 3 * len(rows), before
