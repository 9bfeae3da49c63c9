"""Losses of the distance between two tensors of many elements: one loop over them, where operators need several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from flambeau.ops import reductions as _reductions  # noqa: F401  (declares sums and means)
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.schema import registry
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.dispatch import call
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor, wrap

NONE: Final = 0
MEAN: Final = 1
_SUM_OF: Final = registry.get("aten::sum").kernel
_MEAN_OF: Final = registry.get("aten::mean").kernel


def squares(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    """The square of each difference."""
    for i in range(len(left)):
        away = left[i] - right[i]
        result[i] = away * away


def smoothed(left: np.ndarray, right: np.ndarray, result: np.ndarray, beta: np.ndarray) -> None:
    """With each difference d bounded to c within -beta and beta: c / beta * (d - c / 2)."""
    limit = beta[0]
    for i in range(len(left)):
        away = left[i] - right[i]
        near = limit if away > limit else (-limit if away < -limit else away)
        result[i] = near / limit * (away - near * 0.5)


def bounded(left: np.ndarray, right: np.ndarray, result: np.ndarray, delta: np.ndarray) -> None:
    """With each difference d bounded to c within -delta and delta: c * (d - c / 2)."""
    limit = delta[0]
    for i in range(len(left)):
        away = left[i] - right[i]
        near = limit if away > limit else (-limit if away < -limit else away)
        result[i] = near * (away - near * 0.5)


def by_loop(loop: Callable[..., None]) -> Callable[..., Tensor | None]:
    """What answers a call of a loss by a loop; None for what the operators that it is made of are to do. The loss has
    formulas: nobody needs these operators for gradients."""

    def loss(self: Tensor, target: Tensor, reduction: int, *bound: float) -> Tensor | None:
        left, right = self._array, target._array
        native = loop_for(loop, left.size) if are_plain((self, target), (left, right)) else None
        if native is None or any(not number > 0 for number in bound):
            return None
        result = np.empty(left.shape, left.dtype)
        native(left.reshape(-1), right.reshape(-1), result.reshape(-1), *[_bound(n, left.dtype) for n in bound])
        return reduced(wrap(result), reduction)

    return loss


@lru_cache(maxsize=64)
def _bound(number: float, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A number as loops take it, which only read it."""
    return np.full(1, number, dtype)


def reduced(losses: Tensor, reduction: int) -> Tensor:
    """The losses of all elements, their mean or their sum, as the operators give it that have native code."""
    if reduction == NONE:
        return losses
    result: Tensor = _MEAN_OF(losses, None) if reduction == MEAN else _SUM_OF(losses, None)
    return result


def of_odds(
    self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor | None:
    """The same for the cross entropy of two classes by the logarithm of their odds x, without weights:
    (1 - target) x - log(sigmoid(x))."""
    odds, wanted = self._array, target._array
    if weight is not None or pos_weight is not None or not are_plain((self, target), (odds, wanted)):
        return None
    logs = call("aten::log_sigmoid", wrap(odds))._array
    with np.errstate(all="ignore"):
        result = np.asarray((1 - wanted) * odds - logs)
    return reduced(wrap(result), reduction)


def cosines(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor | None:
    """The same for the cosines of angles along a dimension: sums in double precision, which is rounded once."""
    left, right = x1._array, x2._array
    if not are_plain((x1, x2), (left, right)) or not -left.ndim <= dim < left.ndim:
        return None
    left, right = (one.astype(np.float64, copy=False) for one in (left, right))
    with np.errstate(all="ignore"):
        lengths = [np.maximum(np.sqrt(np.add.reduce(one * one, axis=dim)), eps) for one in (left, right)]
        result = np.add.reduce(left * right, axis=dim) / (lengths[0] * lengths[1])
    return wrap(np.asarray(result).astype(x1._array.dtype))


def are_plain(tensors: Sequence[Any], arrays: Sequence[Any]) -> bool:
    """Whether nobody watches, and both are floats of the host that lie row-major, of one dtype and shape."""
    if thread.handlers or thread.observer is not None:
        return False
    for tensor in tensors:
        if type(tensor) is not Tensor:
            return False
    left, right = arrays
    if left.dtype is not right.dtype or left.shape != right.shape or left.dtype not in FLOATS:
        return False
    return is_host_array(left) and is_host_array(right) and left.flags.c_contiguous and right.flags.c_contiguous
