"""Views and copies beyond the derived matrix: in-place views, memory formats, resizing, overlapping writes."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as fb


def _grid() -> fb.Tensor:
    return fb.arange(6.0).reshape(2, 3)


def test_views_in_place() -> None:
    x = _grid()
    assert x.t_() is x
    assert (x.shape, x.stride()) == ((3, 2), (1, 3))
    assert x.transpose_(0, 1).stride() == (3, 1)
    assert x.unsqueeze_(0).shape == (1, 2, 3)
    assert x.squeeze_().shape == (2, 3)
    assert x.swapaxes_(0, 1).shape == (3, 2)
    assert x.as_strided_((2,), (3,), 1).tolist() == [1.0, 4.0]


def test_memory_formats() -> None:
    x = fb.arange(24.0).reshape(1, 2, 3, 4)
    y = x.contiguous(memory_format=fb.channels_last)
    assert y.stride() == (24, 1, 8, 2)
    assert y.is_contiguous(fb.channels_last)
    assert y.contiguous(memory_format=fb.channels_last) is y
    assert fb.equal(x, y)
    assert y.clone().stride() == y.stride()
    assert y.double().stride() == y.stride()
    assert fb.zeros_like(y).stride() == y.stride()
    assert y.clone(memory_format=fb.contiguous_format).stride() == x.stride()
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        fb.ones(2).clone(memory_format=fb.channels_last)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contiguous operator"):
        x.contiguous(memory_format=fb.preserve_format)


def test_expanded_sources_copy_to_dense_memory() -> None:
    x = fb.ones(1, 3).expand(2, 3)
    assert x.clone().stride() == (3, 1)
    assert fb.ones_like(x).stride() == (3, 1)
    assert x.contiguous().stride() == (3, 1)


def test_resize_and_set() -> None:
    x = _grid()
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(8).shape == (8,)
    assert x[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.resize_as_(_grid()).shape == (2, 3)
    y = fb.zeros(1)
    y.set_(x)
    assert y.shares_storage(x)
    with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension -1"):
        x.resize_(-1)


def test_view_as_other_dtype() -> None:
    x = fb.tensor([1.0, 2.0])
    assert x.view(fb.int32).tolist() == [0x3F800000, 0x40000000]
    assert x.view(fb.uint8).shape == (8,)
    assert x.view(fb.float64).shape == (1,)
    assert fb.ones(2, dtype=fb.int16).view(fb.bfloat16).dtype is fb.bfloat16
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2 to view Float as Long"):
        fb.ones(5).view(fb.int64)
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view Float as Long"):
        fb.ones(4, 2).t().view(fb.int64)
    with pytest.raises(RuntimeError, match=r"self.dim\(\) cannot be 0 to view Float as Long"):
        fb.tensor(1.0).view(fb.int64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: fb.ones(1, 3).expand(2, 3).copy_(fb.ones(2, 3)),
            "more than one element of the written-to tensor refers",
        ),
        (
            lambda: (x := fb.arange(4.0))[1:].copy_(x[:-1]),
            "some elements of the input tensor and the written-to tensor",
        ),
        (lambda: fb.ones(2).copy_(fb.ones(3)), "The size of tensor a (2) must match the size of tensor b (3)"),
        (lambda: fb.ones(2).copy_(fb.ones(2, 2)), "output with shape [2] doesn't match the broadcast shape [2, 2]"),
        (lambda: fb.ones(2).fill_(1j), "value cannot be converted to type float without overflow"),
        (lambda: fb.zeros(-1), "zeros: Dimension size must be non-negative."),
        (lambda: fb.arange(3, 1), "upper bound and lower bound inconsistent with step sign"),
        (lambda: fb.ones(5).split([2, 2]), "split_with_sizes expects split_sizes to sum exactly to 5"),
        (lambda: fb.ones(5).chunk(0), "chunk expects `chunks` to be greater than 0, got: 0"),
        (lambda: fb.ones(3).as_strided((5,), (1,)), "setStorage: sizes [5], strides [1], storage offset 0"),
        (lambda: fb.ones(3).as_strided((2,), (-1,)), "Negative strides are not supported at the moment"),
        (lambda: fb.ones(2, 2).movedim((0, 0), (0, 1)), "movedim: repeated dim in `source`"),
        (lambda: fb.ones(6).unflatten(0, (4, 2)), "don't multiply up to the size of dim 0 (6) in the input tensor"),
        (lambda: fb.ones(2).expand(1), "must match the existing size (2) at non-singleton dimension 0"),
        (lambda: fb.ones(2, 2).expand(2), "the number of sizes provided (1) must be greater or equal to the number of"),
        (lambda: fb.ones(3).narrow(0, 2, 2), "start (2) + length (2) exceeds dimension size (3)."),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert message in str(caught.value)


def test_overwriting_what_overlaps_itself_is_allowed_for_one_number() -> None:
    x = fb.ones(1, 3).expand(2, 3)
    assert x.zero_().tolist() == [[0.0] * 3] * 2
    assert x.fill_(2).tolist() == [[2.0] * 3] * 2


def test_conversions_are_those_of_the_processor() -> None:
    assert fb.tensor([3.7, -3.7]).to(fb.int64).tolist() == [3, -3]
    assert fb.tensor(float("nan")).to(fb.int64).item() == -(1 << 63)
    assert fb.tensor([7.0, -7.0]).to(fb.uint8).tolist() == [7, 249]
    x = fb.ones(2, dtype=fb.int64)
    assert x.copy_(fb.tensor([2.7, -2.7])).tolist() == [2, -2]


def test_splits_are_views() -> None:
    x = fb.arange(5)
    first, *_ = x.split(2)
    first.fill_(9)
    assert x.tolist() == [9, 9, 2, 3, 4]
    assert [p.tolist() for p in x.tensor_split((1, 9))] == [[9], [9, 2, 3, 4], []]
    assert [len(p) for p in x.chunk(3)] == [2, 2, 1]
    assert all(np.may_share_memory(p.numpy(), x.numpy()) for p in x.unbind())


@pytest.mark.parametrize("distance", [1, 4, 16, 63, 64, 4097])
def test_copies_between_neighbours_are_whole(distance: int) -> None:
    memory = np.zeros(6 << 12, np.uint8)
    source = memory[: 2 << 12]
    source[:] = np.random.default_rng(0).integers(0, 256, len(source))
    start = len(source) + distance
    target = fb.from_numpy(memory[start : start + len(source)])
    target.copy_(fb.from_numpy(source))
    assert np.array_equal(target.numpy(), source)
    assert not memory[start + len(source) :].any()
    assert np.array_equal(target.clone().numpy(), source)


def test_memory_of_storages() -> None:
    memory = fb.arange(6.0)
    x = fb.zeros(1)
    assert x.set_(memory.untyped_storage(), 1, (2, 2), (1, 2)).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    x[0, 0] = 9.0
    assert memory.tolist() == [0.0, 9.0, 2.0, 3.0, 4.0, 5.0]
    assert x.set_(memory.untyped_storage()).shape == (6,)
    assert fb.empty(0, dtype=fb.int32).set_(memory.untyped_storage(), 0, (1,)).tolist() == [0]
    assert x.set_(memory[2:]).tolist() == [2.0, 3.0, 4.0, 5.0]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        x.set_(memory.untyped_storage(), 4, (3,))
