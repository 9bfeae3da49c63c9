"""Whether values are close: tensors, arrays, numbers, and containers of them.

>>> import flambeau
>>> assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 2.0 + 1e-7]))
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops.families.composite import F
from flambeau.schema.dtype import DType, complex128, float64, int64
from flambeau.tensor.create import as_tensor
from flambeau.tensor.python_forms import promote_types
from flambeau.tensor.tensor import Tensor
from flambeau.testing.mismatches import Difference, mismatch
from flambeau.util.record import dataclass
from flambeau.util.user_code import warn_user

Message = str | Callable[[str], str] | None
TOLERANCES: Final[Mapping[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""By dtype: relative and absolute tolerance where the caller gives none. Others have to be equal."""
OLDER_TOLERANCES: Final = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
OF_NUMBERS: Final[Mapping[type, DType]] = {int: int64, float: float64, complex: complex128}
ONE_ONLY: Final = "Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
NO_PAIR: Final = "No comparison pair was able to handle inputs of type {actual} and {expected}."
LENGTHS: Final = "The length of the sequences mismatch: {actual} != {expected}"
KEYS: Final = "The keys of the mappings do not match:"
ATTRIBUTE: Final = "The values for attribute '{name}' do not match: {actual} != {expected}."
KINDS: Final = "The (d)types do not match: {actual} != {expected}."
PATH: Final = "\n\nThe failure occurred for item {path}"
OLDER: Final = (
    "`flambeau.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
    "`flambeau.testing.assert_close()` instead."
)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` holds for all elements.

    Args:
        actual: A tensor, array or number, or a sequence or mapping of them.
        expected: The same kind of value, of equal shape and length, or with equal keys.
        allow_subclasses: Whether one may be of a class that is derived from the other's.
        rtol: The tolerance relative to `expected`; by dtype if neither it nor `atol` is given.
        atol: The absolute tolerance.
        equal_nan: Whether nan equals nan.
        check_device: Whether tensors have to be on one device.
        check_dtype: Whether dtypes, or the types of numbers, have to be equal.
        check_layout: Whether layouts have to be equal: there is one alone.
        check_stride: Whether tensors have to have equal strides.
        msg: What the error says instead, or a function that makes that of what it says.

    Raises:
        AssertionError: They differ: how many elements do, and where most.
        TypeError: Something is no tensor, array or number, or they are of kinds that are not compared.
        ValueError: Only one of the tolerances is given.

    >>> import flambeau
    >>> assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 3.0]))
    Traceback (most recent call last):
      ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.3333333432674408 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) != (atol is None):
        raise ValueError(ONE_ONLY.format(missing="rtol" if rtol is None else "atol"))
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    options = Options(tolerances, equal_nan, check_dtype, check_device, check_stride, allow_subclasses)
    for path, one, other, compare in list(_pairs(actual, expected, options, "")):
        text = compare(one, other, options)
        if text and isinstance(msg, str):
            raise AssertionError(msg)
        if text:
            text = _placed(text, path)
            raise AssertionError(msg(text) if callable(msg) else text)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:  # fmt: skip
    """`assert_close` as it was: values of all kinds are made tensors, dtypes may differ, and tolerances are larger.

    Args:
        actual: What a tensor can be made of.
        expected: The same.
        rtol: The tolerance relative to `expected`.
        atol: The absolute tolerance.
        equal_nan: Whether nan equals nan.
        msg: What the error says instead, unless it is empty.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     assert_allclose([1.0], 1.0 + 1e-5)
    """
    warn_user(OLDER, FutureWarning)
    expected = as_tensor(expected, dtype=getattr(actual, "dtype", None)) if isinstance(actual, Tensor) else expected
    first, second = as_tensor(actual), as_tensor(expected)
    if rtol is None and atol is None:
        each = [OLDER_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (first, second)]
        rtol, atol = max(each[0][0], each[1][0]), max(each[0][1], each[1][1])
    first, second = F.broadcast_tensors([first, second])
    assert_close(
        first, second, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None
    )


@dataclass(frozen=True, slots=True)
class Options:
    """What has to be equal, and how far values may be apart."""

    tolerances: tuple[float, float] | None
    equal_nan: bool
    check_dtype: bool
    check_device: bool
    check_stride: bool
    allow_subclasses: bool

    def tolerance(self, *dtypes: DType) -> tuple[float, float]:
        """The relative and the absolute one for values of these dtypes."""
        each = [TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
        return self.tolerances or (max(r for r, _ in each), max(a for _, a in each))


Compare = Callable[[Any, Any, Options], str]
"""What is said of a pair that is not close; an empty text of one that is."""


def _placed(text: str, path: str) -> str:
    return text + PATH.format(path=path) if path else text


def _pairs(actual: Any, expected: Any, options: Options, path: str) -> Iterator[tuple[str, Any, Any, Compare]]:
    """The pairs of values in containers, with where they lie and what compares them."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(_placed(LENGTHS.format(actual=len(actual), expected=len(expected)), path))
        for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(one, other, options, f"{path}[{index}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _check_keys(actual, expected, path)
        for key in _in_order(expected):
            yield from _pairs(actual[key], expected[key], options, f"{path}[{key!r}]")
    elif actual is None or expected is None:
        yield path, actual, expected, _nones
    elif isinstance(actual, bool | np.bool_) and isinstance(expected, bool | np.bool_):
        yield path, bool(actual), bool(expected), _bools
    elif all(isinstance(value, int | float | complex | np.number) for value in (actual, expected)):
        yield path, _number(actual), _number(expected), _numbers
    else:
        yield path, *_tensors_of(actual, expected, options, path), _tensors


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _in_order(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: str) -> None:
    """Raise AssertionError for mappings of different keys."""
    missing, additional = set(expected) - set(actual), set(actual) - set(expected)
    if missing or additional:
        lines = [KEYS]
        lines += [f"Missing keys in the actual mapping: {_in_order(missing)}"] if missing else []
        lines += [f"Additional keys in the actual mapping: {_in_order(additional)}"] if additional else []
        raise AssertionError(_placed("\n".join(lines), path))


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.number) else value


def _tensors_of(actual: Any, expected: Any, options: Options, path: str) -> tuple[Tensor, Tensor]:
    """Two values as tensors. Raises TypeError for those that are none, or whose classes have nothing to do with it."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        try:
            return as_tensor(actual), as_tensor(expected)
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError(_placed(NO_PAIR.format(actual=type(actual), expected=type(expected)), path))


# -- of two values -----------------------------------------------------------------------------------------------------


def _nones(actual: Any, expected: Any, options: Options) -> str:
    return "" if actual is expected else f"None mismatch: {actual} is not {expected}"


def _bools(actual: bool, expected: bool, options: Options) -> str:
    return "" if actual is expected else f"Booleans mismatch: {actual} is not {expected}"


def _numbers(actual: Any, expected: Any, options: Options) -> str:
    if options.check_dtype and type(actual) is not type(expected):
        return KINDS.format(actual=type(actual), expected=type(expected))
    rtol, atol = options.tolerance(*(OF_NUMBERS.get(type(value), int64) for value in (actual, expected)))
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return ""
    distance = abs(actual - expected)
    if cmath.isfinite(distance) and distance <= atol + rtol * abs(expected):
        return ""
    return _scalar_text(actual, expected, rtol, atol)


def _scalar_text(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    distance = abs(actual - expected)
    relative = float("inf") if expected == 0 else distance / abs(expected)
    extra = f"Expected {expected} but got {actual}."
    return mismatch("Scalars", extra, Difference(distance, atol), Difference(relative, rtol))


def _tensors(actual: Tensor, expected: Tensor, options: Options) -> str:
    unlike = next(_unlike(actual, expected, options), "")
    if unlike:
        return unlike
    rtol, atol = options.tolerance(actual.dtype, expected.dtype)
    one, other = _alike(actual, expected)
    if one.dtype is int64 and rtol == atol == 0:
        matches = one == other
    else:
        matches = F.isclose(one, other, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(matches.all()):
        return ""
    if not one.dim():
        return _scalar_text(one.item(), other.item(), rtol, atol)
    wrong = matches.numel() - int(matches.sum())
    extra = f"Mismatched elements: {wrong} / {matches.numel()} ({wrong / matches.numel():.1%})"
    distances = (one - other).abs().masked_fill(matches, 0)
    relative = (distances / other.abs()).masked_fill(matches, 0)
    return mismatch("Tensor-likes", extra, _greatest(distances, atol), _greatest(relative, rtol))


def _unlike(actual: Tensor, expected: Tensor, options: Options) -> Iterator[str]:
    """What two tensors do not have in common besides their elements."""
    compared: list[tuple[str, Any, Any]] = [("shape", actual.shape, expected.shape)]
    compared += [("is_quantized", actual.is_quantized, expected.is_quantized)]
    compared += [("stride()", actual.stride(), expected.stride())] if options.check_stride else []
    compared += [("device", actual.device, expected.device)] if options.check_device else []
    compared += [("dtype", actual.dtype, expected.dtype)] if options.check_dtype else []
    for name, mine, theirs in compared:
        if mine != theirs:
            yield ATTRIBUTE.format(name=name, actual=mine, expected=theirs)


def _alike(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Tensors on the host whose elements can be compared: in one dtype, integers and bools in int64."""
    dtype = promote_types(actual.dtype, expected.dtype)
    wanted = dtype if dtype.is_floating_point or dtype.is_complex else int64
    first, second = (t.dequantize() if t.is_quantized else t for t in (actual.detach().cpu(), expected.detach().cpu()))
    return (first, second) if actual.is_quantized else (first.to(wanted), second.to(wanted))


def _greatest(distances: Tensor, tolerance: float) -> Difference:
    """The greatest of some distances, nan before all others, and where it is."""
    flat = distances.flatten()
    greatest = int(flat.argmax())
    index = tuple(int(k) for k in np.unravel_index(greatest, tuple(distances.shape)))
    return Difference(flat[greatest].item(), tolerance, index)
