"""Kernels on halves: what float32 gives for the same numbers, rounded once, by the native code of float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ops.families.arrays import MANY_HALVES, rounded, widened
from flambeau.ops.families.half_precision import in_float32
from flambeau.tensor.dispatch import call
from flambeau.util import inversions

F = nn.functional
HALVES = (flambeau.float16, flambeau.bfloat16)
IMAGE = (3, 4, 9, 8)
RUNNING = (flambeau.zeros(4), flambeau.ones(4))


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    """Numbers that every half holds, among them equal ones."""
    return flambeau.tensor(np.random.default_rng(seed).integers(-16, 17, sizes).astype(np.float32) / 8)


def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.batch_norm(x, *[r.clone() for r in RUNNING], weight, bias, True)


CALLS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [IMAGE, (6, 4, 3, 3), (6,)]),
    "depthwise": (lambda x, w: F.conv2d(x, w, stride=2, groups=4), [IMAGE, (4, 1, 3, 3)]),
    "conv1d same": (lambda x, w: F.conv1d(x, w, padding="same"), [(2, 4, 9), (3, 4, 3)]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [IMAGE, (4, 3, 2, 2)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [IMAGE]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), [(2, 3, 8)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [IMAGE]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), [IMAGE]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), [IMAGE]),
    "batch_norm": (norm, [IMAGE, (4,), (4,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [IMAGE, (4,), (4,)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (8,), w, b), [(5, 8), (8,), (8,)]),
    "topk": (lambda x: x.topk(3)[0], [(5, 40)]),
    "index_add": (lambda x: flambeau.zeros(3, 8, dtype=x.dtype).index_add(0, flambeau.arange(5) % 3, x), [(5, 8)]),
    "scatter_add": (
        lambda x: flambeau.zeros(5, 8, dtype=x.dtype).scatter_add(1, flambeau.arange(40).reshape(5, 8) % 3, x),
        [(5, 8)],
    ),
    "rows": (lambda x: x[flambeau.tensor([0, 2, 2, 2, 4])], [(5, 8)]),
    "gather": (lambda x: x.gather(1, flambeau.arange(40).reshape(5, 8) % 3), [(5, 8)]),
}  # fmt: skip


def there_and_back(run: Callable[..., Any], operands: list[Tensor], slope: Tensor | None) -> list[Tensor]:
    """The result, and the gradients of all operands from a slope."""
    leaves = [x.detach().requires_grad_() for x in operands]
    result = run(*leaves)
    if slope is None:
        slope = numbers(*result.shape, seed=1)
    result.backward(slope.to(result.dtype))
    return [result.detach(), *[x.grad for x in leaves]]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_halves_are_what_float32_gives_rounded_once(name: str, dtype: Any) -> None:
    run, sizes = CALLS[name]
    operands = [numbers(*s, seed=k) for k, s in enumerate(sizes)]
    expected = there_and_back(run, operands, None)
    computed = there_and_back(run, [x.to(dtype) for x in operands], None)
    for one, other in zip(computed, expected, strict=True):
        assert one.dtype == dtype
        spacing = np.spacing(np.abs(other.numpy()).astype(np.float16)).astype(np.float64)
        error = np.abs(one.double().numpy() - other.double().numpy())
        roundings = 4 if name == "group_norm" else 1  # whose formula by the weight is several operators
        assert (error <= roundings * spacing * (1 if dtype == flambeau.float16 else 8) + 1e-6).all()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The dtypes of arrays that native code was asked to take."""
    seen: list[Any] = []
    names = (
        "CONVOLUTION", "CONVOLUTION_WEIGHT", "LARGEST_OF_WINDOWS", "WINDOWS", "CHANNEL_NORM", "GROUP_NORM",
        "NORM_GRADIENTS",
    )  # fmt: skip
    for name in names:
        inversion = getattr(inversions, name)
        implementation = inversion.implementation

        def look(*arguments: Any, _run: Any = implementation) -> Any:
            seen.extend([a.dtype for a in arguments if isinstance(a, np.ndarray)])
            return _run(*arguments)

        monkeypatch.setattr(inversion, "implementation", look)
    return seen


NATIVE = [
    "conv2d", "depthwise", "conv1d same", "conv_transpose2d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
    "batch_norm", "group_norm",
]  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", NATIVE)
def test_halves_ask_the_native_code_of_float32(name: str, dtype: Any, asked: list[Any]) -> None:
    run, sizes = CALLS[name]
    for size in (0, 1):  # other sizes than in any test before, as calls are remembered
        operands = [numbers(*s, seed=k).to(dtype) for k, s in enumerate(sizes)]
        operands[0] = flambeau.cat([operands[0]] * (17 + size + 2 * HALVES.index(dtype)), 0)
        there_and_back(run, operands, None)
    assert {str(dtype) for dtype in asked} | {"int64"} == {"float32", "int64"}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_weights_of_float32_beside_halves_have_gradients_of_float32(dtype: Any) -> None:
    x, slope = numbers(*IMAGE), numbers(*IMAGE, seed=1) + 0.125
    weight = flambeau.tensor([1.0, 0.3, 2.0, 0.7], requires_grad=True)
    bias = flambeau.zeros(4, requires_grad=True)
    norm(x.to(dtype), weight, bias).backward(slope.to(dtype))
    plain = weight.detach().clone().requires_grad_()
    norm(x, plain, bias.detach()).backward(slope)
    assert weight.grad.dtype == flambeau.float32
    assert weight.grad.numpy() == pytest.approx(plain.grad.numpy(), rel=1e-5)
    half, factor = numbers(64, 32).to(dtype), numbers(32) + 0.3
    parts = call("flambeau::layer_norm_gradients", half, half, factor, 1, 1e-5)
    expected = call("flambeau::layer_norm_gradients", half.float(), half.float(), factor, 1, 1e-5)
    assert [part.dtype for part in parts] == [dtype, flambeau.float32, flambeau.float32]
    assert parts[1].numpy() == pytest.approx(expected[1].numpy(), rel=1e-5)
    assert (parts[0] == expected[0].to(dtype)).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_many_numbers_are_converted_as_few_are(dtype: Any) -> None:
    values = np.random.default_rng(0).standard_normal(2 * MANY_HALVES).astype(np.float32)
    values *= np.exp(np.random.default_rng(1).uniform(-25, 12, values.size)).astype(np.float32)
    values[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-8, 3e38, -6.1e-5]
    with np.errstate(all="ignore"):
        halves = values.astype(dtype.numpy)
    assert rounded(values, dtype.numpy).tobytes() == halves.tobytes()
    assert rounded(values.reshape(2, -1).T, dtype.numpy).tobytes() == halves.reshape(2, -1).T.tobytes()
    assert widened(halves).tobytes() == halves.astype(np.float32).tobytes()


def test_other_floats_beside_halves_are_left_to_the_kernel() -> None:
    seen = []
    kernel = in_float32(lambda *arrays: seen.append([a.dtype.name for a in arrays]))
    half, single, places = np.ones(2, np.float16), np.ones(2, np.float32), np.ones(2, np.int64)
    for arrays in ((half, half), (half, single), (half, places), (single, half)):
        kernel(*arrays)
    assert seen == [["float32"] * 2, ["float16", "float32"], ["float32", "int64"], ["float32", "float16"]]
    with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
        F.conv1d(numbers(1, 2, 5).half(), numbers(1, 2, 3))
