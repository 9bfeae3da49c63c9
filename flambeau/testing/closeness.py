"""Whether values are close: tensors, arrays, numbers, and containers of them.

>>> import flambeau
>>> assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 2.0 + 1e-7]))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

TOLERANCES: Final[Mapping[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""By dtype: relative and absolute tolerance where the caller gives none. Others have to be equal."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    check_device: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` holds for all elements.

    Args:
        actual: A tensor, array or number, or a sequence or mapping of them.
        expected: The same kind of value, of equal shape and length, or with equal keys.
        rtol: The tolerance relative to `expected`; by dtype if neither it nor `atol` is given.
        atol: The absolute tolerance.
        equal_nan: Whether nan equals nan.
        check_dtype: Whether dtypes have to be equal.
        check_device: Whether tensors have to be on one device.
        check_stride: Whether tensors have to have equal strides.
        msg: What the error says instead, or a function that makes that of what it says.

    Raises:
        AssertionError: They differ: how many elements do, and where most.
        ValueError: Only one of the tolerances is given.

    >>> import flambeau
    >>> assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 3.0]))
    Traceback (most recent call last):
      ...
    AssertionError: 1 of 2 elements differ. The greatest absolute difference is 1.0 at (1,): 2.0, expected 3.0 (rtol 1.3e-06, atol 1e-05)
    """  # noqa: E501
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol are given together, or neither; got rtol={rtol}, atol={atol}")
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    options = Options(tolerances, equal_nan, check_dtype, check_device, check_stride)
    try:
        _compare(actual, expected, options, "")
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg if isinstance(msg, str) else msg(str(error))) from None


@dataclass(frozen=True, slots=True)
class Options:
    """What has to be equal, and how far values may be apart."""

    tolerances: tuple[float, float] | None
    equal_nan: bool
    check_dtype: bool
    check_device: bool
    check_stride: bool


def _compare(actual: Any, expected: Any, options: Options, where: str) -> None:
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or set(actual) != set(expected):
            keys = sorted(map(repr, actual)) if isinstance(actual, Mapping) else type(actual).__name__
            raise AssertionError(f"{where}expected the keys {sorted(map(repr, expected))}, got {keys}")
        for key in expected:
            _compare(actual[key], expected[key], options, f"{where}[{key!r}]: ")
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(actual, Sequence) or len(actual) != len(expected):
            got = f"{len(actual)} items" if isinstance(actual, Sequence) else type(actual).__name__
            raise AssertionError(f"{where}expected {len(expected)} items, got {got}")
        for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, options, f"{where}[{k}]: ")
    elif isinstance(expected, Tensor | np.ndarray | np.generic | bool | int | float | complex):
        if not isinstance(actual, Tensor | np.ndarray | np.generic | bool | int | float | complex):
            raise AssertionError(f"{where}expected a {type(expected).__name__}, got a {type(actual).__name__}")
        _compare_elements(actual, expected, options, where)
    elif actual != expected:
        raise AssertionError(f"{where}expected {expected!r}, got {actual!r}")


def _compare_elements(actual: Any, expected: Any, options: Options, where: str) -> None:
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        _compare_memory(actual, expected, options, where)
    a, b = _array(actual), _array(expected)
    if a.shape != b.shape:
        raise AssertionError(f"{where}expected the shape {b.shape}, got {a.shape}")
    if options.check_dtype and a.dtype != b.dtype:
        raise AssertionError(f"{where}expected the dtype {b.dtype}, got {a.dtype}; check_dtype=False compares values")
    each = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)]
    rtol, atol = options.tolerances or (max(each[0][0], each[1][0]), max(each[0][1], each[1][1]))
    if a.dtype.kind in "biu" and b.dtype.kind in "biu" and rtol == atol == 0:
        wrong = a != b
    else:
        kind = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        a, b = a.astype(kind), b.astype(kind)
        wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if wrong.any():
        raise AssertionError(f"{where}{_difference(a, b, wrong)} (rtol {rtol:.3g}, atol {atol:.3g})")


def _compare_memory(actual: Tensor, expected: Tensor, options: Options, where: str) -> None:
    if options.check_device and actual.device != expected.device:
        raise AssertionError(f"{where}expected the device {expected.device}, got {actual.device}")
    if options.check_stride and actual.stride() != expected.stride():
        raise AssertionError(f"{where}expected the strides {expected.stride()}, got {actual.stride()}")


def _array(value: Any) -> np.ndarray:
    return value.detach().cpu().resolve_conj().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _difference(a: np.ndarray, b: np.ndarray, wrong: np.ndarray) -> str:
    """How many elements differ, and the pair that differs most; nan before all others."""
    with np.errstate(all="ignore"):
        distance = np.abs(a.astype(b.dtype if b.dtype.kind in "fc" else np.float64) - b)
    distance = np.where(wrong, np.where(np.isnan(distance), np.inf, distance), -1.0)
    at = tuple(int(k) for k in np.unravel_index(int(distance.argmax()), distance.shape))
    text = f"{int(wrong.sum())} of {wrong.size} elements differ. The greatest absolute difference is "
    return f"{text}{float(distance[at])} at {at}: {a[at]}, expected {b[at]}"
