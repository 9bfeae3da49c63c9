"""When two results are the same: dtype, sizes, and values within so many units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.schema.dtype import bfloat16, float32
from flambeau.schema.opdef import OpDef
from flambeau.tensor.opaque_objects import OpaqueObject
from flambeau.tensor.quantized import QuantizedTensor, integers_of, real_values
from flambeau.tensor.tensor import Tensor


def ulp_of(definition: OpDef) -> float:
    """The declared bound; what is declared for single precision holds for all."""
    return definition.ulp.get(float32, 0.0)


def difference(ours: Any, theirs: Any, ulp: float, *, of_largest: bool = False) -> str:
    """What differs between two arrays, or nothing.

    With `of_largest`, units are those of the largest element: sums lose as much as their largest term.
    """
    if ours.dtype != theirs.dtype:
        return f"dtype {ours.dtype}, expected {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    if ours.dtype.names:
        return difference(_parts(ours), _parts(theirs), ulp, of_largest=of_largest)
    if ours.dtype == bfloat16.numpy:
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
        scale = 2.0**-8
    else:
        scale = float(np.finfo(ours.dtype).eps) if ours.dtype.kind in "fc" else 0.0
    if ours.dtype.kind not in "fc":
        bad = ours != theirs
    else:
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(theirs), np.finfo(ours.dtype).tiny)
            if of_largest and size.size:
                size = np.maximum(size, np.max(size, initial=0, where=np.isfinite(size)))
            tolerance = ulp * scale * size
            near = np.abs(ours - theirs) <= tolerance
            bad = ~((ours == theirs) | near | (np.isnan(ours) & np.isnan(theirs)))
    if not bad.any():
        return ""
    place = tuple(np.argwhere(np.atleast_1d(bad))[0])
    mine, expected = np.atleast_1d(ours)[place], np.atleast_1d(theirs)[place]
    return f"{int(bad.sum())} of {bad.size} differ, at {place}: {mine!r}, expected {expected!r}"


def _parts(array: Any) -> Any:
    return np.stack([array["real"], array["imag"]])


def same_structure(ours: Any, theirs: Any, ulp: float) -> str:
    """As `difference`, through lists and tuples; numbers compare exactly."""
    if isinstance(ours, OpaqueObject) and type(ours) is type(theirs):
        return same_structure(ours.state(), theirs.state(), ulp)
    if isinstance(ours, QuantizedTensor) and isinstance(theirs, QuantizedTensor):
        if ours.dtype is not theirs.dtype or ours.quantizer.scheme is not theirs.quantizer.scheme:
            return f"{ours!r}, expected {theirs!r}"
        return difference(integers_of(ours), integers_of(theirs), 0) or difference(
            real_values(ours), real_values(theirs), 0
        )
    if isinstance(ours, Tensor) and isinstance(theirs, Tensor):
        return difference(ours._array, theirs._array, ulp)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        if len(ours) != len(theirs):
            return f"{len(ours)} results, expected {len(theirs)}"
        return next((d for a, b in zip(ours, theirs, strict=True) if (d := same_structure(a, b, ulp))), "")
    is_same = ours == theirs or (ours != ours and theirs != theirs)
    return "" if is_same else f"{ours!r}, expected {theirs!r}"
