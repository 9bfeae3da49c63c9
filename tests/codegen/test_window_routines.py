"""Pooling, interpolation and padding in native functions, beside PyTorch's and beside operators called one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
SIZES = {1: (11,), 2: (9, 12), 3: (5, 6, 7)}
CASES = [
    (1, "max_pool1d(x, [3], [2], [1], [1], True)"), (2, "max_pool2d(x, [3, 2], [2, 1], [1, 1], [2, 1], False)"),
    (3, "max_pool3d(x, [2], [3], [1], [1], True)"), (1, "avg_pool1d(x, [3], [2], [1], True, False)"),
    (2, "avg_pool2d(x, [3, 2], [2, 1], [1, 1], True, True)"), (2, "avg_pool2d(x, [3], [2], [1], False, True, 5)"),
    (3, "avg_pool3d(x, [2, 3, 2], [2], [1], True, False)"), (1, "adaptive_avg_pool1d(x, [4])"),
    (2, "adaptive_avg_pool2d(x, [1, 1])"), (2, "adaptive_avg_pool2d(x, [7, 20])"),
    (3, "adaptive_avg_pool3d(x, [2, 3, 1])"), (1, "pad(x, [1, 2], 'reflect')"),
    (2, "pad(x, [1, 2, 0, 3], 'replicate')"), (3, "pad(x, [2, 1, 0, 1, 2, 2], 'circular')"),
    (2, "pad(x, [-1, 2, 3, -4], 'constant', 1.5)"), (3, "pad(x, [1, 0], 'constant', 0.0)"),
    (1, "interpolate(x, scale_factor=2.5, mode='linear', align_corners=False)"),
    (2, "interpolate(x, size=[4, 30], mode='nearest')"), (2, "interpolate(x, scale_factor=1.7, mode='nearest-exact')"),
    (2, "interpolate(x, size=[8, 12], mode='bilinear', align_corners=True)"),
    (2, "interpolate(x, size=[14, 5], mode='bicubic', align_corners=False)"),
    (3, "interpolate(x, scale_factor=1.5, mode='trilinear', align_corners=False)"),
]  # fmt: skip
ALLOWED = {"float32": 4e-6, "float64": 1e-14}


@pytest.mark.parametrize("dtype", ALLOWED)
def test_values_and_strides_are_those_of_torch_and_of_the_operators(dtype: str) -> None:
    for number, (dims, text) in enumerate(CASES):
        x = numbers(number, 2, 3, *SIZES[dims], dtype=dtype)
        if number % 2:  # channels last
            x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
        source = f"def f(x: Tensor) -> Tensor:\n    return flambeau.nn.functional.{text}\n"
        function = flambeau.jit.CompilationUnit(source).f
        found = called(function, flambeau.from_numpy(x))
        eager = eval(text, vars(flambeau.nn.functional) | {"x": flambeau.from_numpy(x)})
        expected = eval(text, vars(torch.nn.functional) | {"x": torch.tensor(np.ascontiguousarray(x)).double()})
        assert found.stride() == eager.stride(), text
        np.testing.assert_allclose(found.numpy(), eager.numpy(), rtol=1e-5, atol=ALLOWED[dtype], err_msg=text)
        if dtype == "float64" or "interpolate" not in text:  # places of float32 are rounded
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=ALLOWED[dtype], err_msg=text)
        assert function.explain(measure=False).compilations[-1].kernels[0].state.startswith("native"), text


@flambeau.script
def pooled(x: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.max_pool2d(x, [3, 3], [1, 1], [1, 1]) * 1.0


def test_largest_numbers_keep_what_is_no_number() -> None:
    x = numbers(0, 1, 1, 6, 20)
    x[0, 0, 2, 3], x[0, 0, 5, 18], x[0, 0, 0, 9:12] = np.nan, np.inf, -np.inf
    expected = torch.max_pool2d(torch.tensor(x), 3, 1, 1).numpy()
    np.testing.assert_array_equal(called(pooled, flambeau.from_numpy(x)).numpy(), expected)


def test_batches_of_nothing_integers_and_refusals_go_the_usual_way() -> None:
    assert tuple(called(pooled, flambeau.zeros(0, 2, 5, 5)).shape) == (0, 2, 5, 5)
    found = called(pooled, flambeau.tensor(np.arange(18).reshape(1, 2, 3, 3)))
    assert found.shape == (1, 2, 3, 3)
    with pytest.raises(RuntimeError, match="non-empty 3D or 4D"):
        pooled(flambeau.zeros(3, 3))
    with pytest.raises(RuntimeError, match="batch mode"):
        pooled(flambeau.zeros(1, 0, 4, 4))


def test_more_images_than_one_thread_takes() -> None:
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(2)
    try:
        x = numbers(0, 4, 16, 40, 40)
        expected = torch.max_pool2d(torch.tensor(x), 3, 1, 1).numpy()
        np.testing.assert_array_equal(called(pooled, flambeau.from_numpy(x)).numpy(), expected)
    finally:
        flambeau.set_num_threads(before)


def normed(x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
    y = flambeau.nn.functional.group_norm(x, 3, w, b)
    return y + flambeau.nn.functional.instance_norm(x, None, None, b, w)


@pytest.mark.parametrize("dtype", ALLOWED)
def test_norms_of_groups_are_those_of_torch(dtype: str) -> None:
    compiled = flambeau.script(normed)
    for sizes in ((2, 6, 5), (3, 12, 7, 9), (1, 6, 33, 40), (2, 6, 3, 4, 5)):
        x = numbers(0, *sizes, dtype=dtype) + 3
        w, b = numbers(1, sizes[1], dtype=dtype), numbers(2, sizes[1], dtype=dtype)
        found = called(compiled, *map(flambeau.from_numpy, (x, w, b)))
        xs, ws, bs = (torch.tensor(a).double() for a in (x, w, b))
        norms = torch.nn.functional
        expected = norms.group_norm(xs, 3, ws, bs) + norms.instance_norm(xs, None, None, bs, ws)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=5 * ALLOWED[dtype])
        turned = flambeau.from_numpy(np.ascontiguousarray(np.moveaxis(x, 1, -1))).movedim(-1, 1)
        np.testing.assert_allclose(
            called(compiled, turned, *map(flambeau.from_numpy, (w, b))).numpy(), found.numpy(), rtol=1e-4, atol=1e-5
        )
    assert compiled.explain(measure=False).is_native


def test_channels_that_do_not_divide_are_refused() -> None:
    @flambeau.script
    def grouped(x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.nn.functional.group_norm(x, 3)

    for _ in range(3):
        with pytest.raises(RuntimeError, match="divisible by num_groups"):
            grouped(flambeau.ones(1, 4, 5))


@flambeau.script
def shuffled(x: flambeau.Tensor, p: float) -> flambeau.Tensor:
    y = flambeau.nn.functional.pixel_unshuffle(flambeau.nn.functional.pixel_shuffle(x, 2), 2)
    return flambeau.cat([flambeau.nn.functional.dropout(y, p, False), x[:, :3], x], 1)


def test_channels_become_places_and_parts_are_joined() -> None:
    for x in (numbers(0, 2, 8, 3, 5), numbers(1, 1, 4, 6, 4)[:, :, ::2]):
        found = called(shuffled, flambeau.from_numpy(x), 0.5)
        np.testing.assert_array_equal(found.numpy(), np.concatenate([x, x[:, :3], x], axis=1))
        assert found.is_contiguous()
    assert shuffled.explain(measure=False).is_native
    with pytest.raises(RuntimeError, match="divisible by the square of upscale_factor"):
        shuffled(flambeau.ones(1, 6, 2, 2), 0.5)
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        shuffled(flambeau.ones(1, 4, 2, 2), 1.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: flambeau.nn.functional.pad(x, (1, 1), mode="reflect"),
        lambda x: flambeau.nn.functional.pad(x, (1, 1), mode="replicate"),
        lambda x: flambeau.nn.functional.pad(x, (1, 1)),
        lambda x: flambeau.nn.functional.interpolate(x, scale_factor=2.0),
        lambda x: flambeau.nn.functional.interpolate(x, scale_factor=2.0, mode="linear"),
    ],
    ids=["reflect", "replicate", "constant", "nearest", "linear"],
)
def test_zeros_keep_their_signs(call: Any) -> None:
    x = flambeau.tensor([[[0.0, -0.0, 1.0, -0.0]]])
    expected = call(x).numpy()
    program = flambeau.jit.trace(call, (x,))
    for _ in range(4):
        np.testing.assert_array_equal(np.signbit(program(x).numpy()), np.signbit(expected))
