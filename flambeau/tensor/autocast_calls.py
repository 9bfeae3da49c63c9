"""Calls within `autocast`: the floating tensors among the operands of an operator, in the dtype that its policy says.

Parameters that are converted again and again are converted once: the copies are kept until the outermost block ends, by
the version of their memory, so that an update in between is seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.schema.cast_policies import REFUSAL, CastPolicy, policies_of
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import OpDef
from flambeau.tensor.autocast_state import Precision, local
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.tensor import Tensor

Convert = Callable[[Tensor, DType], Tensor]
"""Gives a tensor in another dtype, as an operator that is recorded."""


def is_cast(value: Any, device_type: str) -> bool:
    """Whether a value is a tensor that a policy is about: floating, of at most 32 bits, and on this kind of device."""
    if not isinstance(value, Tensor):
        return False
    dtype = value.dtype
    return dtype.is_floating_point and dtype is not float64 and value.device.type == device_type


def cast_arguments(
    precision: Precision, definition: OpDef, arguments: Sequence[Any], convert: Convert
) -> list[Any] | None:
    """The arguments of a call, cast; None where no policy is about the call. Raises RuntimeError for one that mixed
    precision refuses."""
    policies = policies_of(definition.schema)
    if not policies:
        return None
    for device_type, dtype in precision:
        policy = policies.get(device_type)
        if policy is None or policy is CastPolicy.PARTS or not _concerns(arguments, device_type):
            continue
        if policy is CastPolicy.LOWER and is_of_one(arguments):
            return list(arguments)
        if policy is CastPolicy.REFUSED:
            raise RuntimeError(REFUSAL.format(name=definition.name.rpartition("::")[2], device=device_type))
        if policy is CastPolicy.FULL_UNLESS_DTYPE_GIVEN and _has_dtype(definition, arguments):
            return list(arguments)
        wanted = policy if isinstance(policy, DType) else dtype
        if policy in (CastPolicy.FULL, CastPolicy.FULL_UNLESS_DTYPE_GIVEN):
            wanted = float32
        elif policy is CastPolicy.WIDEST:
            wanted = widest(arguments, device_type, dtype)
        return _cast(arguments, device_type, wanted, _remembering(convert) if wanted is dtype else convert)
    return None


def is_of_one(values: Sequence[Any]) -> bool:
    """Whether a product is of one factor, in a list: none is computed.

    >>> is_of_one(["ii->i", [1.0]]), is_of_one([[1.0, 2.0]])
    (True, False)
    """
    lists = [v for v in values if isinstance(v, list | tuple) and not any(isinstance(one, int) for one in v)]
    return len(lists) == 1 and len(lists[0]) == 1


def widest(values: Sequence[Any], device_type: str, dtype: DType) -> DType:
    """The dtype of autocast if all that a policy is about have it, else float32."""
    cast = [t for t in _tensors(values) if is_cast(t, device_type)]
    return dtype if all(t.dtype is dtype for t in cast) else float32


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [t for v in values for t in (v if isinstance(v, list | tuple) else (v,))]


def _concerns(arguments: Sequence[Any], device_type: str) -> bool:
    return any(is_cast(t, device_type) for t in _tensors(arguments))


def _has_dtype(definition: OpDef, arguments: Sequence[Any]) -> bool:
    position = definition.schema.index.get("dtype")
    return position is not None and arguments[position] is not None


def _cast(values: Sequence[Any], device_type: str, dtype: DType, convert: Convert) -> list[Any]:
    result: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            result.append(_cast(value, device_type, dtype, convert) if _concerns(value, device_type) else value)
        elif is_cast(value, device_type) and value.dtype is not dtype:
            result.append(convert(value, dtype))
        else:
            result.append(value)
    return result


def _remembering(convert: Convert) -> Convert:
    """Converts parameters once within the outermost block."""
    if not local.caches or not local.depth:
        return convert
    return lambda tensor, dtype: _remembered(tensor, dtype, convert)


def _remembered(tensor: Tensor, dtype: DType, convert: Convert) -> Tensor:
    is_parameter = tensor.requires_grad and tensor.is_leaf and tensor.dtype is float32 and tensor._base is None
    if not is_parameter or tensor._storage.version < 0:
        return convert(tensor, dtype)
    key = (id(tensor), dtype, mode.enabled)
    known = local.cache.get(key)
    if known is not None:
        of, version, storage, kept = known
        if of() is tensor and version == tensor._storage.version and storage is tensor._storage:
            remembered: Tensor = kept
            return remembered
    copy = convert(tensor, dtype)
    local.cache[key] = (weakref.ref(tensor), tensor._storage.version, tensor._storage, copy)
    return copy


CONVERSION: Final = "aten::to.dtype"
"""The overload that casts."""
