"""The face of native code: kernels in, callables out, and a look at every stage between.

>>> from flambeau.codegen import available, backend
>>> from flambeau.codegen.kernel import parse_kernel
>>> kernel = parse_kernel('''
... kernel double {
...   axes i
...   in x: float32[i]
...   out y: float32[i]
...   for i {
...     %0: float32 = load x[i]
...     %1: float32 = add %0, %0
...     store y[i], %1
...   }
... }
... ''')
>>> if available():
...     print(backend.compile_kernel(kernel)([1.0, 2.0]))
[2. 4.]
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.kernel.verify import verify
from flambeau.codegen.llvm.engine import available, engine
from flambeau.codegen.lower import Lowered, lower_graph
from flambeau.codegen.runtime import CompiledKernel
from flambeau.ir.graph import Graph
from flambeau.schema.types import Type


def compile_kernel(kernel: Kernel) -> CompiledKernel:
    """A callable for ``kernel``; machine code is made at the first call of each pattern of strides.

    Raises ``KernelError`` when the kernel is not well formed and ``RuntimeError`` when LLVM is not installed.
    """
    verify(kernel)
    if not available():
        raise RuntimeError("native code needs llvmlite, which is not installed: pip install llvmlite")
    return CompiledKernel(kernel)


def compile_lowered(lowered: Lowered) -> CompiledKernel:
    """A callable for a lowered region; its inputs and outputs are the region's, in order.

    A call raises ``KernelError`` when the arrays' shapes ask for something the kernel does not compute (the caller then
    runs the region in the interpreter, which also gives the user's error where there is one) and ``ZeroDivisionError``.
    """
    if not available():
        raise RuntimeError("native code needs llvmlite, which is not installed: pip install llvmlite")
    return CompiledKernel(lowered.kernel, lowered.spans)


def compile_graph(graph: Graph, types: Sequence[Type] | None = None, *, name: str = "fused") -> CompiledKernel:
    """A callable for a whole graph. Raises ``LoweringError`` (a ``KernelError``) when it has no native form."""
    return compile_lowered(lower_graph(graph, types, name=name))


def llvm_ir(compiled: CompiledKernel) -> str:
    """LLVM IR of every variant compiled so far."""
    return "\n".join(v.native.text for v in compiled.variants)


def asm(compiled: CompiledKernel) -> str:
    """Machine instructions of every variant compiled so far."""
    return "\n".join(engine().assembly(v.native.text) for v in compiled.variants)
