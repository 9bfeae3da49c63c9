"""Sums and means of all that follows a normalisation go by rows first, and are what they were."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.nn import functional as F  # noqa: N812
from flambeau.passes import rows_first

BEFORE = """graph(%x : Float(*, *, *), %y : Float(*, *, *)):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %last : int = prim::Constant[value=-1]()
  %a : Float(*, *, *) = aten::softmax(%x, %last, %none)
  %b : Float(*, *, *) = aten::mul(%a, %y)
  %c : Float(*, *, *) = aten::add(%b, %y, %one)
  %s : Float() = aten::sum(%c, %none)
  return (%s)"""


def test_rows_come_first() -> None:
    graph = parse_ir(BEFORE)
    assert rows_first.do(graph)
    verify(graph)
    total = graph.returns[0].defining_node
    assert total is not None
    rows = total.operand(0).defining_node
    assert rows is not None
    assert (rows.op, str(rows.result().static_type), len(rows.operands)) == ("aten::sum", "Float(*, *)", 4)
    assert not rows_first.do(graph)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("aten::softmax(%x, %last, %none)", "aten::softmax(%x, %one, %none)"),  # over others than the last dimension
        ("aten::softmax(%x, %last, %none)", "aten::exp(%x)"),
        ("return (%s)", "return (%s, %c)"),  # is in memory anyhow
        ("Float(*, *, *) = aten::add", "Tensor = aten::add"),
    ],
)
def test_other_sums_stay(old: str, new: str) -> None:
    assert not rows_first.do(parse_ir(BEFORE.replace(old, new)))


@flambeau.script
def normalised(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    total = (F.layer_norm(x, [x.size(1)]) * y).sum()
    return total, (F.log_softmax(x, -1) * y).exp().mean()


@pytest.mark.skipif(not available(), reason="needs LLVM")
@pytest.mark.parametrize("shape", [(5, 7), (64, 300), (1, 9), (9, 1), (0, 4)], ids=str)
def test_results(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, y = (flambeau.from_numpy(rng.standard_normal(shape)) for _ in range(2))
    got = normalised(x, y)
    want = (F.layer_norm(x, [shape[1]]) * y).sum(), (F.log_softmax(x, -1) * y).exp().mean()
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-11, 1e-11)
