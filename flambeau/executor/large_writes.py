"""Operators that write a large array, `x += y` or `add(x, y, out=z)`: one native loop that writes it, where NumPy makes
an array of the result and copies it.

What is read meanwhile lies elsewhere, or is just what is written: each element is read before it is written then.

>>> import flambeau
>>> x = flambeau.ones(1 << 16)
>>> y = x.add_(x, alpha=2)
>>> y is x, x[0]
(True, tensor(3.))
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.runtime import CompiledKernel
from flambeau.executor.large_calls import LargeCalls, SizedCalls, plain
from flambeau.ops.derivatives.meaning_steps import SEVERAL, least_large
from flambeau.ops.families.elementwise import Pointwise
from flambeau.ops.large import USUAL
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LARGE_WRITING_KERNEL

PIECE: Final = 1 << 18
"""Elements that a kernel writes at a time: they come from the cache, and go there."""


class LargeWrites(LargeCalls):
    """The kernels of one operator for calls that write their result into an array."""

    def __init__(self, definition: OpDef) -> None:
        super().__init__(definition, is_always=True)
        self.least = least_large(definition)
        self._flat: dict[Hashable, CompiledKernel] = {}
        """Kernels of one axis by patterns of arguments: there are no more than of `entries`."""

    def write(self, target: Tensor, arguments: Sequence[Any]) -> bool:
        """Have a kernel write the result of a call; whether one does."""
        try:
            if _lie_in_one(target._array, arguments):
                return self._write_flat(target._array.reshape(-1), [_flat(a) for a in arguments])
            kernel = self._kernel(arguments)
            return kernel is not None and kernel.write(target._array, self._values(arguments))
        except (KernelError, NativeError, ZeroDivisionError):
            return False

    def _write_flat(self, target: np.ndarray[Any, Any], arguments: Sequence[Any]) -> bool:
        pattern = self.pattern(arguments)
        kernel = self._flat.get(pattern)
        if kernel is None:
            kernel = self._kernel(arguments)
            if kernel is None:
                return False
            self._flat[pattern] = kernel
        return kernel.write_in_pieces(target, self._values(arguments), PIECE)

    def _kernel(self, arguments: Sequence[Any]) -> CompiledKernel | None:
        served = self.find(arguments)
        return None if served is None else served.kernel.compiled([plain(a) for a in self.inputs(arguments)])

    def _values(self, arguments: Sequence[Any]) -> list[Any]:
        return [a._array if isinstance(a, Tensor) else a for a in self.inputs(arguments)]


def _lie_in_one(target: np.ndarray[Any, Any], arguments: Sequence[Any]) -> bool:
    arrays = [a._array for a in arguments if isinstance(a, Tensor) and a._array.ndim]
    return all(a.shape == target.shape and a.flags.c_contiguous for a in (target, *arrays))


def _flat(argument: Any) -> Any:
    if not isinstance(argument, Tensor) or argument._array.ndim < 2:
        return argument
    return wrap(argument._array.reshape(-1))


_writes: dict[str, LargeWrites] = {}


@LARGE_WRITING_KERNEL.provide
def _write(meaning: Pointwise, target: Tensor, arguments: Sequence[Any]) -> bool:
    writes = _writes_for(meaning, target)
    if writes is None or not all(_is_apart(a, target) for a in arguments if isinstance(a, Tensor)):
        return False
    return writes.write(target, arguments)


def sized_writes(meaning: Pointwise, arguments: Sequence[Any]) -> SizedCalls | None:
    """Launches for large calls like one, of any number of elements, that write into their first argument; None where
    they depend on more than that."""
    target = arguments[0]
    writes = _writes_for(meaning, target)
    if writes is None or meaning.recipe(arguments).result is not target.dtype:
        return None
    return writes.sized(arguments)


def is_large_write(meaning: Pointwise, target: Tensor) -> bool:
    """Whether a call that writes a tensor may be one of a kernel's."""
    return _writes_for(meaning, target) is not None


def _writes_for(meaning: Pointwise, target: Tensor) -> LargeWrites | None:
    """What may run a call; None for one that is not large."""
    array, name = target._array, meaning.schema.full_name
    if array.size < SEVERAL or array.dtype.char not in USUAL or type(array) is not np.ndarray or not available():
        return None
    writes = _writes.get(name)
    if writes is None:
        definition = registry.find(name)
        if definition is None or definition.scalar is None:
            return None
        writes = _writes[name] = LargeWrites(definition)
    return writes if array.size >= writes.least else None


def _is_apart(read: Tensor, target: Tensor) -> bool:
    """Whether writing an element of the target changes no other element of what is read."""
    if read is target or not read.shares_storage(target):
        return True
    a, b = read._array, target._array
    is_same = (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    return is_same and bool(a.__array_interface__["data"] == b.__array_interface__["data"])
