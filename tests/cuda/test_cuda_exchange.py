"""Memory of devices shared with other libraries, pinned memory of the host, and devices where none is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn


@pytest.mark.parametrize("take", [fb.as_tensor, fb.asarray, fb.from_dlpack])
def test_arrays_are_shared(cuda: Any, take: Any) -> None:
    array = cuda.arange(6.0).reshape(2, 3).T
    tensor = take(array)
    assert tensor.device == fb.device("cuda:0")
    assert tensor.data_ptr() == array.data.ptr
    assert tensor.stride() == (1, 3)
    tensor += 1
    assert array.get().tolist() == [[1, 4], [2, 5], [3, 6]]


def test_arrays_are_copied(cuda: Any) -> None:
    array = cuda.arange(3.0)
    assert fb.tensor(array).data_ptr() != array.data.ptr
    assert fb.tensor(array).is_cuda
    assert fb.as_tensor(array, device="cpu").tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        fb.from_numpy(array)


def test_interface_alone_is_enough(cuda: Any) -> None:
    array = cuda.arange(3, dtype=np.int32)

    class Lent:
        __cuda_array_interface__ = array.__cuda_array_interface__

    tensor = fb.as_tensor(Lent())
    assert tensor.data_ptr() == array.data.ptr
    assert tensor.tolist() == [0, 1, 2]


def test_tensors_of_torch_are_shared(cuda: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no device here")
    theirs = torch.ones(2, device="cuda")
    ours = fb.as_tensor(theirs)
    ours += 1
    assert theirs.tolist() == [2, 2]
    assert torch.as_tensor(ours, device="cuda").data_ptr() == ours.data_ptr()
    with pytest.raises(TypeError, match="asks for gradients"):
        fb.as_tensor(theirs.requires_grad_())


def test_arrays_take_tensors(cuda: Any) -> None:
    tensor = fb.arange(6.0).reshape(2, 3).to("cuda").T
    for array in (cuda.asarray(tensor), cuda.from_dlpack(tensor)):
        assert array.data.ptr == tensor.data_ptr()
        assert array.strides == (4, 12)


def test_pinned_memory(cuda: Any) -> None:
    tensor = fb.arange(6.0).reshape(2, 3).T
    pinned = tensor.pin_memory()
    assert (tensor.is_pinned(), pinned.is_pinned()) == (False, True)
    assert pinned.pin_memory() is pinned
    assert pinned.tolist() == tensor.tolist()
    assert pinned.to("cuda", non_blocking=True).tolist() == tensor.tolist()
    there = tensor.cuda()
    assert not there.is_pinned()
    with pytest.raises(RuntimeError, match="cannot pin a tensor on cuda:0: only dense CPU tensors can be pinned"):
        there.pin_memory()


def test_the_method_names_devices(cuda: Any) -> None:
    tensor = fb.ones(2)
    for moved in (tensor.cuda(), tensor.cuda(0), tensor.cuda("cuda:0"), tensor.cuda(non_blocking=True)):
        assert moved.device == fb.device("cuda:0")
    assert moved.cuda() is moved
    with pytest.raises(RuntimeError, match="there is no CUDA device 99"):
        tensor.cuda(99)


def test_blocks_choose_the_device(cuda: Any) -> None:
    with fb.device("cuda"):
        made = [fb.zeros(2), fb.tensor([1.0]), fb.randn(2), fb.arange(3), nn.Linear(2, 2).weight]
    assert {t.device for t in made} == {fb.device("cuda:0")}
    fb.set_default_device("cuda")
    try:
        assert fb.ones(2).is_cuda
        assert fb.get_default_device().type == "cuda"
    finally:
        fb.set_default_device(None)
    assert fb.ones(2).is_cpu


def test_seeds_are_those_of_all(cuda: Any) -> None:
    fb.cuda.manual_seed_all(9)
    assert fb.initial_seed() == fb.cuda.initial_seed() == 9
    fb.cuda.seed_all()
    assert fb.cuda.initial_seed() != 9


@pytest.mark.parametrize("call", [lambda x, y: x + y, lambda x, y: x @ y.T, lambda x, y: fb.cat([x, y])])
def test_devices_do_not_mix(cuda: Any, call: Any) -> None:
    with pytest.raises(RuntimeError, match=r"found at least two devices, cuda:0 and cpu\. Move one of them"):
        call(fb.ones(2, 2, device="cuda"), fb.ones(2, 2))


@pytest.mark.parametrize("move", [lambda q: q.cuda(), lambda q: q.to("cuda"), lambda q: fb.ops.aten.cuda(q)])
def test_quantised_tensors_stay(cuda: Any, move: Any) -> None:
    quantised = fb.quantize_per_tensor(fb.ones(2), 0.1, 0, fb.qint8)
    with pytest.raises(NotImplementedError, match="quantised tensors stay on the host"):
        move(quantised)
