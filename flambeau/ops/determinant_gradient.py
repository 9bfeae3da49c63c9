"""The gradient of determinants, as an operator of its own: cofactors, by the inverse wherever there is one."""

from __future__ import annotations

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas


def _cofactors(matrix: Array) -> Array:
    """Of one matrix that has no inverse, by its singular values: the products of all but one."""
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan)
    left, values, right = blas.linalg.svd(matrix)
    others = [np.prod(np.delete(values, at)) for at in range(len(values))]
    phase = np.conj(blas.linalg.det(left) * blas.linalg.det(right))
    return np.asarray(phase * blas.matmul(left * np.array(others, values.dtype), right))


def det_gradient(grad: Array, x: Array, determinant: Array) -> Array:
    """The gradient of each matrix of a batch, whose determinant is known."""
    if not x.size:
        return np.zeros_like(x)
    flat, values = x.reshape(-1, *x.shape[-2:]), determinant.reshape(-1)
    is_whole = np.isfinite(values) & (np.abs(values) > np.finfo(values.dtype).tiny)
    result = np.empty_like(flat)
    with np.errstate(all="ignore"):
        inverse = blas.linalg.inv(flat[is_whole])
        sizes = np.abs(inverse).sum(axis=(1, 2)) * np.abs(flat[is_whole]).sum(axis=(1, 2))
        scale = np.conj(values[is_whole])[:, None, None]
        result[is_whole] = scale * np.conj(inverse.swapaxes(1, 2))
        is_whole[is_whole] = sizes * np.sqrt(np.finfo(values.dtype).eps) < flat.shape[-1] ** 2
        for at in np.flatnonzero(~is_whole):
            result[at] = _cofactors(flat[at])
        result *= np.broadcast_to(grad, determinant.shape).reshape(-1)[:, None, None]
    return result.reshape(x.shape)


declare(
    "flambeau::det_gradient(Tensor grad, Tensor x, Tensor determinant) -> Tensor",
    kernel=det_gradient,
    doc="The gradient of matrices whose determinants are known.",
    dtype=lambda x: x.dtype,
    shape=lambda x: x.sizes,
    samples=lambda: [
        Sample(args=(wrap(np.float32(2)), wrap(np.array([[2, 1], [0.5, 3]], np.float32)), wrap(np.float32(5.5)))),
        Sample(args=(wrap(np.float32(2)), wrap(np.array([[2, 1], [4, 2]], np.float32)), wrap(np.float32(0)))),
    ],
    ulp={float32: 64.0},
    is_method=False,
    is_function=False,
)
