"""Folding values into named places of an array, where a place that is named twice counts twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.arrays import is_half, rounded, widened
from flambeau.ops.families.element_loops import add_at
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.tensor.array_folds import fold_into
from flambeau.tensor.array_library import np

Array = np.ndarray[Any, Any]


def display(array: Array) -> str:
    """The dtype's name in messages."""
    return from_numpy_dtype(array.dtype).display


def fold_at(target: Array, index: Any, values: Any, fold: np.ufunc) -> None:
    """`target[index] = fold(target[index], values)` where places that are named twice count twice."""
    if is_half(target):
        wide, added = widened(target), np.asarray(values)
        fold_at(wide, index, widened(added) if is_half(added) else added.astype(np.float32), fold)
        target[...] = rounded(wide, target.dtype)
    elif fold is not np.add or not add_at(target, index, values):
        with np.errstate(all="ignore"):
            fold_into(fold, target, index, values)


FOLDS: Final[dict[str, np.ufunc]] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _neutral(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What a fold starts from when the element itself does not count."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def reduce_at(
    self: Array, where: tuple[Any, ...], values: Array, reduce: str, include_self: bool,
    natively: Callable[[np.ufunc], bool] = lambda fold: False,
) -> None:  # fmt: skip
    """Fold `values` into the named places, with the elements there or without. `natively` does a fold in another way,
    if it can.
    """
    if not include_self:
        self[where] = _neutral(reduce, self.dtype)
    fold = FOLDS[reduce]
    if not natively(fold):
        fold_at(self, where, values, fold)
    if reduce == "mean":
        count = np.zeros(self.shape, np.int64)
        fold_into(np.add, count, where, 1)
        divisor = np.maximum(count + (1 if include_self else 0), 1)
        if self.dtype.kind in "iu":
            self[...] = np.floor_divide(self, divisor).astype(self.dtype)
        else:
            wide = widened(self)
            np.copyto(self, (wide / divisor).astype(self.dtype))
