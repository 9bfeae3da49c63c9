"""Native code for pointwise and reduction kernels: a loop-nest language, its reference evaluator, LLVM behind it."""

from flambeau.codegen.llvm.engine import available
from flambeau.codegen.llvm.ops import supports

__all__ = ["available", "supports"]
