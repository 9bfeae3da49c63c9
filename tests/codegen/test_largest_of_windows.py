"""The largest numbers of windows by native code, with their places: beside PyTorch's, nan and infinities included."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.convolutions import largest, windows
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import processor_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def random_case(rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    kernel, stride, dilation = ([int(n) for n in rng.integers(1, most, 2)] for most in (5, 4, 3))
    padding = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    sizes = (*rng.integers(1, 4, 2), *rng.integers(10, 40, 2))
    x = rng.standard_normal(sizes).astype(str(rng.choice(["float32", "float64"])))
    x = np.round(x) if rng.integers(2) else x
    x[rng.random(x.shape) < rng.choice([0.0, 0.1])] = np.nan
    x[rng.random(x.shape) < rng.choice([0.0, 0.5])] = -np.inf
    if rng.integers(3) == 0:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    return x, (kernel, stride, padding, dilation, bool(rng.integers(2)))


def test_values_and_places_are_those_of_torch() -> None:
    rng = np.random.default_rng(3)
    for _ in range(80):
        x, options = random_case(rng)
        values, places = torch.nn.functional.max_pool2d(torch.tensor(x), *options, return_indices=True)
        mine = flambeau.nn.functional.max_pool2d(flambeau.tensor(x), *options, return_indices=True)
        np.testing.assert_array_equal(mine[0].numpy(), values.numpy(), str(options))
        np.testing.assert_array_equal(mine[1].numpy(), places.numpy(), str(options))
        np.testing.assert_array_equal(flambeau.max_pool2d(flambeau.tensor(x), *options).numpy(), values.numpy())


@pytest.mark.parametrize("sizes", [(1, 2, 90, 70), (7, 3, 6, 6), (1, 1, 3, 5000)])
def test_bands_images_together_and_chunks(sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(sizes).astype(np.float32)
    values, places = torch.nn.functional.max_pool2d(torch.tensor(x), 2, return_indices=True)
    mine = flambeau.nn.functional.max_pool2d(flambeau.tensor(x), 2, return_indices=True)
    np.testing.assert_array_equal(mine[0].numpy(), values.numpy())
    np.testing.assert_array_equal(mine[1].numpy(), places.numpy())


def test_code_is_used_and_serves_all_sizes() -> None:
    codes = []
    for size in (6, 33):
        x, y = np.ones((1, 2, size, size), np.float32), np.empty((1, 2, size // 2, size // 2), np.float32)
        prepared = windows.prepare_largest(x, y, (2, 2), (2, 2), (0, 0), (1, 1))
        assert prepared is not None
        prepared(x, y, None)
        assert (y == 1).all()
        codes.append(prepared.code)
    assert codes[0] is codes[1]


def test_other_dtypes_and_three_dimensions_go_another_way() -> None:
    x = np.arange(64, dtype=np.int64).reshape(1, 1, 8, 8)
    np.testing.assert_array_equal(flambeau.max_pool2d(flambeau.tensor(x), 2).numpy()[0, 0], x[0, 0, 1::2, 1::2])
    deep = flambeau.tensor(x.astype(np.float32).reshape(1, 1, 4, 4, 4))
    np.testing.assert_array_equal(flambeau.max_pool3d(deep, 2).numpy().ravel(), [21, 23, 29, 31, 53, 55, 61, 63])


def test_places_in_three_dimensions_are_those_of_torch() -> None:
    rng = np.random.default_rng(5)
    for options in [(2,), (3, 2, 1), ((2, 3, 1), (1, 2, 3)), (3, 2, 1, 1, True), (2, 2, 0, 2)]:
        x = rng.integers(-3, 3, (2, 3, 6, 7, 8)).astype(np.float32)
        x[rng.random(x.shape) < 0.05], x[rng.random(x.shape) < 0.05] = np.nan, -np.inf
        wanted = torch.nn.functional.max_pool3d(torch.tensor(x), *options, return_indices=True)
        mine = flambeau.nn.functional.max_pool3d(flambeau.tensor(x), *options, return_indices=True)
        for own, theirs in zip(mine, wanted, strict=True):
            np.testing.assert_array_equal(own.numpy(), theirs.numpy(), str(options))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_places_of_equal_windows_are_those_of_torch(dims: int) -> None:
    rng = np.random.default_rng(dims)
    for count in (1, 2, 3, 4):
        x = rng.integers(-3, 3, (2, 3, *[6] * dims)).astype(np.float32)
        x[rng.random(x.shape) < 0.03] = np.nan
        name, sizes = f"adaptive_max_pool{dims}d", [count] * dims
        wanted = getattr(torch.nn.functional, name)(torch.tensor(x), sizes, return_indices=True)
        mine = getattr(flambeau.nn.functional, name)(flambeau.tensor(x), sizes, return_indices=True)
        for own, theirs in zip(mine, wanted, strict=True):
            np.testing.assert_array_equal(own.numpy(), theirs.numpy(), str(sizes))


def test_text_is_code_for_vectors_without_masks() -> None:
    processor = processor_of("x86-64-v2")
    text = largest.largest_text(Floats("double", processor.target))
    assert Compiler(processor).compile(text, is_glue=True, optimise=False)


def test_windows_that_adapt_are_those_of_pooling_where_they_are_equal() -> None:
    @flambeau.script
    def pooled(x: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
        values, places = flambeau.nn.functional.adaptive_max_pool2d_with_indices(x * 1.0, [rows, columns])
        return values + 1.0, places

    rng = np.random.default_rng(4)
    for shape, (rows, columns) in product(((2, 3, 12, 8), (3, 12, 8), (2, 1, 7, 9)), ((3, 4), (1, 1), (12, 8), (5, 3))):
        for _ in range(2):
            x = rng.integers(-3, 3, shape).astype(np.float32)
            x.reshape(-1)[::17] = np.nan
            values, places = pooled(flambeau.from_numpy(x), rows, columns)
            plain = flambeau.nn.functional.adaptive_max_pool2d_with_indices(flambeau.from_numpy(x), [rows, columns])
            np.testing.assert_array_equal(values.numpy(), plain[0].numpy() + 1.0)
            np.testing.assert_array_equal(places.numpy(), plain[1].numpy())
    assert all(c.is_native for c in pooled.explain(measure=False).compilations)
    for sizes, message in (((-1, 2), "negative dimension -1"), ((2, -3), "negative dimension -3")):
        with pytest.raises(RuntimeError, match=message):
            pooled(flambeau.ones(2, 3, 12, 8), *sizes)
