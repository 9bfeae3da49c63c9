"""Products agree with NumPy in float64, whatever the sizes, layouts, epilogue and number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import flambeau
from flambeau.codegen import get_num_threads, set_num_threads
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.llvm.engine import Engine, using
from flambeau.codegen.llvm.processor import LEVELS
from flambeau.codegen.lower import LoweringError
from flambeau.codegen.products import Tiling
from tests.codegen.products.product_groups import ACTIVATIONS, bound, compiled, laid_out

SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 64, 65]
LAYOUTS = ["plain", "transposed", "strided", "reversed"]


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = get_num_threads()
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def factors(m: int, n: int, k: int, dtype: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    return tuple(r.standard_normal(s).astype(dtype) for s in ((m, k), (k, n), (n,)))  # type: ignore[return-value]


def expect_product(m: int, n: int, k: int, dtype: str, left: str, right: str, activation: str = "relu") -> None:
    r = np.random.default_rng(m * 10007 + n * 101 + k)
    x, w, b = factors(m, n, k, dtype)
    # Sizes of one are known when the kernel is made; without them it refuses, and the executor knows them.
    run = compiled("addmm", (1, 2, 2), dtype, activation)
    got = run(b, laid_out(x, left, r), laid_out(w, right, r))
    exact = x.astype(np.float64) @ w + b
    with np.errstate(all="ignore"):
        want = ACTIVATIONS[activation](exact)
    slack = bound(x, w, dtype) + 4 * np.finfo(dtype).eps * (np.abs(exact) + np.abs(b) + 1)
    if activation == "exp":
        slack = slack * (want + 1)
    assert got.shape == (m, n)
    assert got.dtype == dtype
    assert (np.abs(got - want) <= slack).all(), (m, n, k, left, right, np.abs(got - want).max())


@pytest.mark.parametrize("seed", range(24))
def test_random_sizes_and_layouts(seed: int) -> None:
    r = np.random.default_rng(seed)
    m, n, k = (int(r.choice([s for s in SIZES if s > 1])) for _ in range(3))
    expect_product(m, n, k, str(r.choice(["float32", "float64"])), str(r.choice(LAYOUTS)), str(r.choice(LAYOUTS)))


@pytest.mark.parametrize(("m", "n", "k"), [(100, 3, 257), (16, 16, 16), (64, 64, 64), (3, 700, 40), (130, 33, 70)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("right", ["plain", "transposed"])
def test_chosen_sizes(m: int, n: int, k: int, dtype: str, right: str) -> None:
    expect_product(m, n, k, dtype, "plain", right)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_are_applied_to_tiles(activation: str, dtype: str) -> None:
    x, w, b = factors(19, 37, 11, dtype)
    run = compiled("addmm", (1, 2, 2), dtype, activation)
    got = run(b, x, w)
    product = compiled("addmm", (1, 2, 2), dtype)(b, x, w)
    with np.errstate(all="ignore"):
        want = ACTIVATIONS[activation](product.astype(np.float64))
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).tiny)


def test_sizes_of_zero() -> None:
    run = compiled("mm", (2, 2), "float32", "exp")
    for m, n, k in itertools.product((0, 2, 5), repeat=3):
        x, w, _ = factors(m, n, k, "float32")
        got = run(x, w)
        np.testing.assert_allclose(got, np.exp(x @ w), rtol=1e-5)


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("matmul", (5,), (5,)),
        ("matmul", (4, 5), (5,)),
        ("matmul", (5,), (5, 33)),
        ("matmul", (5,), (5, 300)),
        ("matmul", (3, 4, 5), (5, 7)),
        ("matmul", (3, 4, 5), (3, 5, 7)),
        ("matmul", (2, 3, 4, 5), (3, 5, 7)),
        ("matmul", (3, 4, 5), (5,)),
        ("matmul", (5,), (3, 5, 40)),
        ("bmm", (6, 17, 9), (6, 9, 33)),
        ("mv", (33, 40), (40,)),
        ("dot", (1000,), (1000,)),
        ("vdot", (70,), (70,)),
        ("linear", (7, 40), (33, 40)),
        ("linear", (2, 7, 40), (33, 40)),
        ("linear", (40,), (33, 40)),
        ("linear", (7, 40), (40,)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_every_product(operator: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    r = np.random.default_rng(3)
    a, b = (np.asarray(10 * r.standard_normal(s)).astype(dtype) for s in (left, right))
    got = compiled(operator, (a.ndim, b.ndim), dtype, "neg")(a, b)
    want = -np.matmul(a.astype(np.float64), b.T if operator == "linear" else b)
    assert got.shape == want.shape
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, atol=0 if dtype == "int32" else 1e4 * np.finfo(dtype).eps)


def test_products_of_stacks_added_to_a_tensor() -> None:
    r = np.random.default_rng(4)
    base, a, b = (r.standard_normal(s).astype(np.float32) for s in ((1, 1, 33), (6, 17, 9), (6, 9, 33)))
    base = np.broadcast_to(base, (6, 17, 33))
    got = compiled("baddbmm", (3, 3, 3), "float32")(base, a, b)
    np.testing.assert_allclose(got, base + a @ b, rtol=1e-4, atol=1e-5)


def test_special_values_go_through() -> None:
    run = compiled("mm", (2, 2), "float32")
    for m, n, k in ((5, 33, 7), (2, 300, 9), (9, 5, 8)):
        x, w, _ = factors(m, n, k, "float32")
        x[1, 2], w[3, n - 1] = np.inf, np.nan
        w[2, 0] = 0.0
        with np.errstate(invalid="ignore"):
            want = x @ w
        np.testing.assert_allclose(run(x, w), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(64, 64, 64), (100, 300, 65), (1, 2000, 300), (300, 5, 200), (129, 257, 100), (2000, 16, 33)]
)
@pytest.mark.parametrize("right", ["plain", "transposed"])
def test_threads_do_not_change_a_bit(m: int, n: int, k: int, right: str) -> None:
    r = np.random.default_rng(5)
    x, w, _b = factors(m, n, k, "float32")
    w = laid_out(w, right, r)
    before, results = get_num_threads(), []
    for count in (1, 2, 5):
        set_num_threads(count)
        run = compiled("matmul", (1 if m == 1 else 2, 2), "float32", "tanh")
        results.append(run(x[0] if m == 1 else x, w))
    set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    np.testing.assert_allclose(results[0], np.tanh(x @ w).reshape(results[0].shape), rtol=1e-3, atol=1e-4)


def test_stacks_on_threads(threads: int) -> None:
    r = np.random.default_rng(6)
    a, b = r.standard_normal((9, 40, 50)), r.standard_normal((9, 50, 60))
    got = compiled("bmm", (3, 3), "float64")(a, b)
    np.testing.assert_allclose(got, a @ b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("right", ["plain", "transposed"])
def test_c00_products_at_the_levels_that_this_machine_has(
    level: str, right: str, engine_of: Callable[[str], Engine]
) -> None:
    with using(engine_of(level)):
        for m, n, k in ((9, 37, 21), (2, 5, 64), (40, 300, 33)):
            expect_product(m, n, k, "float32", "plain", right, "tanh")
            expect_product(m, n, k, "float64", "transposed", right)


def test_refused() -> None:
    with pytest.raises(LoweringError, match="a product in bool"):
        compiled("mm", (2, 2), "bool")
    with pytest.raises(LoweringError, match="dimensions"):
        compiled("mm", (2, 1), "float32")
    with pytest.raises(LoweringError, match="more dimensions than the product"):
        compiled("addmm", (3, 2, 2), "float32")
    run = compiled("mm", (2, 2), "float32")
    with pytest.raises(KernelError, match="size"):
        run(np.ones((3, 4), np.float32), np.ones((5, 2), np.float32))
    with pytest.raises(KernelError, match="size 1 along"):
        run(np.ones((3, 1), np.float32), np.ones((5, 2), np.float32))


def test_plans_say_how_they_run() -> None:
    x, w, b = factors(32, 64, 16, "float32")
    run = compiled("addmm", (1, 2, 2), "float32", "relu")
    run(b, x, w)
    (variant,) = run.variants
    assert isinstance(variant.schedule, Tiling)
    assert "product tiles" in run.explain()
    run(b, np.concatenate([x, x]), w)
    assert len(run.variants) == 1, "code does not depend on the number of rows, but for what is left over"


def test_a_vector_times_wider_and_wider_matrices() -> None:
    product = flambeau.CompilationUnit("""
def product(x: Tensor, w: Tensor) -> Tensor:
    return flambeau.matmul(x, w) * 2.0
""").product
    # The first width is the least of its class: the code that is chosen for it serves the others too.
    for width in [1 << 14] * 8 + [(1 << 15) - 1] * 4:
        for depth in (9, 12):
            x, w = np.ones(depth, np.float32), np.full((depth, width), 0.5, np.float32)
            result = product(flambeau.from_numpy(x), flambeau.from_numpy(w)).numpy()
            np.testing.assert_array_equal(result, np.full(width, depth, np.float32))
