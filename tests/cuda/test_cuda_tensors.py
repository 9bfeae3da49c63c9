"""Tensors on a device: where they are, what they share, what is refused. On a card if there is one, else pretended."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.cuda import library
from flambeau.tensor.settled import is_readable

pytestmark = pytest.mark.usefixtures("cuda")


@pytest.fixture
def x() -> fb.Tensor:
    return fb.arange(12.0).reshape(3, 4).to("cuda")


def test_where_it_is(x: fb.Tensor) -> None:
    assert (x.device, x.is_cuda, x.is_cpu, x.get_device()) == (fb.device("cuda:0"), True, False, 0)
    assert (x.shape, x.stride(), x.dtype) == ((3, 4), (4, 1), fb.float32)
    assert not is_readable(x)
    assert isinstance(x, fb.Tensor)
    assert x.cpu().is_cpu
    assert x.cpu().tolist() == x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert x.to("cuda") is x
    assert repr(x[0]) == "tensor([0., 1., 2., 3.], device='cuda:0')"


DTYPES = (fb.float32, fb.float64, fb.float16, fb.bfloat16, fb.int64, fb.uint8, fb.bool, fb.complex64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype: Any) -> None:
    block = fb.arange(24).reshape(2, 3, 4)
    for strided in (block, block.permute(2, 0, 1), fb.arange(24)[::3]):
        y = (strided % 5).to(dtype)
        moved = y.to("cuda")
        assert moved.stride() == y.stride()
        assert fb.equal(moved.cpu(), y)
        assert fb.equal(moved.double().cpu(), y.double()) or dtype is fb.complex64
    assert fb.zeros(0, 3, dtype=dtype).to("cuda").cpu().shape == (0, 3)


def test_views_share_memory_and_versions(x: fb.Tensor) -> None:
    column = x.T[1]
    assert column.stride() == (4,)
    assert column.data_ptr() == x.data_ptr() + 4
    column.fill_(7)
    assert x[:, 1].tolist() == [7, 7, 7]
    assert x._version == column._version == 1
    x.view(2, 6)[1].zero_()
    assert x.tolist() == [[0, 7, 2, 3], [4, 7, 0, 0], [0, 0, 0, 0]]


def test_operators_and_numbers(x: fb.Tensor) -> None:
    host = x.cpu()
    for f in (
        lambda t: t + 1, lambda t: 2 - t, lambda t: t * t, lambda t: t / 3, lambda t: t.T @ t, lambda t: t.sum(0),
        lambda t: t.mean(), lambda t: t > 5, lambda t: fb.where(t > 5, t, 0.0), lambda t: t[t > 5], lambda t: t[[0, 2]],
        lambda t: fb.cat([t, t], 1), lambda t: t.clone().add_(1).mul_(2), lambda t: t.reshape(4, 3).contiguous(),
        lambda t: t.T.reshape(-1), lambda t: t.max(1)[0], lambda t: t.argmax(), lambda t: fb.relu(t - 5),
    ):  # fmt: skip
        got, want = f(x), f(host)
        assert got.is_cuda
        assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
        np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=1e-6)
    assert x.sum().item() == 66
    assert float(x[0, 1]) == 1.0
    assert bool(x[0, 1] > 0)
    assert 5.0 in x
    assert fb.tensor(2.0) * x[0, 1] == 2.0


def test_devices_are_not_mixed(x: fb.Tensor) -> None:
    text = "aten::add: expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        x + fb.ones(4)
    with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
        fb.ones(4) + x
    assert (x + fb.tensor(1.0)).sum().item() == 78
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match="there is no CUDA device 64"):
        fb.ones(1, device="cuda:64")


def test_new_memory() -> None:
    assert fb.zeros(2, device="cuda").tolist() == [0, 0]
    assert fb.full((2,), 3, device="cuda").dtype is fb.int64
    assert fb.ones_like(fb.zeros(2, 3).T, device="cuda").stride() == (1, 3)
    assert fb.empty(2, device="cuda").tolist() == [0, 0]
    assert fb.arange(3, device="cuda").tolist() == [0, 1, 2]
    assert fb.tensor([1.5], device="cuda").dtype is fb.float32
    fb.manual_seed(3)
    there = fb.randn(3, device="cuda")
    fb.manual_seed(3)
    assert fb.equal(there.cpu(), fb.randn(3))
    y = fb.zeros(2, device="cuda")
    assert y.new_ones(2).is_cuda
    assert fb.zeros_like(y, device="cpu").is_cpu


def test_copies_between_devices(x: fb.Tensor) -> None:
    host = fb.zeros(3, 4)
    host.copy_(x)
    assert host.tolist() == x.tolist()
    x.copy_(fb.ones(4))
    assert x.tolist() == [[1] * 4] * 3
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.copy_(fb.ones(2, 3, 4))
    x[0] = fb.tensor([1, 2, 3, 4])
    assert x[0].tolist() == [1, 2, 3, 4]


def test_pickles_and_copies(x: fb.Tensor) -> None:
    back = pickle.loads(pickle.dumps(x.T))
    assert (back.device, back.stride(), back.tolist()) == (x.device, (1, 4), x.T.tolist())
    other = copy.deepcopy(x)
    other.zero_()
    assert x.sum().item() == 66
    weight = copy.deepcopy(nn.Parameter(x))
    assert isinstance(weight, nn.Parameter)
    assert weight.is_cuda
    assert weight.requires_grad


def test_gradients_and_a_step(x: fb.Tensor) -> None:
    fb.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    there = copy.deepcopy(model).to("cuda")
    assert isinstance(there[0].weight, nn.Parameter)
    for one, inputs in ((model, x.cpu()), (there, x)):
        optimiser = fb.optim.SGD(one.parameters(), lr=0.01, momentum=0.9)
        for _ in range(3):
            optimiser.zero_grad()
            one(inputs).pow(2).mean().backward()
            optimiser.step()
    for a, b in zip(model.parameters(), there.parameters(), strict=True):
        assert b.is_cuda
        assert b.grad is not None
        assert b.grad.is_cuda
        np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_other_libraries_look_at_the_same_memory(x: fb.Tensor) -> None:
    cupy = library.cupy()
    interface = x.T.__cuda_array_interface__
    assert interface["data"] == (x.data_ptr(), False)
    assert (interface["shape"], interface["strides"], interface["typestr"]) == ((4, 3), (4, 16), "<f4")
    assert x.__dlpack_device__() == (2, 0)
    assert cupy.asarray(x).data.ptr == x.data_ptr()


def test_traces_and_scripts(x: fb.Tensor) -> None:
    def f(t: fb.Tensor) -> fb.Tensor:
        return (t * 2 + 1).sum(1)

    want = f(x).tolist()
    assert fb.script(f)(x).tolist() == want
    assert fb.trace(f, (x,))(x).tolist() == want
