"""Numbers where NumPy takes arrays, zeros of remainders, roundings of whole numbers, and what is printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau


def folds(x: np.ndarray):
    a, b = x[0], x[1]
    return (
        np.mean(a), np.sum(b), np.nan_to_num(b), np.max(a), np.std(a), np.median(a), np.cumsum(a), np.any(a),
        np.argmax(a), np.size(a), np.ndim(a), np.shape(a), np.ravel(a), np.nansum(b), np.nancumsum(b), np.nanprod(b),
        np.nanmean(a), np.mean(2), np.percentile(a, 30), np.unique(a),
    )  # fmt: skip


def without_axes(x: np.ndarray):
    return np.nansum(x), np.nancumsum(x), np.nanprod(x), np.nancumprod(x)


def rounded(x: np.ndarray):
    return np.round(x, 1), np.round(x, -1), x.round(), x.round(-2), np.around(x, 2)


def of_bools(x: np.ndarray):
    return x.round(), abs(x), np.sqrt(abs(x)), np.abs(x), np.exp(x)


def remainders(x: np.ndarray):
    y, n = x.copy(), 3
    y %= -1.0
    q, r = np.divmod(x, -1.0)
    return (
        x % 1.0,
        x % -1.0,
        x % n,
        3.0 % x,
        x % x[::-1].copy(),
        np.mod(x, 1),
        np.remainder(-3, x),
        y,
        q,
        r,
        np.fmod(x, 1.0),
    )


_FLOATS = np.array([-1.0, 1.0, -0.0, 0.0, 3.0, -3.0, 2.5, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(("fn", "x"), [
    (folds, np.array([1.5, np.nan])), (folds, np.array([1.5, np.nan], np.float32)), (folds, np.array([3, 4])),
    (without_axes, np.array(np.nan)), (without_axes, np.array(2)),
    (rounded, np.array([3, 14, -25, 25, 35, 150])), (rounded, np.array([3, 14, -25, 25, 35, 120], np.int8)),
    (of_bools, np.array([True, False])), (remainders, _FLOATS), (remainders, _FLOATS.astype(np.float32)),
], ids=lambda v: getattr(v, "__name__", None))  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_results_are_numpys(fn: Any, x: Any) -> None:
    with np.errstate(all="ignore"):
        expected = fn(x)
    for ours, theirs in zip(flambeau.script(fn)(x), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.array_equal(
            np.signbit(ours), np.signbit(theirs) & ~np.isnan(theirs) | np.signbit(ours) & np.isnan(theirs)
        )
        assert not isinstance(ours, np.ndarray) or (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)


def test_transforms_are_of_functions_of_tensors() -> None:
    with pytest.raises(
        TypeError, match=r"grad is of functions of tensors, and folds is one of NumPy's arrays: annotate"
    ):
        flambeau.func.grad(flambeau.script(folds))


def texts(x: np.ndarray):
    print(x[0], x[1], [1.0, 2.5], (1.0, "a"), {"k": 0.1})
    return f"{x[0]} {np.float32(1.1)}", str(x[1]), "%s %r" % (x[0] * 1.0, 1), "{} {}".format(x[0], 0.1), str([0.5])  # noqa: UP031, UP032


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
def test_numbers_print_as_in_python(dtype: Any, capsys: Any) -> None:
    x = np.array([1, 3]).astype(dtype) / np.array([1, 10], dtype)
    expected, printed = texts(x), capsys.readouterr().out
    assert flambeau.script(texts)(x) == expected
    assert capsys.readouterr().out == printed


def printed(x: np.ndarray):
    print(x, x.dtype, x.mean(), sep=" | ")
    print([x, x], (x, 1), {"a": x})
    x *= 2
    print(x)
    return f"{x} {x[0]} {x.dtype}", str(x), repr(x), str(x.dtype), "%s" % (x,)  # noqa: UP031


@pytest.mark.parametrize("x", [
    np.array([[1.5, 2], [3, -4]]), np.array([3, 1, 2], np.int8), np.array([1.5j, 2]),
    np.arange(2000.0, dtype=np.float32),
], ids=str)  # fmt: skip
def test_arrays_print_as_in_numpy(x: Any, capsys: Any) -> None:
    expected, text = printed(x.copy()), capsys.readouterr().out
    assert flambeau.script(printed)(x.copy()) == expected
    assert capsys.readouterr().out == text


def test_numbers_at_one_distance_have_numpys_roundings() -> None:
    def spaced(n: int):
        return np.linspace(0, 1, n), np.linspace(-3, 7.7, n), np.linspace(2, 2, n), np.linspace(0, 10, n, dtype=int)

    for n in (0, 1, 2, 10, 333):
        for ours, theirs in zip(flambeau.script(spaced)(n), spaced(n), strict=True):
            np.testing.assert_array_equal(ours, theirs, strict=True)


def test_a_covariance_that_is_a_number_says_what_to_write() -> None:
    def covariance(x: np.ndarray):
        return np.cov(x)

    with pytest.raises(ValueError, match=r"pass it without an axis, np.cov\(x\[0\]\)"):
        flambeau.script(covariance)(np.array([[3.0, 4.0]]))
    assert flambeau.script(covariance)(np.array([3.0, 4.0])) == 0.5
