"""Small kernels that the tests of native code share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.kernel import Kernel, KernelBuilder

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
SOFTMAX = """\
kernel softmax {
  axes r, c
  in x: float32[r, c]
  out y: float32[r, c]
  scratch s: float32[c]
  for r {
    for c reduce m: float32 = maxnum {
      %0: float32 = load x[r, c]
      m <- %0
    }
    for c reduce t: float32 = sum {
      %1: float32 = load x[r, c]
      %2: float32 = sub %1, m
      %3: float32 = exp %2
      store s[c], %3
      t <- %3
    }
    for c {
      %4: float32 = load s[c]
      %5: float32 = div %4, t
      store y[r, c], %5
    }
  }
}
"""
GATHERED_ROWS = """kernel rows {
  axes d0, d1, g0
  in w: float32[g0, d1]
  in i: int64[d0]
  out y: float32[d0, d1]
  for d0, d1 {
    %0: int64 = load i[d0]
    %1: int64 = within %0, g0
    %2: float32 = load w[%1, d1]
    store y[d0, d1], %2
  }
}
"""


def pointwise(op: str, dtypes: tuple[str, ...], *, rank: int = 1, to: str | None = None) -> Kernel:
    """``out = op(in...)`` over ``rank`` axes; ``op`` may be ``cast`` to ``to``."""
    axes = tuple(f"i{k}" for k in range(rank))
    b = KernelBuilder(op, axes)
    names = [b.input(f"x{k}", d, axes) for k, d in enumerate(dtypes)]
    with b.loop(*axes):
        values = [b.load(n) for n in names]
        result = b.cast(values[0], to) if to is not None else b.apply(op, *values)
        b.output("y", b.dtypes[result], axes)
        b.store("y", result)
    return b.kernel()


def special_values(dtype: str) -> npt.NDArray[Any]:
    """Values at which operations go wrong first."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype.startswith("float"):
        info = np.finfo(dtype)
        numbers = [
            0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 1e-3, -1e-3, 1e5, -1e5, 88.0, -88.0, 710.0,
            0.999, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal,
            info.eps, 1.0 + info.eps, 1.0 - info.eps, -1.0 + info.eps, 8388609.0, 1e10, -1e10, 3e38, 2147483648.0,
        ]  # fmt: skip
        return np.array(numbers, dtype)
    limits = np.iinfo(dtype)
    numbers = [0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, limits.max, limits.max - 1, limits.min, limits.min + 1]
    if limits.min < 0:
        numbers += [-1, -2, -3, -7, -64]
    return np.array([n for n in numbers if limits.min <= n <= limits.max], dtype)


def random_values(dtype: str, count: int, seed: int = 0) -> npt.NDArray[Any]:
    """Values across the range of ``dtype``."""
    g = np.random.default_rng(seed)
    if dtype == "bool":
        return g.random(count) < 0.5
    if dtype.startswith("float"):
        magnitude = np.exp(g.uniform(-20, 20, count))
        return (magnitude * g.choice([-1.0, 1.0], count)).astype(dtype)
    limits = np.iinfo(dtype)
    wide = g.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    small = g.integers(-9 if limits.min < 0 else 0, 9, count).astype(dtype)
    return np.where(g.random(count) < 0.5, wide, small)


def ulp_error(got: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    """Largest distance between ``got`` and ``exact`` (wider) in units in the last place of ``got``'s type.

    Infinity where one is nan or infinite and the other is not.
    """
    with np.errstate(over="ignore"):
        rounded = exact.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = ~same & np.isfinite(got) & np.isfinite(rounded)
    # An overflow to infinity next to the largest number counts as one step.
    broken = ~same & ~finite
    edge = broken & (np.abs(np.nan_to_num(got.astype(exact.dtype))) >= np.finfo(got.dtype).max) & ~np.isnan(rounded)
    edge &= np.abs(np.nan_to_num(rounded)) >= np.finfo(got.dtype).max
    edge &= np.sign(got) == np.sign(rounded)
    if (broken & ~edge).any():
        return float("inf")
    if not finite.any():
        return 1.0 if edge.any() else 0.0
    step = np.spacing(np.abs(rounded[finite])).astype(exact.dtype)
    return float((np.abs(got[finite].astype(exact.dtype) - exact[finite]) / step).max())
