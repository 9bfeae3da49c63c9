"""Arrays of NumPy that no tensor can have as they lie: read from the end, between other fields, in another byte order.

f(x[::-1])    →    f(copy), and what the program wrote into the copy is written into `x` behind the call

Tensors have strides of no less than 0 elements and this machine's byte order; so a program gets a copy, which costs as
much as reading and writing the array once. Arrays whose meaning is more than their elements are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Graph
from flambeau.tensor.bridge import from_numpy
from flambeau.tensor.tensor import Tensor

MASKED: Final = (
    "argument '{name}' is a masked array, and programs on arrays know no masks: pass x.filled(value), or x.data and "
    "x.mask"
)
MATRIX: Final = (
    "argument '{name}' is a np.matrix, whose rows are matrices and whose `*` is a product: pass np.asarray(x), and "
    "write @ for products"
)
OVERLAP: Final = (
    "arguments '{first}' and '{second}' overlap in memory, the program writes to one of them, and one is read "
    "backwards or in another byte order, so that the program works on a copy of it: pass x.copy() for one of them"
)


def needs_copy(array: np.ndarray[Any, Any]) -> bool:
    """Whether no tensor can lie as an array does.

    >>> needs_copy(np.arange(3)), needs_copy(np.arange(3)[::-1]), needs_copy(np.arange(3, dtype=">i8"))
    (False, True, True)
    """
    itemsize = array.dtype.itemsize
    return not array.dtype.isnative or any(stride < 0 or (itemsize and stride % itemsize) for stride in array.strides)


def lies_well(value: Any) -> bool:
    """Whether a value is an array, and of no subclass, that a tensor can lie as."""
    return type(value) is np.ndarray and not needs_copy(value)


class CopiedArguments:
    """The arguments of one call, with copies in the place of arrays that no tensor can lie as."""

    def __init__(self, arguments: Sequence[Any], names: Sequence[str]) -> None:
        """Raises TypeError for arrays with masks and for matrices."""
        self._originals, self._names = list(arguments), names
        named = zip(arguments, names, strict=False)
        self._copies = {k: _copy(a) for k, (a, name) in enumerate(named) if _lies_oddly(a, name)}
        self.arguments = tuple([self._copies.get(k, a) for k, a in enumerate(arguments)])

    def check_overlaps(self, graph: Graph) -> None:
        """Raise ValueError if a copy shares memory with another argument, so that the program, which writes to
        arguments, would not see what it wrote.
        """
        arrays = [(k, a) for k, a in enumerate(self._originals) if isinstance(a, np.ndarray)]
        pairs = [
            (k, j) for k, a in arrays for j, b in arrays if k in self._copies and j != k and np.may_share_memory(a, b)
        ]
        if pairs and any(map(AliasAnalysis(graph).has_writers, graph.parameters)):
            first, second = (self._names[k] for k in sorted(pairs[0]))
            raise ValueError(OVERLAP.format(first=first, second=second))

    def write_back(self) -> None:
        """Write what the program wrote."""
        for k, copy in self._copies.items():
            if copy._version:
                self._originals[k][...] = copy._array

    def own(self, result: Any) -> Any:
        """An argument that comes back is itself."""
        copies = ((k, copy._array) for k, copy in self._copies.items())
        return next((self._originals[k] for k, array in copies if array is result), result)


def _lies_oddly(value: Any, name: str) -> bool:
    """Whether a value is an array that no tensor can lie as. Raises TypeError for what is more than its elements."""
    if type(value) is np.ndarray:
        return needs_copy(value)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(MASKED.format(name=name))
    if isinstance(value, np.matrix):
        raise TypeError(MATRIX.format(name=name))
    return isinstance(value, np.ndarray) and needs_copy(value)


def _copy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor with an array's elements, to which nobody may write where nobody may write to the array."""
    copy = np.array(array, array.dtype.newbyteorder("="), order="K", subok=False)
    if needs_copy(copy):  # an order that keeps strides below 0
        copy = np.ascontiguousarray(copy)
    copy.flags.writeable = array.flags.writeable
    return from_numpy(copy)
