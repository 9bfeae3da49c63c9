"""Tensors of random elements for tests."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau.testing import assert_close, make_tensor

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("name", DTYPES)
def test_elements_are_within_bounds(name: str) -> None:
    dtype = getattr(flambeau, name)
    x = make_tensor(100, 100, dtype=dtype)
    assert (x.dtype, x.shape) == (dtype, (100, 100))
    numbers = flambeau.view_as_real(x) if dtype.is_complex else x.double()
    assert float(numbers.abs().max()) <= (1 if name == "bool" else 9)
    assert float(numbers.min()) < (0 if name not in ("bool", "uint8") else 1)
    assert bool((make_tensor((200,), dtype=dtype, low=0, high=2, exclude_zero=True) != 0).all())


def test_bounds() -> None:
    x = make_tensor(1000, dtype=flambeau.float16, low=1, high=1.01)
    assert bool((x >= 1).all() and (x < 1.01).all())
    assert make_tensor(3, dtype=flambeau.int64, low=5, high=6).tolist() == [5, 5, 5]
    assert make_tensor(3, dtype=flambeau.uint8, low=-500, high=1).tolist() == [0, 0, 0]
    assert math.isfinite(make_tensor(dtype=flambeau.float32, high=math.inf).item())


def test_draws_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    testing = pytest.importorskip("torch.testing")
    seen = []
    for lib, make in ((flambeau, make_tensor), (torch, testing.make_tensor)):
        lib.manual_seed(0)
        drawn = [make((2, 3), dtype=getattr(lib, name), device="cpu") for name in DTYPES]
        drawn += [make(4, dtype=lib.float32, device="cpu", low=-math.inf), make((), dtype=lib.int16, device="cpu")]
        drawn += [make(2, 3, dtype=lib.float64, device="cpu", noncontiguous=True)]
        seen.append([x.to(lib.complex128).tolist() for x in drawn])
    for mine, theirs in zip(*seen, strict=True):
        assert flambeau.allclose(flambeau.tensor(mine), flambeau.tensor(theirs), rtol=1e-6)


def test_memory() -> None:
    x = make_tensor(2, 3, dtype=flambeau.float32, noncontiguous=True, requires_grad=True)
    assert (x.is_contiguous(), x.requires_grad, x.is_leaf) == (False, True, True)
    y = make_tensor(1, 2, 3, 4, dtype=flambeau.float32, memory_format=flambeau.channels_last)
    assert y.is_contiguous(memory_format=flambeau.channels_last)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"low": 2, "high": 1}, "`low` must be less than `high`, but got 2 >= 1"),
        ({"low": 300, "high": 400, "dtype": flambeau.int8}, r"400\), but flambeau.int8 only supports \[-128, 128\)"),
        ({"low": math.nan}, "cannot be NaN, but got low=nan and high=9"),
        ({"requires_grad": True, "dtype": flambeau.int64}, "is not supported for boolean and integral dtypes"),
        ({"noncontiguous": True, "memory_format": flambeau.channels_last}, "are mutually exclusive"),
    ],
)
def test_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_tensor(2, **{"dtype": flambeau.float32, **options})  # type: ignore[arg-type]


def test_what_else_is_compared() -> None:
    x = flambeau.ones(2, 2)
    assert_close(x, x.mT)
    with pytest.raises(AssertionError, match=r"attribute 'stride\(\)' do not match: \(2, 1\) != \(1, 2\)"):
        assert_close(x, x.mT, check_stride=True)
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(x, x + 1, msg="mine")
    with pytest.raises(AssertionError, match=r"^first: Tensor-likes are not close"):
        assert_close(x, x + 1, msg=lambda text: f"first: {text}")
