"""Products by the BLAS that NumPy brought, and without one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from flambeau.codegen.products import Tiling, blas, tiling
from tests.codegen.products.product_groups import compiled, laid_out


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """BLAS from a few multiplications on."""
    monkeypatch.setattr(tiling, "BLAS_FROM", 1)
    monkeypatch.setattr(tiling, "BLAS_FROM_NARROW", 1)


def form(run: object) -> str:
    """How the one variant of a group runs."""
    (variant,) = run.variants  # type: ignore[attr-defined]
    assert isinstance(variant.schedule, Tiling)
    return variant.schedule.form


@pytest.mark.skipif(blas.blas() is None, reason="NumPy's BLAS has no name that is known")
@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right"), [("plain", "plain"), ("transposed", "plain"), ("plain", "transposed")])
@pytest.mark.parametrize("activation", [None, "tanh", "sign"])
def test_products_by_blas(dtype: str, left: str, right: str, activation: str | None) -> None:
    r = np.random.default_rng(0)
    for m, n, k in ((37, 29, 41), (5, 200, 7)):
        x, w = r.standard_normal((m, k)).astype(dtype), r.standard_normal((k, n)).astype(dtype)
        run = compiled("mm", (2, 2), dtype, activation)
        got = run(laid_out(x, left, r), laid_out(w, right, r))
        assert form(run) == "blas"
        want = x @ w
        want = want if activation is None else getattr(np, activation)(want)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(blas.blas() is None, reason="NumPy's BLAS has no name that is known")
@pytest.mark.usefixtures("small_is_large")
def test_the_product_gets_memory_of_its_own_where_no_output_holds_it() -> None:
    r = np.random.default_rng(1)
    x, w = r.standard_normal((9, 8)).astype(np.float32), r.standard_normal((8, 50)).astype(np.float32)
    run = compiled("mm", (2, 2), "float32", "isfinite")
    np.testing.assert_array_equal(run(x, w), np.isfinite(x @ w))
    assert form(run) == "blas"
    stacks = compiled("bmm", (3, 3), "float32", "abs")
    a, b = r.standard_normal((3, 9, 8)).astype(np.float32), r.standard_normal((3, 8, 50)).astype(np.float32)
    np.testing.assert_allclose(stacks(a, b), np.abs(a @ b), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("small_is_large")
def test_layouts_that_blas_cannot_read_run_on_tiles() -> None:
    r = np.random.default_rng(2)
    x, w = r.standard_normal((9, 8)).astype(np.float32), r.standard_normal((8, 50)).astype(np.float32)
    for left, right in (("strided", "plain"), ("plain", "reversed")):
        run = compiled("mm", (2, 2), "float32")
        got = run(laid_out(x, left, r), laid_out(w, right, r))
        np.testing.assert_allclose(got, x @ w, rtol=1e-4, atol=1e-5)
        assert form(run) == "tiles"


@pytest.mark.usefixtures("small_is_large")
def test_without_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, "blas", lambda: None)
    x, w = np.ones((9, 8), np.float32), np.ones((8, 50), np.float32)
    run = compiled("mm", (2, 2), "float32")
    np.testing.assert_array_equal(run(x, w), x @ w)
    assert form(run) == "tiles"


def test_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def __getattr__(self, name: str) -> object:
            if name in ("cblas_sgemm", "cblas_dgemm"):
                return SimpleNamespace(_as_parameter_=1)
            raise AttributeError(name)

    monkeypatch.setattr(blas.numpy_blas, "library", Library)
    monkeypatch.setattr(blas.ctypes, "cast", lambda function, kind: SimpleNamespace(value=64))
    assert blas.blas.__wrapped__() == blas.Blas({"sgemm": 64, "dgemm": 64}, 32)
    monkeypatch.setattr(blas.numpy_blas, "library", lambda: None)
    assert blas.blas.__wrapped__() is None
