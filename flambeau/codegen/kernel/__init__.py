"""The loop-nest language of kernels: values, text, verifier, builder."""

from flambeau.codegen.kernel.build import KernelBuilder
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import (
    ONE,
    Accumulate,
    Buffer,
    Carry,
    Const,
    Extent,
    Kernel,
    Let,
    Load,
    Loop,
    Position,
    Running,
    Store,
    Within,
)
from flambeau.codegen.kernel.parser import parse_kernel
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.kernel.verify import verify

__all__ = [
    "ONE",
    "Accumulate",
    "Buffer",
    "Carry",
    "Const",
    "Extent",
    "Kernel",
    "KernelBuilder",
    "KernelError",
    "Let",
    "Load",
    "Loop",
    "Position",
    "Running",
    "Store",
    "Within",
    "element_type",
    "parse_kernel",
    "print_kernel",
    "verify",
]
