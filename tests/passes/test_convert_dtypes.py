"""Conversions between known, different dtypes become pointwise operators; all others stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.passes import convert_dtypes
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Float(*, *), %i : Int(*), %u : Tensor, %n : int, %z : ComplexFloat(*)):
  %false : bool = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %six : int = prim::Constant[value=6]()
  %seven : int = prim::Constant[value=7]()
  %nine : int = prim::Constant[value=9]()
  %format : int = prim::Constant[value=2]()
  %cpu : Device = prim::Constant[value="cpu"]()
  """

CONVERTED = [
    "%y : Double(*, *) = aten::to(%x, %seven, %false, %false, %none)",
    "%y : Double(*, *) = aten::to(%x, %seven, %true, %true, %none)",
    "%y : Double(*, *) = aten::to(%x, %cpu, %seven, %false, %false, %none)",
    "%y : Double(*, *) = aten::to(%x, %none, %seven, %false, %false)",
]
KEPT = {
    "the dtype it has": "%y : Float(*, *) = aten::to(%x, %six, %false, %false, %none)",
    "a dtype that kernels do not know": "%y : ComplexHalf(*, *) = aten::to(%x, %nine, %false, %false, %none)",
    "imaginary parts are dropped": "%y : Float(*) = aten::to(%z, %six, %false, %false, %none)",
    "an operand of unknown dtype": "%y : Double(*, *) = aten::to(%u, %seven, %false, %false, %none)",
    "a format": "%y : Double(*, *) = aten::to(%x, %seven, %false, %false, %format)",
    "a format that is not known": "%y : Double(*, *) = aten::to(%x, %seven, %false, %false, %n)",
}


@pytest.mark.parametrize("node", CONVERTED)
def test_known_conversions(node: str) -> None:
    after = HEAD + "%8 : int = prim::Constant[value=7]()\n" + (
        "%y : Double(*, *) = prims::convert_element_type(%x, %8)\n return (%y)"
    )
    expect(convert_dtypes.do, HEAD + node + "\n return (%y)", after)


def test_the_dtype_of_another_tensor() -> None:
    before = HEAD + "%y : Int(*, *) = aten::type_as(%x, %i)\n return (%y)"
    after = HEAD + "%8 : int = prim::Constant[value=3]()\n" + (
        "%y : Int(*, *) = prims::convert_element_type(%x, %8)\n return (%y)"
    )
    expect(convert_dtypes.do, before, after)


@pytest.mark.parametrize("node", KEPT.values(), ids=list(KEPT))
def test_what_may_be_more_than_a_conversion(node: str) -> None:
    expect_same(convert_dtypes.do, HEAD + node + "\n return (%y)")


def rounded(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Conversions on the way in, between and on the way out."""
    up = (x.to(flambeau.float64) + 0.5).to(flambeau.int32)
    return up.to(flambeau.float32) * y, (up > 1).to(flambeau.int64).sum(0)


HOSTILE = [0.0, -0.0, 0.4, -0.6, 1.5, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan, 2147483520.0]


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "turned"])
def test_conversions_inside_one_kernel(turned: bool) -> None:
    x = flambeau.tensor(np.array(HOSTILE * 4, np.float32).reshape(6, 8))
    x = x.t() if turned else x
    fn = flambeau.script(rounded)
    expected = rounded(x, x)
    for given, wanted in zip(fn(x, x), expected, strict=True):
        assert given.dtype is wanted.dtype
        assert given.stride() == wanted.stride()
        np.testing.assert_array_equal(given.numpy(), wanted.numpy())
    assert str(fn.graph_for(x, x)).count("FusionGroup_1") == 0  # all of it is one


def written(x: Tensor) -> Tensor:
    y = x.to(flambeau.float64)
    y.add_(1)
    return y * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_writes_to_a_conversion_reach_the_operand_only_if_it_is_the_operand(dtype: Any) -> None:
    x, y = flambeau.ones(3, dtype=flambeau.from_numpy(np.ones(1, dtype)).dtype), flambeau.ones(3)
    fn = flambeau.script(written)
    y = x.clone()
    assert fn(x).tolist() == written(y).tolist() == [4.0, 4.0, 4.0]
    assert x.tolist() == y.tolist() == ([2.0] * 3 if dtype is np.float64 else [1.0] * 3)
