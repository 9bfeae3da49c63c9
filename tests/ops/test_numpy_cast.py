"""Conversions between element types: C's rules, as the hardware has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.ops.families.numpy_cast import cast, constant
from flambeau.schema.dtype import (
    ALL,
    bfloat16,
    bool_,
    complex32,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

LOW64 = -(2**63)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (-7.0, uint8, 249),
        (300.7, uint8, 44),
        (3.7, int64, 3),
        (-3.7, int64, -3),
        (float("nan"), int64, LOW64),
        (float("inf"), int64, LOW64),
        (1e30, int64, LOW64),
        (float("nan"), int32, -(2**31)),
        (float("nan"), int16, 0),
        (float("nan"), int8, 0),
        (3e9, int32, -(2**31)),
        (70000.0, int16, 70000 - 65536),
        (0.5, bool_, True),
        (float("nan"), bool_, True),
        (-0.0, bool_, False),
    ],
)
def test_floats_to_integers(value: float, dtype: Any, expected: int) -> None:
    for source in (float32, float64):
        assert cast(np.array([value], source.numpy), dtype)[0] == expected


def test_integers_wrap_and_keep_their_bits() -> None:
    assert cast(np.array([300, -1, 128]), uint8).tolist() == [44, 255, 128]
    assert cast(np.array([300, -1, 128]), int8).tolist() == [44, -1, -128]
    assert cast(np.array([2, 0]), bool_).tolist() == [True, False]


def test_halves_round_through_single_precision() -> None:
    assert cast(np.array([1e6, 65504.0, 1e-8]), float16).tolist() == [float("inf"), 65504.0, 0.0]
    assert float(cast(np.array([1.00390625]), bfloat16)[0]) == 1.0
    assert float(cast(np.array([3.3895313892515355e38]), bfloat16)[0]) == 3.3895313892515355e38


def test_complex_numbers_lose_their_imaginary_part_silently() -> None:
    assert cast(np.array([1.5 + 2j]), float32).tolist() == [1.5]
    assert cast(np.array([1.5 + 2j]), int64).tolist() == [1]
    assert cast(np.array([2j]), bool_).tolist() == [True]


def test_half_complex_numbers_come_and_go() -> None:
    packed = cast(np.array([1.5 - 2j, 3.0]), complex32)
    assert packed.dtype.names == ("real", "imag")
    assert cast(packed, complex64).tolist() == [1.5 - 2j, 3.0]


def test_the_same_dtype_is_the_same_object() -> None:
    for dtype in ALL:
        array = np.zeros(2, dtype.numpy)
        assert cast(array, dtype) is array


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300, int8, 44), (-2, uint8, 254), (2.5, int64, 2), (True, float32, 1.0), (1 << 70, float64, 2.0**70),
        (1e39, float32, float("inf")), (1e6, float16, float("inf")), (3 + 4j, float64, 3.0), (2, bool_, True),
    ],
)  # fmt: skip
def test_constants(value: Any, dtype: Any, expected: Any) -> None:
    found = constant(value, dtype)
    assert found.dtype == dtype.numpy
    assert found == expected


def test_same_as_torch_on_random_numbers() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=50) * 10.0**e for e in range(-3, 22, 3)])
    for source in (float32, float64):
        array = values.astype(source.numpy)
        for dtype in (uint8, int8, int16, int32, int64, bool_, float16):
            theirs = torch.from_numpy(array).to(getattr(torch, dtype.name)).numpy()
            np.testing.assert_array_equal(cast(array, dtype), theirs, err_msg=f"{source} to {dtype}")
