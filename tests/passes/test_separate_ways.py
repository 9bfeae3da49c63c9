"""Ways that go on apart where a tensor has another rank on each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.analysis import shapes
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import separate_ways
from tests.codegen.graph.one_meaning import agree

BRANCH = """graph(%x : Float(*, *), %c : bool):
  %0 : int = prim::Constant[value=0]()
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::select(%x, %0, %0)
      -> (%a)
    block1():
      %b : Tensor = aten::exp(%x)
      -> (%b)
  %n : int = aten::dim(%y)
  %z : Tensor = aten::mul(%x, %n)
  return (%z)
"""


def test_what_follows_is_known_on_each_way() -> None:
    graph = parse_ir(BRANCH)
    shapes.propagate(graph)
    assert separate_ways.do(graph)
    verify(graph)
    (branch,) = graph.find_all("prim::If")
    assert graph.find("aten::dim") is None
    products = [next(n for n in way if n.op == "aten::mul") for way in branch.nested_blocks]
    assert [n.operand(1).defining_node.attribute("value") for n in products] == [1, 2]
    assert list(graph.returns) == list(branch.results)
    assert branch.result().static_type.rank == 2
    assert not separate_ways.do(graph)


@pytest.mark.parametrize(
    "text",
    [
        BRANCH.replace("return (%z)", "return (%y)"),
        BRANCH.replace("aten::select(%x, %0, %0)", "aten::neg(%x)"),
        BRANCH.replace("Float(*, *)", "Tensor"),
    ],
)
def test_what_gains_nothing_stays(text: str) -> None:
    graph = parse_ir(text)
    shapes.propagate(graph)
    before = str(graph)
    assert not separate_ways.do(graph)
    assert str(graph) == before


def test_what_is_behind_an_error_goes() -> None:
    check = """%n : int = aten::dim(%y)
  %one : int = prim::Constant[value=1]()
  %w : bool = aten::eq(%n, %one)
   = prim::If(%w)
    block0():
      %t : str = prim::Constant[value="no"]()
      %k : NoneType = prim::Constant()
       = prim::RaiseException(%t, %k)
      -> ()
    block1():
      -> ()
"""
    text = BRANCH.replace("%n : int = aten::dim(%y)\n", check)
    graph = parse_ir(text)
    shapes.propagate(graph)
    assert separate_ways.do(graph)
    verify(graph)
    (branch,) = graph.find_all("prim::If")
    ends = [[n.op for n in way if n.op != "prim::Constant"] for way in branch.nested_blocks]
    assert ends == [["prim::RaiseException", "prim::Uninitialized"], ["aten::mul"]]


PROGRAMS = {
    "ranks": "    y = x[0] if c else x.exp()\n    z = y * 2.0\n    return z.sum() + z.dim()\n",
    "dtypes": "    y = x.sum() if c else x.argmax()\n    z = y + 1\n    return z.to(flambeau.float64), x\n",
    "an error": (
        "    y = x[0] if c else x\n    if y.dim() == 1:\n        raise ValueError('a row')\n    return y.sum(1)\n"
    ),
    "a size": "    y = x[:, :1] if c else x\n    z = y.squeeze(1)\n    return z.sum(0, keepdim=True).sum() + z.dim()\n",
    "an error by size": (
        "    y = (x[:, :1] if c else x).squeeze(-1)\n    assert y.dim() == 1, 'a column'\n    return y + 1.0\n"
    ),
    "in a loop": (
        "    total = 0.0\n    for i in range(3):\n        y = x[i] if (i % 2 == 0) == c else x\n"
        "        total += float(y.sum()) * y.dim()\n    return total\n"
    ),
    "writes": (
        "    x = x * 1.0\n    y = x[1] if c else x\n    y += 1.0\n    z = y.reshape([-1])\n    z[0] = 9.0\n"
        "    return x, z.sum()\n"
    ),
    "one after another": (
        "    a = x[0] if c else x\n    b = x.t()[0] if x.size(0) > 2 else x\n"
        "    return a.sum() * b.dim() + b.sum() * a.dim()\n"
    ),
}


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("flag", [True, False])
def test_meaning(name: str, flag: bool) -> None:
    def given() -> tuple[Any, ...]:
        return flambeau.from_numpy(np.arange(12.0).reshape(3, 4)), flag

    agree(f"def f(x: Tensor, c: bool):\n{PROGRAMS[name]}", given)


def test_large_graphs_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separate_ways, "MOST_NODES", 6)
    graph = parse_ir(BRANCH)
    shapes.propagate(graph)
    assert not separate_ways.do(graph)
