"""Gradients that are not there: of results that nobody goes back from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autodiff.graph_gradient import Gradient, differentiate_graph, pack_gradient
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.undefined_gradients import without
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify


def apart(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    shared = (x * y).sin()
    return x.exp(), shared * y, y.cos()


def carried(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x * 1.5, y * 2.0
    for i in range(3):
        a = a * x + float(i)
        b = b.sin() * y if i != 1 else b * 0.5
    return a, b


def stored(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    kept = x.new_zeros(4)
    for i in range(4):
        kept[i] = x[i] * 2.0
    kept = kept * x
    return kept, y * 3.0


PROGRAMS = [(apart, 3), (carried, 2), (stored, 2)]


@pytest.mark.parametrize(("program", "count"), PROGRAMS, ids=["apart", "carried", "stored"])
def test_c15_only_what_has_a_gradient_goes_back(program: Any, count: int) -> None:
    compiled = flambeau.script(program)
    draw = np.random.default_rng(1)
    for mask in range(1, 2**count):
        found = []
        draws = [draw.uniform(0.2, 1.0, 4) for _ in range(2)]
        for function in (program, compiled):
            x, y = (flambeau.tensor(a, requires_grad=True) for a in draws)
            results = function(x, y)
            sum(r.sum() for n, r in enumerate(results) if mask >> n & 1).backward()
            found.append([x.grad, y.grad])
        for plain, ours in zip(*found, strict=True):
            assert (plain is None) == (ours is None), mask
            if plain is not None:
                np.testing.assert_allclose(ours.numpy(), plain.numpy(), rtol=1e-12)
    assert compiled._executor.derivatives.gradient_plans


def test_c15_second_derivatives_where_one_result_has_none() -> None:
    compiled = flambeau.script(apart)
    for function in (apart, compiled):
        x, y = (flambeau.tensor([0.3, 0.6], requires_grad=True, dtype=flambeau.float64) for _ in range(2))
        _, middle, _ = function(x, y)
        [first] = flambeau.autograd.grad(middle.sum(), [x], create_graph=True)
        first.sum().backward()
        if function is apart:
            wanted = (first.detach().numpy(), x.grad.numpy(), y.grad.numpy())
    for ours, plain in zip((first.detach(), x.grad, y.grad), wanted, strict=True):
        np.testing.assert_allclose(ours.numpy(), plain, rtol=1e-12)


GRAPH = """graph(%x : Double(3), %y : Double(3), %c : Double(3, requires_grad=0)):
  %a : Double(3) = aten::mul(%x, %y)
  %b : Double(3) = aten::exp(%a)
  %d : Double(3) = aten::mul(%b, %c)
  %e : Double(3) = aten::sin(%y)
  return (%d, %e)"""


def _gradient() -> Gradient:
    return differentiate_graph(parse_ir(GRAPH))


def test_a_graph_has_a_derivative_with_torchscripts_names() -> None:
    gradient = _gradient()
    verify(gradient.f)
    verify(gradient.df)
    assert gradient.f_real_outputs == 2
    assert gradient.df_input_vjps == (0, 1)
    assert gradient.df_output_vjps == (0, 1)
    captured = len(gradient.df_input_captured_inputs) + len(gradient.df_input_captured_outputs)
    assert len(gradient.df.parameters) == 2 + captured
    assert "prim::AutogradAdd" in str(gradient.df), "x and e both depend on y"
    assert repr(gradient).startswith("Gradient\nf: graph(")


def test_the_way_back_from_one_result_takes_and_gives_less() -> None:
    gradient = _gradient()
    both = without(gradient.df, 2, ())
    assert "prim::Autograd" not in str(both.graph)
    assert "aten::add" in str(both.graph)
    first = without(gradient.df, 2, (1,))
    assert (first.seeds, first.gradients) == ((0,), (0, 1))
    assert "aten::cos" not in str(first.graph)
    second = without(gradient.df, 2, (0,))
    assert (second.seeds, second.gradients) == ((1,), (1,))
    assert "aten::exp" not in str(second.graph)


def test_what_cannot_be_differentiated_says_why() -> None:
    with pytest.raises(NotDifferentiableError, match="no parameter is a tensor of real numbers"):
        differentiate_graph(parse_ir("graph(%n : int, %i : Long(3)):\n  return (%n)"))
    with pytest.raises(NotDifferentiableError, match="written in place"):
        differentiate_graph(parse_ir("graph(%x : Float(3)):\n  %y : Float(3) = my::unknown(%x)\n  return (%y)"))


def test_torchs_users_ask_by_its_name() -> None:
    assert flambeau._C._jit_differentiate(parse_ir(GRAPH)).df_output_vjps == (0, 1)
    with pytest.raises(RuntimeError, match="the graph has no derivative: nothing in the graph can be differentiated"):
        flambeau._C._jit_differentiate(parse_ir("graph(%n : int):\n  return (%n)"))


def test_torch_differentiates_by_the_same_arguments_and_results() -> None:
    torch = pytest.importorskip("torch")
    typed = GRAPH.replace("(3)", "(3, requires_grad=1, device=cpu)").replace("=0)", "=0, device=cpu)")
    theirs = torch._C._jit_differentiate(torch._C.parse_ir(typed))
    ours = _gradient()
    assert list(ours.df_output_vjps) == theirs.df_output_vjps
    assert ours.f_real_outputs == theirs.f_real_outputs
    assert set(ours.df_input_vjps) <= set(theirs.df_input_vjps)


def test_a_packed_node_runs_and_says_what_it_is_the_derivative_of() -> None:
    graph = parse_ir(
        """graph(%x : Double(3), %y : Double(3), %c : Double(3)):
  %d : Double(3), %e : Double(3) = prim::DifferentiableGraph_0(%x, %y, %c)
  return (%d, %e)
with prim::DifferentiableGraph_0 = """
        + GRAPH
    )
    [node] = graph.nodes()
    gradient = differentiate_graph(node.attribute("Subgraph"))
    with pytest.raises(ValueError, match="belongs onto a prim::DifferentiableGraph, not onto a aten::mul"):
        pack_gradient(gradient, next(node.attribute("Subgraph").nodes()))
    pack_gradient(gradient, node)
    assert node.attribute("df_output_vjps") == [0, 1]
    short = parse_ir(
        "graph(%x):\n  %d = prim::DifferentiableGraph_0(%x)\n  return (%d)\n"
        "with prim::DifferentiableGraph_0 = graph(%x):\n  return (%x)"
    )
    with pytest.raises(ValueError, match="the node takes 1 values and gives 1, the function of the derivative takes 3"):
        pack_gradient(gradient, next(short.nodes()))


def left_early(x: Tensor, v: Tensor, w: Tensor) -> Tensor:
    m = w * 1.1
    m.sub_(w.exp())
    t = v * v
    for _ in range(x.size(0)):
        for _ in range(v.size(0)):
            return (t * t).sum()
        t = t + w[0] * 0.1
    return (m * w.cos()).sum()


def test_second_derivatives_where_a_gradient_was_not_there() -> None:
    found = []
    for function in (left_early, flambeau.script(left_early), flambeau.script(left_early, backend="interpreter")):
        draw = np.random.default_rng(2)
        leaves = [flambeau.tensor(draw.uniform(0.2, 1.0, 3), requires_grad=True) for _ in range(3)]
        first = flambeau.autograd.grad(function(*leaves), leaves, create_graph=True, allow_unused=True)
        assert [g is None for g in first] == [True, False, True]
        second = flambeau.autograd.grad((first[1] ** 2).sum(), leaves, allow_unused=True)
        assert [g is None for g in second] == [True, False, True]
        found.append(second[1].tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)
