"""Operators with a kernel of their own, because it would need an operand in two orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.passes import fuse_alone

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")


def test_each_operand_is_an_input_of_its_own() -> None:
    graph = parse_ir("graph(%x : Float(*, *, *)):\n  %y : Float(*, *, *) = aten::bmm(%x, %x)\n  return (%y)")
    assert fuse_alone.do(graph)
    (group,) = graph.nodes()
    assert [v.name for v in group.operands] == ["x", "x"]
    inner = group.attribute("Subgraph")
    (product,) = inner.nodes()
    assert product.op == "aten::bmm"
    assert list(product.operands) == list(inner.parameters)
    assert len(set(inner.parameters)) == 2
    assert not fuse_alone.do(graph)


def test_what_kernels_do_not_know_stays() -> None:
    graph = parse_ir("graph(%x : ComplexHalf(*, *)):\n  %y : ComplexHalf(*, *) = aten::mm(%x, %x)\n  return (%y)")
    assert not fuse_alone.do(graph)


CALLS = {
    "x.bmm(x)": (2, 3, 3),
    "flambeau.baddbmm(x, x, x)": (2, 3, 3),
    "flambeau.addmm(x, x, x, beta=0.5, alpha=2)": (3, 3),
    "x.mm(x)": (3, 3),
    "flambeau.outer(x, x)": (4,),
    "x.gather(1, i) + x[:, :2].neg() * x.sum()": (3, 4),
    "x.index_select(0, i[:, 0]).sum() + flambeau.where(x > 0, x, -x)": (3, 4),
    "x.gather(0, i) + x.gather(1, i)": (3, 2),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_turned", [False, True])
def test_values(call: str, is_turned: bool) -> None:
    function = flambeau.jit.CompilationUnit(f"def f(x: Tensor, i: Tensor) -> Tensor:\n    return {call}\n").f
    shape: Any = CALLS[call]
    array = np.random.default_rng(3).standard_normal(shape[::-1] if is_turned else shape)
    x = flambeau.from_numpy(array.T if is_turned else array)
    i = flambeau.tensor([[0, 1], [1, 0], [1, 1]])
    wanted = eval(call, {"flambeau": flambeau, "x": x, "i": i})
    for _ in range(5):
        found = function(x, i)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))
