"""Cross entropy behind a linear layer, some samples at a time: the scores of all classes are never there at once.

What a chunk computes is not kept but computed again on the way back, to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.autograd.backward import grad_of
from flambeau.autograd.function import Function
from flambeau.nn.functions.loss import cross_entropy
from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType, float32
from flambeau.tensor.grad_mode import enable_grad, is_grad_enabled
from flambeau.tensor.tensor import Tensor

POLICIES = ("auto", "accurate", "balanced", "compact")
RATIO = "aspect_ratio"
USUAL = 2
"""How many times fewer samples than `aspect_ratio` has are in a chunk, where nothing else is said."""


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through its samples in chunks.

    Args:
        allow_retain_graph: accepted: nothing of a chunk is kept, so that one may go back several times.
        batch_chunk_size: samples of a chunk; None to go by `chunking_method`.
        chunking_method: "aspect_ratio" takes so many samples that the scores of a chunk take as much memory as the
            input, "aspect_ratio:N" an Nth of them; "auto" chooses; None goes by `batch_chunk_size`, or all at once.
        acc_policy: "auto", "accurate", "balanced" or "compact", which are one here.
        acc_dtype: the dtype to compute in; None for float32 in place of half precision, else that of the input.

    Raises ValueError for what is none of these.

    >>> import flambeau
    >>> in_pairs = LinearCrossEntropyOptions(batch_chunk_size=2, chunking_method=None)
    >>> x, weight, target = flambeau.ones(5, 3), flambeau.zeros(4, 3), flambeau.tensor([0, 2, 1, 1, 3])
    >>> loss = flambeau.nn.functional.linear_cross_entropy(x, weight, target, options=in_pairs)
    >>> round(loss.item(), 4)
    1.3863
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            _divisor(self.chunking_method)
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")


def _divisor(method: Any) -> int:
    """Of "aspect_ratio:N" the N. Raises ValueError for another method."""
    name, colon, factor = str(method).partition(":")
    factor = factor if colon else "1"
    if name != RATIO or not factor.isdigit() or int(factor) < 1:
        raise ValueError(f"invalid chunking_method: {method!r}")
    return int(factor)


def samples_of_chunk(options: Any, samples: int, features: int, classes: int) -> int:
    """How many samples are taken at a time. Raises ValueError where the options name two numbers."""
    size, method = options.batch_chunk_size, options.chunking_method
    if method is None or (method == "auto" and size is not None):
        return samples if size is None else int(size)
    divisor = USUAL if method == "auto" else _divisor(method)
    least = -(-samples // max(1, -(-classes // max(1, features))))
    by_ratio = max(1, (1 << max(0, least - 1).bit_length()) // divisor)
    if size is not None and size != by_ratio:
        raise ValueError(
            f"batch_chunk_size={size} and chunking_method={method!r}, which means {by_ratio}, do not go together: "
            "leave one of them out"
        )
    return by_ratio


class _ComputedAgain(Function):
    """A chunk's loss, of which only what it is computed of is kept."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        ctx.run = run
        ctx.save_for_backward(*tensors)
        return run(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        again = is_grad_enabled()
        with enable_grad():
            tensors = [t if again else t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
            asking = [t for t in tensors if t.requires_grad]
            gradients = iter(grad_of([ctx.run(*tensors)], asking, [grad], None, again))
        return None, *[next(gradients) if t.requires_grad else None for t in tensors]


def linear_cross_entropy_in_chunks(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None,
    reduction: str, ignore_index: int, label_smoothing: float, options: Any,
) -> Tensor:  # fmt: skip
    """The loss of samples (N, features) and a weight (classes, features), by the options' chunks."""
    of_half = input.dtype.is_floating_point and input.dtype.itemsize < float32.itemsize
    dtype = input.dtype if not of_half else options.acc_dtype if isinstance(options.acc_dtype, DType) else float32
    each = "none" if reduction == "none" else "sum"

    def run(x: Tensor, w: Tensor, y: Tensor, *rest: Tensor) -> Tensor:
        others = iter(rest)
        bias = None if linear_bias is None else next(others).to(dtype)
        weights = None if weight is None else next(others).to(dtype)
        scores = F.linear(x.to(dtype), w.to(dtype), bias)
        y = y.to(dtype) if y.dtype.is_floating_point else y
        return cross_entropy(
            scores, y, weights, ignore_index=ignore_index, reduction=each, label_smoothing=label_smoothing
        )

    samples = input.size(0)
    step = samples_of_chunk(options, samples, input.size(1), linear_weight.size(0))
    more = [t for t in (linear_bias, weight) if t is not None]
    losses = [
        _ComputedAgain.apply(run, input[k : k + step], linear_weight, target[k : k + step], *more)
        for k in range(0, max(1, samples), max(1, step))
    ]
    if reduction == "none":
        return F.cat(losses).to(input.dtype)
    total = _total(losses)
    return (total if reduction == "sum" else total / _divided_by(target, weight, ignore_index)).to(input.dtype)


def _total(losses: Sequence[Tensor]) -> Tensor:
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total


def _divided_by(target: Tensor, weight: Tensor | None, ignore_index: int) -> Any:
    """What makes a mean of the sum: how many samples there are, or the weights of their classes."""
    if target.dtype.is_floating_point:
        return target.size(0)
    counts = target != ignore_index
    if weight is None:
        return counts.sum()
    return (weight[F.where(counts, target, 0)] * counts).sum()
