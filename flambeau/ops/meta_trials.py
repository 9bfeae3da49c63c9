"""Sizes that only a run tells: the kernel runs on small numbers made up for the purpose, and only its results' sizes,
strides and dtypes are kept.

An operator whose sizes depend on elements has none without data, and one that draws numbers is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.tensor.array_library import np
from flambeau.tensor.create import empty_strided
from flambeau.tensor.dataless import DatalessStorage
from flambeau.tensor.dispatch import uninterrupted
from flambeau.tensor.tensor import Tensor, wrap

MOST_ELEMENTS: Final = 1 << 20
"""Elements of all arguments together up to which a run is tried."""
DATA_DEPENDENT: RuleTable[Callable[[], None]] = RuleTable("sizes that depend on elements")


@DATA_DEPENDENT(
    "aten::nonzero", "aten::nonzero_numpy", "aten::argwhere", "aten::masked_select", "aten::bincount", "aten::_unique",
    "aten::_unique2", "aten::where", "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive",
    "aten::linalg_lstsq", "aten::_pack_padded_sequence", "aten::_pad_packed_sequence", "aten::equal",
)  # fmt: skip
def _has_no_sizes() -> None:
    """Marks an operator."""


def trial(definition: OpDef, arguments: Sequence[Any], empty: Callable[..., Tensor]) -> Any:
    """What `empty(sizes, dtype, strides)` gives for the results of a run; NotImplemented where none is tried."""
    names = definition.schema.index
    has_effects = definition.effect is not Effect.NONE or definition.schema.is_mutable
    if definition.family == "custom" or definition.name in DATA_DEPENDENT or has_effects:
        return NotImplemented
    counts_classes = definition.name.endswith("one_hot") and arguments[names["num_classes"]] < 0
    repeats = "repeats" in names and isinstance(arguments[names["repeats"]], Tensor)
    if counts_classes or (repeats and arguments[names["output_size"]] is None):
        return NotImplemented
    if _elements(arguments) > MOST_ELEMENTS:
        return NotImplemented
    stand_ins = [_stand_in(value) for value in arguments]
    with uninterrupted(), np.errstate(all="ignore"):
        return _without_data(definition.kernel(*stand_ins), empty)


def _elements(values: Sequence[Any]) -> int:
    total = 0
    for value in values:
        if isinstance(value, Tensor):
            total += value._array.size
        elif type(value) in (list, tuple):
            total += _elements(value)
    return total


def _stand_in(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _numbers(value) if type(value._storage) is DatalessStorage else value
    if type(value) is Device:
        return None
    return type(value)(map(_stand_in, value)) if type(value) in (list, tuple) else value


def _numbers(tensor: Tensor) -> Tensor:
    """A tensor of the same sizes, strides and dtype: ones, or matrices with ones on the diagonal."""
    shape, dtype = tensor._array.shape, tensor.dtype
    array = empty_strided(shape, tensor.stride(), dtype)
    array[...] = _value(dtype)
    if dtype.is_floating_point and len(shape) > 1:
        array[...] = np.eye(*shape[-2:]).astype(dtype.numpy)
    result = wrap(array)
    result.is_wrapped_number = tensor.is_wrapped_number
    return result


def _value(dtype: DType) -> Any:
    if dtype.is_integral and dtype.name != "bool":
        return 0
    return np.ones((), dtype.numpy) if not dtype.numpy.fields else np.zeros((), dtype.numpy)


def _without_data(result: Any, empty: Callable[..., Tensor]) -> Any:
    if isinstance(result, Tensor):
        return empty(result._array.shape, result.dtype, result.stride())
    return type(result)([_without_data(r, empty) for r in result]) if type(result) in (list, tuple) else result
