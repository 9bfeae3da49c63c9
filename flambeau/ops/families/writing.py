"""Storing a computed tensor in one that a caller gave as `out=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families import variants
from flambeau.tensor.tensor import Tensor


def write_result(target: Tensor, result: Tensor, inputs: Sequence[Any] = ()) -> Tensor:
    """Store `result` in `target`, which is resized first if its shape is another. Returns `target`.

    Raises RuntimeError when `target` cannot hold such results, or partly overlaps one of `inputs`. Warns when a tensor
    that has elements is resized.
    """
    variants.check_cast(result.dtype, target.dtype)
    variants.check_overlap(target, inputs)
    variants.fit_out(target, result._array.shape)
    return variants.write(target, result._array)
