"""Cross entropy of rows of classes as one operator: what it is on the tape. Calls that nothing is recorded of, and
programs, have a logarithm of probabilities and a choice among these.

The second result are the logarithms, for the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

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
    softmax, choice = _kernels()
    logs = softmax.unrecorded(self, 1, None)
    return choice(logs, target, None, reduction, ignore_index), logs


@cache
def _kernels() -> tuple[EntryKernel, Callable[..., Tensor]]:
    """Of the logarithms, whatever asks for gradients, and of the choice."""
    softmax: Any = registry.get("aten::log_softmax.int").kernel
    return softmax, registry.get("aten::nll_loss_nd").kernel


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
