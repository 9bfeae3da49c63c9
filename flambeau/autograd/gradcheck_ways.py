"""What `gradcheck` compares besides one way back: tangents, and ways back for a batch of gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flambeau.autograd.backward import grad
from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
from flambeau.batching.vmap import vmap
from flambeau.tensor.grad_mode import enable_grad
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor, wrap

Matrix = npt.NDArray[Any]
BATCHED: Final = (
    "While computing batched gradients, got: {error}: a gradient that goes back by itself does not go back in a batch, "
    "as autograd.grad(..., is_grads_batched=True) and vmap need it"
)

BATCHED_FORWARD: Final = (
    "While computing batched tangents, got: {error}: a tangent that goes forward by itself does not go forward in a "
    "batch, as func.jacfwd and vmap need it"
)


class GradcheckError(RuntimeError):
    """A gradient is not what differences say."""


def reals(tensor: Tensor) -> Matrix:
    """The elements in a row, complex ones as two; a copy.

    >>> import flambeau
    >>> reals(flambeau.tensor([1 + 2j])).tolist()
    [1.0, 2.0]
    """
    array = readable(tensor)._array
    wide = np.ascontiguousarray(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return np.array(wide.reshape(-1).view(np.float64))


def from_reals(numbers: Matrix, like: Tensor) -> Matrix:
    """The elements of a tensor like another one, of such a row.

    >>> import flambeau
    >>> from_reals(np.array([1.0, 2.0]), flambeau.ones(2, 1)).tolist()
    [[1.0], [2.0]]
    """
    array = like._array
    wide = numbers.view(np.complex128) if array.dtype.kind == "c" else numbers
    return wide.reshape(array.shape).astype(array.dtype)


def asking_outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    """The results that gradients flow to.

    >>> import flambeau
    >>> asking_outputs(lambda x: (x * 2, x.detach()), [flambeau.ones(1, requires_grad=True)])
    [tensor([2.], grad_fn=<MulBackward0>)]
    """
    result = func(*inputs)
    listed = list(result) if isinstance(result, tuple | list) else [result]
    return [one for one in listed if isinstance(one, Tensor) and one.requires_grad]


def along(
    func: Callable[..., Any], inputs: list[Any], number: int, output_index: int, directions: Matrix
) -> Matrix:
    """Combinations of the columns of one Jacobian, by tangents.

    >>> import flambeau
    >>> x = flambeau.tensor([3.0], requires_grad=True)
    >>> along(lambda t: t * t, [x], 0, 0, np.eye(1)).tolist()
    [[6.0]]
    """
    varied: Tensor = inputs[number]
    columns = []
    for direction in directions:
        tangent = wrap(from_reals(direction, varied)).to(varied.device)
        with dual_level(), enable_grad():
            dual = make_dual(varied, tangent)
            output = asking_outputs(func, [dual if v is varied else v for v in inputs])[output_index]
            value, moved = unpack_dual(output)
            columns.append(np.zeros(reals(value).size) if moved is None else reals(moved))
    return np.array(columns).reshape(len(directions), -1).T


def check_batched(output: Tensor, inputs: list[Tensor], factors: Matrix, analytical: Sequence[Matrix]) -> None:
    """Raise GradcheckError unless a batch of gradients goes back to what each gives by itself.

    >>> import flambeau
    >>> x = flambeau.tensor([3.0], requires_grad=True)
    >>> check_batched(x * x, [x], np.eye(1), [np.array([[6.0]])])
    """
    batch = wrap(np.stack([from_reals(factor, output) for factor in factors])).to(output.device)
    try:
        columns = grad(
            output, inputs, batch, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
    except Exception as error:
        raise GradcheckError(BATCHED.format(error=error)) from error
    for column, own in zip(columns, analytical, strict=True):
        if column is not None and not np.allclose(reals(column), own.reshape(-1), equal_nan=True):
            raise GradcheckError(BATCHED.format(error="other values"))


def check_batched_forward(
    func: Callable[..., Any], inputs: list[Any], number: int, output_index: int, directions: Matrix
) -> None:
    """Raise GradcheckError unless a batch of tangents goes forward to what each gives by itself.

    >>> import flambeau
    >>> x = flambeau.tensor([3.0], requires_grad=True)
    >>> check_batched_forward(lambda t: t * t, [x], 0, 0, np.eye(1))
    """
    varied: Tensor = inputs[number]

    def forward(tangent: Tensor) -> Tensor:
        with dual_level(), enable_grad():
            dual = make_dual(varied, tangent)
            output = asking_outputs(func, [dual if v is varied else v for v in inputs])[output_index]
            moved = unpack_dual(output).tangent
            return output.new_zeros(output.shape) if moved is None else moved

    batch = wrap(np.stack([from_reals(direction, varied) for direction in directions])).to(varied.device)
    try:
        together = vmap(forward)(batch)
    except Exception as error:
        raise GradcheckError(BATCHED_FORWARD.format(error=error)) from error
    for column, tangent in zip(together, batch, strict=True):
        if not np.allclose(reals(column), reals(forward(tangent)), equal_nan=True):
            raise GradcheckError(BATCHED_FORWARD.format(error="other values"))
