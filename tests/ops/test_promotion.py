"""The dtype of results, from dtypes, ranks and Python numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops.families.promotion import DIMENSIONED, NUMBER, ZERO_DIM, can_cast, common_dtype, result_type
from flambeau.schema import dtype as d
from flambeau.schema.opdef import UNKNOWN
from flambeau.schema.types import FLOAT, INT, TensorType
from flambeau.tensor.tensor import wrap

MEASURED = {
    # dimensioned tensor: with 0-dim int64, float32, float64, complex128, then True, 2, 2.5, 1j
    d.bool_: (d.int64, d.float32, d.float64, d.complex128, d.bool_, d.int64, d.float32, d.complex64),
    d.uint8: (d.uint8, d.float32, d.float64, d.complex128, d.uint8, d.uint8, d.float32, d.complex64),
    d.int32: (d.int32, d.float32, d.float64, d.complex128, d.int32, d.int32, d.float32, d.complex64),
    d.int64: (d.int64, d.float32, d.float64, d.complex128, d.int64, d.int64, d.float32, d.complex64),
    d.float16: (d.float16, d.float16, d.float16, d.complex32, d.float16, d.float16, d.float16, d.complex32),
    d.float32: (d.float32, d.float32, d.float32, d.complex64, d.float32, d.float32, d.float32, d.complex64),
    d.complex64: (d.complex64,) * 8,
}
ZERO_DIMS = (d.int64, d.float32, d.float64, d.complex128)
NUMBERS = (d.bool_, d.int64, d.float32, d.complex64)


@pytest.mark.parametrize("dtype", MEASURED, ids=lambda x: x.name)
def test_measured_table(dtype: Any) -> None:
    expected = MEASURED[dtype]
    mine = (DIMENSIONED, dtype)
    assert tuple(result_type(mine, (ZERO_DIM, z)) for z in ZERO_DIMS) == expected[:4]
    assert tuple(result_type(mine, (NUMBER, n)) for n in NUMBERS) == expected[4:]


def test_dimensions_do_not_matter_among_equals() -> None:
    assert result_type((DIMENSIONED, d.uint8), (DIMENSIONED, d.int8)) is d.int16
    assert result_type((ZERO_DIM, d.int32), (NUMBER, d.float32)) is d.float32
    assert result_type((NUMBER, d.bool_), (NUMBER, d.int64)) is d.int64


def test_without_operands() -> None:
    with pytest.raises(ValueError, match="at least one operand"):
        result_type()


def test_same_as_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    some = (d.bool_, d.uint8, d.int8, d.int32, d.int64, d.float16, d.bfloat16, d.float32, d.float64, d.complex64)
    for (a, b), (m, n) in itertools.product(itertools.product(some, some), itertools.product((0, 1), (0, 1))):
        theirs = torch.result_type(
            torch.ones((2,) * m, dtype=getattr(torch, a.name)), torch.ones((2,) * n, dtype=getattr(torch, b.name))
        )
        ours = result_type((DIMENSIONED if m else ZERO_DIM, a), (DIMENSIONED if n else ZERO_DIM, b))
        assert str(theirs) == f"torch.{ours.name}", f"{a}[{m}] with {b}[{n}]"


def test_rules_with_parts_unknown() -> None:
    known = TensorType(dtype=d.float32, sizes=(None, 3))
    assert common_dtype([known, TensorType(dtype=d.int64)]) is d.float32
    assert common_dtype([TensorType(dtype=d.int64), TensorType(dtype=d.int32, sizes=(2,))]) is None
    assert common_dtype([TensorType(dtype=d.int64), TensorType(dtype=d.int64, sizes=(2,))]) is d.int64
    assert common_dtype([known, TensorType()]) is None
    assert common_dtype([known, FLOAT]) is d.float32
    assert common_dtype([TensorType(dtype=d.int64, sizes=(2,)), FLOAT]) is d.float32
    assert common_dtype([TensorType(dtype=d.bool_, sizes=()), INT]) is d.int64
    assert common_dtype([known, UNKNOWN]) is None
    assert common_dtype([known, None]) is d.float32


def test_casts_go_up() -> None:
    assert can_cast(d.float64, d.float16)
    assert not can_cast(d.float16, d.int64)
    assert not can_cast(d.complex64, d.float64)
    assert not can_cast(d.int8, d.bool_)


def test_default_dtype_decides_for_numbers() -> None:
    x = wrap(np.arange(3))
    flambeau.set_default_dtype(d.float64)
    try:
        assert (x * 2.5).dtype is d.float64
        assert (x / x).dtype is d.float64
        assert (x * 1j).dtype is d.complex128
        assert flambeau.sqrt(x).dtype is d.float64
    finally:
        flambeau.set_default_dtype(d.float32)
    assert (x * 2.5).dtype is d.float32


@pytest.mark.parametrize("name", ["atan2", "bitwise_and", "fmod", "remainder", "copysign", "bitwise_left_shift"])
def test_what_a_target_cannot_hold_is_said_before_what_no_kernel_computes(name: str) -> None:
    whole, plane = flambeau.tensor([1, 2]), flambeau.tensor([1j, 2.0])
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Long"):
        getattr(whole, name + "_")(plane)
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Float"):
        getattr(flambeau, name)(whole, plane, out=flambeau.empty(2))
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        getattr(flambeau, name)(whole, plane, out=flambeau.empty(2, dtype=flambeau.complex64))
    assert whole.tolist() == [1, 2]
