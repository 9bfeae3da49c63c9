"""Cross entropy of rows of classes as one operator: what it is on the tape. Calls that nothing is recorded of, and
programs, have a logarithm of probabilities and a choice among these.

The second result are the logarithms, for the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.ops.families.opaque import declare
from flambeau.ops.loss import MEAN, SUM
from flambeau.schema import registry
from flambeau.schema.opdef import Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor, wrap

NAME: Final = "flambeau::nll_loss_of_rows"


def loss_of_rows(self: Tensor, target: Tensor, reduction: int, ignore_index: int) -> Tensor:
    """The mean or the sum over the rows, recorded as one node."""
    loss: Tensor = call(NAME, self, target, reduction, ignore_index)[0]
    return loss


def _kernel(self: Tensor, target: Tensor, reduction: int, ignore_index: int) -> tuple[Tensor, Tensor]:
    softmax: EntryKernel = registry.get("aten::log_softmax.int").kernel  # type: ignore[assignment]
    choice = registry.get("aten::nll_loss_nd").kernel
    logs = softmax.unrecorded(self, 1, None)
    return choice(logs, target, None, reduction, ignore_index), logs


def _samples() -> Iterable[Sample]:
    rows = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], np.float32)
    for reduction in (MEAN, SUM):
        yield Sample(args=(wrap(rows.copy()), wrap(np.array([0, 2])), reduction, -100))
    yield Sample(args=(wrap(rows.copy()), wrap(np.array([0, 1])), MEAN, 1), note="the second is ignored")


def _sizes(self: TensorType) -> Any:
    return (), self.sizes


def _dtypes(self: TensorType) -> Any:
    return self.dtype, self.dtype


declare(
    f"{NAME}(Tensor self, Tensor target, int reduction, int ignore_index) -> (Tensor, Tensor)",
    kernel=_kernel, on_tensors=True, differentiable=(True, False), samples=_samples, shape=_sizes, dtype=_dtypes,
    is_method=False, is_function=False, doc="The cross entropy of rows of classes, and the logarithms it comes from.",
)  # fmt: skip


def gradient_of_rows(
    grads: Sequence[Array | None], result1: Array, target: Array, reduction: int, ignore_index: int
) -> Array | None:
    """The probabilities, less one at each target, for rows that are not ignored."""
    grad = grads[0]
    if grad is None:
        return None
    rows = np.arange(len(target))
    by = np.exp(result1)
    is_used = target != ignore_index
    count = int(np.count_nonzero(is_used))
    each = grad / grad.dtype.type(count) if reduction == MEAN else grad
    if count < len(target):
        by[~is_used] = 0
        rows, target = rows[is_used], target[is_used]
    by[rows, target] -= 1
    if count:
        by *= each
    return by
