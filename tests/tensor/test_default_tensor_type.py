"""`set_default_tensor_type`: the default dtype by the name of a typed tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import flambeau


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    flambeau.set_default_dtype(flambeau.float32)


@pytest.mark.parametrize("kind", ["torch.DoubleTensor", "flambeau.DoubleTensor", flambeau.DoubleTensor])
def test_default_dtype_by_name(kind: Any) -> None:
    flambeau.set_default_tensor_type(kind)
    assert flambeau.zeros(1).dtype is flambeau.float64


@pytest.mark.parametrize("kind", ["torch.Float", "DoubleTensor", "numpy.DoubleTensor", 3, flambeau.float64])
def test_other_names(kind: Any) -> None:
    with pytest.raises(TypeError, match="invalid type object"):
        flambeau.set_default_tensor_type(kind)
    with pytest.raises(TypeError, match="only floating-point types"):
        flambeau.set_default_tensor_type("torch.LongTensor")
