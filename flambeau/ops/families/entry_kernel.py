"""Kernels that native code may take over: callables that run in Python until they are given a machine address.

Who gives it belongs to a higher floor, and is told of each call that ran in Python: `Served`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.tensor.tensor import Tensor
from flambeau.util.native_type import NativeBase, let_instances_be_native


class EntryKernel(NativeBase):  # type: ignore[misc]  # made at run time
    """The kernel of a pointwise overload: all arguments in schema order."""

    __slots__ = ("entry", "meaning", "run")

    def __init__(self, meaning: Any, run: Callable[..., Tensor]) -> None:
        """`meaning` says what is computed, to whoever makes native code of it; `run` computes it with NumPy."""
        self.meaning = meaning
        self.run = run
        self.entry: Any = None
        """What native code reads, alive as long as the kernel."""

    def __call__(self, *arguments: Any) -> Tensor:
        result = self.run(*arguments)
        if Served.by is not None:
            Served.by(self, arguments, result)
        return result

    def __repr__(self) -> str:
        return f"<kernel of {self.meaning.schema.full_name}>"


let_instances_be_native(EntryKernel)


class Served:
    """Who makes native code of kernels."""

    by: Callable[[EntryKernel, Sequence[Any], Tensor], None] | None = None
    """Told of each call of a kernel that ran in Python."""
