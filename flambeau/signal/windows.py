"""Windows of `M` points, symmetric or, with `sym=False`, periodic: the front of one that is longer by one point.

>>> hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
>>> hann(4, sym=False)
tensor([0.0000, 0.5000, 1.0000, 0.5000])

Each takes `dtype` (float32 or float64, the default dtype otherwise), `device`, `layout` and `requires_grad`, and raises
ValueError for negative lengths and other dtypes.
"""

# ruff: noqa: N803  (`M` is what programs call the length)
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from flambeau.ops.families.numpy_bessel import i0
from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import float32, float64
from flambeau.tensor.create import tensor
from flambeau.tensor.defaults import get_default_dtype
from flambeau.tensor.formats import Layout
from flambeau.tensor.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip
Places = np.ndarray[Any, Any]
WRONG_DTYPE: Final = "{name} expects float32 or float64 dtypes, got: {dtype}"
WRONG_LENGTH: Final = "{name} requires non-negative window length, got M={length}"
WRONG_LAYOUT: Final = "{name} is implemented for strided tensors only, got: {layout}"
NOT_POSITIVE: Final = "{what} must be positive, got: {value} instead."
NO_CENTRE: Final = "Center must be None for symmetric windows"
NO_LIST: Final = "Coefficients must be a list/tuple"
NO_COEFFICIENTS: Final = "Coefficients cannot be empty"


def _window(
    name: str, length: int, sym: bool, shape: Callable[[Places, int], Any], dtype: Any, layout: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """`shape` of the places 0, 1, ... and of the last place of a symmetric window."""
    wanted = get_default_dtype() if dtype is None else to_dtype(dtype)
    if wanted not in (float32, float64):
        raise ValueError(WRONG_DTYPE.format(name=name, dtype=wanted))
    if layout not in (None, Layout.strided):
        raise ValueError(WRONG_LAYOUT.format(name=name, layout=layout))
    if length < 0:
        raise ValueError(WRONG_LENGTH.format(name=name, length=length))
    values: Any = np.ones(length)
    if length > 1:
        values = shape(np.arange(length, dtype=np.float64), length - 1 if sym else length)
    return tensor(values, dtype=wanted, device=device, requires_grad=requires_grad)


def _positive(what: str, value: float) -> None:
    if value <= 0:
        raise ValueError(NOT_POSITIVE.format(what=what, value=value))


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`exp(-|n - center| / tau)`.

    Args:
        M: the number of points.
        center: the place of the peak, of a periodic window only; the middle otherwise.
        tau: how slowly it falls. It is positive.
        sym: whether it is symmetric.

    >>> exponential(3, tau=2.0)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _positive("Tau", tau)
    if sym and center is not None:
        raise ValueError(NO_CENTRE)
    return _window(
        "exponential", M, sym, lambda n, last: np.exp(-np.abs(n - (last / 2 if center is None else center)) / tau),
        dtype, layout, device, requires_grad,
    )  # fmt: skip


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a period of a sine, at the middles of `M` parts.

    >>> cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window(
        "cosine", M, sym, lambda n, last: np.sin(np.pi * (n + 0.5) / (last + 1)), dtype, layout, device, requires_grad
    )


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`exp(-((n - center) / std) ** 2 / 2)` around the middle, for a positive `std`.

    >>> gaussian(3, std=1.0)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _positive("Standard deviation", std)
    return _window(
        "gaussian", M, sym, lambda n, last: np.exp(-(((n - last / 2) / std) ** 2) / 2), dtype, layout, device,
        requires_grad,
    )  # fmt: skip


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Kaiser's window, narrower for larger `beta`, which is not negative.

    >>> kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window(
        "kaiser", M, sym,
        lambda n, last: i0(beta * np.sqrt(np.maximum(0, 1 - (2 * n / last - 1) ** 2))) / i0(np.float64(beta)),
        dtype, layout, device, requires_grad,
    )  # fmt: skip


def _cosines(name: str, factors: Iterable[float], M: int, sym: bool, *options: Any) -> Tensor:
    """The sum of cosines with these factors, every other one subtracted."""
    signed = [-factor if k % 2 else factor for k, factor in enumerate(factors)]
    return _window(
        name, M, sym, lambda n, last: sum(f * np.cos(2 * np.pi * k * n / last) for k, f in enumerate(signed)), *options
    )


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`a[0] - a[1] cos(t) + a[2] cos(2 t) - ...`, for `t` from 0 to a whole period.

    Raises TypeError for coefficients that are no list, ValueError for none.

    >>> general_cosine(3, a=[0.46, 0.23, 0.31])
    tensor([0.5400, 1.0000, 0.5400])
    """
    if not isinstance(a, Iterable):
        raise TypeError(NO_LIST)
    factors = list(a)
    if not factors:
        raise ValueError(NO_COEFFICIENTS)
    return _cosines("general_cosine", factors, M, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`alpha - (1 - alpha) cos(t)`.

    >>> general_hamming(3, alpha=0.6)
    tensor([0.2000, 1.0000, 0.2000])
    """
    return _cosines("general_hamming", (alpha, 1 - alpha), M, sym, dtype, layout, device, requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`0.54 - 0.46 cos(t)`.

    >>> hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines("hamming", (0.54, 1 - 0.54), M, sym, dtype, layout, device, requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`(1 - cos(t)) / 2`.

    >>> hann(3)
    tensor([0., 1., 0.])
    """
    return _cosines("hann", (0.5, 0.5), M, sym, dtype, layout, device, requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`0.42 - 0.5 cos(t) + 0.08 cos(2 t)`.

    >>> blackman(4, sym=False)[2]
    tensor(1.)
    """
    return _cosines("blackman", (0.42, 0.5, 0.08), M, sym, dtype, layout, device, requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Four cosines with Nuttall's coefficients, whose side lobes are low.

    >>> nuttall(3)[1]
    tensor(1.)
    """
    factors = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _cosines("nuttall", factors, M, sym, dtype, layout, device, requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle.

    >>> bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window(
        "bartlett", M, sym, lambda n, last: 1 - np.abs(2 * n / last - 1), dtype, layout, device, requires_grad
    )
