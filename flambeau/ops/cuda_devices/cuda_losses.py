"""The negative log likelihood on devices, of operators that are one launch each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.cuda.late_errors import as_part_of
from flambeau.cuda.tensors import is_on_device
from flambeau.ops.cuda_devices.cuda_calls import CUDA_RULES
from flambeau.ops.families.composite import F
from flambeau.ops.loss import MEAN, reduced
from flambeau.schema.dtype import int64
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor


@CUDA_RULES("aten::nll_loss_nd")
def _nll(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Of targets that are classes, of rows or batches of classes."""
    self, target, weight, reduction, ignore_index = arguments
    sizes = self._array.shape
    if len(sizes) < 2 or not is_on_device(target) or target.dtype is not int64:
        return NotImplemented
    if target._array.shape != (sizes[0], *sizes[2:]) or 0 in sizes or not self.dtype.is_floating_point:
        return NotImplemented
    if weight is not None and (weight._array.shape != sizes[1:2] or weight.dtype is not self.dtype):
        return NotImplemented
    is_counted = F.ne(target, ignore_index)
    safe = F.where(is_counted, target, 0)
    with as_part_of("nll_loss"):
        picked = F.squeeze(F.gather(self, 1, F.unsqueeze(safe, 1)), 1)
        share = is_counted if weight is None else _weights(is_counted, safe, weight)
    losses = F.neg(F.where(is_counted, picked if weight is None else F.mul(picked, share), 0.0))
    if reduction != MEAN:
        return reduced(F, losses, reduction)
    return F.div(F.sum(losses), F.sum(share))


def _weights(is_counted: Tensor, safe: Tensor, weight: Tensor) -> Any:
    """What each target counts: the weight of its class, 0 where it is ignored."""
    weights = F.reshape(F.index_select(weight, 0, F.reshape(safe, [-1])), list(safe._array.shape))
    return F.where(is_counted, weights, 0.0)
