"""Convolutions and recurrent layers: their products of matrices, laid out so that little else takes time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.ops import recurrent_arrays
from flambeau.tensor import dispatch


def by_definition(x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution in two dimensions, sum by sum, in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *[(p, p) for p in padding]])
    outputs, inner, *kernel = w.shape
    sizes = [
        (n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(x.shape[2:], dilation, kernel, stride, strict=True)
    ]
    made = np.zeros((x.shape[0], outputs, *sizes))
    for o in range(outputs):
        first = o // (outputs // groups) * inner
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                rows = slice(i * stride[0], i * stride[0] + dilation[0] * (kernel[0] - 1) + 1, dilation[0])
                columns = slice(j * stride[1], j * stride[1] + dilation[1] * (kernel[1] - 1) + 1, dilation[1])
                made[:, o, i, j] = (x[:, first : first + inner, rows, columns] * w[o]).sum((1, 2, 3))
    return made if b is None else made + b.reshape(-1, 1, 1)


@pytest.mark.parametrize("layout", ["rows", "channels last", "strided", "expanded"])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("numbers", [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 2)), ((3, 2), (2, 0), (2, 1))])
def test_c19_convolutions_are_what_they_are_defined_as(layout: str, groups: int, numbers: Any) -> None:
    stride, padding, dilation = numbers
    random = np.random.default_rng(groups)
    w, b = random.normal(size=(4, 4 // groups, 3, 2)), random.normal(size=4)
    x = random.normal(size=(3, 4, 8, 9))
    given = fb.from_numpy(x)
    if layout == "channels last":
        given = given.contiguous(memory_format=fb.channels_last)
    elif layout == "strided":
        given = fb.from_numpy(np.repeat(x, 2, axis=3))[..., ::2]
    elif layout == "expanded":
        x = np.broadcast_to(x[:1], x.shape)
        given = fb.from_numpy(x[:1].copy()).expand(3, -1, -1, -1)
    made = fb.conv2d(given, fb.from_numpy(w), fb.from_numpy(b), stride, padding, dilation, groups)
    np.testing.assert_allclose(made.numpy(), by_definition(x, w, b, stride, padding, dilation, groups), 1e-12, 1e-12)
    assert made.is_contiguous(memory_format=fb.channels_last if layout == "channels last" else 0)


def test_c19_a_convolution_of_many_images_takes_them_in_parts() -> None:
    random = np.random.default_rng(0)
    x, w = random.normal(size=(40, 8, 20, 20)), random.normal(size=(4, 8, 3, 3))
    made = fb.conv2d(fb.from_numpy(x), fb.from_numpy(w), padding=1)
    assert 40 * 8 * 9 * 400 * 8 > 2 * (1 << 20)  # columns of all of them
    np.testing.assert_allclose(made.numpy(), by_definition(x, w, None, (1, 1), (1, 1), (1, 1), 1), 1e-10, 1e-10)


@pytest.mark.parametrize("size", [0, 1])
def test_c19_convolutions_of_few_images(size: int) -> None:
    assert fb.conv2d(fb.ones(size, 2, 4, 4), fb.ones(3, 2, 3, 3)).shape == (size, 3, 2, 2)
    assert fb.conv1d(fb.ones(2, 4), fb.ones(3, 2, 2)).tolist() == [[4.0] * 3] * 3
    assert fb.conv2d(fb.ones(1, 1, 3, 3, dtype=fb.int64), fb.ones(1, 1, 2, 2, dtype=fb.int64)).tolist() == [
        [[[4, 4], [4, 4]]]
    ]


def test_c19_windows_as_columns_are_memory_of_their_own() -> None:
    x = fb.ones(1, 2, 3, 3)
    columns = fb.nn.functional.unfold(x, 1)
    columns.zero_()
    assert x.sum().item() == 18
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        fb.conv2d(fb.ones(1, 1, 2, 2), fb.ones(1, 1, 3, 3))


def layer(kind: str, **options: Any) -> Any:
    fb.manual_seed(3)
    return getattr(fb.nn, kind)(5, 6, **options)


@pytest.mark.parametrize("dtype", [fb.float32, fb.float64])
@pytest.mark.parametrize(
    "options",
    [{}, {"bias": False}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}],
    ids=["plain", "no bias", "two layers both ways", "batch first"],
)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "RNN relu", "LSTM projected"])
def test_c19_recurrent_layers_on_arrays_do_what_the_operators_do(kind: str, options: Any, dtype: Any) -> None:
    name, _, more = kind.partition(" ")
    extra = {"relu": {"nonlinearity": "relu"}, "projected": {"proj_size": 3}}.get(more, {})
    model = layer(name, **options, **extra).to(dtype)
    x = fb.randn(7, 4, 5, dtype=dtype) * 30
    with fb.no_grad():
        quick = model(x)
        with dispatch.intercepting(lambda d, a, proceed: proceed(a)):
            parts = model(x)
    tolerance = 1e-5 if dtype is fb.float32 else 1e-12
    for a, b in zip(_tensors(quick), _tensors(parts), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), tolerance, tolerance)


def _tensors(result: Any) -> list[Any]:
    return [result] if isinstance(result, fb.Tensor) else [t for part in result for t in _tensors(part)]


def test_c19_a_recurrent_layer_leaves_its_arguments_alone() -> None:
    model = layer("LSTM")
    x, h, c = fb.randn(3, 2, 5), fb.randn(1, 2, 6), fb.randn(1, 2, 6)
    before = [t.tolist() for t in (x, h, c)]
    with fb.no_grad():
        output, (last, _) = model(x, (h, c))
    assert [t.tolist() for t in (x, h, c)] == before
    assert output[-1].tolist() == last[0].tolist()


def test_c19_sigmoid_of_arrays_is_accurate_far_out() -> None:
    x = np.array([-1000.0, -100.0, -90.0, -1.5, -0.0, 0.0, 2.0, 90.0, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        made = recurrent_arrays.sigmoid(x)
    assert made.tobytes() == fb.tensor(x).sigmoid().numpy().tobytes()


def test_c19_a_step_of_an_lstm_takes_few_calls() -> None:
    model = layer("LSTM")
    entered = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    def calls(steps: int) -> int:
        """Of Python functions."""
        nonlocal entered
        x = fb.randn(steps, 4, 5)
        with fb.no_grad():
            model(x)
            entered = 0
            sys.setprofile(count)
            try:
                model(x)
            finally:
                sys.setprofile(None)
        return entered

    assert calls(100) - calls(50) < 50 * 10


def test_c19_recurrent_layers_of_empty_batches() -> None:
    for kind in ("LSTM", "GRU", "RNN"):
        output, last = layer(kind)(fb.zeros(3, 0, 5))
        assert output.shape == (3, 0, 6)
        assert (last[0] if isinstance(last, tuple) else last).shape == (1, 0, 6)
