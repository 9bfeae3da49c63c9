"""Passes over ways back in TorchScript's form: gradients that are not there."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import _C
from flambeau.interpreter.reference import evaluate
from flambeau.ir import parse_ir
from flambeau.passes import lower_grad_of, specialize_autogradzero
from tests.passes.before_after import expect, expect_same

GRAD_OF = """  %r : Tensor = prim::GradOf[name="aten::mul"](%a)
    block0():
      %m : Tensor = aten::mul(%a, %c)
      -> (%m)
"""


def test_sums_with_what_is_not_there_are_the_other_side() -> None:
    expect(
        specialize_autogradzero.do,
        f"graph(%g, %c):\n  %z : Tensor = prim::AutogradZero()\n  %a : Tensor = prim::AutogradAdd(%g, %z)\n{GRAD_OF}"
        "  return (%r)",
        "graph(%g, %c):\n  %m : Tensor = aten::mul(%g, %c)\n  return (%m)",
    )


def test_what_goes_back_from_nothing_is_nothing() -> None:
    expect(
        specialize_autogradzero.do,
        f"graph(%g, %c):\n  %a : Tensor = prim::AutogradZero()\n{GRAD_OF}  %s : Tensor = prim::AutogradAdd(%r, %g)\n"
        "  return (%s, %r)",
        "graph(%g, %c):\n  %z : Tensor = prim::AutogradZero()\n  return (%g, %z)",
    )


def test_two_gradients_are_added() -> None:
    expect(
        specialize_autogradzero.do,
        "graph(%g, %h):\n  %s : Tensor = prim::AutogradAdd(%g, %h)\n  return (%s)",
        "graph(%g, %h):\n  %one : int = prim::Constant[value=1]()\n  %s : Tensor = aten::add(%g, %h, %one)\n"
        "  return (%s)",
    )


def test_questions_that_have_an_answer_choose_a_branch() -> None:
    text = """graph(%g):
  %z : Tensor = prim::AutogradZero()
  %n : bool = prim::AutogradAnyNonZero({asked})
  %r : Tensor = prim::If(%n)
    block0():
      %m : Tensor = aten::neg(%g)
      -> (%m)
    block1():
      -> (%z)
  return (%r)"""
    expect(specialize_autogradzero.do, text.format(asked="%z, %g"), "graph(%g):\n  %m = aten::neg(%g)\n  return (%m)")
    expect(
        specialize_autogradzero.do, text.format(asked="%z"), "graph(%g):\n  %z = prim::AutogradZero()\n  return (%z)"
    )


LOOP = """graph(%g, %n : int, %yes : bool):
  %z : Tensor = prim::AutogradZero()
  %r : Tensor = prim::Loop(%n, %yes, START)
    block0(%i : int, %c : Tensor):
      %s : Tensor = prim::AutogradAdd(%c, %g)
      -> (%yes, END)
  return (%r)"""


def test_what_a_loop_may_begin_without_is_decided_when_it_runs() -> None:
    text = LOOP.replace("START", "%z").replace("END", "%s")
    expect_same(specialize_autogradzero.do, text)
    one = flambeau.ones(2)
    for rounds, wanted in ((0, None), (1, [1.0, 1.0]), (3, [3.0, 3.0])):
        for run in (evaluate, lambda graph, given: [_C._jit_interpret_graph(graph, tuple(given))]):
            [found] = run(parse_ir(text), [one, rounds, True])
            assert (found if found is None else found.tolist()) == wanted


def test_what_a_loop_begins_with_and_keeps_is_there() -> None:
    graph = parse_ir(LOOP.replace("START", "%g").replace("END", "%s"))
    assert specialize_autogradzero.do(graph)
    assert "prim::AutogradAdd" not in str(graph)
    may_vanish = parse_ir(LOOP.replace("START", "%g").replace("END", "%z"))
    specialize_autogradzero.do(may_vanish)
    assert "prim::Loop" in str(may_vanish) or "prim::AutogradZero" in str(may_vanish)


def test_going_back_asks_first() -> None:
    graph = expect(
        lower_grad_of.do,
        f"graph(%a, %c):\n{GRAD_OF}  return (%r)",
        """graph(%a, %c):
  %n : bool = prim::AutogradAnyNonZero(%a)
  %r : Tensor = prim::If(%n)
    block0():
      %m : Tensor = aten::mul(%a, %c)
      -> (%m)
    block1():
      %z : Tensor = prim::AutogradZero()
      -> (%z)
  return (%r)""",
    )
    two, three = flambeau.tensor([2.0]), flambeau.tensor([3.0])
    assert evaluate(graph, [two, three])[0].tolist() == [6.0]
    assert evaluate(graph, [None, three])[0] is None
    function = _C._create_function_from_graph("back", graph)
    assert function(two, three).tolist() == [6.0]
    _C.run_pass("specialize_autogradzero", graph)
    assert [n.op for n in graph.nodes()] == ["aten::mul"]


@pytest.mark.parametrize("run", [evaluate, lambda graph, given: _C._jit_interpret_graph(graph, tuple(given))])
def test_what_was_not_lowered_says_so(run: Any) -> None:
    graph = parse_ir(f"graph(%a, %c):\n{GRAD_OF}  return (%r)")
    with pytest.raises(RuntimeError, match=r"lower_grad_of\.do\(graph\) asks first"):
        run(graph, [flambeau.ones(1), flambeau.ones(1)])


def test_torch_lowers_nothing_that_our_pass_leaves() -> None:
    torch = pytest.importorskip("torch")
    source = "def f(x, y):\n    z = (x * y).sigmoid()\n    return z * y\n"
    graph = torch.jit.CompilationUnit(source).f.graph.copy()
    x = torch.randn(3, requires_grad=True)
    typed = torch._C._propagate_shapes(graph, (x, torch.randn(3)), True)
    text = str(torch._C._jit_differentiate(typed).df)
    ours = parse_ir(text)
    assert specialize_autogradzero.do(ours)
    assert not [n for n in ours.all_nodes() if n.op.startswith(("prim::Autograd", "prim::GradOf"))]
