"""Pointwise kernels over every kind of memory layout, size and broadcast, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import backend
from flambeau.codegen.kernel import KernelError
from flambeau.schema import registry
from flambeau.tensor.tensor import Tensor, wrap
from tests.codegen.kernels import pointwise, random_values

ADD = pointwise("add", ("float32", "float32"), rank=3)


def add(x: Tensor, y: Tensor) -> Tensor:
    """The operator."""
    result: Tensor = registry.get("aten::add.Tensor")(x, y, 1)
    return result


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_lengths(length: int, dtype: str) -> None:
    compiled = backend.compile_kernel(pointwise("maximum", (dtype, dtype)))
    a, b = random_values(dtype, length, 1), random_values(dtype, length, 2)
    np.testing.assert_array_equal(compiled(a, b), np.maximum(a, b))
    guarded = np.concatenate([a, a[:1]])[: length or None]
    np.testing.assert_array_equal(compiled(guarded[:length], b), np.maximum(a, b))


VIEWS = {
    "rows": lambda x: x[::2],
    "columns": lambda x: x[:, :, ::3],
    "reversed": lambda x: x[::-1, :, ::-1],
    "transposed": lambda x: x.transpose(2, 1, 0).copy().transpose(2, 1, 0),
    "swapped": lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "one row": lambda x: x[:1],
    "one column": lambda x: x[:, :, :1],
    "one plane": lambda x: x[:, :1],
    "expanded": lambda x: np.broadcast_to(x[:, :, :1], x.shape),
    "vector": lambda x: x[:1, :1],
    "number": lambda x: x[:1, :1, :1],
}


@pytest.mark.parametrize("left", list(VIEWS))
@pytest.mark.parametrize("right", ["columns", "transposed", "one row", "vector", "number"])
def test_views(left: str, right: str) -> None:
    a, b = VIEWS[left](values(6, 5, 70)), VIEWS[right](values(6, 5, 70) + 1)
    try:
        want = a + b
    except ValueError:
        with pytest.raises(KernelError, match="expected"):
            backend.compile_kernel(ADD)(a, b)
        return
    got = backend.compile_kernel(ADD)(a, b)
    np.testing.assert_array_equal(got, want.reshape(got.shape))
    assert got.shape == want.shape


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1, 1)])
def test_zero_and_one_sizes(shape: tuple[int, ...]) -> None:
    compiled = backend.compile_kernel(ADD)
    assert compiled(values(*shape), values(*shape)).shape == shape
    assert compiled(values(*shape), values(1, 1, 1)).shape == shape


def test_no_dimensions() -> None:
    compiled = backend.compile_kernel(pointwise("exp", ("float64",), rank=0))
    got = compiled(1.0)
    assert got.shape == ()
    assert got == np.exp(1.0)


def test_outputs_follow_the_memory_order_of_inputs() -> None:
    a = values(5, 6, 7).transpose(2, 0, 1)
    got = backend.compile_kernel(ADD)(a, a)
    assert got.strides == a.strides
    np.testing.assert_array_equal(got, a + a)


def test_unaligned_input() -> None:
    raw = np.zeros(4 * 50 + 1, np.uint8)[1:].view(np.float32)
    assert not raw.flags.aligned
    compiled = backend.compile_kernel(pointwise("exp", ("float32",)))
    np.testing.assert_array_equal(compiled(raw), np.ones(50, np.float32))


def test_overlapping_inputs() -> None:
    x = np.arange(100, dtype=np.float32)
    compiled = backend.compile_kernel(pointwise("add", ("float32", "float32")))
    np.testing.assert_array_equal(compiled(x[:-1], x[1:]), x[:-1] + x[1:])


def test_large_outputs_are_aligned_and_right() -> None:
    x = np.random.default_rng(0).standard_normal(300_001).astype(np.float32)
    compiled = backend.compile_kernel(pointwise("neg", ("float32",)))
    got = compiled(x)
    assert got.ctypes.data % 64 == 0
    np.testing.assert_array_equal(got, -x)


@pytest.mark.parametrize("name", ["wrong dtype", "too many inputs", "too many dimensions", "sizes"])
def test_refusals(name: str) -> None:
    compiled = backend.compile_kernel(pointwise("add", ("float32", "float32")))
    x = values(3)
    calls = {
        "wrong dtype": ((x, x.astype(np.float64)), "input x1 has dtype float64, expected float32"),
        "too many inputs": ((x, x, x), "expected 2 inputs, got 3"),
        "too many dimensions": ((values(2, 3), x), "input x0 has 2 dimensions, expected 1"),
        "sizes": ((x, values(4)), r"input x1 of shape \(4,\) has size 4 along i0, expected 3"),
    }
    args, message = calls[name]
    with pytest.raises(KernelError, match=message):
        compiled(*args)


@pytest.mark.parametrize("seed", range(40))
def test_strides_are_those_of_the_operator(seed: int) -> None:
    r = np.random.default_rng(seed)
    shape = tuple(int(n) for n in r.choice([1, 2, 3, 5], 3))
    arrays = []
    for _ in range(2):
        own = [n if r.random() < 0.8 else 1 for n in shape]
        order = r.permutation(3)
        arrays.append(values(*[own[k] for k in order]).transpose(np.argsort(order)))
    want = add(wrap(arrays[0]), wrap(arrays[1]))._array
    compiled = backend.compile_kernel(ADD)
    for got in (compiled(*arrays), compiled.entry()(*arrays)):
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape
        assert [s for s, n in zip(got.strides, got.shape, strict=True) if n > 1] == [
            s for s, n in zip(want.strides, want.shape, strict=True) if n > 1
        ]
