"""The gradients of products along an axis and of their partial products, row by row: without division by zeros."""

from __future__ import annotations

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.ops.small_tensors import signed
from flambeau.schema.dtype import float32, float64
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap


def partial_loop(grad: np.ndarray, numbers: np.ndarray, products: np.ndarray, result: np.ndarray, length: int) -> None:
    """result[r, i] = the sum over k >= i of grad[r, k] times the product of all numbers[r, j <= k] but number i.

    Before the first zero these are products over the number. Behind it all are 0.
    """
    for r in range(len(numbers) // length):
        first = r * length
        end, zero = first + length, first
        while zero < end and numbers[zero] != 0:
            zero += 1
        if zero < end:
            product = products[zero - 1] if zero > first else numbers[first] * 0 + 1
            total = grad[zero] * product
            index = zero + 1
            while index < end and numbers[index] != 0:
                product *= numbers[index]
                total += grad[index] * product
                index += 1
            result[zero] = total
        behind = 0.0
        for back in range(first, zero):
            index = first + zero - 1 - back
            behind += float(grad[index]) * products[index]
            result[index] = behind / float(numbers[index])


def others_loop(grad: np.ndarray, numbers: np.ndarray, result: np.ndarray, length: int) -> None:
    """result[r, i] = grad[r] times the product of all numbers of row r but number i."""
    for r in range(len(numbers) // length):
        first, product = r * length, float(grad[r])
        for i in range(first, first + length):
            result[i] = product
            product *= numbers[i]
        product = 1.0
        for back in range(length):
            i = first + length - 1 - back
            result[i] *= product
            product *= numbers[i]


def _reverse_sum(x: Array) -> Array:
    return np.asarray(np.cumsum(x[..., ::-1], axis=-1)[..., ::-1])


def _partial_by_numpy(grad: Array, numbers: Array, products: Array) -> Array:
    """What `partial_loop` computes, for rows of a matrix."""
    is_zero = numbers == 0
    count = np.cumsum(is_zero, axis=-1)
    is_first = is_zero & (count == 1)
    with np.errstate(all="ignore"):
        within = np.where(count < 2, np.cumprod(np.where(is_first, 1, numbers), axis=-1), 0)
        at_first = _reverse_sum(grad * within)
        before = _reverse_sum(grad * products) / np.where(is_zero, 1, numbers)
    return np.where(count == 0, before, np.where(is_first, at_first, 0)).astype(numbers.dtype, copy=False)


def cumprod_gradient(grad: Array, self: Array, result: Array, dim: int) -> Array:
    """The gradient of the numbers, from that of their partial products."""
    rows = [np.moveaxis(widened(one), dim, -1) for one in (grad, self, result)]
    gradient = np.zeros(rows[1].shape, rows[1].dtype)
    loop = loop_for(partial_loop, gradient.size) if gradient.dtype in FLOATS else None
    if loop is None:
        gradient = _partial_by_numpy(*rows)
    else:
        loop(*[np.ascontiguousarray(one).reshape(-1) for one in rows], gradient.reshape(-1), gradient.shape[-1])
    return np.ascontiguousarray(np.moveaxis(gradient, -1, dim)).astype(self.dtype, copy=False)


def prod_gradient(grad: Array, self: Array, dim: int) -> Array:
    """The gradient of the numbers, from that of their product along an axis, which is kept as an axis of size 1."""
    rows, scale = np.moveaxis(widened(self), dim, -1), np.moveaxis(widened(grad), dim, -1)
    gradient = np.empty(rows.shape, rows.dtype)
    loop = loop_for(others_loop, gradient.size) if gradient.dtype in FLOATS else None
    if loop is not None:
        scale = np.broadcast_to(scale, (*rows.shape[:-1], 1))
        loop(*[np.ascontiguousarray(one).reshape(-1) for one in (scale, rows)], gradient.reshape(-1), rows.shape[-1])
    elif gradient.size:
        with np.errstate(all="ignore"):
            gradient[..., :1] = 1
            np.cumprod(rows[..., :-1], axis=-1, out=gradient[..., 1:])
            behind = np.cumprod(rows[..., :0:-1], axis=-1)[..., ::-1]
            gradient[..., :-1] *= behind
            gradient *= scale
    return np.ascontiguousarray(np.moveaxis(gradient, -1, dim)).astype(self.dtype, copy=False)


def _partial(dim: int) -> Sample:
    numbers = signed(3, 9)._array
    return Sample(args=(signed(3, 9), wrap(numbers), wrap(np.cumprod(numbers, axis=dim)), dim))


declare(
    "flambeau::cumprod_gradient(Tensor grad, Tensor self, Tensor result, int dim) -> Tensor",
    kernel=cumprod_gradient,
    doc="The gradient of numbers whose partial products are known.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [_partial(0), _partial(1)],
    ulp={float32: 64.0, float64: 64.0},
    is_method=False,
    is_function=False,
)
declare(
    "flambeau::prod_gradient(Tensor grad, Tensor self, int dim) -> Tensor",
    kernel=prod_gradient,
    doc="The gradient of numbers whose product along an axis is taken.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(signed(*kept), signed(3, 9), dim)) for dim, kept in ((1, (3, 1)), (0, (1, 9)))],
    ulp={float32: 64.0, float64: 64.0},
    is_method=False,
    is_function=False,
)
