"""The gradients that a run over the tape begins with: what users pass for each root, or 1 for scalars.

>>> import flambeau
>>> fitting(0, flambeau.tensor(3.0), None)
tensor(1.)
"""

from __future__ import annotations

from typing import Final

import numpy as np

from flambeau.autograd.node import GradientEdge
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.dtype import DType
from flambeau.tensor.observer import thread
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import dataclass

NO_SCALAR: Final = "grad can be implicitly created only for scalar outputs"
NO_SIZES: Final = (
    "a GradientEdge made by hand needs a gradient to start from: it has no sizes to make one of, as that of "
    "get_gradient_edge(tensor) has"
)
NO_REAL_SCALAR: Final = "grad can be implicitly created only for real scalar outputs"
COMPLEX: Final = (
    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
    "grad_output[{number}] has a dtype of {given} and output[{number}] has a dtype of {own}."
)


@dataclass(frozen=True, slots=True)
class Like:
    """What a tensor at an edge was like."""

    shape: Size
    dtype: DType


def first_at(edge: GradientEdge) -> Tensor:
    """The gradient of a scalar at an edge. Raises RuntimeError for several elements, or where nothing is known."""
    like = edge.ownership_token
    if not isinstance(like, Like):
        raise RuntimeError(NO_SIZES)
    if like.shape.numel() != 1:
        raise RuntimeError(NO_SCALAR)
    if like.dtype.is_complex:
        raise RuntimeError(f"{NO_REAL_SCALAR} but got torch.{like.dtype.name}")
    return OPERATORS.ones(list(like.shape), dtype=like.dtype)  # type: ignore[no-any-return]


def fitting(number: int, root: Tensor, gradient: Tensor | None) -> Tensor:
    """The gradient of a result: 1 if none was passed. Raises RuntimeError for one of another shape."""
    if gradient is None:
        if root._array.size != 1:
            raise RuntimeError(NO_SCALAR)
        if root.dtype.is_complex:
            raise RuntimeError(f"{NO_REAL_SCALAR} but got torch.{root.dtype.name}")
        if type(root) is Tensor and not thread.handlers and thread.observer is None:
            array = root._array
            return wrap(np.ones_like(array) if array.ndim else np.array(1, array.dtype))
        return OPERATORS.ones_like(root.detach())  # type: ignore[no-any-return]
    if gradient._array.shape != root._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {sizes_of(gradient)} and output[{number}] has "
            f"a shape of {sizes_of(root)}."
        )
    if gradient._array.dtype == root._array.dtype:
        return gradient
    if gradient.dtype.is_complex or root.dtype.is_complex:
        raise RuntimeError(
            COMPLEX.format(number=number, given=f"torch.{gradient.dtype.name}", own=f"torch.{root.dtype.name}")
        )
    return OPERATORS.to(gradient, root.dtype)  # type: ignore[no-any-return]


def sizes_of(tensor: Tensor) -> str:
    """A shape as messages have it."""
    return f"torch.Size({list(tensor._array.shape)})"
