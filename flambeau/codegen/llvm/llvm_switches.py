"""What LLVM is told beside its passes, by switches of the whole process that hold only while our code is made.

The reduction of strengths in loops, the longest of LLVM's passes on our code, weighs how each address could follow from
others. Our text has addresses as instructions compute them: without the pass, kernels are made in three quarters of the
time, are smaller, and run as quickly. Functions over which LLVM's loop passes ran need it: these write all indexes as
products of one counter, which it takes back.

Elements that one iteration loads and the next would load again are carried over in registers, before LLVM makes vectors
of a loop. A text may ask for loads in each iteration: `codegen.graph.loops.neighbours` says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

LOADS_EACH_TIME: Final = "; nothing that is loaded is carried from one iteration to the next"
"""A line of a text that asks for that."""
_NO_STRENGTH_REDUCTION: Final = "-disable-lsr", "-disable-lsr=false"
_NO_CARRIED_LOADS: Final = "-enable-load-in-loop-pre=false", "-enable-load-in-loop-pre=true"
"""The switch, and the one that takes it back."""


def without_strength_reduction(llvm: Any) -> AbstractContextManager[None]:
    """Have LLVM leave that pass out meanwhile; `llvm` is `llvmlite.binding`."""
    return _switched(llvm, *_NO_STRENGTH_REDUCTION)


def without_carried_loads(llvm: Any) -> AbstractContextManager[None]:
    """Have LLVM load elements in each iteration of a loop meanwhile; `llvm` is `llvmlite.binding`."""
    return _switched(llvm, *_NO_CARRIED_LOADS)


@contextmanager
def _switched(llvm: Any, switch: str, back: str) -> Iterator[None]:
    """Have a switch hold. Other users of llvmlite in the process, Numba's code among them, wait: their code is what it
    would be without us.
    """
    lock = getattr(llvm.ffi.lib, "_lock", None)  # that of every call of LLVM through llvmlite; it has no public name
    if lock is None:  # another llvmlite: others could be in LLVM meanwhile, so the switch stays as it is
        yield
        return
    with lock:
        try:
            llvm.set_option("flambeau", switch)
            yield
        finally:
            llvm.set_option("flambeau", back)
