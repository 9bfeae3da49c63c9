"""TorchScript's phases that choose what is differentiated, beside PyTorch's own where that is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import _C, Tensor
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import (
    check_inplace,
    create_autodiff_subgraphs,
    inline_autodiff_subgraphs,
    propagate_requires_grad,
)

ONE = "  %one : int = prim::Constant[value=1]()\n"
GRAPHS = {
    "chain": "graph(%x, %y):\n  %a = aten::mul(%x, %y)\n  %b = aten::mul(%a, %y)\n  return (%b)",
    "single": "graph(%x, %y):\n  %a = aten::mul(%x, %y)\n  return (%a)",
    "unrelated": "graph(%x, %y):\n  %a = aten::mul(%x, %x)\n  %b = aten::mul(%y, %y)\n  %c = aten::mul(%a, %a)\n"
    "  %d = aten::mul(%b, %b)\n  return (%c, %d)",
    "both used": "graph(%x, %y):\n  %a = aten::tanh(%x)\n  %b = aten::mul(%a, %y)\n  return (%a, %b)",
    "branch": """graph(%x, %y, %c : bool):
  %r = prim::If(%c)
    block0():
      %a = aten::mul(%x, %y)
      %g : Generator? = prim::Constant()
      %n = aten::bernoulli(%a, %g)
      %b = aten::mul(%a, %n)
      %d = aten::tanh(%b)
      -> (%d)
    block1():
      -> (%x)
  %q = aten::mul(%r, %r)
  %s = aten::tanh(%q)
  return (%s)""",
    "apart": "graph(%x, %y):\n  %a = aten::mul(%x, %y)\n  %b = aten::sigmoid(%a)\n  %n : int = aten::dim(%b)\n"
    "  %c = aten::mul(%b, %n)\n  %d = aten::tanh(%c)\n  return (%d)",
}


def _groups(text: str) -> list[list[str]]:
    """The operators of each group of a printed graph."""
    parts = text.split("with prim::DifferentiableGraph_")[1:]
    return [[part.split("(")[0] for part in one.split("aten::")[1:]] for one in parts]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("threshold", [None, 1])
def test_groups_are_those_of_torch(name: str, threshold: int | None) -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch._C.parse_ir(GRAPHS[name]), parse_ir(GRAPHS[name])
    before = parse_ir(GRAPHS[name])
    torch._C._jit_pass_create_autodiff_subgraphs(theirs, *(() if threshold is None else (threshold,)))
    create_autodiff_subgraphs.do(ours, threshold)
    verify(ours)
    assert _groups(str(ours)) == _groups(str(theirs))
    values = [flambeau.tensor([0.3, 0.7]), flambeau.tensor([1.5, 0.5]), True][: len(ours.parameters)]
    found = []
    for run in (lambda: evaluate(before, values), lambda: evaluate(ours, values), lambda: _called(ours, values)):
        flambeau.manual_seed(0)
        found.append([t.numpy() for t in run()])
    for plain, *others in zip(*found, strict=True):
        for mine in others:
            np.testing.assert_allclose(mine, plain, rtol=1e-6)


def _called(graph: Graph, values: list[Any]) -> tuple[Any, ...]:
    result = _C._create_function_from_graph("f", graph)(*values)
    return result if isinstance(result, tuple) else (result,)


def test_a_branch_without_effects_goes_back_as_a_whole() -> None:
    text = GRAPHS["branch"].replace("aten::bernoulli(%a, %g)", "aten::neg(%a)").replace("%g : Generator? = prim", "")
    graph = parse_ir(text.replace("      ::Constant()\n", ""))
    create_autodiff_subgraphs.do(graph)
    assert [n.op for n in graph.nodes()] == ["prim::DifferentiableGraph"]


def test_the_text_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch._C.parse_ir(GRAPHS["chain"]), parse_ir(GRAPHS["chain"])
    torch._C._jit_pass_create_autodiff_subgraphs(theirs)
    _C._jit_pass_create_autodiff_subgraphs(ours)
    assert [line.split(" :")[0].split(" = ")[-1] for line in str(ours).splitlines() if "with" in line] == [
        line.split(" :")[0].split(" = ")[-1] for line in str(theirs).splitlines() if "with" in line
    ]
    assert "prim::DifferentiableGraph_0(%y, %x)" in str(ours)
    assert "prim::DifferentiableGraph_0(%y, %x)" in str(theirs)


LOOP = """graph(%x, %y, %n : int):
  %yes : bool = prim::Constant[value=1]()
  %r = prim::Loop(%n, %yes, %x)
    block0(%i : int, %c):
      %m = aten::mul(%c, %y)
      %s = aten::sin(%m)
      -> (%yes, %s)
  %t = aten::exp(%r)
  return (%t)"""


def test_a_loop_goes_back_as_a_whole() -> None:
    graph = parse_ir(LOOP)
    assert create_autodiff_subgraphs.do(graph)
    assert [n.op for n in graph.nodes() if n.op != "prim::Constant"] == ["prim::DifferentiableGraph"]


@pytest.mark.parametrize(
    ("body", "outside"),
    [
        ("  %a = aten::mul(%x, %y)\n  %w = aten::mul_(%a, %y)\n  %b = aten::mul(%a, %y)\n  %r = aten::exp(%b)\n",
         "mul"),
        ("  %a = aten::mul(%x, %y)\n  %b = aten::t(%a)\n  %w = aten::tanh(%b)\n  %r = aten::view_as(%w, %w)\n",
         "view_as"),
        ("  %a = aten::mul(%x, %y)\n  %w = aten::tanh(%a)\n  %r = aten::detach(%w)\n", "detach"),
        ("  %a = aten::mul(%x, %y)\n  %w = aten::tanh(%a)\n  %u = aten::rand_like(%w, %z, %z, %z, %z, %z)\n"
         "  %r = aten::mul(%w, %u)\n", "rand_like"),
    ],
)
def test_what_is_written_shown_or_drawn_stays_outside(body: str, outside: str) -> None:
    graph = parse_ir(f"graph(%x, %y):\n  %z : None = prim::Constant()\n{body}  return (%r)")
    create_autodiff_subgraphs.do(graph)
    assert f"aten::{outside}" in str(graph).split("with prim::")[0]
    check_inplace.do(graph)


def test_what_asks_for_nothing_is_in_no_group() -> None:
    plain = "%x : Tensor(requires_grad=0), %y : Tensor(requires_grad=0)"
    graph = parse_ir(GRAPHS["chain"].replace("%x, %y):", f"{plain}):"))
    propagate_requires_grad.do(graph)
    assert not create_autodiff_subgraphs.do(graph)


def test_lists_stay_within() -> None:
    graph = parse_ir("""graph(%x, %y):
  %zero : int = prim::Constant[value=0]()
  %a = aten::tanh(%x)
  %l : Tensor[] = prim::ListConstruct(%a, %y)
  %c = aten::cat(%l, %zero)
  %d = aten::exp(%c)
  return (%d)""")
    assert create_autodiff_subgraphs.do(graph)
    assert _groups(str(graph)) == [["tanh", "cat", "exp"]]
    held = parse_ir("""graph(%x, %y):
  %zero : int = prim::Constant[value=0]()
  %a = aten::tanh(%x)
  %l : Tensor[] = prim::ListConstruct(%a, %y)
  %c = aten::cat(%l, %zero)
  %d = aten::exp(%c)
  return (%d, %l)""")
    create_autodiff_subgraphs.do(held)
    assert "prim::ListConstruct" in str(held).split("with prim::")[0]
    verify(held)


def test_groups_go_back_where_they_came_from() -> None:
    graph = parse_ir(GRAPHS["unrelated"])
    create_autodiff_subgraphs.do(graph)
    assert not inline_autodiff_subgraphs.do(graph, 2)
    assert inline_autodiff_subgraphs.do(graph, 3)
    assert [n.op for n in graph.nodes()].count("aten::mul") == 4


def test_need_of_gradients_goes_through_branches_and_loops() -> None:
    graph = parse_ir(LOOP.replace("%x, %y,", "%x : Tensor(requires_grad=1), %y : Tensor(requires_grad=0),"))
    assert propagate_requires_grad.do(graph)
    assert not propagate_requires_grad.do(graph)
    [text] = [line for line in str(graph).splitlines() if "aten::exp" in line]
    assert "Tensor(requires_grad=1)" in text
    other = parse_ir("graph(%x : Tensor(requires_grad=0), %c : bool, %y : Tensor(requires_grad=1)):\n"
                     "  %r = prim::If(%c)\n"
                     "    block0():\n      %a = aten::exp(%x)\n      -> (%a)\n    block1():\n      -> (%y)\n"
                     "  %d = aten::detach(%r)\n  %u : Tensor = ^python()(%x)\n  return (%r, %d, %u)")
    propagate_requires_grad.do(other)
    said = {v.name: v.static_type.requires_grad for n in other.all_nodes() for v in n.results}
    assert said == {"a": False, "r": True, "d": False, "u": True}


def test_writes_to_what_a_group_takes_are_refused() -> None:
    graph = parse_ir(GRAPHS["chain"])
    create_autodiff_subgraphs.do(graph)
    [group] = graph.nodes()
    with graph.inserting(graph.body):
        graph.insert("aten::zero_", [group.operand(0)], [group.operand(0).static_type])
    with pytest.raises(RuntimeError, match=r"aten::zero_ writes to memory of %y, .*\n.*Write to a copy"):
        _C._jit_pass_check_inplace(graph)
    python = parse_ir("graph(%x):\n  %y = ^Scale[inplace=1]()(%x)\n  return (%y)")
    with pytest.raises(RuntimeError, match="inplace Scale not supported in the JIT"):
        check_inplace.do(python)


def noisy(x: Tensor, y: Tensor) -> Tensor:
    a = (x * y).sin() * x.exp() + y
    a = flambeau.nn.functional.dropout(a, 0.5, True)
    b = (a * a).cos() * y.tanh()
    x_total = b.sum()
    if bool(x_total > 0.0):
        b = (b * 2.0).exp() * x.sigmoid() + b
    return b.sum() + x_total


def writing(x: Tensor, y: Tensor, log: Tensor) -> Tensor:
    a = (x * y).sin() * x.exp() + y
    log.copy_(a.detach())
    b = (a * a).cos() * y.tanh() + a
    return b.sum()


@pytest.mark.parametrize("program", [noisy, writing])
def test_regions_of_recorded_calls_go_back_as_on_the_tape(program: Any) -> None:
    compiled = flambeau.script(program)
    for _ in range(3):
        found = []
        for function in (program, compiled):
            flambeau.manual_seed(7)
            x, y = (flambeau.tensor(v, requires_grad=True) for v in ([0.3, 0.6, 0.9], [0.5, 1.0, 2.0]))
            rest = [flambeau.zeros(3)] if program is writing else []
            result = function(x, y, *rest)
            first = flambeau.autograd.grad(result, [x, y], create_graph=True)
            second = flambeau.autograd.grad(first[0].sum(), [x, y])
            found.append([result.detach(), *(g.detach() for g in (*first, *second)), *rest])
        for plain, ours in zip(*found, strict=True):
            np.testing.assert_allclose(ours.numpy(), plain.numpy(), rtol=2e-5)
    [code] = compiled._executor.derivatives.recorded_codes
    assert len(code.regions) >= (2 if program is noisy else 1)
    assert "region_0_forward" in str(compiled.explain())
