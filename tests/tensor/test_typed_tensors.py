"""`FloatTensor` and its like: what they make, what they refuse, what is one."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

NAMES = {
    "FloatTensor": flambeau.float32, "DoubleTensor": flambeau.float64, "HalfTensor": flambeau.float16,
    "BFloat16Tensor": flambeau.bfloat16, "ByteTensor": flambeau.uint8, "CharTensor": flambeau.int8,
    "ShortTensor": flambeau.int16, "IntTensor": flambeau.int32, "LongTensor": flambeau.int64,
    "BoolTensor": flambeau.bool,
}  # fmt: skip


@pytest.mark.parametrize("name", list(NAMES))
def test_what_they_make(name: str) -> None:
    cls, dtype = getattr(flambeau, name), NAMES[name]
    made = cls([[1, 0], [0, 1]])
    assert made.dtype is dtype
    assert made.tolist() == [[1, 0], [0, 1]]
    assert cls(np.ones(3)).dtype is dtype
    assert (cls(2, 3).shape, cls(2, 3).dtype) == ((2, 3), dtype)
    assert cls().shape == (0,)
    assert [n for n in NAMES if isinstance(made, getattr(flambeau, n))] == [name]
    assert not isinstance([1], cls)


def test_what_they_refuse() -> None:
    with pytest.raises(TypeError, match=r"LongTensor takes one sequence of numbers, or sizes, got \(list, int\)"):
        flambeau.LongTensor([1], 2)
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        flambeau.FloatTensor([[1, 2], [3]])


def test_the_class_itself_is_called() -> None:
    made = flambeau.Tensor([[1, 2], [3, 4]])
    assert made.dtype is flambeau.float32
    assert made.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert isinstance(made, flambeau.Tensor)
    assert flambeau.Tensor(2, 3).shape == flambeau.Tensor(flambeau.ones(2, 3).shape).shape == (2, 3)
    assert flambeau.Tensor().shape == (0,)
    assert flambeau.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert flambeau.Tensor(np.array([1, 2])).dtype is flambeau.float32
    flambeau.set_default_dtype(flambeau.float64)
    try:
        assert flambeau.Tensor([1]).dtype is flambeau.Tensor(1).dtype is flambeau.float64
    finally:
        flambeau.set_default_dtype(flambeau.float32)


def test_of_a_tensor_it_is_the_same_memory() -> None:
    x = flambeau.tensor([1, 2])
    y = flambeau.Tensor(x)
    assert y.dtype is flambeau.int64
    assert y is not x
    assert y.shares_storage(x)


def test_what_the_class_refuses() -> None:
    with pytest.raises(TypeError, match=r"data must be a sequence \(got float\): write flambeau.tensor\(5.0\)"):
        flambeau.Tensor(5.0)
    with pytest.raises(TypeError, match=r"Tensor takes one sequence of numbers, or sizes, got \(float, int\)"):
        flambeau.Tensor(2.0, 3)
    with pytest.raises(TypeError, match="data must be a sequence"):
        flambeau.Tensor(True)
    with pytest.raises(RuntimeError, match=r"Trying to create tensor with negative dimension -1: \[-1\]"):
        flambeau.Tensor(-1)


def test_the_class_makes_what_torch_makes() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    for data in ([1.5, 2], [[1], [2]], [], [[]], (1, 2), [True]):
        ours, theirs = flambeau.Tensor(data), torch.Tensor(data)
        assert (ours.tolist(), list(ours.shape)) == (theirs.tolist(), list(theirs.shape))
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
