"""Writing results into tensors that a caller gave as `out=`."""

from __future__ import annotations

import warnings

from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


def can_cast(source: DType, target: DType) -> bool:
    """Whether results of one type may be stored as another: never from a higher kind of number to a lower one."""
    return source.category <= target.category


def check_castable(source: DType, target: DType) -> None:
    """Raise RuntimeError unless results of type `source` may be stored as `target`."""
    if not can_cast(source, target):
        raise RuntimeError(f"result type {source.display} can't be cast to the desired output type {target.display}")


def write_result(target: Tensor, result: Tensor) -> Tensor:
    """Store `result` in `target`, resizing it first if its shape is another. Returns `target`.

    Raises RuntimeError when the dtype of `target` cannot hold such results. Warns when a tensor that has elements is resized.
    """
    check_castable(result.dtype, target.dtype)
    if target.shape != result.shape:
        if target.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not "
                f"match the required output shape {list(result.shape)}. Give a tensor of that shape, or one without elements.",
                stacklevel=4,
            )
        target.resize_(result.shape)
    target._array[...] = result._array.astype(target._array.dtype, copy=False)
    target.bump_version()
    return target
