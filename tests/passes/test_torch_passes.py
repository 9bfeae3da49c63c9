"""Passes by TorchScript's names: before and after, and beside PyTorch's own where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import _C
from flambeau.interpreter.reference import evaluate
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import (
    activations_in_place,
    create_functional_graphs,
    decompose_ops,
    fuse_add_relu,
    fuse_linear,
    list_idioms,
    refine_from_conditions,
    retype,
    rewrite_patterns,
)
from tests.passes.before_after import expect, expect_same


def kinds(graph: Any) -> list[str]:
    return [n.op.partition("::")[2] for n in graph.all_nodes() if n.op != "prim::Constant"]


ONES = "  %1 : int = prim::Constant[value=1]()\n  %2 : int = prim::Constant[value=2]()\n"


def test_addmm_is_a_product_and_a_sum() -> None:
    text = f"graph(%b, %x, %w):\n{ONES}  %y = aten::addmm(%b, %x, %w, %1, %1)\n  return (%y)"
    graph = parse_ir(text)
    assert decompose_ops.do(graph)
    assert kinds(graph) == ["mm", "add"]
    expect_same(decompose_ops.do, text.replace("%1, %1)", "%2, %1)"))


LINEAR = [
    ("aten::addmm(%b, %x, %t, %1, %1)", ["linear"]),
    ("aten::addmm(%b, %x, %t, %1, %2)", ["t", "addmm"]),
    ("aten::matmul(%x, %t)\n  %z = aten::add(%y, %b, %1)", ["linear"]),
    ("aten::matmul(%x, %t)\n  %z = aten::add_(%y, %b, %1)", ["linear"]),
    ("aten::matmul(%x, %t)\n  %z = aten::add(%y, %b, %2)", ["linear", "add"]),
    ("aten::matmul(%x, %t)\n  %z = aten::add(%y, %m, %1)", ["linear", "add"]),
    ("aten::matmul(%x, %w)", ["t", "t", "linear"]),
    ("aten::matmul(%t, %m)", ["t", "matmul"]),
]


@pytest.mark.parametrize(("body", "wanted"), LINEAR)
def test_products_with_transposed_weights_are_linears(body: str, wanted: list[str]) -> None:
    header = "graph(%x : Float(*, 3), %w : Float(3, 3), %b : Float(3), %m : Float(*, *, *)):\n"
    result = "%z" if "%z" in body else "%y"
    graph = parse_ir(f"{header}{ONES}  %t = aten::t(%w)\n  %y = {body}\n  return ({result})")
    before = parse_ir(str(graph))
    fuse_linear.do(graph)
    verify(graph)
    assert kinds(graph) == wanted
    given = [flambeau.arange(9.0).reshape(3, 3) + i for i in range(2)] + [flambeau.ones(3), flambeau.ones(2, 3, 3)]
    np.testing.assert_allclose(evaluate(graph, given)[0].numpy(), evaluate(before, given)[0].numpy(), rtol=1e-6)


def test_a_product_whose_operand_is_written_meanwhile_takes_no_bias_in() -> None:
    graph = parse_ir(f"""graph(%x, %w : Float(3, 3), %b : Float(3)):
{ONES}  %t = aten::t(%w)
  %y = aten::matmul(%x, %t)
  %c = aten::zero_(%w)
  %z = aten::add(%y, %b, %1)
  return (%z, %c)""")
    assert fuse_linear.do(graph)
    assert kinds(graph) == ["linear", "zero_", "add"]


@pytest.mark.parametrize(("add", "relu", "wanted"), [
    ("add", "relu", ["_add_relu"]), ("add", "relu_", ["_add_relu"]), ("add_", "relu_", ["_add_relu_"]),
    ("add_", "relu", ["add_", "relu"]),
])  # fmt: skip
def test_relu_of_a_sum(add: str, relu: str, wanted: list[str]) -> None:
    graph = parse_ir(
        f"graph(%x, %y):\n{ONES}  %a = aten::{add}(%x, %y, %2)\n  %b = aten::{relu}(%a)\n  return (%b)"
    )
    before = parse_ir(str(graph))
    fuse_add_relu.do(graph)
    assert kinds(graph) == wanted
    given = [flambeau.tensor([1.0, -9.0]), flambeau.tensor([1.0, 2.0])]
    again = [t.clone() for t in given]
    assert evaluate(graph, given)[0].tolist() == evaluate(before, again)[0].tolist()
    assert given[0].tolist() == again[0].tolist()


def test_a_sum_that_others_see_stays() -> None:
    expect_same(fuse_add_relu.do, f"""graph(%x, %y):
{ONES}  %a = aten::add(%x, %y, %1)
  %b = aten::relu(%a)
  return (%a, %b)""")
    expect_same(fuse_add_relu.do, f"""graph(%x, %y):
{ONES}  %a = aten::add_(%x, %y, %1)
  %c = aten::exp(%x)
  %b = aten::relu_(%a)
  return (%b, %c)""")


CONV = "  %c = aten::conv2d(%x, %w, %n, %l, %l, %l, %1)\n"
TO_ACT = "graph(%x, %w, %n : NoneType, %l : int[]):\n  %1 : int = prim::Constant[value=1]()\n"


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "hardswish", "silu", "relu6"])
def test_activations_write_into_fresh_operands(name: str) -> None:
    before = f"{TO_ACT}{CONV}  %y = aten::{name}(%c)\n  return (%y)"
    after = before.replace(f"aten::{name}(", f"aten::{name}_(")
    expect(activations_in_place.to_in_place, before, after)
    expect(activations_in_place.to_functional, after, before)


@pytest.mark.parametrize("body", [
    "  %y = aten::relu(%x)\n  return (%y)",
    f"{CONV}  %y = aten::relu(%c)\n  return (%y, %c)",
    f"{CONV}  %y = aten::relu(%c)\n  %z = aten::exp(%c)\n  return (%y, %z)",
    f"{CONV}  %v = aten::t(%c)\n  %y = aten::relu(%c)\n  %z = aten::exp(%v)\n  return (%y, %z)",
    "  %s = aten::add(%x, %w, %1)\n  %y = aten::sigmoid(%s)\n  return (%y)",
    "  %s = aten::t(%x)\n  %y = aten::relu(%s)\n  return (%y)",
])  # fmt: skip
def test_other_activations_do_not(body: str) -> None:
    expect_same(activations_in_place.to_in_place, TO_ACT + body)


def test_activations_of_written_parameters_stay() -> None:
    expect_same(activations_in_place.to_functional, f"{TO_ACT}  %y = aten::relu_(%x)\n  return (%y)")


@pytest.mark.parametrize("name", ["selu", "silu", "hardswish", "hardsigmoid", "mish"])
def test_activations_that_refuse_integers_write_into_any_fresh_operand(name: str) -> None:
    for form in (name, f"{name}_"):  # no call is lost by it
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            getattr(flambeau.ops.aten, form)(flambeau.tensor([1, 2]))
    before = f"{TO_ACT}  %s = aten::add(%x, %w, %1)\n  %y = aten::{name}(%s)\n  return (%y)"
    expect(activations_in_place.to_in_place, before, before.replace(f"aten::{name}(", f"aten::{name}_("))


def test_lists_that_are_written_out() -> None:
    expect(list_idioms.do, """graph(%a : int, %b : int, %c : int):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %n : NoneType = prim::Constant()
  %l : int[] = prim::ListConstruct(%a, %b, %c)
  %m : int[] = aten::slice(%l, %1, %n, %1)
  %k : int[] = aten::add(%m, %l)
  %len : int = aten::len(%k)
  %i : int = aten::__getitem__(%k, %0)
  %x : int, %y : int = prim::ListUnpack(%m)
  return (%len, %i, %x, %y)""", """graph(%a : int, %b : int, %c : int):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %n : NoneType = prim::Constant()
  %l : int[] = prim::ListConstruct(%a, %b, %c)
  %m : int[] = prim::ListConstruct(%b, %c)
  %k : int[] = prim::ListConstruct(%b, %c, %a, %b, %c)
  %len : int = prim::Constant[value=5]()
  return (%len, %b, %b, %c)""")
    expect_same(list_idioms.do, """graph(%a : int):
  %l : int[] = prim::ListConstruct(%a)
  %m : int[] = aten::append(%l, %a)
  %len : int = aten::len(%l)
  %x : int = prim::ListUnpack(%l)
  return (%len, %x, %m)""")


def refined(source: str, *, mutates: bool = False) -> list[str]:
    graph = flambeau.CompilationUnit(source).f.graph
    ours = parse_ir(str(graph))
    list_idioms.do(ours, True)
    verify(ours)
    return kinds(ours)


@pytest.mark.parametrize(("body", "left"), [
    ("    if len(x) == 4:\n        return len(x)\n    return 0", 1),
    ("    if len(x) != 4:\n        raise ValueError()\n    return len(x)", 1),
    ("    assert len(x) == 4\n    return len(x)", 1),
    ("    if n > 1 and len(x) == 4:\n        return len(x)\n    return 0", 1),
    ("    if not (n > 1 or len(x) != 4):\n        return len(x)\n    return 0", 1),
    ("    if len(x) == 4:\n        n = 1\n    return len(x) + n", 2),
    ("    if n > 1 or len(x) == 4:\n        return len(x)\n    return 0", 2),
    ("    if len(x) == 4:\n        x.append(1)\n        return len(x)\n    return 0", 2),
])  # fmt: skip
def test_lengths_that_a_condition_says(body: str, left: int) -> None:
    assert refined(f"def f(x: List[int], n: int) -> int:\n{body}\n").count("len") == left


def test_ints_that_a_condition_says() -> None:
    graph = parse_ir("""graph(%n : int):
  %4 : int = prim::Constant[value=4]()
  %c : bool = aten::eq(%n, %4)
  %r : int = prim::If(%c)
    block0():
      %m : int = aten::mul(%n, %n)
      -> (%m)
    block1():
      -> (%n)
  return (%r)""")
    assert refine_from_conditions.integers(graph)
    verify(graph)
    inner = graph.find("aten::mul")
    assert inner is not None
    assert all(v.defining_node.attribute("value") == 4 for v in inner.operands if v.defining_node is not None)
    assert [evaluate(graph, [n])[0] for n in (4, 5)] == [16, 5]


def test_types_of_tuples_and_numbers() -> None:
    graph = parse_ir("graph(%x : Float(2, 3), %n : int):\n  %t : (Tensor, int) = prim::TupleConstruct(%x, %n)\n"
                     "  %m : int = aten::add(%n, %n)\n  %y = aten::add(%x, %x, %m)\n  return (%t, %y)")  # fmt: skip
    assert retype.refine_tuples(graph)
    assert str(next(iter(graph.nodes())).result().static_type) == "(Float(2, 3), int)"
    assert retype.erase_numbers(graph)
    assert [str(v.static_type) for v in graph.parameters] == ["Float(2, 3)", "Long(device=cpu)"]
    assert str(graph.find_all("aten::add")[0].result().static_type) == "Long(device=cpu)"


def test_graphs_without_numbers_are_valid() -> None:
    text = "  %t = prim::NumToTensor(%i)\n  %r = aten::mul(%x, %t)\n  return (%r)"
    graph = parse_ir(f"graph(%x, %i : int):\n{ONES}{text}")
    assert retype.erase_numbers(graph)
    verify(graph)
    assert not graph.find_all("prim::NumToTensor")


def test_graphs_without_numbers_are_valid_where_operators_want_numbers() -> None:
    @flambeau.script
    def f(x: flambeau.Tensor, n: int, v: float, b: bool):  # type: ignore[no-untyped-def]
        y = x.add(n, alpha=n) if b else x.sum(n)
        for i in range(n):
            y = y * i
        return y * v, n + 1, [n, 3], (n, v), {"a": n}

    graph = f.graph.copy()
    assert retype.erase_numbers(graph)
    assert not [v for node in graph.all_nodes() for v in node.results if str(v.static_type) in ("int", "float", "bool")]
    graph.lint()


KEPT = {
    "quotients of large ints by 1 are rounded": (
        "%x : int", "%r : float = aten::div(%x, %1)\n  %q : int = aten::Int(%r)", 2**53 + 1, 2**53
    ),
    "a bool times 1 is an int": ("%x : Tensor", "%q : Tensor = aten::mul(%x, %1)", flambeau.tensor(True), 1),
}  # fmt: skip


@pytest.mark.parametrize("why", KEPT)
def test_what_the_peer_simplifies_and_would_be_another_number(why: str) -> None:
    parameter, body, value, wanted = KEPT[why]
    graph = parse_ir(f"graph({parameter}):\n{ONES}  {body}\n  return (%q)")
    _C._jit_pass_peephole(graph)
    (result,) = evaluate(graph, (value,))
    assert int(result) == wanted
    assert not isinstance(result, flambeau.Tensor) or result.dtype is flambeau.int64


def test_types_from_examples_and_one_fact_alone() -> None:
    text = "graph(%x, %w):\n  %y = aten::mm(%x, %w)\n  %z = aten::relu(%y)\n  return (%z)"
    graph = _C._propagate_shapes(_C.parse_ir(text), (flambeau.ones(2, 3), flambeau.ones(3, 4)), False)
    assert str(graph.returns[0].static_type).startswith("Float(2, 4")
    _C._jit_erase_non_input_shape_information(graph)
    assert [str(v.static_type) for v in (*graph.parameters[:1], *graph.returns)][1] == "Tensor"
    assert _C.run_pass("propagate_dtype", graph) is graph
    assert str(graph.returns[0].static_type) == "FloatTensor"
    with pytest.raises(ValueError, match="takes 2 inputs, but there are 1 examples"):
        _C._jit_pass_complete_shape_analysis(graph, (flambeau.ones(1),), False)


LONG = """  %b = aten::mul(%y, %y)
  %c = aten::relu(%b)
  %e = aten::exp(%c)
  %k = aten::sin(%e)
  %f = aten::tanh(%k)
  %g = aten::tanh(%f)
  %h = aten::cos(%g)
"""


def test_functional_regions() -> None:
    text = f"graph(%x, %y):\n{ONES}  %a = aten::add(%x, %y, %1)\n  %d = aten::zero_(%a)\n{LONG}  return (%h, %d)"
    graph, before = parse_ir(text), parse_ir(text)
    assert create_functional_graphs.do(graph)
    verify(graph)
    assert kinds(graph) == ["add", "zero_", "FunctionalGraph"]
    given = [flambeau.rand(3), flambeau.rand(3)]
    wanted = [t.tolist() for t in evaluate(before, given)]
    assert [t.tolist() for t in evaluate(graph, given)] == wanted
    assert [t.tolist() for t in _C._create_function_from_graph("f", graph)(*given)] == wanted
    expect_same(create_functional_graphs.do, text.replace("aten::relu(", "aten::relu_("))
    expect_same(create_functional_graphs.do, text.replace("%g = aten::tanh(%f)", "%g = aten::zero_(%f)"))


# -- patterns ---------------------------------------------------------------------------------------------------------

PATTERN = "graph(%a, %b):\n  %c = aten::mul(%a, %b)\n  %d = aten::relu(%c)\n  return (%d)"
REPLACEMENT = "graph(%a, %b):\n  %e = my::fused(%a, %b)\n  return (%e)"


def test_patterns_are_replaced_wherever_they_occur() -> None:
    graph = _C.parse_ir("""graph(%x, %y, %c : bool):
  %p = aten::mul(%x, %y)
  %q = aten::relu(%p)
  %r = prim::If(%c)
    block0():
      %s = aten::mul(%q, %x)
      %t = aten::relu(%s)
      -> (%t)
    block1():
      %u = aten::mul(%q, %q)
      %v = aten::relu(%u)
      %w = aten::add(%u, %v)
      -> (%w)
  return (%r)""")
    _C._jit_pass_custom_pattern_based_rewrite_graph(PATTERN, REPLACEMENT, graph)
    assert kinds(graph) == ["fused", "If", "fused", "mul", "relu", "add"]


def test_matches_do_not_overlap_and_attributes_count() -> None:
    twice = "graph(%a):\n  %b = aten::relu(%a)\n  %c = aten::relu(%b)\n  return (%c)"
    none = "graph(%a):\n  return (%a)"
    graph = parse_ir("graph(%x):\n  %1 = aten::relu(%x)\n  %2 = aten::relu(%1)\n  %3 = aten::relu(%2)\n  return (%3)")
    assert rewrite_patterns.do(graph, parse_ir(twice), parse_ir(none))
    assert kinds(graph) == ["relu"]
    with_number = "graph(%a):\n  %k : int = prim::Constant[value=2]()\n  %b = aten::add(%a, %a, %k)\n  return (%b)"
    pattern = parse_ir(with_number)
    for number, changes in ((2, True), (3, False)):
        other = parse_ir(with_number.replace("value=2", f"value={number}"))
        assert rewrite_patterns.do(other, pattern, parse_ir(none)) is changes
    named = "graph(%a):\n  %b = my::op[mode=\"m\", n=1](%a)\n  return (%b)"
    for text, changes in ((named, True), (named.replace("n=1", "n=2"), False)):
        assert rewrite_patterns.do(parse_ir(text), parse_ir(named), parse_ir(none)) is changes


def test_submodules_by_class() -> None:
    scripted = flambeau.script(flambeau.nn.Sequential(flambeau.nn.Linear(2, 2), flambeau.nn.ReLU()))
    pattern = """graph(%self, %x):
  %m = match::module[name="Linear"](%self)
  %y = prim::CallMethod[name="forward"](%m, %x)
  return (%y)"""
    graph = scripted.graph.copy()
    _C._jit_pass_custom_pattern_based_rewrite_graph(
        pattern, "graph(%self, %x):\n  %y = my::linear(%x)\n  return (%y)", graph
    )
    assert kinds(graph) == ["GetAttr", "linear", "CallMethod"] or kinds(graph) == ["linear", "GetAttr", "CallMethod"]


def test_places_in_the_source_are_handed_on() -> None:
    def f(x: flambeau.Tensor) -> flambeau.Tensor:
        y = x * x
        return flambeau.relu(y)

    graph = flambeau.script(f).graph.copy()
    line = graph.find("aten::mul").range.file_line_col()[1]
    pairs = [("e", "c")]
    _C._jit_pass_custom_pattern_based_rewrite_graph(PATTERN, REPLACEMENT, graph, value_name_pairs=pairs)
    assert graph.find("my::fused").range.file_line_col()[1] == line


@pytest.mark.parametrize(("pattern", "message"), [
    ("graph(%a, %b):\n  return (%a)", "a pattern needs a node"),
    ("graph(%a, %b):\n  %c = aten::relu(%a)\n  %d = aten::exp(%b)\n  return (%c)", "must depend on all its nodes"),
    ("graph(%a):\n  %c = aten::relu(%a)\n  return (%c)", "the pattern has 1 parameters, the replacement 2"),
    ("graph(%a, %b):\n  %c = prim::If(%a)\n    block0():\n      -> (%a)\n    block1():\n      -> (%b)\n"
     "  return (%c)", "a pattern has no blocks"),
])  # fmt: skip
def test_patterns_that_cannot_be(pattern: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        _C._jit_pass_custom_pattern_based_rewrite_graph(pattern, REPLACEMENT, _C.parse_ir(PATTERN))


# -- frozen modules ---------------------------------------------------------------------------------------------------


def test_folds_one_by_one() -> None:
    class Net(flambeau.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = flambeau.nn.Conv1d(2, 3, 1), flambeau.nn.BatchNorm1d(3)

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return (self.norm(self.conv(x)) * 2.0 + 1.0).relu()

    frozen = flambeau.jit.freeze(flambeau.script(Net().eval()), optimize_numerics=False)
    x = flambeau.rand(2, 2, 4)
    graph = frozen.graph.copy()
    seen = [sum(k in ("batch_norm", "mul", "add") for k in kinds(graph))]
    for name in ("fold_frozen_linear_bn", "fold_frozen_conv_bn", "fold_frozen_conv_mul_or_div",
                 "fold_frozen_conv_add_or_sub"):  # fmt: skip
        _C.run_pass(name, graph)
        seen.append(sum(k in ("batch_norm", "mul", "add") for k in kinds(graph)))
    assert seen == [3, 3, 2, 1, 0]
    found = evaluate(graph, [frozen.script_object, x])[0]
    np.testing.assert_allclose(found.numpy(), frozen(x).numpy(), rtol=1e-5, atol=1e-6)


def test_dropouts_of_modules() -> None:
    module = flambeau.nn.Sequential(flambeau.nn.Linear(2, 2), flambeau.nn.Dropout())
    with pytest.raises(RuntimeError, match="Dropout removal module in training mode is not yet supported"):
        _C._jit_pass_remove_dropout(flambeau.script(module)._c)
    frozen = flambeau._C._freeze_module(flambeau.script(module.eval())._c)
    assert "aten::dropout" in str(frozen._get_method("forward").graph)
    _C._jit_pass_remove_dropout(frozen)
    assert "aten::dropout" not in str(frozen._get_method("forward").graph)
    assert frozen.ours(flambeau.ones(1, 2)).tolist() == module(flambeau.ones(1, 2)).tolist()


def test_frozen_in_training_keeps_what_training_changes() -> None:
    module = flambeau.nn.Sequential(flambeau.nn.Linear(2, 2), flambeau.nn.Dropout(), flambeau.nn.BatchNorm1d(2))
    frozen = _C._freeze_module(flambeau.script(module)._c)
    linear, dropout, norm = (frozen.getattr(str(i)) for i in range(3))
    assert linear.hasattr("weight")
    assert not linear.hasattr("training")
    assert dropout.hasattr("training")
    assert norm.hasattr("training")
    assert norm.hasattr("running_mean")
    optimised = flambeau.jit.optimize_for_inference(flambeau.script(module))
    assert not module.training or not hasattr(optimised, "0")


# -- beside the peer --------------------------------------------------------------------------------------------------

PEER: list[tuple[str, str]] = [
    ("decompose_ops", f"graph(%b, %x, %w):\n{ONES}  %y = aten::addmm(%b, %x, %w, %1, %1)\n"
                      "  %z = aten::addmm(%b, %x, %w, %2, %1)\n  return (%y, %z)"),
    ("fuse_add_relu", f"graph(%x, %y):\n{ONES}  %a = aten::add(%x, %y, %1)\n  %b = aten::relu(%a)\n  return (%b)"),
    ("fuse_add_relu", f"graph(%x, %y):\n{ONES}  %a = aten::add_(%x, %y, %1)\n  %b = aten::relu_(%a)\n  return (%b)"),
    ("inplace_to_functional_activation", f"{TO_ACT}{CONV}  %y = aten::relu_(%c)\n  return (%y)"),
    ("functional_to_inplace_activation", f"{TO_ACT}{CONV}  %y = aten::relu(%c)\n  return (%y)"),
    ("functional_to_inplace_activation", f"{TO_ACT}  %y = aten::relu(%x)\n  return (%y)"),
    ("create_functional_graphs", f"graph(%y):\n{LONG}  %v = aten::relu(%h)\n  %z = aten::zero_(%v)\n  return (%z)"),
    ("peephole", "graph(%x : int, %y : int):\n  %k : str = prim::Constant[value=\"a\"]()\n"
                 "  %l : str = prim::Constant[value=\"b\"]()\n"
                 "  %d : Dict(str, int) = prim::DictConstruct(%k, %x, %l, %y)\n"
                 "  %r : int = aten::__getitem__(%d, %l)\n  %n : int = aten::len(%d)\n  return (%r, %n)"),
    ("peephole", "graph(%x : Float(2, 3, device=cpu), %y : Float(4, device=cpu)):\n"
                 "  %r : Tensor = aten::type_as(%x, %y)\n  return (%r)"),
    ("peephole", "graph(%x : Float(2, 3, device=cpu), %y : Long(4, device=cpu)):\n"
                 "  %r : Tensor = aten::type_as(%x, %y)\n  return (%r)"),
    ("peephole", "graph(%x : Float(*, *)):\n  %s : int[] = aten::size(%x)\n  %n : int = aten::len(%s)\n  return (%n)"),
    ("peephole", "graph(%x : Float(2, 3, device=cpu)):\n  %g : bool = prim::is_cuda(%x)\n"
                 "  %f : bool = aten::is_floating_point(%x)\n  return (%g, %f)"),
    ("peephole", "graph(%x : int):\n  %a : Tensor = prim::NumToTensor(%x)\n  %b : int = aten::Int(%a)\n  return (%b)"),
    ("peephole", "graph(%c : bool):\n  %t : bool = prim::Constant[value=1]()\n  %f : bool = prim::Constant[value=0]()\n"
                 "  %r : bool = prim::If(%c)\n    block0():\n      -> (%t)\n"
                 "    block1():\n      -> (%f)\n  return (%r)"),
    ("peephole", "graph(%c : bool):\n  %t : bool = prim::Constant[value=1]()\n  %f : bool = prim::Constant[value=0]()\n"
                 "  %r : bool = prim::If(%c)\n    block0():\n      -> (%f)\n"
                 "    block1():\n      -> (%t)\n  return (%r)"),
    ("peephole", f"graph(%x, %y):\n{ONES}  %r = aten::rsub(%x, %y, %1)\n  return (%r)"),
    ("peephole", f"graph(%x):\n{ONES}  %a = aten::t(%x)\n  %b = aten::t(%a)\n  %c = aten::relu(%b)\n  return (%c)"),
    ("remove_mutation", "graph():\n  %2 : int = prim::Constant[value=2]()\n  %3 : int = prim::Constant[value=3]()\n"
                        "  %1 : int = prim::Constant[value=1]()\n  %n : NoneType = prim::Constant()\n"
                        "  %s : int[] = prim::ListConstruct(%2, %2)\n  %z = aten::zeros(%s, %n, %n, %n, %n)\n"
                        "  %r = aten::add_(%z, %3, %1)\n  return (%r)"),
    ("remove_mutation", f"graph():\n{ONES}  %3 : int = prim::Constant[value=3]()\n"
                        "  %a : int[] = prim::ListConstruct(%1, %2)\n"
                        "  %b : int[] = aten::append(%a, %3)\n  return (%a)"),
    ("peephole_list_idioms", "graph(%a : int, %b : int):\n  %l : int[] = prim::ListConstruct(%a, %b)\n"
                             "  %k : int[] = aten::add(%l, %l)\n  %n : int = aten::len(%k)\n  return (%n)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), PEER)
def test_as_the_peer_does(name: str, text: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    ours, theirs = _C.parse_ir(text), torch._C.parse_ir(text)
    run: Callable[[Any], Any] = getattr(torch._C, f"_jit_pass_{name}")
    run(theirs)
    _C.run_pass(name, ours)
    for graph, dce in ((ours, _C._jit_pass_dce), (theirs, torch._C._jit_pass_dce)):
        dce(graph)
    found = sorted(kinds(ours))
    assert found == sorted(n.kind().partition("::")[2] for n in theirs.nodes() if n.kind() != "prim::Constant")


@pytest.mark.parametrize("pattern", [PATTERN, "graph(%a, %b):\n  %c = aten::mul(%a, %b)\n  return (%c)"])
def test_patterns_as_the_peer_replaces_them(pattern: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    text = """graph(%x, %y):
  %p = aten::mul(%x, %y)
  %q = aten::relu(%p)
  %r = aten::mul(%q, %q)
  %s = aten::relu(%r)
  %t = aten::exp(%r)
  return (%s, %t)"""
    ours, theirs = _C.parse_ir(text), torch._C.parse_ir(text)
    _C._jit_pass_custom_pattern_based_rewrite_graph(pattern, REPLACEMENT, ours)
    torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, REPLACEMENT, theirs)
    assert kinds(ours) == [n.kind().partition("::")[2] for n in theirs.nodes()]
