"""Which calls of operators by themselves are on large arrays, so that one native loop over all elements takes less than
NumPy, which would go over them once for each step of the operator's meaning. What is large is less for several steps,
and for those that NumPy takes tens of loops for (`least_large`).

Whoever has the loops is asked for such calls alone (`LARGE_KERNEL`, `LARGE_WRITING_KERNEL`): programs of small arrays
import no compiler.

>>> from flambeau.schema import registry
>>> least_elements(registry.get("aten::gelu"), "f"), least_elements(registry.get("aten::add.Tensor"), "f")
(128, 32768)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops.derivatives.meaning_steps import (
    FEW,
    OFTEN_FEW,
    SEVERAL,
    SINGLE,
    SLOW_FOLDS,
    VERY_FEW,
    is_for_numbers,
    least_large,
    steps_of,
)
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.schema import registry
from flambeau.schema.dtype import float64
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import LARGE_CALL, LARGE_KERNEL, LARGE_WRITE, LARGE_WRITING_KERNEL

PRODUCTS: Final = frozenset({"matmul", "mm", "bmm", "mv", "dot", "outer", "linear", "addmm", "addmv", "baddbmm"})
"""What products of matrices declare to fold with."""
_FOLDS: Final = SLOW_FOLDS | {"softmax", "log_softmax", "scatter_add", "index_add", "norm"}
"""What other operators declare to fold with where NumPy needs several passes, or a slow one. Sums and means are its
own, which are more exact."""
CONVERTED: Final = "eE"
"""Characters of dtypes of half precision."""
USUAL: Final = "fd"
"""The kinds of dtypes that are decided about together."""
LARGE_HALVES: Final = 1 << 12
"""Elements of half precision from which on a call is large."""
LARGE_FACTOR: Final = 1 << 13
"""Elements of a matrix of integers from which on products with it are large."""
NEVER: Final = 1 << 62
"""More elements than there are."""


def character_of(arguments: Sequence[Any]) -> str:
    """That of the dtype of the first tensor; empty where there is none."""
    for argument in arguments:
        if isinstance(argument, Tensor):
            return argument._array.dtype.char  # type: ignore[no-any-return]
    return ""


def least_elements(definition: OpDef, character: str) -> int:
    """From how many elements of a dtype on calls of an operator are large."""
    if definition.accumulator in OFTEN_FEW:
        return VERY_FEW
    if definition.accumulator in SLOW_FOLDS:
        return FEW
    if character in CONVERTED:
        return LARGE_HALVES
    return LARGE_FACTOR if definition.accumulator in PRODUCTS else least_large(definition)


def is_worthwhile(definition: OpDef, arguments: Sequence[Any]) -> bool:
    """Whether NumPy goes over the elements more than once. What is no number may choose the steps of a meaning."""
    character = character_of(arguments)
    if character in CONVERTED:
        return True
    if definition.scalar is None:
        return definition.accumulator in _FOLDS or (definition.accumulator in PRODUCTS and character not in USUAL)
    steps = steps_of(definition, arguments, float64)
    return len(steps) > 1 or not {t.name for t in steps} <= SINGLE


def is_decided_by_dtypes(definition: OpDef) -> bool:
    """Whether all arguments of an operator are elements or numbers beside them: none chooses steps of its meaning."""
    return all(is_for_numbers(a.type) for a in definition.schema.arguments)


_least: dict[tuple[str, str], int] = {}
"""By the full name of the operator, and the character of a dtype, from how many elements on its calls are large."""


def is_large(kernel: EntryKernel, arguments: Sequence[Any]) -> bool:
    """Whether a call is on large arrays of the host."""
    key = kernel.name, character_of(arguments)
    least = _least.get(key)
    if least is None:
        least = _least[key] = _first_large(kernel, arguments)
    if least == NEVER:
        return False
    for argument in arguments:
        if isinstance(argument, Tensor) and argument._array.size >= least:
            return type(argument._array) is np.ndarray  # no device's, lent to a kernel over arrays
    return False


def _first_large(kernel: EntryKernel, arguments: Sequence[Any]) -> int:
    definition = registry.get(kernel.name)
    is_decided = definition.scalar is None or (kernel.meaning is None and is_decided_by_dtypes(definition))
    if is_decided and not is_worthwhile(definition, arguments):
        return NEVER  # it takes no time to see that NumPy is as good
    return least_elements(definition, character_of(arguments))


@LARGE_CALL.provide
def _large(kernel: EntryKernel, arguments: Sequence[Any]) -> Any:
    """The result of a call on large arrays by one native loop; None for other calls."""
    return LARGE_KERNEL.implementation(kernel, arguments) if is_large(kernel, arguments) else None


@LARGE_WRITE.provide
def _write(meaning: Any, target: Tensor, arguments: Sequence[Any]) -> bool:
    """Have one native loop write the result of a call into a large array; whether one does."""
    array = target._array
    if array.size < SEVERAL or array.dtype.char not in USUAL or type(array) is not np.ndarray:
        return False
    definition = registry.find(meaning.schema.full_name)
    if definition is None or definition.scalar is None or array.size < _least_written(definition):
        return False
    return LARGE_WRITING_KERNEL.implementation(meaning, target, arguments)


def _least_written(definition: OpDef) -> int:
    key = definition.full_name, "written"
    if key not in _least:
        _least[key] = least_large(definition)
    return _least[key]
