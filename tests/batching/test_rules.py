"""Every operator on a batch, beside the operator on each element of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau
from flambeau.func import vmap
from tests.autograd.operator_samples import SampleCall, calls, operators

m = flambeau
NAMES = sorted(operators())
DYNAMIC = "dynamic shape"


@pytest.mark.parametrize("chunk", range(8))
def test_batches_agree_with_their_elements(chunk: int) -> None:
    wrong = []
    for name in NAMES[chunk::8]:
        for call in calls(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", m.PerformanceWarning)
                problem = _problem(call, compare="empty" not in name)
            if problem is not None and DYNAMIC not in problem:
                wrong.append((name, call.label, problem))
    assert not wrong


def _problem(call: SampleCall, *, compare: bool) -> str | None:
    batches = [m.stack([value, value * 0.9, value * 0.8]) for value in call.values]
    try:
        elements = [call.function(*[batch[n].clone() for batch in batches]) for n in range(3)]
    except RuntimeError:
        return None  # refused for these numbers
    try:
        together = vmap(call.function)(*batches)
    except RuntimeError as error:
        return str(error)
    for number, result in enumerate(together):
        for n in range(3):
            got, want = result[n], elements[n][number]
            if (got.shape, got.dtype) != (want.shape, want.dtype):
                return f"{got.shape} {got.dtype} instead of {want.shape} {want.dtype}"
            if compare and not np.allclose(got.numpy(), want.numpy(), rtol=1e-6, atol=1e-8, equal_nan=True):
                return "other values"
    return None


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
def test_solutions_in_batches(dims: tuple[int | None, int | None]) -> None:
    draws = np.random.default_rng(0)
    matrices, columns = draws.normal(size=(5, 4, 4)) + np.eye(4) * 4, draws.normal(size=(5, 4, 3))
    lower = np.tril(matrices)
    sources = zip((matrices, columns, lower), (*dims, dims[0]), strict=True)
    own, right, factor = (source if dim == 0 else source[0] for source, dim in sources)
    vectors = right[..., 0]
    solve, triangular = flambeau.linalg.solve, flambeau.linalg.solve_triangular
    cases = [
        (solve, own, right, np.linalg.solve(own, right)),
        (solve, own, vectors, np.linalg.solve(own, vectors[..., None])[..., 0]),
        (lambda a, b: triangular(a, b, upper=False), factor, right, np.linalg.solve(factor, right)),
        (lambda a, b: triangular(a, b.mT, upper=True, left=False), factor.swapaxes(-1, -2), right,
         np.linalg.solve(factor, right).swapaxes(-1, -2)),
        (lambda a, b: flambeau.cholesky_solve(b, a), factor, right,
         np.linalg.solve(factor @ factor.swapaxes(-1, -2), right)),
    ]  # fmt: skip
    for function, first, second, want in cases:
        got = vmap(function, in_dims=dims)(flambeau.tensor(first), flambeau.tensor(second))
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-12)


def test_rolls_without_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    got = vmap(lambda one: flambeau.roll(one, 5))(flambeau.tensor(x))
    np.testing.assert_array_equal(got.numpy(), np.stack([np.roll(one, 5) for one in x]))


@pytest.mark.parametrize("batched", [(1, 1, 1), (1, 0, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0)])
@pytest.mark.parametrize("named", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_writes_at_places_of_any_axes(named: tuple[int, ...], batched: tuple[int, int, int]) -> None:
    draw, sizes = np.random.default_rng(0), (3, 5, 6)
    own, places, values = batched

    def put(x: flambeau.Tensor, value: flambeau.Tensor, *at: flambeau.Tensor) -> flambeau.Tensor:
        indices: list[flambeau.Tensor | None] = [None] * 3
        for axis, index in zip(named, at, strict=True):
            indices[axis] = index
        return x.index_put(tuple(indices), value, accumulate=True)

    x = flambeau.tensor(draw.standard_normal((2,) * own + sizes))
    at = [flambeau.tensor(draw.integers(0, sizes[axis], (2,) * places + (4,))) for axis in named]
    slices: list[flambeau.Tensor | slice] = [slice(None)] * 3
    for axis, index in zip(named, at, strict=True):
        slices[axis] = index[0] if places else index
    shown = (x[0] if own else x)[tuple(slices)].shape
    for shape in (shown, shown[1:], ()):
        value = flambeau.tensor(draw.standard_normal((2,) * values + tuple(shape)))
        dims = (0 if own else None, 0 if values else None, *[0 if places else None for _ in at])
        got = vmap(put, in_dims=dims)(x, value, *at)
        for n in range(2):
            want = put(x[n] if own else x, value[n] if values else value, *[i[n] if places else i for i in at])
            np.testing.assert_allclose(got[n].numpy(), want.numpy())
