"""Matrices: what holds of every decomposition, hostile inputs, what is refused, and programs that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor.tensor import wrap

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
LinAlgError = flambeau.linalg.LinAlgError


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> flambeau.Tensor:
    source = np.random.default_rng(seed)
    made = source.normal(size=shape)
    return wrap((made + 1j * source.normal(size=shape) if np.dtype(dtype).kind == "c" else made).astype(dtype))


def close(a: Any, b: Any) -> None:
    a, b = (x._array if isinstance(x, flambeau.Tensor) else np.asarray(x) for x in (a, b))
    np.testing.assert_allclose(a, b, atol=1e-3 if a.dtype.itemsize in (4,) or a.dtype == np.complex64 else 1e-8)


def adjoint(x: flambeau.Tensor) -> Any:
    return x._array.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3), (0, 3, 3), (2, 2, 3, 3)])
def test_decompositions_make_the_matrix_again(shape: tuple[int, ...], dtype: Any) -> None:
    a = drawn(*shape, dtype=dtype)
    q, r = flambeau.linalg.qr(a)
    close(q._array @ r._array, a)
    close(adjoint(q) @ q._array, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *(q.shape[-1],) * 2)))
    u, s, vh = flambeau.linalg.svd(a, full_matrices=False)
    close(u._array * s._array[..., None, :] @ vh._array, a)
    p, lower, upper = flambeau.linalg.lu(a)
    close(p._array @ lower._array @ upper._array, a)
    close(flambeau.linalg.pinv(a), np.linalg.pinv(a._array) if a.numel() else np.zeros((*shape[:-2], 3, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (2,), (0,), (2, 3)])
def test_square_matrices(batch: tuple[int, ...], dtype: Any) -> None:
    a = drawn(*batch, 4, 4, dtype=dtype)
    b = drawn(*batch, 4, 2, dtype=dtype, seed=1)
    eye = np.broadcast_to(np.eye(4), (*batch, 4, 4))
    close(flambeau.linalg.inv(a)._array @ a._array, eye)
    close(a._array @ flambeau.linalg.solve(a, b)._array, b)
    close(flambeau.linalg.solve(a, b.mT, left=False)._array @ a._array, b.mT._array)
    factors = flambeau.linalg.lu_factor(a)
    close(a._array @ flambeau.linalg.lu_solve(*factors, b)._array, b)
    close(adjoint(a) @ flambeau.linalg.lu_solve(*factors, b, adjoint=True)._array, b)
    close(flambeau.linalg.lu_solve(*factors, b.mT, left=False)._array @ a._array, b.mT._array)
    sign, size = flambeau.linalg.slogdet(a)
    close(sign._array * np.exp(size._array), flambeau.linalg.det(a))
    h = wrap(a._array @ adjoint(a) + 4 * np.eye(4, dtype=dtype))
    lower = flambeau.linalg.cholesky(h)
    close(lower._array @ adjoint(lower), h)
    upper = flambeau.linalg.cholesky(h, upper=True)
    close(adjoint(upper) @ upper._array, h)
    close(h._array @ flambeau.cholesky_solve(b, lower)._array, b)
    close(h._array @ flambeau.cholesky_inverse(upper, True)._array, eye)
    values, vectors = flambeau.linalg.eigh(h)
    close(vectors._array * values._array[..., None, :] @ adjoint(vectors), h)
    values, vectors = flambeau.linalg.eig(a)
    close(a._array @ vectors._array, vectors._array * values._array[..., None, :])


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflections(dtype: Any) -> None:
    a = drawn(5, 3, dtype=dtype)
    packed, scales = flambeau.geqrf(a)
    q, r = flambeau.linalg.qr(a)
    close(flambeau.linalg.householder_product(packed, scales), q)
    close(flambeau.triu(packed)[:3], r)
    whole = flambeau.linalg.qr(a, "complete")[0]
    c = drawn(5, 2, dtype=dtype, seed=2)
    close(flambeau.ormqr(packed, scales, c), whole._array @ c._array)
    close(flambeau.ormqr(packed, scales, c, True, True), adjoint(whole) @ c._array)
    close(flambeau.ormqr(packed, scales, c.mT, False), c._array.T @ whole._array)


def test_matrices_without_elements() -> None:
    nothing = flambeau.ones(0, 0)
    assert flambeau.linalg.det(nothing).item() == 1
    assert flambeau.linalg.inv(nothing).shape == (0, 0)
    u, s, vh = flambeau.linalg.svd(flambeau.ones(2, 0))
    assert (u.tolist(), s.shape, vh.shape) == ([[1, 0], [0, 1]], (0,), (0, 0))
    assert flambeau.linalg.qr(flambeau.ones(2, 0), "complete")[0].tolist() == [[1, 0], [0, 1]]
    assert flambeau.linalg.matrix_rank(flambeau.ones(2, 0)).item() == 0
    assert flambeau.linalg.matrix_exp(nothing).shape == (0, 0)
    assert flambeau.linalg.matrix_norm(flambeau.ones(0, 2), 1).item() == 0


def test_strided_matrices_are_not_written() -> None:
    base = drawn(6, 6)
    view = base[::2, ::2]
    kept = base._array.copy()
    close(flambeau.linalg.inv(view.t())._array @ view._array.T, np.eye(3))
    flambeau.linalg.lu_factor(view)
    flambeau.linalg.cholesky_ex(view)
    flambeau.linalg.solve(view, view)
    assert (base._array == kept).all()


def test_nan_and_inf() -> None:
    bad = wrap(np.array([[np.nan, 1], [1, 2.0]]))
    assert np.isnan(flambeau.linalg.det(bad)._array)
    assert np.isnan(flambeau.linalg.inv(bad)._array).any()
    assert np.isnan(flambeau.linalg.matrix_norm(bad)._array)
    assert np.isnan(flambeau.linalg.matrix_norm(bad, 2)._array)
    assert np.isnan(flambeau.linalg.matrix_exp(bad)._array).all()
    with pytest.raises(LinAlgError, match="contained non-finite values"):
        flambeau.linalg.svd(wrap(np.full((2, 2), np.inf)))
    with pytest.raises(RuntimeError, match="input tensor should not contain infs or NaNs"):
        flambeau.linalg.eig(bad)


def test_singular_matrices() -> None:
    singular, regular = flambeau.ones(2, 2), flambeau.eye(2)
    both = flambeau.stack([regular, singular])
    with pytest.raises(LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"):
        flambeau.linalg.inv(both)
    inverse, info = flambeau.linalg.inv_ex(both)
    assert (inverse[0].tolist(), info.tolist(), info.dtype) == ([[1, 0], [0, 1]], [0, 2], flambeau.int32)
    with pytest.raises(LinAlgError, match="The solver failed because the input matrix is singular"):
        flambeau.linalg.solve(singular, flambeau.ones(2))
    assert flambeau.linalg.solve_ex(singular, flambeau.ones(2))[1].item() == 2
    with pytest.raises(LinAlgError, match=r"linalg.cholesky: .*leading minor of order 2 is not positive-definite"):
        flambeau.linalg.cholesky(flambeau.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert flambeau.linalg.cholesky_ex(flambeau.stack([regular, -regular]))[1].tolist() == [0, 1]
    with pytest.raises(LinAlgError, match=r"linalg\.inv_ex"):
        flambeau.linalg.inv_ex(singular, check_errors=True)
    with pytest.raises(LinAlgError, match=r"linalg\.cholesky_ex"):
        flambeau.linalg.cholesky_ex(-regular, check_errors=True)
    assert flambeau.linalg.cond(singular, 1).item() == np.inf
    assert flambeau.logdet(-flambeau.eye(3)).isnan().item()
    assert flambeau.slogdet(flambeau.zeros(2, 2))[1].item() == -np.inf


def test_halves_and_integers_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"linalg.inv: Low precision dtypes not supported. Got Half"):
        flambeau.linalg.inv(flambeau.ones(2, 2, dtype=flambeau.float16))
    with pytest.raises(RuntimeError, match=r"linalg.svd: Expected a floating point or complex tensor as input"):
        flambeau.linalg.svd(flambeau.ones(2, 2, dtype=flambeau.int32))
    with pytest.raises(RuntimeError, match=r"lu_solve: pivots should be a Tensor of scalar type torch\.int32"):
        flambeau.linalg.lu_solve(flambeau.eye(2), flambeau.tensor([1, 2]), flambeau.eye(2))
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B for the equation AX = B"):
        flambeau.linalg.lu_solve(*flambeau.linalg.lu_factor(flambeau.eye(2)), flambeau.ones(3, 1))
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B for the equation XA = B"):
        flambeau.linalg.solve_triangular(flambeau.eye(2), flambeau.ones(2, 3), upper=True, left=False)
    with pytest.raises(RuntimeError, match="dtype should be real for real inputs"):
        flambeau.linalg.matrix_norm(flambeau.eye(2), 1, dtype=flambeau.complex64)
    with pytest.raises(RuntimeError, match="convertible without narrowing"):
        flambeau.linalg.matrix_norm(flambeau.eye(2, dtype=flambeau.float64), 1, dtype=flambeau.float32)
    with pytest.raises(RuntimeError, match="dtype should be floating point or complex"):
        flambeau.linalg.matrix_norm(flambeau.eye(2), 1, dtype=flambeau.int64)
    with pytest.raises(RuntimeError, match="parameter `driver` should be one of"):
        flambeau.linalg.lstsq(flambeau.eye(2), flambeau.eye(2), driver="x")
    with pytest.raises(RuntimeError, match=r"should match other.size\(-2\)"):
        flambeau.linalg.lstsq(flambeau.eye(2), flambeau.ones(3, 1))
    with pytest.raises(IndexError, match="has no value for a matrix without elements"):
        flambeau.linalg.matrix_norm(flambeau.ones(2, 0), -1)


def test_the_exponential_of_large_and_nilpotent_matrices() -> None:
    close(flambeau.linalg.matrix_exp(flambeau.tensor([[0.0, 1.0], [0.0, 0.0]])), [[1, 1], [0, 1]])
    turned = np.array([[0.0, -50.0], [50.0, 0.0]])
    expected = [[np.cos(50), -np.sin(50)], [np.sin(50), np.cos(50)]]
    close(flambeau.linalg.matrix_exp(wrap(turned)), expected)
    close(flambeau.matrix_exp(wrap(np.diag([1.0, -3.0]))), np.diag(np.exp([1.0, -3.0])))


def test_least_squares_by_each_driver() -> None:
    a, b = drawn(5, 3), drawn(5, 2, seed=1)
    wanted = np.linalg.lstsq(a._array, b._array)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        solution, residuals, rank, values = flambeau.linalg.lstsq(a, b, driver=driver)
        close(solution, wanted[0])
        assert residuals.shape == ((0,) if driver == "gelsy" else (2,))
        assert rank.shape == ((0,) if driver == "gels" else ())
        assert values.shape == ((3,) if driver in ("gelsd", "gelss") else (0,))


def test_norms_of_python() -> None:
    x = drawn(3, 4)
    assert flambeau.norm(x, "nuc").item() == pytest.approx(np.linalg.norm(x._array, "nuc"))
    assert flambeau.norm(x).item() == pytest.approx(np.linalg.norm(x._array))
    with pytest.raises(ValueError, match="norm\\(\\) has the orders 'fro', 'nuc' and numbers, but got 'max'"):
        flambeau.norm(x, "max")
    packed, pivots = x.lu()
    assert len(flambeau.lu(x, get_infos=True)) == 3
    assert (packed.shape, pivots.shape) == ((3, 4), (3,))


def test_out_and_views() -> None:
    a = drawn(3, 3)
    out = flambeau.empty(0, dtype=flambeau.float64)
    assert flambeau.linalg.inv(a, out=out) is out
    close(out._array @ a._array, np.eye(3))
    q, r = flambeau.empty(0, dtype=flambeau.float64), flambeau.empty(0, dtype=flambeau.float64)
    flambeau.linalg.qr(a, out=(q, r))
    close(q._array @ r._array, a)
    assert flambeau.linalg.diagonal(a).shares_storage(a)


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_programs(backend: str) -> None:
    def f(a: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
        q, r = flambeau.linalg.qr(a)
        x = flambeau.linalg.solve(r, flambeau.matmul(q.mT, b)) * 2.0
        _, s, _ = flambeau.linalg.svd(a)
        n = flambeau.linalg.norm(a, "fro") + flambeau.linalg.norm(x, 2) + flambeau.linalg.matrix_norm(a, 1)
        return x / 2.0 + flambeau.linalg.inv(a) @ b + a.inverse() @ b + n + s.sum() + flambeau.linalg.det(a)

    a, b = drawn(3, 3, dtype=np.float32), drawn(3, 2, dtype=np.float32, seed=1)
    script = flambeau.script(f, backend=backend)
    close(script(a, b), f(a, b))
    close(flambeau.trace(f, (a, b))(a, b), f(a, b))
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        script(b, b)


@pytest.mark.parametrize("states", [1, 2])
@pytest.mark.parametrize("seen", [1, 3])
def test_sizes_of_one_go_through_solutions(states: int, seen: int) -> None:
    @flambeau.script
    def filtered(p: flambeau.Tensor, h: flambeau.Tensor, e: flambeau.Tensor) -> flambeau.Tensor:
        x = flambeau.zeros(p.shape[0], dtype=p.dtype)
        for _ in range(3):
            s = h @ p @ h.T + flambeau.eye(h.shape[0], dtype=p.dtype)
            gain = flambeau.linalg.solve(s, h @ p).T
            lower = flambeau.linalg.cholesky(s)
            x = x + gain @ e + p @ h.T @ flambeau.linalg.inv(s) @ e
            x = x + h.T @ flambeau.linalg.solve_triangular(lower, e[:, None], upper=False)[:, 0]
            p = p - gain @ h @ p
        return x

    def once(p: np.ndarray, h: np.ndarray, e: np.ndarray) -> np.ndarray:
        x = np.zeros(len(p))
        for _ in range(3):
            s = h @ p @ h.T + np.eye(len(h))
            gain = np.linalg.solve(s, h @ p).T
            x = x + gain @ e + p @ h.T @ np.linalg.inv(s) @ e + h.T @ np.linalg.solve(np.linalg.cholesky(s), e)
            p = p - gain @ h @ p
        return x

    root, h, e = drawn(states, states), drawn(seen, states, seed=1), drawn(seen, seed=2)
    p = root @ root.T + flambeau.eye(states, dtype=root.dtype)
    for _ in range(4):
        close(filtered(p, h, e), once(p._array, h._array, e._array))
    assert filtered.explain(measure=False).is_native
