"""NumPy's functions with the keywords that NumPy's users write: its values, dtypes and sizes, by kinds of functions."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

DRAW = np.random.default_rng(5)
VALUES: dict[str, Any] = {
    "x": DRAW.normal(size=(4, 6)), "y": DRAW.normal(size=(4, 6)), "v": DRAW.normal(size=8), "w": DRAW.normal(size=8),
    "i": np.array([3, 1, 4, 1, 0, 2, 2]), "j": DRAW.integers(-7, 8, size=(3, 4)), "b": DRAW.random((3, 4)) > 0.5,
    "z": DRAW.normal(size=5) + 1j * DRAW.normal(size=5), "s": DRAW.normal(size=(4, 4)),
    "c": DRAW.normal(size=(2, 3, 4)), "f": DRAW.normal(size=3).astype("f4"),
    "n": np.array([[1.0, np.nan, 3.0, -2.0], [np.nan] * 4, [0.5, 2.5, np.nan, np.inf]]),
    "e": np.zeros((0, 3)), "u": np.array([200, 7, 255], np.uint8),
}  # fmt: skip
CASES = {
    "nans": """
np.nansum(n, axis=0); np.nansum(n, axis=1, keepdims=True); np.nansum(n); np.nansum(j, axis=0); np.nanmean(n, axis=1)
np.nanmean(n); np.nanmean(f); np.nanmean(i); np.nanmax(n, axis=0); np.nanmin(n, axis=-1); np.nanmax(j, axis=1)
np.nanmin(i); np.nanmax(n[:, :2], axis=1, keepdims=True); np.nanstd(n, axis=0); np.nanvar(x, axis=0, ddof=1)
np.nanstd(n[0], ddof=1); np.nanvar(n, axis=1); np.nanvar(x, keepdims=True); np.nanprod(n, axis=0); np.nanprod(j)
np.nanmedian(n[:1], axis=1); np.nanmedian(n, axis=1); np.nanpercentile(n, 30, axis=1)
np.nanpercentile(n[0], [20, 50]); np.nanquantile(x, [0.1, 0.5], axis=0); np.nanquantile(n, 0.7, axis=0, keepdims=True)
np.nanargmax(x, axis=1); np.nanargmin(n[::2], axis=1); np.nancumsum(n, axis=1); np.nancumsum(n)
np.nancumprod(n, axis=0); np.nan_to_num(n, nan=-1.0); np.nan_to_num(n, nan=0.5, posinf=9.0)
np.array_equal(n, n, equal_nan=True); np.isclose(n, n, equal_nan=True); np.isclose(x, y, atol=1.0)
np.isclose(x, y, 0.5, 0.1); np.allclose(n, n, equal_nan=True)
""",
    "order statistics": """
np.percentile(x, [25, 75], axis=0); np.percentile(v, 40, method="linear"); np.percentile(v, 40, method="lower")
np.percentile(v, 40, method="nearest"); np.quantile(v, 0.5, method="midpoint"); np.quantile(v, 0.3, method="higher")
np.quantile(x, 0.3, axis=1, keepdims=True); np.quantile(x, [0.0, 1.0]); np.median(x, axis=1, keepdims=True)
np.quantile(v[:3], 0.25, method="nearest"); np.quantile(v[:3], 0.75, method="nearest"); np.partition(v, 3)[3]
np.unique(j % 2, axis=0); np.unique(j % 2, axis=1); np.unique(b, axis=0, return_counts=True)
np.unique(j % 2, axis=0, return_index=True, return_inverse=True); np.unique(c, axis=1)
np.unique(j, axis=-1, return_inverse=True)
np.unique(e, axis=0); np.sort(np.partition(v, 3)[:3]); np.sort(v[np.argpartition(v, 3)[:3]]); np.sort(x, axis=None)
""",
    "samples": """
np.cov(x, rowvar=False); np.cov(x, bias=True); np.cov(x, ddof=0); np.cov(v, w); np.cov(v)
np.corrcoef(x, rowvar=False); np.histogram(v, bins=[-2.0, 0.0, 2.0]); np.histogram(v, bins=4, weights=w)
np.histogram(v, [-1.0, 0.5], weights=i[:1] * w); np.histogram(v, bins=4, range=(-1, 1), density=True)
np.interp(v, np.sort(w), w, left=0.0, right=1.0); np.interp(0.3, [0.0, 1.0], [2.0, 3.0])
np.interp([0.5, 9.0], [0.0, 1.0], [2.0, 3.0]); np.gradient(v, edge_order=2); np.gradient(x, 0.5, 2.0)
np.gradient(x, 0.5); np.gradient(v, np.sort(w), edge_order=2); np.gradient(c, 1.0, 2.0, 3.0)
np.gradient(x, 2.0, axis=0); np.meshgrid(v, w, sparse=True); np.meshgrid(v, w, i); np.meshgrid(v, w, i, indexing="ij")
np.meshgrid(v, w, i, sparse=True, indexing="ij"); np.meshgrid(v, w, indexing="ij")
""",
    "parts": """
np.split(x, 2, axis=0); np.split(x, 3, axis=1); np.split(v, [2, 5]); np.split(x, [1, 4], axis=1); np.split(v, (3,))
np.array_split(v, 3); np.array_split(x, 4, axis=1); np.array_split(v, [2, 30]); np.hsplit(x, 2); np.hsplit(v, [3])
np.vsplit(x, 2); np.dsplit(c, 2); np.compress([True, False, True], v); np.compress(b[:, 0], j, axis=0)
np.take(v, [0, -1]); v.take(np.array([-3, 2, -1])); np.take(x, [-1, 0], axis=1); np.take(v, -1); np.take(v, i[:0])
np.take(v, [9, -1], mode="wrap"); np.take(v, np.array([9, -3]), mode="wrap"); np.take(x, i + 9, axis=0, mode="clip")
np.repeat(v[:3], [1, 2, 0]); np.repeat(x, [1, 0, 2, 1], axis=0); np.repeat(v[:7], i); np.resize(v, 5)
np.resize(v, (3, 4)); np.apply_along_axis(np.sum, 1, x); np.apply_along_axis(lambda r: r.max() - r.min(), 0, x)
np.apply_along_axis(lambda r: r * 2 - r[0], 1, x); np.apply_along_axis(lambda r: r[:2], 0, c)
np.piecewise(v, [v < 0, v >= 1], [lambda q: -q, lambda q: q * 2]); np.piecewise(v, [v < 0], [lambda q: -q, 7.0])
np.broadcast_arrays(v, x[:, :1]); np.union1d(i, [9, 1]); np.setxor1d(i, [1, 9]); np.size(x, 0); np.size(x)
""",
    "axes": """
np.argmax(x, axis=0, keepdims=True); x.argmin(axis=1, keepdims=True); np.ptp(x, axis=1, keepdims=True)
np.ptp(x, axis=0); np.count_nonzero(x > 0, axis=1, keepdims=True); np.count_nonzero(b, axis=(0, 1))
np.diff(v, prepend=0.0); np.diff(v, append=v[-1]); np.diff(x, axis=0, prepend=0); np.diff(x, prepend=x[:, :2])
np.diff(x, 2, 0); np.diff(i, append=9); np.roll(x, (1, 2), axis=(0, 1)); np.roll(x, 1, axis=(0, 1)); np.roll(x, 2)
np.rollaxis(c, 2); np.rollaxis(c, 0, 3); np.rollaxis(c, -1, 1); np.moveaxis(c, [0, 1], [1, 0])
np.moveaxis(c, (0, 2), (2, 0)); np.expand_dims(x, (0, 2)); np.expand_dims(x, -1); np.expand_dims(v, (0, -1))
np.concatenate([x, j], axis=None); np.concatenate((x, y), 1); np.pad(v, (2, 1), constant_values=(7.0, 8.0))
np.pad(x, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))); np.pad(x, 1, constant_values=5); np.trace(s, offset=1)
np.diagonal(s, offset=-1); np.diagonal(c, 0, 1, 2); s.trace(-1); np.trace(c); np.diag(v, k=1); np.diag(s, -1)
np.triu(s, k=1); np.tril(s, -1); np.ravel(x, order="F"); x.ravel("F"); x.flatten("F")
np.reshape(x, (3, -1), order="F"); x.reshape((6, 4), order="F"); np.ravel(c, order="C"); np.atleast_1d(2.5)
np.atleast_3d(x); np.atleast_3d(v); np.atleast_2d(v)
""",
    "folds": """
np.bitwise_or.reduce(i); np.bitwise_and.reduce(i); np.bitwise_xor.reduce(j, axis=1); np.logical_xor.reduce(b, axis=1)
np.bitwise_or.reduce(j, axis=None); np.bitwise_or.reduce(i[:0]); np.gcd.reduce(i); np.fmax.reduce(n, axis=1)
np.fmin.reduce(v); np.bitwise_xor.reduce(j, axis=1, keepdims=True); np.subtract.reduce(v); np.gcd.accumulate(i)
np.add.reduceat(v, [0, 3, 3, 5]); np.add.reduceat(x, [0, 2], axis=1); np.maximum.reduceat(v, i[:3])
np.multiply.reduceat(j, [0, 2])
np.bitwise_or.reduceat(i, [0, 4]); np.bitwise_xor.accumulate(j, axis=1); np.hypot.outer(v, w)
np.arctan2.outer(v, w); np.not_equal.outer(i, i)
""",
    "made": """
np.block([[x, y], [y, x]]); np.block([v, w]); np.block([[v, w], [w, v]]); np.block([[c, c]]); np.packbits(b)
np.packbits(i)
np.packbits(b, axis=1); np.packbits(b, axis=0, bitorder="little"); np.unpackbits(u); np.unpackbits(u, bitorder="little")
np.unpackbits(u, count=11); np.unpackbits(u, count=-3); np.unpackbits(u, count=30)
np.unpackbits(u.reshape(1, 3), axis=0)
np.fromfunction(lambda k, m: k + 2 * m, (3, 4)); np.fromfunction(lambda k, m: k * m, (3, 2), dtype=int)
np.fromfunction(lambda k: k % 3, (5,)); np.fromfunction(lambda k, m, n: k - m + n, (2, 3, 2))
np.r_[v, 1.0, w]; np.r_[0:5]; np.r_[1.0, 2.0]; np.r_[i, 0:3, [7, 8]]; np.c_[v, w]; np.c_[x, y]; np.c_[i, v[:7]]
np.mgrid[0:2, 0:3]; np.mgrid[0:3]; np.mgrid[0:1:5j, 1:4]; np.mgrid[0:6:2, -1:1, 0:2]; np.ogrid[0:2, 0:3]
np.ogrid[0:1:3j]; np.ix_([0, 1], [2, 3]); x[np.ix_([0, 1], [2, 3])]
x[np.ix_(b[:, 0], i)] if False else x[np.ix_(i[1:2], i)]; np.ix_(b[0], i); np.ones_like(x, shape=(2,))
np.full_like(i, 7, shape=(2, 2)); np.array(v, copy=True); np.linspace(0, 1, 5, retstep=True)
np.linspace(0, 1, 4, endpoint=False, retstep=True); np.hanning(5); np.tri(3); np.tril_indices(3); np.indices((2, 3))
np.geomspace(1, 100, 3); np.fft.fftfreq(8, d=0.1); np.unravel_index(7, (2, 4)); np.polyadd([1.0], [1.0, 2.0])
np.polyder([1.0, 2.0, 3.0]); np.polyint([1.0, 2.0]); np.polysub([1, 2], [3])
""",
    "layout": """
x.strides; x.T.strides; x[:, ::2].strides; f.strides; b.strides; x.flags.c_contiguous; x.T.flags.c_contiguous
x.T.flags.f_contiguous; x.flags["F_CONTIGUOUS"]; x[:, :2].flags.forc; x.T.flags["C_CONTIGUOUS"]; v.flags["F"]
""",
    "elements": """
np.vectorize(lambda a: a if a > 0 else 0.0)(x); np.vectorize(lambda a, b: a if a > b else b)(v, 0.5)
np.vectorize(lambda a, b: a - b)(x, v[:6]); np.vectorize(lambda a, b, k: a + b * k)(x, y, 2.0)
np.isreal(z); np.iscomplex(z * [1, 0, 1, 0, 1]) if False else np.iscomplex(z); np.isreal(x); np.isrealobj(z)
np.iscomplexobj(z); np.angle(z, deg=True); np.angle(z, True); np.angle(z, False); np.ldexp(x, 2); np.ldexp(v[:7], i)
np.fft.rfft2(x); np.fft.irfft2(np.fft.rfft2(x)); np.fft.hfft(v); np.fft.rfftn(c); np.fft.fft2(c, axes=(0, 1))
""",
}  # fmt: skip


def pair(expression: str) -> tuple[Any, Any, list[Any]]:
    """A function of Python, the same scripted, and arguments."""
    code = compile(expression, "<names>", "eval")
    names = [name for name in VALUES if name in code.co_names]
    source = f"def f({', '.join(names)}):\n    return {expression}\n"
    file = f"<{expression}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"], flambeau.script(space["f"], backend="interpreter"), [VALUES[name].copy() for name in names]


def answer(expression: str) -> Any:
    _, program, arguments = pair(expression)
    return program(*arguments)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple | list) else [value]


def difference(found: Any, wanted: Any) -> str:
    mine, theirs = leaves(found), leaves(wanted)
    if len(mine) != len(theirs):
        return f"{len(mine)} arrays in place of {len(theirs)}"
    for one, other in zip(mine, theirs, strict=True):
        one_array, other_array = np.asarray(one), np.asarray(other)
        is_other = isinstance(one, np.ndarray) != isinstance(other, np.ndarray)
        is_other = is_other or one_array.dtype != other_array.dtype
        if is_other and one_array.ndim + other_array.ndim:  # numbers are Python's
            return f"{type(one)} of {one_array.dtype} in place of {type(other)} of {other_array.dtype}"
        near = 1e-6 if other_array.dtype in (np.float32, np.complex64) else 1e-10
        if one_array.shape != other_array.shape or not np.allclose(one_array, other_array, near, near, equal_nan=True):
            return f"{one} in place of {other}"
    return ""


@pytest.mark.parametrize("kind", CASES)
def test_functions_mean_what_numpy_means(kind: str) -> None:
    wrong = {}
    for expression in [c.strip() for c in CASES[kind].replace("\n", ";").split(";") if c.strip()]:
        try:
            python, program, arguments = pair(expression)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                wanted = python(*(np.copy(a) for a in arguments))
            problem = difference(program(*arguments), wanted)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong[expression] = problem
    assert not wrong, "\n".join(f"{expression}: {problem}" for expression, problem in wrong.items())


REFUSED = {
    "np.quantile(v, 0.3, method='hazen')": (ValueError, "the methods linear, lower, higher, midpoint and nearest"),
    "np.quantile(v, 0.3, keepdims=True)": (ValueError, "np.quantile with keepdims takes axis= here"),
    "np.nanquantile(v, 0.3, keepdims=True)": (ValueError, "np.nanquantile with keepdims takes axis= here"),
    "np.nanmedian(n, keepdims=True)": (ValueError, "np.nanmedian with keepdims takes axis= here"),
    "np.split(v, 3)": (ValueError, "array split does not result in an equal division"),
    "np.apply_along_axis(np.sum, 1, e)": (ValueError, "Cannot apply_along_axis when any iteration dimensions are 0"),
    "np.partition(v, 99)": (ValueError, r"kth\(=99\) out of bounds \(8\)"),
    "np.nanargmax(n, axis=1)": (ValueError, "All-NaN slice encountered"),
    "np.fmax.reduce(v[:0])": (ValueError, "zero-size array to reduction operation which has no identity"),
    "np.meshgrid(v, w, indexing='yx')": (ValueError, "Valid values for `indexing` are 'xy' and 'ij'"),
    "np.gradient(v[:2], edge_order=2)": (ValueError, "at least 3 elements are required"),
    "np.ravel(x, order='K')": (CompileError, "ravel takes order='C' or order='F' here, written out"),
    "np.reshape(x, (4, 6), order='A')": (CompileError, "reshape takes order='C' or order='F'"),
    "np.take(v, i, mode='mirror')": (CompileError, "take has the modes raise, wrap and clip"),
    "np.angle(z, v[0] > 0)": (CompileError, "np.angle takes deg=True or deg=False here, written out"),
    "np.array(v, copy=v[0] > 0)": (CompileError, "np.array takes copy=True, copy=False or copy=None here, written out"),
    "np.mgrid[0:, 1:2]": (CompileError, "np.mgrid takes slices, start:stop or start:stop:step, with stop written out"),
    "np.r_[v, [[1.0], [2.0]]]": (CompileError, "np.r_ takes arrays of one or two axes, numbers and slices here"),
    "np.ix_(x, i)": (CompileError, "np.ix_ takes arrays, or lists, of one axis"),
}  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused_says_what_is_taken(expression: str) -> None:
    error, text = REFUSED[expression]
    with pytest.raises(error, match=text):
        answer(expression)


def test_functions_that_name_nothing_of_numpy_are_of_arrays() -> None:
    def total(x):
        return x.cumsum()

    def listed(x):
        return x.tolist()

    def tens(x, k):
        return x.round(k)

    x = np.array([[1.25, -2.75], [0.5, 3.125]])
    assert np.array_equal(flambeau.script(total)(x), x.cumsum())
    assert flambeau.script(listed)(x) == x.tolist()
    assert np.array_equal(flambeau.script(tens)(x, 1), x.round(1))

    def neither(x):
        return x.splork()

    with pytest.raises(CompileError, match="no attribute or method 'splork'"):
        flambeau.script(neither)


def test_tuples_are_true_where_they_hold_something() -> None:
    def first(x: np.ndarray, *more: float):
        return x * more[0] if more else x

    def of_pair(x: np.ndarray, y: tuple[int, int]):
        return x + 1 if y else x

    def called(x: np.ndarray):
        return first(x), first(x, 2.0)

    x = np.arange(3.0)
    assert [a.tolist() for a in flambeau.script(called)(x)] == [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]
    assert flambeau.script(of_pair)(x, (0, 0)).tolist() == [1.0, 2.0, 3.0]
