"""What `nn.utils` does to modules: other tensors for a call, layers made one, shorter gradients, no first values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import utils
from flambeau.nn.modules.utils import _list_with_default
from tests.nn.peers import assert_close

call = utils.stateless.functional_call


def pair() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))


def test_other_tensors_for_one_call() -> None:
    model = pair().eval()
    zero = {"0.weight": flambeau.zeros(2, 2), "0.bias": flambeau.ones(2), "elsewhere": flambeau.ones(1)}
    before = model[0].weight
    assert call(model, zero, flambeau.ones(3, 2)).shape == (3, 2)
    assert_close(call(model, zero, (flambeau.ones(1, 2),)), model[1](flambeau.ones(1, 2)))
    assert model[0].weight is before
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        call(model, zero, flambeau.ones(1, 3))
    assert model[0].weight is before
    twin = nn.LSTM(2, 3)
    recurrent, x = nn.LSTM(2, 3), flambeau.randn(4, 1, 2)
    kept = recurrent(x)
    assert_close(call(recurrent, dict(twin.named_parameters()), x), twin(x))
    assert_close(recurrent(x), kept)


def test_tied_weights_go_together() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    eye, x = flambeau.eye(2), flambeau.randn(3, 2)
    assert_close(call(model, {"0.weight": eye}, x, strict=True), x)
    assert_close(call(model, {"0.weight": eye}, x, tie_weights=False), model[1](x))


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: call(pair(), {"x.y": flambeau.ones(1)}, (), strict=True), RuntimeError, r"Unexpected key\(s\): 'x.y'"),
        (lambda: call(pair(), {}, (), strict=True), RuntimeError, r"Missing key\(s\): '0.bias', '0.weight', '1.bias'"),
        (lambda: call(pair(), {"0.weight": 3}, ()), TypeError, "0.weight: 3 is not a Tensor"),
        (lambda: call(flambeau.script(pair()), {}, ()), RuntimeError, "can't be used with compiled modules"),
        (lambda: utils.skip_init(nn.ReLU), RuntimeError, "must support a 'device' arg"),
        (lambda: utils.skip_init(int), RuntimeError, "Expected a Module; got <class 'int'>"),
        (lambda: _list_with_default([None, 3], [4]), ValueError, "Input dimension should be at least 3"),
    ],
)
def test_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"])
@pytest.mark.parametrize(("has_bias", "is_affine"), [(True, True), (False, False), (True, False), (False, True)])
def test_convolutions_that_normalise(kind: str, has_bias: bool, is_affine: bool) -> None:
    dims = int(kind[-2])
    conv, norm = getattr(nn, kind)(2, 4, 3, bias=has_bias), getattr(nn, f"BatchNorm{dims}d")(4, affine=is_affine)
    norm(flambeau.randn([5, 4] + [4] * dims) * 3 + 1)
    if is_affine:
        norm.weight.data, norm.bias.data = flambeau.rand(4), flambeau.rand(4)
    conv.eval(), norm.eval()
    fused = utils.fuse_conv_bn_eval(conv, norm, "Transpose" in kind)
    x = flambeau.randn([2, 2] + [6] * dims)
    assert_close(fused(x), norm(conv(x)), 1e-4)
    assert type(fused) is type(conv)
    assert fused is not conv


def test_linear_layers_that_normalise() -> None:
    linear, norm = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4)
    norm(flambeau.randn(6, 4))
    fused = utils.fuse_linear_bn_eval(linear, norm.eval())
    x = flambeau.randn(2, 3)
    assert_close(flambeau.script(fused)(x), norm(linear(x)))
    for broken, text in [
        (nn.BatchNorm1d(4), "Fusion only for eval!"),
        (nn.BatchNorm1d(2).eval(), "got linear.out_features=4 and bn.num_features=2"),
        (nn.BatchNorm1d(4, track_running_stats=False).eval(), "running_mean and bn.running_var must not be None"),
    ]:
        with pytest.raises(AssertionError, match=text):
            utils.fuse_linear_bn_eval(linear, broken)


GRADIENTS = [[[1.0, -2.0], [3.0, 0.5]], [0.0, 4.0]]


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf"), 0.0, 3.0, float("-inf")])
@pytest.mark.parametrize("most", [0.5, 100.0])
@pytest.mark.parametrize("special", [None, float("nan"), float("inf")])
def test_norms_of_gradients(order: float, most: float, special: float | None) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    results = []
    for library in (flambeau, torch):
        model = library.nn.Linear(2, 2)
        model.weight.grad, model.bias.grad = (library.tensor(g) for g in GRADIENTS)
        if special is not None:
            model.bias.grad[0] = special
        total = library.nn.utils.clip_grad_norm_(model.parameters(), most, order)
        results.append([total, model.weight.grad, model.bias.grad])
    assert_close(*results)


def test_clipping() -> None:
    model = nn.Linear(2, 2)
    assert utils.clip_grad_norm_(model.parameters(), 1.0).item() == 0.0
    model.weight.grad = flambeau.tensor(GRADIENTS[0])
    utils.clip_grad_value_(model.parameters(), 1.5)
    assert model.weight.grad.tolist() == [[1.0, -1.5], [1.5, 0.5]]
    model.bias.grad = flambeau.tensor([1.0, float("inf")])
    with pytest.raises(RuntimeError, match=r"The total norm of order 2.0 .* is non-finite"):
        utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    assert utils.get_total_norm([]).item() == 0.0
    utils.clip_grads_with_norm_(model.weight, 1.0, flambeau.tensor(2.0))
    np.testing.assert_allclose(model.weight.grad.numpy()[0], [0.5, -0.75], rtol=1e-6)


def test_no_first_values() -> None:
    flambeau.manual_seed(1)
    expected = flambeau.rand(1)
    flambeau.manual_seed(1)
    layer = utils.skip_init(nn.Conv2d, 2, 3, 3)
    assert (layer.weight.shape, layer.bias.requires_grad) == ((3, 2, 3, 3), True)
    assert flambeau.equal(flambeau.rand(1), expected)
    assert nn.init.ones_(flambeau.empty(1)).item() == 1.0


def test_weights_laid_out_otherwise() -> None:
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Conv1d(2, 3, 3), nn.ConvTranspose2d(2, 3, 3))
    x, want = flambeau.randn(1, 2, 5, 5), model[0](flambeau.ones(1, 2, 5, 5))
    utils.convert_conv2d_weight_memory_format(model, flambeau.channels_last)
    assert [m.weight.is_contiguous(memory_format=flambeau.channels_last) for m in (model[0], model[2])] == [True, True]
    assert model[1].weight.is_contiguous()
    assert_close(model[0](flambeau.ones(1, 2, 5, 5)), want)
    deep = utils.convert_conv3d_weight_memory_format(nn.Conv3d(2, 3, 2), flambeau.channels_last_3d)
    assert deep.weight.is_contiguous(memory_format=flambeau.channels_last_3d)
    moved = nn.Conv2d(2, 3, 3).to(memory_format=flambeau.channels_last)
    assert moved.weight.is_contiguous(memory_format=flambeau.channels_last)
    assert moved(x).shape == (1, 3, 3, 3)


def test_sizes_kept_where_none_is_given() -> None:
    assert (_list_with_default([None, 3], [4, 5, 6]), _list_with_default(3, [4, 5])) == ([5, 3], 3)


def test_names_for_isinstance() -> None:
    batchnorm, conv, loss = nn.modules.batchnorm, nn.modules.conv, nn.modules.loss
    assert isinstance(nn.BatchNorm2d(3), batchnorm._BatchNorm)
    assert isinstance(nn.InstanceNorm2d(3), batchnorm._NormBase)
    assert not isinstance(nn.InstanceNorm2d(3), batchnorm._BatchNorm)
    assert isinstance(nn.ConvTranspose1d(1, 1, 1), conv._ConvNd)
    assert isinstance(nn.NLLLoss(), loss._WeightedLoss)
    assert isinstance(nn.MSELoss(), loss._Loss)


@pytest.mark.parametrize("name", ["uniform", "normal", "xavier_uniform", "kaiming_normal", "orthogonal", "eye"])
def test_older_names_of_first_values(name: str) -> None:
    tensor = flambeau.empty(3, 3)
    with pytest.warns(FutureWarning, match=f"nn.init.{name} is deprecated: write nn.init.{name}_"):
        assert getattr(nn.init, name)(tensor) is tensor
    assert nn.init._calculate_fan_in_and_fan_out(flambeau.ones(2, 3, 4)) == (12, 8)


def test_packed_sequences_of_other_types() -> None:
    packed = utils.rnn.pack_sequence([flambeau.tensor([1.5, 2.0]), flambeau.tensor([3.0])])
    kinds = {"float": flambeau.float32, "double": flambeau.float64, "half": flambeau.float16, "long": flambeau.int64}
    kinds |= {"int": flambeau.int32, "short": flambeau.int16, "char": flambeau.int8, "byte": flambeau.uint8}
    for name, dtype in kinds.items():
        found = getattr(packed, name)()
        assert (found.data.dtype, found.batch_sizes.dtype) == (dtype, flambeau.int64)
    assert packed.cpu().data.tolist() == packed.data.tolist()
    assert not packed.is_cuda
    with pytest.raises(RuntimeError, match="no tensor can be put on device 'cuda'"):
        packed.cuda()


def held(*arrays: Any) -> list[Any]:
    """Parameters with gradients."""
    parameters = []
    for array in arrays:
        parameter = flambeau.nn.Parameter(flambeau.zeros(array.shape, dtype=flambeau.from_numpy(array[:0]).dtype))
        parameter.grad = flambeau.from_numpy(array)
        parameters.append(parameter)
    return parameters


@pytest.mark.parametrize(
    "arrays",
    [
        (np.arange(6, dtype=np.float32).reshape(2, 3) - 2, np.full(4, 3, np.float32)),
        (np.full(3, 1e25, np.float32), np.full(2, 1e-30, np.float32)),
        (np.array([1.0, np.nan], np.float32), np.ones(2, np.float32)),
        (np.array([np.inf, -0.0]), np.ones(2)), (np.zeros((0, 2)), np.ones(3)), (np.ones(3), np.ones(2, np.float32)),
        (np.arange(12.0).reshape(3, 4).T, np.arange(20.0)[::2], np.arange(30000.0)),
        (np.ones(2, np.complex64), np.ones(2, np.complex64)),
    ],
)  # fmt: skip
def test_gradients_are_clipped_as_by_operators(arrays: tuple[Any, ...]) -> None:
    parameters = held(*[a.copy(order="K") for a in arrays])
    versions = [p.grad._version for p in parameters]
    total = flambeau.nn.utils.clip_grad_norm_(parameters, 1.5)
    norms = flambeau.stack([flambeau.linalg.vector_norm(flambeau.from_numpy(a)) for a in arrays])
    expected = flambeau.linalg.vector_norm(norms)
    np.testing.assert_allclose(total.numpy(), expected.numpy(), rtol=1e-6)
    assert total.dtype is expected.dtype
    factor = flambeau.clamp(1.5 / (expected + 1e-6), None, 1.0)
    for parameter, array, version in zip(parameters, arrays, versions, strict=True):
        np.testing.assert_allclose(parameter.grad.numpy(), (flambeau.from_numpy(array) * factor).numpy(), rtol=1e-6)
        assert parameter.grad._version > version
