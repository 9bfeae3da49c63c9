"""The gradients of maxima over windows, as operators of their own: each goes to the element that was chosen."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final

from flambeau.ops.families.composite import composite
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

_DIMS: Final = (2, 3)


def spread(F: Any, grad_output: Any, self: Any, indices: Any, dims: int) -> Any:
    """Zeros as large as `self` with each gradient added where the index says, counted through the last dimensions.

    Raises RuntimeError unless there is an index per gradient.
    """
    if list(grad_output.shape) != list(indices.shape):
        raise RuntimeError(
            f"Expected grad_output and indices to have the same sizes, but got {list(grad_output.shape)} and "
            f"{list(indices.shape)}"
        )
    sizes = list(self.shape)
    leading = sizes[: len(sizes) - dims]
    flat = F.new_zeros(grad_output, [*leading, prod(sizes[len(leading) :])])
    flat_sizes = [*leading, prod(grad_output.shape[len(leading) :])]
    added = F.scatter_add(flat, len(leading), F.reshape(indices, flat_sizes), F.reshape(grad_output, flat_sizes))
    return F.reshape(added, sizes)


def _body(dims: int) -> Any:
    def body(
        F: Any,
        grad_output: Any,
        self: Any,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        indices: Any,
    ) -> Any:
        return spread(F, grad_output, self, indices, dims)

    return body


def _arguments(dims: int, number: int = 2) -> tuple[Any, ...]:
    image = wrap(np.zeros((1, 1, *(3,) * dims), np.float32))
    grad = wrap(np.ones((1, 1, *(number,) * dims), np.float32))
    indices: Tensor = wrap(np.full((1, 1, *(2,) * dims), 4, np.int64))
    return grad, image, [2] * dims, [1] * dims, [0] * dims, [1] * dims, False, indices


def _samples(dims: int) -> list[Sample]:
    return [Sample(args=_arguments(dims))]


def _errors(dims: int) -> list[ErrorSample]:
    return [ErrorSample(args=_arguments(dims, 1), error=RuntimeError, message="to have the same sizes, but got")]


for _dims in _DIMS:
    _ints = f"int[{_dims}]"
    composite(
        f"aten::max_pool{_dims}d_with_indices_backward(Tensor grad_output, Tensor self, {_ints} kernel_size, "
        f"{_ints} stride, {_ints} padding, {_ints} dilation, bool ceil_mode, Tensor indices) -> Tensor",
        body=_body(_dims),
        doc="The gradient of the largest elements of windows: added up where these elements are.",
        dtype=lambda grad_output: grad_output.dtype,
        shape=lambda self: self.sizes,
        samples=partial(_samples, _dims),
        errors=partial(_errors, _dims),
        is_function=False,
    )
