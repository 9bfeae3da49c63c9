"""What functions of `autograd.functional` refuse, with PyTorch's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd.node import edge_of
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.tensor import Tensor

STRATEGY: Final = (
    'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
    'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
)
VECTORS_STRICT: Final = (
    "flambeau.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
    "either set `strict=False` or `vectorize=False`."
)
FORWARD_STRICT: Final = (
    'flambeau.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
    '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
)
FORWARD_CREATES: Final = (
    'flambeau.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
    'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
)
FORWARD_LOOP: Final = (
    "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
)
HESSIAN_SINGLE: Final = "The function given to {name} should return a single Tensor"
HESSIAN_ELEMENT: Final = "The Tensor returned by the function given to {name} should contain a single element"
INDEPENDENT: Final = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {number} "
    "is independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)


def as_tuple(value: Any, what: str, name: str) -> tuple[Tensor, ...]:
    """A tensor, or a tuple of tensors, as a tuple. Raises TypeError for anything else."""
    values = value if isinstance(value, tuple) else (value,)
    for number, one in enumerate(values):
        if not isinstance(one, Tensor):
            kind = "tuple" if isinstance(value, tuple) else type(one)
            subject = f"the value at index {number}" if isinstance(value, tuple) else f"the given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {subject} has type "
                f"{type(one) if kind == 'tuple' else kind}."
            )
    return values


def direction(v: Any, like: Sequence[Tensor], has_one: bool, what: str) -> tuple[Tensor, ...]:
    """A vector for each tensor. Raises RuntimeError for vectors that do not fit."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {what} a single Tensor with a single element.")
        return (OPERATORS.ones_like(like[0].detach()),)
    vectors = as_tuple(v, "v", "the function")
    if len(vectors) != len(like):
        if has_one:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for number, (vector, one) in enumerate(zip(vectors, like, strict=True)):
        if vector._array.shape != one._array.shape:
            prefix = f"Entry {number} in " if len(like) > 1 else ""
            raise RuntimeError(
                f"{prefix}v has invalid size: should be torch.Size({list(one._array.shape)}) but got "
                f"torch.Size({list(vector._array.shape)})."
            )
    return vectors


def refuse_unrecorded(outputs: Sequence[Tensor]) -> None:
    """Raise RuntimeError for an output that no gradient goes back from."""
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {number} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


def refuse_independent(gradients: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raise RuntimeError for a gradient that does not depend on its input."""
    for number, (gradient, _) in enumerate(zip(gradients, inputs, strict=True)):
        if edge_of(gradient) is None:
            raise RuntimeError(INDEPENDENT.format(number=number))


def refuse_independent_jacobian(gradients: Sequence[Tensor | None], inputs: Sequence[Tensor]) -> None:
    """Raise RuntimeError for a Jacobian that cannot be differentiated, of a function that is linear."""
    for number, (gradient, _) in enumerate(zip(gradients, inputs, strict=True)):
        if gradient is not None and edge_of(gradient) is None:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {number}. This is not allowed in "
                "strict mode when create_graph=True."
            )
