"""Functions of matrices in native code, beside the interpreter and the reference: values and strides to the bit, errors
to the letter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.graph.native import NativeFunction
from flambeau.codegen.graph.routines.matrices import TYPES, loop_addresses
from flambeau.util.errors import ExecutionError
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
PROGRAMS = {
    "inverse": "flambeau.linalg.inv(x), x.inverse()",
    "inverse and failure": "flambeau.linalg.inv_ex(x)",
    "determinant": "flambeau.linalg.det(x), x.slogdet()",
    "cholesky": "flambeau.linalg.cholesky(x), x.cholesky(True)",
    "eigenvalues": "flambeau.linalg.eigvalsh(x), flambeau.linalg.eigvalsh(x, 'U')",
    "eigenvectors": "flambeau.linalg.eigh(x), flambeau.linalg.eigh(x, 'U')",
    "singular vectors": "flambeau.linalg.svd(x), flambeau.linalg.svd(x, full_matrices=False)",
    "orthonormal and triangle": "flambeau.linalg.qr(x)",
    "singular values": "flambeau.linalg.svdvals(x)",
    "solve": "flambeau.linalg.solve(x, x * 0.5), flambeau.linalg.solve(x, x[..., 0])",
}


def test_numpy_has_every_loop() -> None:
    assert loop_addresses().keys() == TYPES.keys()


def agree(name: str, x: Tensor) -> None:
    one_meaning.agree(f"def f(x: Tensor):\n    return {PROGRAMS[name]}\n", lambda: (x,))


def definite(dtype: str, *shape: int) -> np.ndarray:
    draw = np.random.default_rng(7).normal(size=shape).astype(dtype)
    return draw @ draw.swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_and_views(name: str) -> None:
    batch = definite("float32", 2, 3, 4, 4)
    uneven = definite("float64", 2, 4, 4) + np.tri(4)
    for given in (uneven, batch[0, 0], batch[:, ::2, 1:, 1:].swapaxes(-1, -2), batch[:0], batch[:1, 0, :1, :1]):
        agree(name, flambeau.from_numpy(given))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_has_no_result_and_what_is_not_finite(name: str) -> None:
    singular = np.ones((2, 3, 3))
    singular[0] = np.eye(3)
    infinite = definite("float64", 3, 3)
    infinite[1, 2] = np.inf
    odd = (np.zeros((2, 0, 0)), np.ones((2, 3)), -np.eye(2), np.full((2, 2), np.nan), infinite)
    for given in (singular, singular[1], *odd):
        agree(name, flambeau.from_numpy(given))


@pytest.mark.parametrize("name", PROGRAMS)
def test_large_ones(name: str) -> None:
    agree(name, flambeau.from_numpy(definite("float32", 91, 91)))


def test_right_sides_that_are_vectors_or_a_matrix_by_their_sizes() -> None:
    x = definite("float64", 3, 3)
    for batch, right in itertools.product(
        ((), (2,), (1,), (4, 2)),
        ((3,), (3, 2), (3, 3), (2, 3), (2, 3, 1), (1, 3, 2), (2, 1, 3, 2), (2, 3, 3), (1, 3, 1), (4, 2, 3)),
    ):
        a, b = np.broadcast_to(x, (*batch, 3, 3)).copy(), np.random.default_rng(1).normal(size=right)
        scripted = flambeau.script(solved)
        try:
            expected = solved(flambeau.from_numpy(a), flambeau.from_numpy(b))
        except (RuntimeError, ValueError):
            for _ in range(2):
                with pytest.raises((RuntimeError, ValueError)):
                    scripted(flambeau.from_numpy(a), flambeau.from_numpy(b))
            continue
        for _ in range(3):
            result = scripted(flambeau.from_numpy(a), flambeau.from_numpy(b))
            np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-12)


def solved(a: Tensor, b: Tensor) -> Tensor:
    return flambeau.linalg.solve(a, b) * 2.0


def test_of_rectangles() -> None:
    for shape in ((3, 5), (2, 5, 3)):
        agree("singular values", flambeau.from_numpy(np.random.default_rng(0).normal(size=shape)))


def test_other_dtypes_are_left_to_python() -> None:
    for dtype in (flambeau.complex64, flambeau.int64):
        x = flambeau.eye(2).to(dtype)
        one_meaning.agree("def f(x: Tensor):\n    return x.inverse()\n", lambda x=x: (x,), is_native=False)


def test_in_loops_memory_is_given_back() -> None:
    @flambeau.script
    def powers(x: Tensor, n: int) -> Tensor:
        total = flambeau.zeros(3, 3)
        for _ in range(n):
            total += flambeau.linalg.inv(x) * x.det()
            x = x * 0.9
        return total

    x = flambeau.from_numpy(definite("float32", 3, 3))
    expected = powers.__wrapped__(x, 20)
    for _ in range(3):
        np.testing.assert_allclose(powers(x, 20).numpy(), expected.numpy(), rtol=1e-4)
    assert powers.explain(measure=False).is_native
    with pytest.raises(ExecutionError, match="is singular"):
        powers(flambeau.ones(3, 3), 2)


@pytest.mark.parametrize("penalties", [1, 5])
def test_one_right_side_for_many_systems(penalties: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(penalties)
    x, y = flambeau.from_numpy(rng.random((9, 4))), flambeau.from_numpy(rng.random(9))
    factors = flambeau.from_numpy(rng.random(penalties) + 0.1)

    @flambeau.script
    def ridge(x: Tensor, y: Tensor, factor: Tensor) -> Tensor:
        return flambeau.linalg.solve(x.T @ x + factor * flambeau.eye(x.size(1), dtype=x.dtype), x.T @ y)

    mapped = flambeau.vmap(ridge, (None, None, 0))
    for _ in range(4):
        solutions = mapped(x, y, factors).numpy()
    a = x.numpy()
    expected = [np.linalg.solve(a.T @ a + f * np.eye(4), a.T @ y.numpy()) for f in factors.numpy()]
    assert np.allclose(solutions, expected, rtol=1e-10)
    asked: list[int] = []
    monkeypatch.setattr(NativeFunction, "serve", lambda _, *call: asked.append(len(call)))
    mapped(x, y, factors)
    assert not asked
