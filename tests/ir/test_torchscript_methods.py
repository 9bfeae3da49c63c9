"""What methods under TorchScript's names refuse, before they change anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import _C

TEXT = "graph(%x : Tensor, %n : int):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::mul(%y, %n)\n  return (%z)"
MISUSES: list[tuple[Callable[[Any, Any], Any], type[Exception], str]] = [
    (lambda g, n: g.eraseInput(9), RuntimeError, "invalid index 9: there are 2"),
    (lambda g, n: g.eraseInput(-1), RuntimeError, "invalid index -1: there are 2"),
    (lambda g, n: g.eraseInput(0), RuntimeError, "%x is used by aten::relu"),
    (lambda g, n: g.eraseOutput(1), RuntimeError, "invalid index 1: there are 1"),
    (lambda g, n: g.addInput("3"), RuntimeError, "Invalid name: '3'"),
    (lambda g, n: g.registerOutput(3), TypeError, "incompatible function arguments: expected a Value"),
    (lambda g, n: g.appendNode(n), RuntimeError, "aten::relu is in a block already"),
    (lambda g, n: g.prependNode(n), RuntimeError, "aten::relu is in a block already"),
    (lambda g, n: g.insertNode(n), RuntimeError, "aten::relu is in a block already"),
    (lambda g, n: n.removeInput(1), RuntimeError, "invalid index 1: there are 1"),
    (lambda g, n: n.replaceInput(-1, n.inputsAt(0)), RuntimeError, "invalid index -1: there are 1"),
    (lambda g, n: n.eraseOutput(3), RuntimeError, "invalid index 3: there are 1"),
    (lambda g, n: n.insertAfter(n), RuntimeError, "aten::relu is in a block already"),
    (lambda g, n: n.insertBefore(n), RuntimeError, "aten::relu is in a block already"),
    (lambda g, n: n.moveAfter(g.create("aten::relu")), RuntimeError, "aten::relu is in no block"),
    (lambda g, n: n.moveBefore(g.create("aten::relu")), RuntimeError, "aten::relu is in no block"),
    (lambda g, n: g.create("aten::neg").insertAfter(g.create("aten::relu")), RuntimeError, "aten::relu is in no block"),
    (lambda g, n: n.output().setType("int"), TypeError, "setType(): incompatible function arguments: expected a type"),
    (lambda g, n: n.output().inferTypeFrom(3), TypeError, "inferTypeFrom(): incompatible function arguments"),
    (lambda g, n: n.output().setDebugName("7"), RuntimeError, "Invalid name: '7'"),
    (lambda g, n: n.i_("a", "x"), TypeError, "i_(): incompatible function arguments: expected an int, but got a str"),
    (lambda g, n: n.i_("a", 2.0), TypeError, "expected an int, but got a float: 2.0"),
    (lambda g, n: n.f_("a", "x"), TypeError, "expected a float, but got a str: 'x'"),
    (lambda g, n: n.c_("a", "x"), TypeError, "expected a complex number, but got a str"),
    (lambda g, n: n.s_("a", 3), TypeError, "expected a str, but got a int: 3"),
    (lambda g, n: n.t_("a", 3), TypeError, "expected a Tensor, but got a int: 3"),
    (lambda g, n: n.g_("a", 3), TypeError, "expected a Graph, but got a int: 3"),
    (lambda g, n: n.ty_("a", 3), TypeError, "expected a type, but got a int: 3"),
    (lambda g, n: n.is_("a", 3), TypeError, "expected a list, each element an int, but got a int: 3"),
    (lambda g, n: n.is_("a", ["b"]), TypeError, "expected a list, each element an int, but got a list: ['b']"),
    (lambda g, n: n.ss_("a", "abc"), TypeError, "expected a list, each element a str, but got a str: 'abc'"),
    (lambda g, n: n.ts_("a", [3]), TypeError, "expected a list, each element a Tensor"),
]


def test_only_a_text_is_parsed() -> None:
    with pytest.raises(TypeError, match=r"parse_ir\(\): .* expected the text of a graph, but got a int"):
        _C.parse_ir(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", range(len(MISUSES)))
def test_a_misuse_is_refused_and_changes_nothing(index: int) -> None:
    misuse, error, message = MISUSES[index]
    graph = _C.parse_ir(TEXT)
    node = graph.findNode("aten::relu")
    before = str(graph)
    with pytest.raises(error) as raised:
        misuse(graph, node)
    assert message in str(raised.value)
    assert str(graph) == before
    assert not node.hasAttributes()


def test_attributes_are_kept_as_their_kinds_say() -> None:
    graph = _C.parse_ir(TEXT)
    node = graph.findNode("aten::relu")
    node.f_("f", 1).i_("i", True).c_("c", 2).fs_("fs", (1, 2.5)).is_("is", [3, True])
    node.ty_("ty", _C.IntType.get()).tys_("tys", [_C.FloatType.get()]).t_("t", flambeau.ones(1))
    assert (node.f("f"), node.i("i"), node.c("c"), node.fs("fs")) == (1.0, 1, 2 + 0j, [1.0, 2.5])
    assert (type(node.i("i")), type(node.f("f"))) == (int, float)
    assert (node.ty("ty"), node.tys("tys")) == (_C.IntType.get(), [_C.FloatType.get()])
    assert [node.kindOf(name) for name in node.attributeNames()] == ["f", "i", "c", "fs", "is", "ty", "tys", "t"]
    assert "ty=int, tys=[float]" in str(node)
