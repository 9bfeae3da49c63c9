"""Native code for pointwise and reduction kernels: a loop-nest language, its reference evaluator, LLVM behind it."""

from flambeau.codegen.llvm.engine import available
from flambeau.codegen.llvm.ops import supports
from flambeau.codegen.threads import get_num_threads, set_num_threads

__all__ = ["available", "get_num_threads", "set_num_threads", "supports"]
