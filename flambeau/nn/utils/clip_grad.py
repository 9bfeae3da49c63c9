"""Gradients made shorter: those that parameters hold, whoever put them there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np

from flambeau.ops.families.composite import F
from flambeau.tensor.create import tensor
from flambeau.tensor.dispatch import is_intercepted
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.recorder import is_asked
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas
from flambeau.util.user_code import warn_user

OLDER_NAME: Final = "nn.utils.clip_grad_norm is deprecated: write nn.utils.clip_grad_norm_"

NOT_FINITE = (
    "The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. To scale "
    "the gradients by it anyway, set `error_if_nonfinite=False`"
)
Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _are_plain(tensors: Sequence[Tensor]) -> bool:
    """Whether tensors are arrays of floats of one dtype, each in one piece, and nobody watches what is done with them:
    then NumPy does it, without a step through operators for each of many small ones.
    """
    if is_intercepted() or (is_grad_enabled() and is_asked(tensors)):
        return False
    dtype = tensors[0]._array.dtype if tensors and type(tensors[0]) is Tensor else None
    if dtype not in (np.float32, np.float64):
        return False
    return all(type(t) is Tensor and _is_in_one_piece(t._array) and t._array.dtype == dtype for t in tensors)


def _is_in_one_piece(array: Any) -> bool:
    return type(array) is np.ndarray and array.flags.forc and array.flags.writeable


def _plain_norm(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of the norms, each summed in double precision as the operator does it."""
    arrays = [t._array for t in tensors]
    dtype = arrays[0].dtype
    with np.errstate(all="ignore"):
        few = [a.reshape(-1, order="A") for a in arrays if 0 < a.size <= FEW]
        squares = [_squares(a) for a in arrays if a.size > FEW]
        if few:
            squares += _squares_of_each(few)
        return wrap(np.sqrt(_squares(np.sqrt(np.array(squares, np.float64)).astype(dtype))).astype(dtype))


FEW: Final = 1 << 12
"""Elements up to which arrays are squared together."""


def _squares_of_each(rows: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
    """The sums of the squares of arrays of few elements, laid one behind the other."""
    wide = np.concatenate(rows, dtype=np.float64)
    np.multiply(wide, wide, out=wide)
    starts = [0, *accumulate([row.size for row in rows[:-1]])]
    return [*np.add.reduceat(wide, starts)]


def _squares(array: np.ndarray[Any, Any]) -> np.float64:
    """The sum of the squares of all elements."""
    wide = array.reshape(-1, order="A").astype(np.float64, copy=False)
    return np.float64(wide.dot(wide) if wide.size <= blas.SMALL else blas.dot(wide, wide))


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector. Raises RuntimeError for nan, if told to.

    >>> import flambeau
    >>> get_total_norm([flambeau.ones(3), flambeau.ones(4)], norm_type=1.0).item()
    7.0
    """
    order, listed = float(norm_type), _listed(tensors)
    if not listed:
        return tensor(0.0)
    if order == 2.0 and _are_plain(listed):
        total = _plain_norm(listed)
    else:
        total = F.linalg_vector_norm(F.stack([F.linalg_vector_norm(one, order) for one in listed]), order)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(NOT_FINITE.format(order=order))
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place, so that `total_norm`, which is theirs, becomes `max_norm`; not if it is below.

    >>> import flambeau
    >>> w = flambeau.nn.Parameter(flambeau.zeros(2))
    >>> w.grad = flambeau.tensor([3.0, 4.0])
    >>> clip_grads_with_norm_(w, 1.0, flambeau.tensor(5.0))
    >>> [round(g, 4) for g in w.grad.tolist()]
    [0.6, 0.8]
    """
    factor = F.clamp(F.mul(F.reciprocal(F.add(total_norm, 1e-6)), float(max_norm)), None, 1.0)
    gradients = _gradients(parameters)
    if not _are_plain([factor, *gradients]):
        for gradient in gradients:
            F.mul_(gradient, factor)
        return
    scale = factor._array[()]
    with np.errstate(all="ignore"):
        for gradient in gradients:
            if scale != 1:
                np.multiply(gradient._array, scale, out=gradient._array)
            gradient.bump_version()


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale gradients in place, so that their common norm is `max_norm` at most; what it was.

    Raises RuntimeError for a norm that is not finite, if told to.

    >>> import flambeau
    >>> held = flambeau.nn.Parameter(flambeau.zeros(2))
    >>> held.grad = flambeau.tensor([3.0, 4.0])
    >>> clip_grad_norm_(held, 1.0).item(), [round(g, 4) for g in held.grad.tolist()]
    (5.0, [0.6, 0.8])
    """
    listed = _listed(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The older name of `clip_grad_norm_`, which it warns of.

    >>> import flambeau, warnings
    >>> held = flambeau.nn.Parameter(flambeau.zeros(2))
    >>> held.grad = flambeau.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     clip_grad_norm(held, 1.0).item()
    5.0
    """
    warn_user(OLDER_NAME, FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cut every element of the gradients to [-clip_value, clip_value], in place.

    >>> import flambeau
    >>> w = flambeau.nn.Parameter(flambeau.zeros(2))
    >>> w.grad = flambeau.tensor([3.0, -0.5])
    >>> clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    for gradient in _gradients(parameters):
        F.clamp_(gradient, -bound, bound)
