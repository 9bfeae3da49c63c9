"""Products and folds of slices whose bounds change from iteration to iteration: loops of the native function's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs import matrix_slices, numpy_matrix_slices
from flambeau import Tensor
from flambeau.codegen.graph.groups import embedded
from tests.codegen.graph.loop_programs import native_functions

RNG = np.random.default_rng(15)


def _square(n: int) -> np.ndarray:
    return RNG.random((n, n)) + n * np.eye(n)


def _definite(n: int) -> np.ndarray:
    a = RNG.random((n, n))
    return a @ a.T + n * np.eye(n)


PROGRAMS: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "triangular_solve": lambda n: (np.tril(_square(n)), RNG.random(n)),
    "lu_outer": lambda n: (_square(n),),
    "lu_dot": lambda n: (_square(n),),
    "cholesky": lambda n: (_definite(n),),
    "symm": lambda n: (1.5, 1.25, _square(n), _square(n), _square(n)),
    "syrk": lambda n: (1.5, 1.25, _square(n), _square(n)),
    "syr2k": lambda n: (1.5, 1.25, _square(n), _square(n), _square(n)),
    "trmm": lambda n: (1.5, _square(n), _square(n)),
    "covariance": lambda n: (RNG.random((n + 1, n)),),
    "gram_schmidt": lambda n: (_square(n),),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_c15_linear_algebra_with_slices(name: str, dtype: type) -> None:
    script = flambeau.script(getattr(matrix_slices, name))
    for n in (1, 2, 19, 40):
        arguments = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in PROGRAMS[name](n)]
        result = script(*(flambeau.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments))
        expected = getattr(numpy_matrix_slices, name)(*arguments)
        tolerance = 1e-10 if dtype is np.float64 else 2e-3
        np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    assert native_functions(script)


@pytest.mark.parametrize("name", ["triangular_solve", "lu_dot", "cholesky"])
def test_c15_no_launch_is_made_where_only_bounds_change(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = flambeau.script(getattr(matrix_slices, name))
    given = [flambeau.from_numpy(a) for a in PROGRAMS[name](24)]
    script(*given)
    from flambeau.codegen import runtime

    def refuse(*args: Any, **named: Any) -> Any:
        raise AssertionError("a launch is made for a slice of another length")

    monkeypatch.setattr(runtime, "launch_by", refuse)
    script(*[flambeau.from_numpy(a) for a in PROGRAMS[name](70)])


def folds(x: Tensor, y: Tensor) -> Tensor:
    """Every way of bounding a slice: none left, from the end, beyond both ends, in steps."""
    n = x.size(0)
    out = flambeau.zeros([n, 8], dtype=x.dtype)
    for i in range(n):
        out[i, 0] = x[i, :i] @ y[:i]
        out[i, 1] = x[: i - n, i] @ y[: i - n] + x[i:, i] @ y[i:] + x[i - n :, i] @ y[i - n :]
        out[i, 2] = x[i, i - n :].sum() - x[:i, i].sum()
        out[i, 3] = x[i, : i + 100].max() + x[i:, i].min()
        out[i, 4] = (x[i, ::2] * y[::2]).mean()
        out[i, 5] = (x[:, i] - y).abs().sum()
        out[i, 6] = flambeau.dot(x[i, 5:2], y[5:2])
        out[i, 7] = (x[: i + 1, : i + 1] @ y[: i + 1]).sum() + (y[: i + 1] @ x[: i + 1, : i + 1]).sum()
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("special", [None, np.nan, np.inf, -np.inf, -0.0])
def test_c15_slices_of_every_length_with_special_values(dtype: type, special: float | None) -> None:
    native, plain = flambeau.script(folds), flambeau.script(folds, backend="interpreter")
    for n in (1, 2, 3, 18):
        x, y = (RNG.standard_normal(s).astype(dtype) for s in ((n, n), n))
        if special is not None:
            x[n // 2, n // 3] = y[n // 2] = special
        given = [flambeau.from_numpy(a) for a in (x, y)]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                native(*given).numpy(), plain(*given).numpy(), rtol=1e-4 if dtype is np.float32 else 1e-11, atol=1e-5
            )
    assert native_functions(native)


@pytest.mark.parametrize("layout", ["transposed", "in steps", "backwards", "a column for all"])
def test_c15_slices_of_tensors_in_any_layout(layout: str) -> None:
    n = 21
    base = flambeau.from_numpy(RNG.standard_normal((n, 2 * n)))
    x = {
        "transposed": lambda: base[:, :n].t(),
        "in steps": lambda: base[:, ::2],
        "backwards": lambda: base[:, :n].flip(0),
        "a column for all": lambda: base[:, :1].expand(n, n),
    }[layout]()
    y = flambeau.from_numpy(RNG.standard_normal(n))
    native, plain = flambeau.script(folds), flambeau.script(folds, backend="interpreter")
    np.testing.assert_allclose(native(x, y).numpy(), plain(x, y).numpy(), rtol=1e-11, atol=1e-11)


def products_of_rows(x: Tensor, y: Tensor) -> Tensor:
    total = flambeau.zeros([x.size(1)], dtype=x.dtype)
    for i in range(x.size(0)):
        total = total + x[i, :] * y
    return total


def test_c15_sizes_that_broadcast_at_run_time() -> None:
    native, plain = flambeau.script(products_of_rows), flambeau.script(products_of_rows, backend="interpreter")
    for rows, columns, others in ((3, 5, 5), (3, 5, 1), (3, 1, 1), (0, 4, 4), (3, 0, 0), (3, 0, 1)):
        x, y = (flambeau.from_numpy(RNG.standard_normal(s)) for s in ((rows, columns), others))
        assert np.array_equal(native(x, y).numpy(), plain(x, y).numpy())


def mismatched(x: Tensor, y: Tensor) -> Tensor:
    total = flambeau.zeros([1], dtype=x.dtype)
    for i in range(x.size(0)):
        total[0] += x[i, : i + 1] @ y[: i + 2]
    return total


def test_c15_sizes_that_do_not_fit_fail_with_the_line() -> None:
    script = flambeau.script(mismatched)
    x, y = (flambeau.from_numpy(RNG.standard_normal(s)) for s in ((4, 4), 4))
    with pytest.raises(RuntimeError) as caught:
        script(x, y)
    assert "x[i, : i + 1] @ y[: i + 2]" in str(caught.value)
    assert "~~~" in str(caught.value)


def test_c15_the_largest_of_no_elements_fails_with_the_line() -> None:
    def largest(x: Tensor) -> Tensor:
        total = flambeau.zeros([1], dtype=x.dtype)
        for i in range(x.size(0) - 1, -1, -1):
            total[0] += x[:i].max()
        return total

    with pytest.raises(RuntimeError) as caught:
        flambeau.script(largest)(flambeau.from_numpy(RNG.standard_normal(4)))
    assert "x[:i].max()" in str(caught.value)


def shifted(x: Tensor, by: int) -> Tensor:
    for _ in range(2):
        x[by:] += x[: x.size(0) - by].clone() * 2.0
        x[1:4] = x[1:4] * 0.5
    return x


def test_c15_writes_that_overlap_are_as_eager() -> None:
    for by in (0, 1, 3):
        x = RNG.standard_normal(12)
        given = [flambeau.from_numpy(x.copy()) for _ in range(2)]
        assert np.array_equal(flambeau.script(shifted)(given[0], by).numpy(), shifted(given[1], by).numpy())


def test_c15_an_outer_product_is_native() -> None:
    def outers(x: Tensor, y: Tensor) -> Tensor:
        return flambeau.outer(x, y) * 2.0 + 1.0

    script = flambeau.script(outers)
    for n, m in ((1, 1), (3, 5), (5, 1), (1, 7), (40, 33)):
        x, y = RNG.standard_normal(n), RNG.standard_normal(m)
        result = script(flambeau.from_numpy(x), flambeau.from_numpy(y)).numpy()
        np.testing.assert_allclose(result, np.outer(x, y) * 2.0 + 1.0, rtol=1e-15)
    with pytest.raises(RuntimeError, match="outer: Expected 1-D argument self, but got 2-D"):
        script(flambeau.from_numpy(RNG.random((2, 2))), flambeau.from_numpy(RNG.random(2)))


def copies(x: Tensor, iterations: int) -> Tensor:
    total = flambeau.zeros_like(x)
    for i in range(iterations):
        total[i:] += x[i:].clone() * 2.0 + x[i:].contiguous()
        total[:, i] = x[:, i].clone()
        total[i] += x.t()[:, i].contiguous()
    return total


@pytest.mark.parametrize("layout", ["in one piece", "transposed", "in steps", "backwards", "one row for all"])
def test_c15_copies_of_slices_in_steps_are_native_loops(layout: str) -> None:
    native, plain = flambeau.script(copies), flambeau.script(copies, backend="interpreter")
    for rows, columns in ((9, 9), (1, 1), (300, 300)):
        base = flambeau.from_numpy(RNG.standard_normal((rows, 2 * columns)))
        x = {
            "in one piece": lambda b=base, n=columns: b[:, :n].contiguous(),
            "transposed": lambda b=base, n=columns: b[:, :n].t(),
            "in steps": lambda b=base: b[:, ::2],
            "backwards": lambda b=base, n=columns: b[:, :n].flip(0),
            "one row for all": lambda b=base, n=columns: b[:1, :n].expand(n, n),
        }[layout]()
        assert np.array_equal(native(x, min(rows, 3)).numpy(), plain(x, min(rows, 3)).numpy())


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (4, 1), (0, 3), (3, 0)])
def test_c15_copies_lie_as_those_of_the_interpreter_do(shape: tuple[int, int]) -> None:
    def copy(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.clone(), x.contiguous(), x[:, ::2].clone()

    native, plain = flambeau.script(copy), flambeau.script(copy, backend="interpreter")
    base = flambeau.from_numpy(RNG.standard_normal((8, 8)))
    for x in (base[: shape[0], : shape[1]], base[: shape[1], : shape[0]].t(), base[::2, ::2][: shape[0], : shape[1]]):
        for _ in range(4):
            for found, expected in zip(native(x), plain(x), strict=True):
                assert np.array_equal(found.numpy(), expected.numpy())
                if min(shape) > 1:
                    assert found.stride() == expected.stride()


def column_folds(x: Tensor, n: int, out: Tensor) -> None:
    for j in range(x.size(1)):
        out[0, j] = x[:n, j].sum()
        out[1, j] = x[:n, j] @ x[:n, 0]
        out[2, j] = x[:n, j].mean()
        out[3, j] = x[1 : n + 1, j].amax()


@pytest.mark.parametrize("n", [1, 3, 100, 127, 128, 129, 1000, 2047, 2048, 60_000])
def test_c15_long_columns_are_summed_as_exactly_as_rows(n: int) -> None:
    """Within a few units in the last place of NumPy, which sums in pairs."""
    x = np.random.default_rng(15).random((n + 1, 5)).astype(np.float32)
    out = flambeau.zeros(4, 5)
    native = flambeau.script(column_folds)
    for _ in range(2):
        native(flambeau.from_numpy(x), n, out)
    wide = x[:n].astype(np.float64)
    expected = np.stack([wide.sum(0), (wide * wide[:, :1]).sum(0), wide.mean(0), x[1 : n + 1].max(0)])
    found = out.numpy()
    assert (np.abs(found - expected) <= 8 * np.spacing(expected.astype(np.float32))).all()
    assert np.array_equal(found[3], expected[3])
    special = x[:n].copy()
    special[n // 2, 1] = np.nan
    special[n - 1, 2] = np.inf
    native(flambeau.from_numpy(np.concatenate([special, special[:1]])), n, out)
    assert np.isnan(out.numpy()[:3, 1]).all()
    assert np.isposinf(out.numpy()[:3, 2]).all()


def test_groups_with_more_than_one_axis_go_by_launches_where_they_are_not_tiny() -> None:
    @flambeau.script
    def f(x: Tensor, weight: Tensor) -> Tensor:
        y = x.sum()
        for k in range(x.size(1)):
            y = y + flambeau.nn.functional.linear(x[:, k : k + 1].t(), weight)[0, -1] + (weight @ x[:, k])[0]
            y = y + weight.sum(0)[-1] + (weight + x[:, k])[0, 0]
        return y

    before = set(embedded._nests)
    for width, times in ((4, 4), (40, 4), (3, 2)):
        x, weight = flambeau.ones(width, times), flambeau.ones(width, width)
        for _ in range(3):
            assert float(f(x, weight)) == times * (width * 4 + 2)
    nests = [n for graph in set(embedded._nests) - before for n in embedded._nests[graph].values() if n is not None]
    most = {(len(n.lowered.kernel.axes) > 1, n.most_work) for n in nests}
    assert (True, embedded.MOST_WORK) in most
    assert most <= {(True, embedded.MOST_WORK), (True, embedded.MOST_IN_A_ROW), (False, embedded.MOST_IN_A_ROW)}
