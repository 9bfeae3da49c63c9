"""Quantised tensors and the operators on them, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor.quantized import QuantizedTensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.05, 0.15, 0.25, -0.05, 1e30, -1e30, 2.35, -2.45]


def floats(*sizes: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=sizes).astype(np.float32)


def both(x: np.ndarray[Any, Any], scale: float = 0.05, zero: int = 3, dtype: str = "quint8") -> tuple[Any, Any]:
    mine = flambeau.quantize_per_tensor(flambeau.from_numpy(x), scale, zero, getattr(flambeau, dtype))
    return mine, torch.quantize_per_tensor(torch.from_numpy(x), scale, zero, getattr(torch, dtype))


def by_channel(x: np.ndarray[Any, Any], dtype: str = "qint8") -> tuple[Any, Any]:
    count = x.shape[0]
    scales, zeros = np.linspace(0.01, 0.03, count), np.zeros(count, np.int64)
    mine = flambeau.quantize_per_channel(
        flambeau.from_numpy(x), flambeau.from_numpy(scales), flambeau.from_numpy(zeros), 0, getattr(flambeau, dtype)
    )
    theirs = torch.quantize_per_channel(
        torch.from_numpy(x), torch.from_numpy(scales), torch.from_numpy(zeros), 0, getattr(torch, dtype)
    )
    return mine, theirs


def same(mine: Any, theirs: Any, distance: int = 0) -> None:
    """The same dtype, scheme and integers, or ones so far apart."""
    if isinstance(mine, tuple):
        for a, b in zip(mine, theirs, strict=True):
            same(a, b, distance)
        return
    if not isinstance(mine, QuantizedTensor):
        np.testing.assert_allclose(np.asarray(mine), theirs.numpy(), rtol=1e-5, atol=1e-6)
        return
    assert str(mine.dtype).removeprefix("flambeau.") == str(theirs.dtype).removeprefix("torch.")
    assert mine.shape == tuple(theirs.shape)
    if str(theirs.qscheme()) == "torch.per_tensor_affine":
        assert mine.q_scale() == pytest.approx(theirs.q_scale(), rel=1e-6)
        assert mine.q_zero_point() == theirs.q_zero_point()
    apart = np.abs(mine.int_repr().numpy().astype(np.int64) - theirs.int_repr().numpy().astype(np.int64))
    assert apart.max(initial=0) <= distance


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint32"])
@pytest.mark.parametrize("scale", [0.1, 0.03, 1.0, 7e-5])
def test_values_are_rounded_and_cut_off_alike(dtype: str, scale: float) -> None:
    x = np.array(SPECIAL + list(floats(50) * 3), np.float32)
    if dtype == "qint32":
        x = x[np.abs(x) < 1e9]  # beyond, PyTorch's conversion of floats is not defined
    mine, theirs = both(x, scale, 5, dtype)
    same(mine, theirs)
    np.testing.assert_array_equal(mine.dequantize().numpy(), theirs.dequantize().numpy())


def test_scales_per_channel() -> None:
    mine, theirs = by_channel(floats(4, 3))
    same(mine, theirs)
    np.testing.assert_array_equal(mine.dequantize().numpy(), theirs.dequantize().numpy())
    assert mine.q_per_channel_axis() == 0
    assert mine.qscheme() is flambeau.per_channel_affine
    np.testing.assert_array_equal(mine.q_per_channel_scales().numpy(), theirs.q_per_channel_scales().numpy())
    assert mine.q_per_channel_zero_points().tolist() == [0, 0, 0, 0]


def test_zero_points_of_floats_per_channel() -> None:
    x, scales, zeros = floats(3, 4), np.float32([0.01, 0.02, 0.03]), np.float32([3.5, 100.25, 7.0])
    mine = flambeau.quantize_per_channel(*map(flambeau.from_numpy, (x, scales, zeros)), 0, flambeau.quint8)
    theirs = torch.quantize_per_channel(*map(torch.from_numpy, (x, scales, zeros)), 0, torch.quint8)
    same(mine, theirs)
    np.testing.assert_allclose(mine.dequantize().numpy(), theirs.dequantize().numpy(), rtol=1e-6)


ON_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "relu": lambda f, x: f.relu(x),
    "relu_": lambda f, x: x.clone().relu_(),
    "view": lambda f, x: x.view(-1),
    "select": lambda f, x: x[1],
    "slice": lambda f, x: x[:, 1:],
    "permute": lambda f, x: x.permute(1, 0),
    "reshape": lambda f, x: x.permute(1, 0).reshape(-1),
    "contiguous": lambda f, x: x.permute(1, 0).contiguous(),
    "cat": lambda f, x: f.cat([x, x], 1),
    "stack": lambda f, x: f.stack([x, x]),
    "flip": lambda f, x: f.flip(x, [0]),
    "repeat": lambda f, x: x.repeat(2, 1),
    "max": lambda f, x: x.max(),
    "sort": lambda f, x: next(iter(x[0].sort())),
    "topk": lambda f, x: next(iter(x[0].topk(2))),
    "index_select": lambda f, x: x.index_select(0, f.tensor([1, 0])),
    "clamp": lambda f, x: x.clamp(-0.5, 0.7),
    "hardtanh": lambda f, x: f.nn.functional.hardtanh(x),
    "relu6": lambda f, x: f.nn.functional.relu6(x),
    "leaky_relu": lambda f, x: f.nn.functional.leaky_relu(x, 0.1),
    "sigmoid": lambda f, x: f.sigmoid(x),
    "tanh": lambda f, x: f.tanh(x),
    "hardsigmoid": lambda f, x: f.nn.functional.hardsigmoid(x),
    "threshold": lambda f, x: f.nn.functional.threshold(x, 0.5, 0.0),
    "eq": lambda f, x: x == x,
    "gt": lambda f, x: x > x.view(-1)[0],
    "item": lambda f, x: f.tensor(x.view(-1)[0].item()),
    "fill_": lambda f, x: x.clone().fill_(1.0),
    "copy_": lambda f, x: x.clone().copy_(f.ones(3, 4)),
    "equal": lambda f, x: f.tensor(x.equal(x)),
    "mean": lambda f, x: x.mean(),
    "is_quantized": lambda f, x: f.tensor(x.is_quantized),
    "avg_pool": lambda f, x: f.nn.functional.avg_pool2d(x[None, None], 2),
    "adaptive_avg_pool": lambda f, x: f.nn.functional.adaptive_avg_pool2d(x[None, None], 2),
    "max_pool": lambda f, x: f.nn.functional.max_pool2d(x[None, None], 2),
}


@pytest.mark.parametrize("name", ON_ONE)
@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
def test_operators_of_one_tensor(name: str, dtype: str) -> None:
    mine, theirs = both(floats(3, 4), dtype=dtype)
    run = ON_ONE[name]
    same(run(flambeau, mine), run(torch, theirs), 1 if name in ("mean", "avg_pool", "adaptive_avg_pool") else 0)


WITH_RESULT: dict[str, tuple[Any, ...]] = {
    "add": (0.07, 10), "add_relu": (0.07, 10), "mul": (0.02, 30), "mul_relu": (0.02, 30),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_RESULT)
def test_arithmetic(name: str) -> None:
    (a, ta), (b, tb) = both(floats(5, 6)), both(floats(5, 6, seed=1), 0.04, 20)
    mine = getattr(flambeau.ops.quantized, name)(a, b, *WITH_RESULT[name])
    same(mine, getattr(torch.ops.quantized, name)(ta, tb, *WITH_RESULT[name]), 1)


@pytest.mark.parametrize("name", ["add_scalar", "mul_scalar", "add_scalar_relu", "mul_scalar_relu"])
@pytest.mark.parametrize("number", [0.5, -0.5, 1000.0, -1000.0, 0.0])
def test_arithmetic_with_a_number(name: str, number: float) -> None:
    mine, theirs = both(floats(5, 6))
    same(getattr(flambeau.ops.quantized, name)(mine, number), getattr(torch.ops.quantized, name)(theirs, number), 1)


def test_joins_and_activations() -> None:
    (a, ta), (b, tb) = both(floats(5, 6)), both(floats(5, 6, seed=1), 0.04, 20)
    for name in ("cat", "cat_relu"):
        same(
            getattr(flambeau.ops.quantized, name)([a, b], 0, 0.06, 12),
            getattr(torch.ops.quantized, name)([ta, tb], 0, 0.06, 12),
            1,
        )
    same(flambeau.ops.quantized.hardswish(a, 0.06, 12), torch.ops.quantized.hardswish(ta, 0.06, 12), 1)
    same(
        flambeau.ops.quantized.leaky_relu(a, 0.2, False, 0.06, 12),
        torch.ops.quantized.leaky_relu(ta, 0.2, False, 0.06, 12),
        1,
    )
    same(flambeau.ops.quantized.clamp(a, -0.2, 0.4), torch.ops.quantized.clamp(ta, -0.2, 0.4))


@pytest.mark.parametrize("is_by_channel", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_linear_layers(is_by_channel: bool, has_bias: bool) -> None:
    # Weights of 6 bits: without VNNI, PyTorch adds pairs of products in 16 bits, where larger ones saturate.
    x, w, b = floats(7, 16), floats(9, 16, seed=1) * np.float32(0.15), floats(9, seed=2)
    mine, theirs = both(x)
    weight, their_weight = by_channel(w) if is_by_channel else both(w, 0.02, 0, "qint8")
    bias, their_bias = (flambeau.from_numpy(b), torch.from_numpy(b)) if has_bias else (None, None)
    packed = flambeau.ops.quantized.linear_prepack(weight, bias)
    their_packed = torch.ops.quantized.linear_prepack(their_weight, their_bias)
    for name in ("linear", "linear_relu"):
        result = getattr(flambeau.ops.quantized, name)(mine, packed, 0.2, 60)
        same(result, getattr(torch.ops.quantized, name)(theirs, their_packed, 0.2, 60), 1)
    for name in ("linear_dynamic", "linear_relu_dynamic"):
        result = getattr(flambeau.ops.quantized, name)(flambeau.from_numpy(x), packed)
        expected = getattr(torch.ops.quantized, name)(torch.from_numpy(x), their_packed)
        np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
    same(flambeau.ops.quantized.linear_unpack(packed)[0], torch.ops.quantized.linear_unpack(their_packed)[0])


def test_linear_layers_of_half_precision() -> None:
    x, w, b = floats(3, 5), floats(4, 5, seed=1), floats(4, seed=2)
    packed = flambeau.ops.quantized.linear_prepack_fp16(flambeau.from_numpy(w), flambeau.from_numpy(b))
    theirs = torch.ops.quantized.linear_prepack_fp16(torch.from_numpy(w), torch.from_numpy(b))
    result = flambeau.ops.quantized.linear_dynamic_fp16(flambeau.from_numpy(x), packed)
    expected = torch.ops.quantized.linear_dynamic_fp16(torch.from_numpy(x), theirs)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("is_by_channel", [False, True])
def test_convolutions(dims: int, groups: int, is_by_channel: bool) -> None:
    x, w, b = floats(2, 4, *[6] * dims), floats(8, 4 // groups, *[3] * dims, seed=1), floats(8, seed=2)
    (mine, theirs), (weight, their_weight) = both(x), by_channel(w) if is_by_channel else both(w, 0.02, 0, "qint8")
    numbers = [2] * dims, [1] * dims, [1] * dims, groups
    prepack = f"conv{dims}d_prepack"
    packed = getattr(flambeau.ops.quantized, prepack)(weight, flambeau.from_numpy(b), *numbers)
    for name in (f"conv{dims}d", f"conv{dims}d_relu"):  # one packed weight each: PyTorch keeps what its first call was
        their_packed = getattr(torch.ops.quantized, prepack)(their_weight, torch.from_numpy(b), *numbers)
        result = getattr(flambeau.ops.quantized, name)(mine, packed, 0.3, 50)
        expected = getattr(torch.ops.quantized, name)(theirs, their_packed, 0.3, 50)
        same(result, expected, 1)
        assert result.stride() == expected.stride()
    unpacked = getattr(flambeau.ops.quantized, f"conv{dims}d_unpack")(packed)
    assert unpacked[0].equal(weight)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolutions(dims: int) -> None:
    x, w = floats(2, 4, *[5] * dims), floats(4, 4, *[3] * dims, seed=1)
    (mine, theirs), (weight, their_weight) = both(x), both(w, 0.02, 0, "qint8")
    numbers = [2] * dims, [1] * dims, [1] * dims, [1] * dims, 1
    prepack = f"conv_transpose{dims}d_prepack"
    packed = getattr(flambeau.ops.quantized, prepack)(weight, None, *numbers)
    their_packed = getattr(torch.ops.quantized, prepack)(their_weight, None, *numbers)
    result = getattr(flambeau.ops.quantized, f"conv_transpose{dims}d")(mine, packed, 0.3, 50)
    same(result, getattr(torch.ops.quantized, f"conv_transpose{dims}d")(theirs, their_packed, 0.3, 50), 1)


def test_norms() -> None:
    mine, theirs = both(floats(2, 4, 5, 5))
    parts = [floats(4, seed=n) for n in range(3)] + [np.abs(floats(4, seed=3)) + 0.5]
    ours, others = map(flambeau.from_numpy, parts), map(torch.from_numpy, parts)
    same(
        flambeau.ops.quantized.batch_norm2d(mine, *ours, 1e-5, 0.1, 60),
        torch.ops.quantized.batch_norm2d(theirs, *others, 1e-5, 0.1, 60),
        1,
    )
    weight, bias = parts[0], parts[1]
    for name, more in (("instance_norm", ()), ("group_norm", (2,))):
        same(
            getattr(flambeau.ops.quantized, name)(
                mine, *more, flambeau.from_numpy(weight), flambeau.from_numpy(bias), 1e-5, 0.05, 100
            ),
            getattr(torch.ops.quantized, name)(
                theirs, *more, torch.from_numpy(weight), torch.from_numpy(bias), 1e-5, 0.05, 100
            ),
            1,
        )
    same(
        flambeau.ops.quantized.layer_norm(mine, [5, 5], None, None, 1e-5, 0.05, 100),
        torch.ops.quantized.layer_norm(theirs, [5, 5], None, None, 1e-5, 0.05, 100),
        1,
    )


def packed_linear(f: Any, rows: int, columns: int, seed: int) -> Any:
    weight = f.quantize_per_tensor(f.from_numpy(floats(rows, columns, seed=seed) / 4), 0.01, 0, f.qint8)
    return f.ops.quantized.linear_prepack(weight, f.from_numpy(floats(rows, seed=seed + 1)))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers(kind: str, bidirectional: bool, batch_first: bool) -> None:
    hidden, gates, directions = 5, 4 if kind == "lstm" else 3, 2 if bidirectional else 1

    def run(f: Any, packed: bool) -> Any:
        cells = []
        for layer in range(2):
            for direction in range(directions):
                width = 3 if layer == 0 else hidden * directions
                of_input = packed_linear(f, gates * hidden, width, layer * 7 + direction)
                of_state = packed_linear(f, gates * hidden, hidden, layer * 7 + direction + 3)
                biases = [f.zeros(gates * hidden)] * 2
                cells.append(f.ops.quantized.make_quantized_cell_params_dynamic(of_input, of_state, *biases, False))
        state = f.from_numpy(floats(2 * directions, 4, hidden, seed=9))
        settings = (cells, True, 2, 0.0, False, bidirectional)
        hx = [state, state] if kind == "lstm" else state
        layer_of = getattr(f.ops.aten, f"quantized_{kind}")
        if packed:
            sizes = f.tensor([4, 3, 1])
            return layer_of(f.from_numpy(floats(8, 3, seed=8)), sizes, hx, *settings)
        return layer_of(f.from_numpy(floats(4, 4, 3, seed=8)), hx, *settings, batch_first)

    for packed in (False, True):
        for mine, theirs in zip(run(flambeau, packed), run(torch, packed), strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_recurrent_cells(kind: str) -> None:
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)

    def run(f: Any) -> Any:
        packed = packed_linear(f, gates * 5, 3, 1), packed_linear(f, gates * 5, 5, 2)
        state = f.from_numpy(floats(4, 5, seed=3))
        step = getattr(f.ops.quantized, f"quantized_{kind}_cell_dynamic")
        biases = [f.zeros(gates * 5)] * 2
        return step(f.from_numpy(floats(4, 3)), [state, state] if kind == "lstm" else state, *packed, *biases)

    same(run(flambeau), run(torch))


def test_embeddings() -> None:
    def run(f: Any) -> Any:
        scales, zeros = f.from_numpy(np.float32([0.02, 0.03, 0.04])), f.from_numpy(np.float32([90.5, 100.0, 110.25]))
        rows = f.quantize_per_channel(f.from_numpy(floats(3, 4)), scales, zeros, 0, f.quint8)
        return f.ops.quantized.embedding_byte(f.ops.quantized.embedding_bag_prepack(rows), f.tensor([2, 0, 1, 2]))

    same(run(flambeau), run(torch))


@pytest.mark.parametrize("is_by_channel", [False, True])
def test_numbers_rounded_as_if_quantised(is_by_channel: bool) -> None:
    def run(f: Any) -> Any:
        x = f.from_numpy(floats(3, 4) * 4).requires_grad_()
        if is_by_channel:
            settings = f.from_numpy(np.float32([0.1, 0.2, 0.3])), f.from_numpy(np.int32([0, 5, 9])), 0, 0, 15
            y = f.fake_quantize_per_channel_affine(x, *settings)
        else:
            y = f.fake_quantize_per_tensor_affine(x, 0.1, 5, -20, 20)
        y.backward(f.arange(12.0).reshape(3, 4))
        return y.detach(), x.grad

    same(run(flambeau), run(torch))


def test_programs_quantise_within() -> None:
    @flambeau.script
    def program(x: flambeau.Tensor, scale: float) -> flambeau.Tensor:
        q = flambeau.quantize_per_tensor(x, scale, 3, flambeau.quint8)
        if q.is_quantized:
            q = q.relu()
        return q.dequantize() * 2 + flambeau.ops.quantized.add(q, q, 0.1, 0).dequantize()

    x = floats(3, 4)
    q = torch.quantize_per_tensor(torch.from_numpy(x), 0.05, 3, torch.quint8).relu()
    expected = q.dequantize() * 2 + torch.ops.quantized.add(q, q, 0.1, 0).dequantize()
    for _ in range(3):
        np.testing.assert_allclose(program(flambeau.from_numpy(x), 0.05).numpy(), expected.numpy(), rtol=1e-6)
    mine, _ = both(x)
    assert flambeau.script(lambda_of_sum)(mine).tolist() == pytest.approx(float(mine.dequantize().sum()))


def lambda_of_sum(x: flambeau.Tensor) -> flambeau.Tensor:
    return x.dequantize().sum()


def test_copies_are_quantised() -> None:
    mine, theirs = both(floats(3, 4))
    for other in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), mine.clone()):
        same(other, theirs)
    packed = flambeau.ops.quantized.linear_prepack(both(floats(2, 3), 0.1, 0, "qint8")[0], None)
    again = pickle.loads(pickle.dumps(packed))
    assert flambeau.ops.quantized.linear_unpack(again)[0].equal(flambeau.ops.quantized.linear_unpack(packed)[0])
    assert not mine.equal(mine.dequantize())
    assert not mine.equal(both(floats(3, 4), 0.06)[0])


def test_what_is_shown() -> None:
    text = repr(both(np.float32([0.5, -1.0]), 0.5, 10)[0])
    assert text == (
        "tensor([ 0.5000, -1.0000], size=(2,), dtype=flambeau.quint8, "
        "quantization_scheme=flambeau.per_tensor_affine, scale=0.5, zero_point=10)"
    )
    assert "scale=tensor([0.0100, 0.0300]" in repr(by_channel(floats(2, 3))[0])


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "sum": (lambda q: q + 1, NotImplementedError, "aten::add has no kernel for tensors of flambeau.quint8"),
    "exp": (lambda q: q.exp(), NotImplementedError, "compute with x.dequantize()"),
    "array": (lambda q: q.numpy(), TypeError, "is no array of numbers: take t.dequantize() or t.int_repr()"),
    "list": (lambda q: q.tolist(), TypeError, "is no array of numbers"),
    "sign": (lambda q: q.is_signed(), RuntimeError, "is not asked: take t.int_repr()"),
    "float": (lambda q: q.float(), RuntimeError, "is not converted to another dtype: call dequantize() first"),
    "copy": (lambda q: flambeau.ones(3, 4).copy_(q), RuntimeError, "dequantize() it first"),
    "join": (lambda q: flambeau.cat([q, both(floats(3, 4), 0.5)[0]]), RuntimeError, "of one dtype, scale and zero"),
    "clamp": (lambda q: q.clamp(flambeau.ones(4)), NotImplementedError, "has no kernel"),
    "channels": (lambda q: by_channel(floats(2, 3))[0].t(), RuntimeError, "channels may lie elsewhere in its result"),
    "dtypes": (
        lambda q: flambeau.ops.quantized.add(q, both(floats(3, 4), dtype="qint8")[0], 0.1, 0),
        RuntimeError,
        "takes two tensors of one dtype",
    ),
    "other dtype": (
        lambda q: q.clone().copy_(both(floats(3, 4), dtype="qint8")[0]), RuntimeError, "only works with same quantized"
    ),
    "rank": (
        lambda q: flambeau.ops.quantized.conv2d(
            q,
            flambeau.ops.quantized.conv2d_prepack(
                both(floats(2, 2, 1, 1), 0.1, 0, "qint8")[0], None, [1, 1], [0, 0], [1, 1], 1
            ),
            0.1,
            0,
        ),
        RuntimeError,
        "takes a tensor of 4 dimensions",
    ),
    "double": (
        lambda q: flambeau.ops.quantized.linear_dynamic(
            flambeau.ones(2, 3).double(), packed_linear(flambeau, 2, 3, 0)
        ),
        RuntimeError,
        "takes a tensor of float32",
    ),
    "scalar": (lambda q: flambeau.ones(2).qscheme(), NotImplementedError, "asks a quantised tensor"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error) as caught:
        call(both(floats(3, 4))[0])
    assert message in str(caught.value)
