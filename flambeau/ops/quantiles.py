"""Quantiles: the values below which fractions of the elements lie."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.arrays import Array, contiguous, is_float, one_dim
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import reduced_shape, same_dtype
from flambeau.ops.small_tensors import floats
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_kernel(
    self: Array, q: Array | float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Array:
    """A row per element of `q` in front. Raises RuntimeError for a fraction outside [0, 1] or another dtype."""
    return _quantile("quantile", self, q, dim, keepdim, interpolation, ignore_nan=False)


def nanquantile_kernel(
    self: Array, q: Array | float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Array:
    """Quantiles of the elements that are not nan."""
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation, ignore_nan=True)


def _quantile(
    name: str, array: Array, q: Array | float, dim: int | None, keepdim: bool, interpolation: str, *, ignore_nan: bool
) -> Array:
    fractions = check_quantile(name, array, q, interpolation)
    axis = one_dim(dim or 0, array.ndim)
    lined = array.reshape(-1) if dim is None or array.ndim == 0 else np.moveaxis(array, axis, -1)
    if lined.shape[-1] == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    ordered = np.sort(lined, axis=-1)
    nans = np.isnan(ordered)
    count = (~nans).sum(axis=-1) if ignore_nan else np.full(ordered.shape[:-1], ordered.shape[-1])
    rows = [_ranked(ordered, count, nans, f, interpolation, ignore_nan) for f in np.atleast_1d(fractions)]
    result = np.moveaxis(np.stack(rows, axis=-1).astype(array.dtype), -1, 0)
    if keepdim:
        shape = (1,) * array.ndim if dim is None else result.shape[1:]
        result = result.reshape(-1, *shape) if dim is None or array.ndim == 0 else np.expand_dims(result, axis + 1)
    return contiguous(result[0]) if fractions.ndim == 0 else result


def check_quantile(name: str, array: Array, q: Array | float, interpolation: str) -> Array:
    """The fractions as an array. Raises RuntimeError."""
    if not is_float(array) or array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    fractions = np.asarray(q, array.dtype) if isinstance(q, float | int) else q
    if fractions.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if fractions.dtype != array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if fractions.size and not ((fractions >= 0) & (fractions <= 1)).all():
        shown = (
            f"q must be in the range [0, 1] but got {q:g}"
            if isinstance(q, float | int)
            else ("q values must be in the range [0, 1]")
        )
        raise RuntimeError(f"{name}() {shown}")
    return fractions


def _ranked(ordered: Array, count: Array, nans: Array, fraction: Any, interpolation: str, ignore_nan: bool) -> Array:
    rank = fraction * np.maximum(count - 1, 0).astype(ordered.dtype)
    if interpolation == "lower":
        rank = np.floor(rank)
    elif interpolation == "higher":
        rank = np.ceil(rank)
    elif interpolation == "nearest":
        rank = np.round(rank)
    below = np.floor(rank).astype(np.int64)[..., None]
    above = np.ceil(rank).astype(np.int64)[..., None]
    low = np.take_along_axis(ordered, below, axis=-1)[..., 0]
    high = np.take_along_axis(ordered, above, axis=-1)[..., 0]
    weight = ordered.dtype.type(0.5) if interpolation == "midpoint" else rank - below[..., 0]
    with np.errstate(all="ignore"):
        quantiles = np.where(weight < 0.5, low + weight * (high - low), high - (high - low) * (1 - weight))
    quantiles = np.where(below[..., 0] == above[..., 0], low, quantiles)
    spoiled = nans.all(axis=-1) if ignore_nan else nans.any(axis=-1)
    return np.where(spoiled, np.nan, quantiles)


def _quantile_shape(self: TensorType, q: Any, dim: Any, keepdim: Any) -> Sizes | None:
    lead: Sizes | None = q.sizes if isinstance(q, TensorType) else ()
    rest = reduced_shape(self, dim, keepdim)
    return None if lead is None or rest is None else (*lead, *rest)


for _name, _kernel in (("quantile", quantile_kernel), ("nanquantile", nanquantile_kernel)):
    declare(
        f'aten::{_name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear")'
        " -> Tensor",
        f'aten::{_name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear")'
        " -> Tensor",
        outs=("out", "scalar_out"),
        kernel=_kernel,
        doc="The value below which a fraction `q` of the elements lies"
        + ("; nan does not count." if _name == "nanquantile" else "."),
        dtype=same_dtype,
        shape=_quantile_shape,
        traits=Traits(swaps_axes_of_results=True),
        samples=lambda: [Sample(args=(floats(3, 1, 2), 0.25)), Sample(args=(floats(3, 1, 2), floats(0, 1)))],
        errors=lambda: [
            ErrorSample(args=(floats(1, 2), 1.5), error=RuntimeError, message="q must be in the range [0, 1]")
        ],
        reference=lambda self, q: np.quantile(self, q, axis=None),
    )
