"""Rows, normalisation, losses, convolutions, pools, padding and attention: layouts, halves, running statistics,
refusals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from tests.ops import peer


def pair(*shape: int, dtype: str = "float32", low: float = -2.0) -> tuple[Any, Any]:
    """The same numbers for both packages."""
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    array = ((np.arange(np.prod(shape)) * 37 % 23) / 6 + low).reshape(shape).astype(dtype)
    return flambeau.from_numpy(array), torch.from_numpy(array.copy())


def same(name: str, *shapes: tuple[int, ...], **options: Any) -> None:
    """A function of nn.functional on float32 arguments of these shapes, and PyTorch's."""
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

    pairs = [pair(*s) for s in shapes]
    wanted = getattr(torch.nn.functional, name)(*(p[1] for p in pairs), **options)
    peer.assert_same(getattr(F, name)(*(p[0] for p in pairs), **options), wanted, rtol=1e-4, atol=1e-4)


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return flambeau.from_numpy(np.ones(shape, dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_in_every_float(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

    mine, yours = pair(3, 5, dtype=dtype)
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    wanted = getattr(torch, name)(yours, 1)
    peer.assert_same(getattr(flambeau, name)(mine, 1), wanted, rtol=tolerance, atol=tolerance)


def test_softmax_of_huge_and_hidden_rows() -> None:
    rows = flambeau.from_numpy(np.array([[3e38, 3e38], [-np.inf, 0], [-np.inf, -np.inf]], np.float32))
    got = flambeau.softmax(rows, 1).numpy()
    np.testing.assert_array_equal(got[:2], [[0.5, 0.5], [0, 1]])
    assert np.isnan(got[2]).all()


def test_softmax_computes_in_the_dtype_asked_for() -> None:
    ints = flambeau.from_numpy(np.array([1, 2, 3]))
    assert flambeau.softmax(ints, 0, dtype=flambeau.float64).dtype is flambeau.float64


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 2)])
def test_batch_norm_updates_running_statistics(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, yours = pair(*shape)
    mean, var = np.zeros(3, np.float32), np.ones(3, np.float32)
    kept = flambeau.from_numpy(mean.copy()), flambeau.from_numpy(var.copy())
    theirs = torch.from_numpy(mean), torch.from_numpy(var)
    wanted = torch.nn.functional.batch_norm(yours, *theirs, training=True)
    version = kept[0]._version
    peer.assert_same(F.batch_norm(mine, *kept, training=True), wanted, rtol=1e-4)
    peer.assert_same(list(kept), list(theirs))
    assert kept[0]._version > version


def test_convolution_keeps_channels_last() -> None:
    x = ones(1, 3, 4, 4).contiguous(memory_format=flambeau.channels_last)
    assert F.conv2d(x, ones(2, 3, 3, 3)).is_contiguous(memory_format=flambeau.channels_last)


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}, {"padding": "same"}]
)
def test_conv2d(options: dict[str, Any]) -> None:
    same("conv2d", (2, 4, 6, 5), (6, 4 // options.get("groups", 1), 3, 2), (6,), **options)


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"stride": 2, "output_padding": 1}]
)
def test_conv_transpose2d(options: dict[str, Any]) -> None:
    same("conv_transpose2d", (2, 4, 3, 5), (4, 3, 3, 2), (3,), **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div"])
@pytest.mark.filterwarnings("ignore:reduction:UserWarning")
def test_losses(name: str, reduction: str) -> None:
    same(name, (3, 4), (3, 4), reduction=reduction)


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_slopes_of_losses_that_become_straight(name: str) -> None:
    """Far away, at an infinite distance too, the gradient is the slope; at the corner both sides agree."""
    x = flambeau.tensor([np.inf, -np.inf, 3.0, -3.0, 1.0, -1.0, 0.25, 0.0, np.nan], requires_grad=True)
    loss = getattr(F, name)(x, flambeau.zeros(9), reduction="none")
    loss.sum().backward()
    np.testing.assert_array_equal(loss.detach(), [np.inf, np.inf, 2.5, 2.5, 0.5, 0.5, 0.03125, 0.0, np.nan])
    np.testing.assert_array_equal(x.grad, [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.25, 0.0, np.nan])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "area"])
@pytest.mark.parametrize("size", [(5, 7), (2, 2), (4, 3)])
def test_interpolate(mode: str, size: tuple[int, int]) -> None:
    same("interpolate", (1, 2, 4, 3), size=size, mode=mode)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    same("scaled_dot_product_attention", (2, 3, 4), (2, 5, 4), (2, 5, 4), is_causal=causal)


def test_rows_that_may_look_at_nothing_give_zeros() -> None:
    hidden = flambeau.from_numpy(np.zeros((2, 2), np.bool_))
    got = F.scaled_dot_product_attention(ones(2, 3), ones(2, 3), ones(2, 3), attn_mask=hidden)
    assert got.tolist() == [[0.0] * 3] * 2


REFUSED = [
    (
        "softmax",
        (ones(2, 2, dtype=np.int64), 0),
        NotImplementedError,
        "\"softmax_kernel_impl\" not implemented for 'Long'",
    ),
    (
        "log_softmax",
        (ones(2, dtype=np.int64), 0),
        NotImplementedError,
        '"log_softmax_lastdim_kernel_impl" not implemented',
    ),
    ("layer_norm", (ones(2, 3), [3], ones(2)), RuntimeError, "Expected weight to be of same shape as normalized_shape"),
    ("layer_norm", (ones(2, 3), []), RuntimeError, "Expected normalized_shape to be at least 1-dimensional"),
    (
        "layer_norm",
        (ones(2, 3), [3], ones(3, dtype=np.float64)),
        RuntimeError,
        "mixed dtype (CPU): expect parameter to have",
    ),
    (
        "group_norm",
        (ones(2, 4, 2), 2, ones(3)),
        RuntimeError,
        "Expected weight to be a vector of size equal to the number of",
    ),
    ("batch_norm", (ones(2, 3), ones(2), ones(2)), RuntimeError, "running_mean should contain 3 elements not 2"),
    (
        "batch_norm",
        (ones(1, 3), None, None, None, None, True),
        ValueError,
        "Expected more than 1 value per channel when training",
    ),
    (
        "conv2d",
        (ones(3, 4), ones(2, 4, 3, 3)),
        RuntimeError,
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got",
    ),
    ("conv1d", (ones(1, 3, 4), ones(2, 3, 3), None, 0), RuntimeError, "non-positive stride is not supported"),
    ("conv1d", (ones(1, 3, 4), ones(2, 3, 3), None, 1, -1), RuntimeError, "negative padding is not supported"),
    (
        "conv1d",
        (ones(1, 3, 4), ones(2, 3, 3), ones(3)),
        RuntimeError,
        "expected bias to be 1-dimensional with 2 elements",
    ),
    (
        "conv1d",
        (ones(1, 3, 4), ones(2, 3, 3, dtype=np.float64)),
        RuntimeError,
        "expected scalar type Float but found Double",
    ),
    (
        "conv1d",
        (ones(1, 4, 4), ones(2, 4, 3), None, 2, "same"),
        RuntimeError,
        "padding='same' is not supported for strided",
    ),
    (
        "conv_transpose1d",
        (ones(1, 3, 4), ones(2, 3, 3)),
        RuntimeError,
        "Given transposed=1, weight of size [2, 3, 3], expected",
    ),
    ("max_pool2d", (ones(1, 1, 4, 4), 2, None, 2), RuntimeError, "pad should be at most half of effective kernel size"),
    ("max_pool2d", (ones(2, 2), 2), RuntimeError, "non-empty 3D or 4D (batch mode) tensor expected for input"),
    ("max_pool1d", (ones(1, 1, 2), 0), RuntimeError, "max_pool1d() kernel_size must be greater than zero, but got 0"),
    ("avg_pool2d", (ones(1, 4, 4), 2, [], 0, False, True, 0), RuntimeError, "divisor must be not zero"),
    (
        "adaptive_avg_pool2d",
        (ones(1, 4, 4), (-2, 2)),
        RuntimeError,
        "elements of output_size must be greater than or equal to 0",
    ),
    (
        "embedding",
        (ones(1), ones(3, 2)),
        RuntimeError,
        "Expected tensor for argument #1 'indices' to have one of the following",
    ),
    (
        "one_hot",
        (flambeau.from_numpy(np.array([5])), 3),
        RuntimeError,
        "Class values must be smaller than num_classes.",
    ),
    (
        "cross_entropy",
        (ones(2, 3), flambeau.from_numpy(np.array([0]))),
        ValueError,
        "Expected input batch_size (2) to match",
    ),
    ("nll_loss", (ones(2, 3), flambeau.from_numpy(np.array([0, 5]))), IndexError, "Target 5 is out of bounds."),
    (
        "huber_loss",
        (ones(2), ones(2), "mean", 0.0),
        RuntimeError,
        "huber_loss does not support non-positive values for delta.",
    ),
    *[
        (
            name,
            (flambeau.ones(2, dtype=flambeau.complex64), flambeau.ones(2, dtype=flambeau.complex64)),
            NotImplementedError,
            f"\"{kernel}\" not implemented for 'ComplexFloat'",
        )
        for name, kernel in (("huber_loss", "huber_cpu"), ("smooth_l1_loss", "smooth_l1_cpu"))
    ],
    ("mse_loss", (ones(2), ones(2), None, None, "avg"), ValueError, "avg is not a valid value for reduction"),
    (
        "interpolate",
        (ones(1, 1, 4), None, 2.0, "bilinear"),
        NotImplementedError,
        "Got 3D input, but bilinear mode needs 4D input",
    ),
    ("pixel_shuffle", (ones(1, 3, 2, 2), 2), RuntimeError, "input.size(-3)=3 is not divisible by 4"),
    (
        "scaled_dot_product_attention",
        (ones(2, 3), ones(2, 3), ones(2, 3), ones(2, 2), 0.0, True),
        RuntimeError,
        "Explicit attn_mask should not be set when is_causal=True",
    ),
]


@pytest.mark.parametrize(("name", "args", "error", "text"), REFUSED)
def test_refusals(name: str, args: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        getattr(F, name)(*args)
    assert text in str(caught.value)
