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
