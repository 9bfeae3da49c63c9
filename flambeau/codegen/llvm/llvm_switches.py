"""What LLVM is told beside its passes, by switches of the whole process that hold only while our code is made.

The reduction of strengths in loops, the longest of LLVM's passes on our code, weighs how each address could follow from
others. Our text has addresses as instructions compute them: without the pass, kernels are made in three quarters of the
time, are smaller, and run as quickly. Functions over which LLVM's loop passes ran need it: these write all indexes as
products of one counter, which it takes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_SWITCH: Final = "-disable-lsr"


@contextmanager
def without_strength_reduction(llvm: Any) -> Iterator[None]:
    """Have LLVM leave that pass out meanwhile; `llvm` is `llvmlite.binding`.

    Other users of llvmlite in the process, Numba's code among them, wait: their code is what it would be without us.
    """
    lock = getattr(llvm.ffi.lib, "_lock", None)  # that of every call of LLVM through llvmlite; it has no public name
    if lock is None:  # another llvmlite: others could be in LLVM meanwhile, so the pass runs
        yield
        return
    with lock:
        try:
            llvm.set_option("flambeau", _SWITCH)
            yield
        finally:
            llvm.set_option("flambeau", f"{_SWITCH}=false")
