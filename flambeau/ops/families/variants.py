"""From a functional overload to the ones that write: `op_` into its first argument, `op.out` into a given tensor.

Both refuse before anything is written: a target that overlaps itself or partly overlaps an input, an in-place target
whose sizes are not those of the result, a result whose kind of number the target cannot hold. An `out` tensor of
other sizes is resized.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

from flambeau.ops.families.numpy_cast import Array, cast
from flambeau.ops.families.promotion import can_cast
from flambeau.schema.alias import AliasInfo
from flambeau.schema.dtype import DType
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.types import TENSOR
from flambeau.tensor import layout
from flambeau.tensor.array_library import address_of, np
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import replace

INTERNAL_OVERLAP: Final = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
PARTIAL_OVERLAP: Final = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
RESIZED: Final = (
    "An output with one or more elements was resized since it had shape {had}, which does not match the required "
    "output shape {needed}. Resizing outputs that hold elements is deprecated; pass a tensor of the right shape, or "
    "one with zero elements, which is resized silently."
)
_WRITTEN: Final = AliasInfo(before=("a",), is_write=True)


def in_place_schema(schema: FunctionSchema) -> FunctionSchema:
    """`aten::add.Tensor` to `aten::add_.Tensor`: the first argument is written and returned.

    >>> from flambeau.schema.function import parse_schema
    >>> str(in_place_schema(parse_schema("aten::relu(Tensor self) -> Tensor")))
    'aten::relu_(Tensor(a!) self) -> Tensor(a!)'
    """
    first = replace(schema.arguments[0], name="self", alias=_WRITTEN, declared="")
    stem = schema.name.removesuffix("__")
    name = stem.replace("::__", "::__i") + "__" if stem != schema.name else schema.name + "_"
    return FunctionSchema(name, schema.overload, (first, *schema.arguments[1:]), (_written_result(),))


def out_schema(schema: FunctionSchema, overload: str) -> FunctionSchema:
    """The overload that writes to a keyword-only `out`."""
    out = Argument("out", TENSOR, kwarg_only=True, alias=_WRITTEN)
    return FunctionSchema(schema.name, overload, (*schema.arguments, out), (_written_result(),))


def _written_result() -> Argument:
    return Argument("", TENSOR, alias=_WRITTEN)


def check_cast(result: DType, target: DType, *, is_short: bool = False) -> None:
    """Raise RuntimeError if a tensor of `target` cannot hold a `result`; `is_short` words it with C names."""
    if not can_cast(result, target):
        name = target.short if is_short else target.display
        raise RuntimeError(f"result type {result.display} can't be cast to the desired output type {name}")


def check_exact(result: DType, target: DType, refusal: str) -> None:
    """Raise RuntimeError with the text of an operator whose `out` tensor has to have the dtype of the result."""
    if result is not target:
        raise RuntimeError(refusal.format(wanted=result, got=target))


def check_same(result: DType, target: DType) -> None:
    """Raise RuntimeError if one of several tensors that results go to has another dtype than its result."""
    if result is not target:
        raise RuntimeError(f"Expected out tensor to have dtype {result.short}, but got {target.short} instead")


def check_overlap(target: Tensor, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError if `target` may not be written, or not element by element while `inputs` are read."""
    if target._storage.version < 0:
        refuse_writing(target._storage.version)
    array = target._array
    if array.size > 1 and not _is_dense(array) and _repeats(array):
        raise RuntimeError(INTERNAL_OVERLAP)
    for one in _flat(inputs):
        if type(one) is Tensor and type(target) is Tensor and one._storage.base is not target._storage.base:
            continue
        is_shared = isinstance(one, Tensor) and one is not target and one.shares_storage(target)
        if is_shared and _overlaps_partly(array, one._array):
            raise RuntimeError(PARTIAL_OVERLAP)


def check_apart(target: Tensor, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError if memory of `target` is memory of one of `inputs`."""
    array = target._array
    for one in _flat(inputs):
        if isinstance(one, Tensor) and one.shares_storage(target) and (
            one is target or _overlaps_partly(array, one._array) or address_of(array) == address_of(one._array)
        ):
            raise RuntimeError(PARTIAL_OVERLAP)


def _flat(inputs: Sequence[Any]) -> Iterator[Any]:
    for one in inputs:
        if isinstance(one, list | tuple):
            yield from one
        else:
            yield one


def _repeats(array: Array) -> bool:
    return any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True))


def _is_dense(array: Array) -> bool:
    return bool(array.flags.c_contiguous) or layout.is_non_overlapping_and_dense(
        array.shape, [s // array.itemsize for s in array.strides]
    )


def _overlaps_partly(a: Array, b: Array) -> bool:
    if not a.size or not b.size or not _is_dense(a) or not _is_dense(b):
        return False
    start_a, start_b = address_of(a), address_of(b)
    end_a, end_b = start_a + a.nbytes, start_b + b.nbytes
    if start_a == start_b and end_a == end_b:
        return bool(a.strides != b.strides)
    return bool(start_a < end_b and start_b < end_a)


def check_in_place_shape(target: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError if a result of `shape` does not fit a target that cannot be resized."""
    if target._array.shape != shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )


def fit_out(out: Tensor, shape: tuple[int, ...]) -> None:
    """Give `out` the sizes of the result; warns when that discards elements."""
    if out._array.shape == shape:
        return
    if out._array.size:
        message = RESIZED.format(had=list(out._array.shape), needed=list(shape))
        warnings.warn(message, UserWarning, stacklevel=4)
    resize(out, shape)


def resize(out: Tensor, shape: tuple[int, ...]) -> None:
    """Change the sizes of a tensor in place, row-major; its storage grows if it must."""
    refuse_writing(out._storage.version)
    storage, item = out._storage, out._array.itemsize
    needed = prod(shape) * item
    if storage.nbytes() < needed:
        fresh = np.zeros(needed, np.uint8)
        fresh[: storage.nbytes()] = storage.bytes[: storage.nbytes()]
        storage.base, storage._bytes = fresh, None
    strides = [s * item for s in layout.contiguous_strides(shape)]
    out._array = np.ndarray(shape, out._array.dtype, storage.bytes, 0, strides)


def write(target: Tensor, result: Array) -> Tensor:
    """Put a computed array into a tensor, converted to its dtype, and note the write."""
    refuse_writing(target._storage.version)
    target._array[...] = cast(result, target.dtype)
    target.bump_version()
    return target
