"""Functions of `np.linalg` on arrays: NumPy's values, dtypes and classes of results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

ALWAYS_COMPLEX = np.iscomplexobj(np.linalg.eigvals(np.eye(1)))
"""Whether this NumPy gives complex eigenvalues of real matrices: from 2.5 on. Programs mean what it meant before."""


def symmetric(x: np.ndarray):
    w, v = np.linalg.eigh(x @ x.T)
    both = np.linalg.eigh(x @ x.T, "U")
    return w, np.abs(v), both, both.eigenvalues[0], np.abs(both[1])


def parts(x: np.ndarray):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    q, r = np.linalg.qr(x)
    return u * s @ vh, s, q @ r, np.linalg.svd(x, compute_uv=False), np.abs(np.linalg.qr(x, mode="r"))


def determinants(x: np.ndarray):
    pair = np.linalg.slogdet(x)
    return pair, pair.logabsdet + 1, np.linalg.det(x), np.linalg.matrix_rank(x), np.linalg.cond(x)


def spectrum(x: np.ndarray):
    w = np.linalg.eigvals(x)
    return w, np.abs(w).max(), w.real, np.linalg.eig(x)[0], np.roots(x[0]), w[1:], w[np.abs(w) > 0.1]


def in_order(x: np.ndarray):
    w, v = np.linalg.eig(x @ x.T)
    order = np.argsort(w)
    return w[order], np.abs(v[:, order]), w.max(), np.sort(w), w > 1.0, np.argmin(w)


def solutions(x: np.ndarray):
    stacked = np.stack((x, x + np.eye(3)))
    return np.linalg.solve(x, x[0]), np.linalg.solve(stacked, x[:, :2]), np.linalg.inv(stacked), np.linalg.pinv(x)


def inverses(x: np.ndarray):
    flat = x[:, :1] @ x[:1]
    few = np.linalg.pinv(x, 0.5), np.linalg.pinv(x, rcond=1e-3), np.linalg.pinv(x + 1j * x.T)
    none, stacked = (x * 1.0)[:, :0], np.stack((x, x))
    return np.linalg.pinv(flat), np.linalg.pinv(x[:2]), np.linalg.pinv(none), np.linalg.pinv(stacked), few


def same(ours: Any, numpys: Any) -> None:
    if isinstance(numpys, tuple):
        assert type(ours) is type(numpys)
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            same(one, other)
        return
    if isinstance(numpys, np.ndarray):
        assert isinstance(ours, np.ndarray)
        if ALWAYS_COMPLEX and np.iscomplexobj(numpys) and not numpys.imag.any():
            numpys = numpys.real
        assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
    tolerance = 1e-4 if np.asarray(numpys).dtype in (np.float32, np.complex64) else 1e-9
    np.testing.assert_allclose(ours, numpys, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("function", [symmetric, parts, determinants, spectrum, in_order, solutions, inverses])
def test_matrices_are_what_they_are_to_numpy(function: Callable[..., Any], dtype: Any) -> None:
    scripted = flambeau.script(function)
    for matrix in ([[2, 1, 0], [1, 3, -1], [0, -1, 5]], [[0, -2, 1], [1, 0, 4], [3, 1, 1]]):
        x = np.array(matrix, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = function(x)
        for _ in range(4):
            same(scripted(x), expected)


def largest(x: np.ndarray):
    return np.linalg.eigvals(x).max()


def test_complex_eigenvalues_have_no_order() -> None:
    scripted = flambeau.script(largest)
    assert scripted(np.array([[2.0, 0.0], [0.0, 3.0]])) == 3.0
    with pytest.raises(ValueError, match=r"eigenvalues of this matrix are complex.*take w\.real, or np\.abs\(w\)"):
        scripted(np.array([[0.0, -1.0], [1.0, 0.0]]))


def test_what_results_depend_on_is_written_out() -> None:
    def either(x: np.ndarray, both: bool):
        return np.linalg.svd(x, compute_uv=both)

    def raw(x: np.ndarray):
        return np.linalg.qr(x, mode="raw")

    def hermitian(x: np.ndarray):
        return np.linalg.svd(x, hermitian=True)

    def named(x: np.ndarray):
        return np.linalg.eigh(x, upper=True)

    def many(x: np.ndarray):
        return np.linalg.eig(x, 1)

    x = np.eye(2)
    with pytest.raises(CompileError, match=r"np\.linalg\.svd: 'compute_uv' has to be written out here"):
        flambeau.script(either)(x, True)
    for function, message in (
        (raw, "takes the modes reduced, complete and r here"), (hermitian, "leave out hermitian=True"),
        (named, r"np\.linalg\.eigh: the keyword 'upper' has no form"), (many, r"np\.linalg\.eig takes at most 1"),
    ):  # fmt: skip
        with pytest.raises(CompileError, match=message):
            flambeau.script(function)(x)
