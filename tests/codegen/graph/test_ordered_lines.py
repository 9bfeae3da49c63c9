"""What follows from the order of lines in native code, beside the interpreter and the reference: `topk`, `kthvalue`,
`median`, `mode`, and sorts of any length; values and strides to the bit, errors to the letter."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
NAN, INF = float("nan"), float("inf")
VALUES = [3.0, NAN, -0.0, 0.0, INF, -INF, 3.0, NAN, 1.5, -2.0, 2.0, 3.0]
PROGRAMS = {
    "topk": ("flambeau.topk(x, k, 0)", "flambeau.topk(x, k, -1, False)", "x.topk(k, dim=0, sorted=False)"),
    "kthvalue": ("flambeau.kthvalue(x, k, 0)", "x.kthvalue(k, -1, True)"),
    "median": ("flambeau.median(x, 0)", "x.median(-1, True)", "x.nanmedian(0)", "x.median(), x.nanmedian()"),
    "mode": ("flambeau.mode(x, 0)", "x.mode(-1, True)"),
    "sort": ("x.sort(0)", "x.sort(-1, True)", "x.argsort(0, descending=True), x.argsort()"),
}
DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
SHAPES = [(7,), (70,), (0,), (3, 5), (70, 2), (2, 70), (0, 4), (4, 0), (1, 1), (2, 3, 4)]


def program(name: str) -> str:
    calls = [f"    a{k}, b{k} = {call}\n" for k, call in enumerate(PROGRAMS[name])]
    results = ", ".join(f"a{k}, b{k}" for k in range(len(calls)))
    return f"def f(x: Tensor, k: int):\n{''.join(calls)}    return {results}\n"


def tensor(dtype: str, shape: tuple[int, ...]) -> Tensor:
    count = int(np.prod(shape))
    if dtype.startswith("float"):
        return flambeau.tensor((VALUES * 20)[:count], dtype=getattr(flambeau, dtype)).reshape(shape)
    draw = np.random.default_rng(count).integers(0, 2 if dtype == "bool" else 9, count)
    return flambeau.tensor(draw.tolist(), dtype=getattr(flambeau, dtype)).reshape(shape)


def agree(name: str, x: Tensor, k: int) -> None:
    one_meaning.agree(program(name), lambda: (x, k), is_native=x.dtype is not flambeau.bool)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes(name: str, dtype: str) -> None:
    agree(name, tensor(dtype, (7, 9)), 3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_shapes(name: str, shape: tuple[int, ...]) -> None:
    for k in (0, 1, 2, 40, -1):
        agree(name, tensor("float32", shape), k)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors_with_gaps_and_turned_ones(name: str) -> None:
    x = tensor("float64", (8, 9))
    for view in (x.t(), x[::2, 1::3], x[:, :1].expand(8, 5), x[:, 2], x.flip(0)[1:]):
        agree(name, view, 2)


def test_ends_of_ints_are_no_nan() -> None:
    for dtype in ("int32", "int64"):
        ends = np.iinfo(dtype)
        x = flambeau.tensor([ends.max, ends.min, ends.max, 0, -1, ends.max], dtype=getattr(flambeau, dtype))
        for name in PROGRAMS:
            agree(name, x, 2)


def test_many_of_long_lines() -> None:
    draw = np.random.default_rng(0)
    lines = draw.normal(size=(2, 3000)).astype(np.float32)
    lines[:, ::7] = lines[:, :1]
    for array in (lines, np.sort(lines)[:, ::-1].copy(), (lines * 1e3).astype(np.int64)):
        for name in PROGRAMS:
            agree(name, flambeau.from_numpy(array), 40)
            agree(name, flambeau.from_numpy(array), 5)


def test_in_loops_memory_is_given_back() -> None:
    @flambeau.script
    def beams(x: Tensor, n: int) -> Tensor:
        total = flambeau.zeros(3)
        for _ in range(n):
            values, places = flambeau.topk(x, 3)
            total += values + x[places] + x.sort()[0][:3]
            x = x * 0.5
        return total

    x = flambeau.tensor((VALUES * 10)[2:4] + [float(k % 17) for k in range(300)])
    expected = beams.__wrapped__(x, 50)
    for _ in range(3):
        np.testing.assert_allclose(beams(x, 50).numpy(), expected.numpy(), rtol=1e-6)
    assert beams.explain(measure=False).is_native


@pytest.mark.parametrize("count", [33, 300, 5000])
def test_keys_that_differ_in_their_last_bytes_alone_are_in_order(count: int) -> None:
    def ordered(x: np.ndarray):
        return np.argsort(x, kind="stable")

    rng = np.random.default_rng(0)
    near = np.arange(count - 1)[::-1]
    cases = [
        np.concatenate([1.0 + near * 2.0**-50, [1e300]]), np.concatenate([[-1e300], 1.0 + near // 3 * 2.0**-50]),
        np.concatenate([near % 50 + 2**40, [0]]), np.concatenate([near - 2**62, [2**62]]),
        rng.random(count), rng.standard_normal(count), np.exp(rng.uniform(-700, 700, count)),
        np.where(rng.random(count) < 0.3, np.nan, rng.random(count)), np.where(rng.random(count) < 0.5, -0.0, 0.0),
        np.where(rng.random(count) < 0.1, -np.inf, rng.integers(0, 5, count) * 1e-320),
        rng.integers(0, 2**63, count).astype(np.uint64) * np.uint64(2), np.arange(count)[::-1] * 1.0,
        rng.standard_normal(count).astype(np.float32), rng.integers(-(2**62), 2**62, count),
    ]  # fmt: skip
    scripted = flambeau.script(ordered)
    for x in cases:
        assert np.array_equal(scripted(x), np.argsort(x, kind="stable"))
