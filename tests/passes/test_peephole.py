"""Peepholes: each rule, and the cases in which it would change what a program does."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.ir import constants, literals, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.passes import fold_control, peephole
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Float(*, 3, device=cpu), %i : Long(*), %t : Tensor, %b : Bool(*), %n : int, %f : float, %p : bool,
      %o : int?):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %one : float = prim::Constant[value=1.]()
  %zero : float = prim::Constant[value=0.]()
  %minus : float = prim::Constant[value=-0.]()
  %none : NoneType = prim::Constant()
  """

FILLED = """graph(%x : Float(*, 3), %d : Double(*), %i : Long(*), %t : Tensor, %b : Bool(*), %f : float):
  %1 : int = prim::Constant[value=1]()
  %one : float = prim::Constant[value=1.]()
  %most : float = prim::Constant[value=-inf]()
  %large : float = prim::Constant[value=1e39]()
  """

TWO = "%r : int = prim::Constant[value=2]()"
GONE = [
    ("%r : int = aten::add(%n, %0)", "%n"),
    ("%r : int = aten::add(%0, %n)", "%n"),
    ("%r : int = aten::sub(%n, %0)", "%n"),
    ("%r : int = aten::mul(%n, %1)", "%n"),
    ("%r : int = aten::mul(%1, %n)", "%n"),
    ("%r : int = aten::floordiv(%n, %1)", "%n"),
    ("%r : float = aten::mul(%f, %one)", "%f"),
    ("%r : float = aten::sub(%f, %zero)", "%f"),
    ("%r : float = aten::add(%f, %minus)", "%f"),
    ("%r : float = aten::div(%f, %one)", "%f"),
    ("%r : int = aten::Int(%n)", "%n"),
    ("%r : float = aten::Float(%f)", "%f"),
    ("%r : int = prim::unchecked_cast(%n)", "%n"),
    ("%q : bool = aten::__not__(%p)\n %r : bool = aten::__not__(%q)", "%p"),
    ("%q : Tensor = prim::NumToTensor(%n)\n %r : int = aten::Int(%q)", "%n"),
    ("%l : int[] = prim::ListConstruct(%n, %0)\n %r : int = aten::__getitem__(%l, %0)", "%n"),
    ("%l : Dict(int, int) = prim::DictConstruct(%0, %1, %1, %n)\n %r : int = aten::__getitem__(%l, %1)", "%n"),
    ("%l : Dict(int, int) = prim::DictConstruct(%0, %1, %0, %n)\n %r : int = aten::__getitem__(%l, %0)", "%n"),
]


@pytest.mark.parametrize(("body", "value"), GONE)
def test_numbers_that_change_nothing_go(body: str, value: str) -> None:
    kept = "".join(f" {line}\n" for line in body.split("\n")[:-1])
    expect(peephole.do, HEAD + body + "\n return (%r)", HEAD + kept + f" return ({value})")


KNOWN = [
    ("%r : int = aten::dim(%x)", "int", "2"),
    ("%r : int = aten::size(%x, %1)", "int", "3"),
    ("%r : int = prim::dtype(%x)", "int", "6"),
    ("%r : Device = prim::device(%x)", "Device", '"cpu"'),
    ("%r : bool = aten::is_floating_point(%x)", "bool", "1"),
    ("%r : bool = aten::is_complex(%x)", "bool", "0"),
    ("%r : bool = aten::eq(%n, %n)", "bool", "1"),
    ("%r : bool = aten::lt(%n, %n)", "bool", "0"),
    ("%r : bool = aten::__is__(%n, %none)", "bool", "0"),
    ("%r : bool = aten::__isnot__(%x, %none)", "bool", "1"),
    ("%r : bool = aten::__is__(%none, %none)", "bool", "1"),
    ("%r : bool = aten::__is__(%t, %t)", "bool", "1"),
    ("%r : bool = aten::__isnot__(%o, %o)", "bool", "0"),
    ("%r : bool = prim::isinstance[types=[int]](%n)", "bool", "1"),
    ("%r : bool = prim::isinstance[types=[int[], str]](%n)", "bool", "0"),
]


@pytest.mark.parametrize(("body", "type_", "value"), KNOWN)
def test_what_types_say_becomes_a_constant(body: str, type_: str, value: str) -> None:
    after = f"%r : {type_} = prim::Constant[value={value}]()"
    expect(peephole.do, HEAD + body + "\n return (%r)", HEAD + after + "\n return (%r)")


@pytest.mark.parametrize("asks", [0, 1, None])
def test_what_is_known_not_to_ask_answers(asks: int | None) -> None:
    head = f"graph(%x : Tensor({'*' if asks is None else f'requires_grad={asks}'})):\n"
    before = head + "  %r : bool = prim::requires_grad(%x)\n  return (%r)"
    after = head + "  %r : bool = prim::Constant[value=0]()\n  return (%r)"
    expect(peephole.do, before, after if asks == 0 else before)


def test_what_the_way_taken_gives_is_not_none() -> None:
    text = """%c : bool = aten::__is__(%x, %none)
      %y : Tensor? = prim::If(%c)
        block0():
          -> (%none)
        block1():
          -> (%x)
      """
    graph = parse_ir(HEAD + text + "%r : bool = aten::__is__(%y, %none)\n return (%r)")
    assert peephole.do(graph)
    assert constants.constant_value(graph.returns[0]) is False


@pytest.mark.parametrize(
    ("x", "mask", "number"),
    [("x", "b", "one"), ("x", "b", "1"), ("x", "b", "most"), ("d", "b", "most")],
)
def test_filling_is_a_choice(x: str, mask: str, number: str) -> None:
    head = FILLED + "%r : {} = aten::{}\n return (%r)"
    type_ = {"x": "Float(*, 3)", "d": "Double(*)"}[x]
    expect(
        peephole.do,
        head.format(type_, f"masked_fill(%{x}, %{mask}, %{number})"),
        head.format(type_, f"where(%{mask}, %{number}, %{x})"),
    )


@pytest.mark.parametrize(
    "body",
    [
        "%r : Long(*) = aten::masked_fill(%i, %b, %one)",
        "%r : Tensor = aten::masked_fill(%t, %b, %one)",
        "%r : Float(*, 3) = aten::masked_fill(%x, %x, %one)",
        "%r : Float(*, 3) = aten::masked_fill(%x, %b, %f)",
        "%r : Float(*, 3) = aten::masked_fill(%x, %b, %large)",
    ],
)
def test_filling_stays_where_a_number_may_not_fit(body: str) -> None:
    expect_same(peephole.do, FILLED + body + "\n return (%r)")


def test_negations_go_into_comparisons() -> None:
    expect(
        peephole.do,
        HEAD + "%q : bool = aten::eq(%n, %0)\n %r : bool = aten::__not__(%q)\n return (%r)",
        HEAD + "%q : bool = aten::eq(%n, %0)\n %r : bool = aten::ne(%n, %0)\n return (%r)",
    )


def test_hidden_tensors_lose_neutral_arithmetic() -> None:
    expect(
        peephole.do,
        HEAD + "%e : Float(*, 3) = aten::exp(%x)\n %a : Float(*, 3) = aten::mul(%e, %1)\n"
        " %c : Float(*, 3) = aten::sub(%a, %0, %1)\n %r : Float(*, 3) = aten::exp(%c)\n return (%r)",
        HEAD + "%e : Float(*, 3) = aten::exp(%x)\n %r : Float(*, 3) = aten::exp(%e)\n return (%r)",
    )


@pytest.mark.parametrize(("identity", "equality"), [("__is__", "eq"), ("__isnot__", "ne")])
def test_bools_are_one_object_where_they_are_equal(identity: str, equality: str) -> None:
    head = "graph(%a : bool, %b : bool):\n"
    text = " %r : bool = aten::{}(%a, %b)\n return (%r)"
    expect(peephole.do, head + text.format(identity), head + text.format(equality))


KEPT = [
    "%r : float = aten::add(%f, %zero)",
    "%r : float = aten::sub(%f, %minus)",
    "%r : float = aten::mul(%f, %zero)",
    "%r : float = aten::add(%n, %zero)",
    "%r : bool = aten::eq(%f, %f)",
    "%r : bool = aten::__is__(%o, %none)",
    "%q : bool = aten::lt(%f, %one)\n %r : bool = aten::__not__(%q)",
    "%r : int = aten::size(%x, %0)",
    "%r : int = aten::dim(%t)",
    "%r : int = aten::size(%x, %n)",
    "%r : Tensor = aten::mul(%x, %1)",
    "%e : Tensor = aten::exp(%x)\n %a : Tensor = aten::add(%e, %0, %1)\n %r : Tensor = aten::exp(%a)",
    "%e : Float(*) = aten::exp(%x)\n %a : Float(*) = aten::add(%e, %0, %1)\n %r : Tensor = aten::exp(%a)",
    "%e : Long(*) = aten::neg(%i)\n %a : Tensor = aten::add(%e, %zero, %1)\n %r : Tensor = aten::exp(%a)",
    "%e : Bool(*) = aten::logical_not(%b)\n %a : Tensor = aten::add(%e, %0, %1)\n %r : Tensor = aten::exp(%a)",
    "%e : Long(*) = aten::neg(%i)\n %a : Tensor = aten::div(%e, %1)\n %r : Tensor = aten::exp(%a)",
    "%e : Float(*) = aten::exp(%x)\n %a : Float(*) = aten::mul(%e, %1)\n %c : Tensor = aten::relu_(%a)\n"
    " %r : Tensor = aten::add(%e, %c, %1)",
    "%l : int[] = prim::ListConstruct(%n)\n %m : int[] = aten::append(%l, %0)\n %r : int = aten::len(%l)",
    "%l : Dict(int, int) = prim::DictConstruct(%0, %n)\n = aten::_set_item(%l, %1, %1)\n %r : int = aten::len(%l)",
    "%l : Dict(int, int) = prim::DictConstruct(%0, %n)\n = aten::_set_item(%l, %0, %1)\n"
    " %r : int = aten::__getitem__(%l, %0)",
    "%l : Dict(int, int) = prim::DictConstruct(%n, %0)\n %r : int = aten::__getitem__(%l, %0)",
    "%l : Dict(int, int) = prim::DictConstruct(%n, %0, %1, %0)\n %r : int = aten::len(%l)",
    "%l : Dict(int, int) = prim::DictConstruct(%1, %n)\n %r : int = aten::__getitem__(%l, %0)",
    "%l : int[] = aten::size(%t)\n %r : int = aten::len(%l)",
]


@pytest.mark.parametrize("body", KEPT)
def test_what_would_change_the_program_stays(body: str) -> None:
    expect_same(peephole.do, HEAD + body + "\n return (%r)")


def test_a_result_made_anew_in_each_round_is_not_what_goes_around() -> None:
    expect_same(
        peephole.do,
        HEAD
        + """%true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%k : int, %a : Float(*, 3, device=cpu)):
      %q : Float(*, 3, device=cpu) = aten::div(%a, %1)
      -> (%true, %q)
  %w : Tensor = aten::add_(%y, %1, %1)
  return (%y)""",
    )


def test_one_size_is_asked_for_where_all_were() -> None:
    expect(
        peephole.do,
        HEAD + "%l : int[] = aten::size(%x)\n %y : Tensor = aten::exp(%t)\n %r : int = aten::__getitem__(%l, %0)\n"
        " return (%y, %r)",
        HEAD + "%r : int = aten::size(%x, %0)\n %l : int[] = aten::size(%x)\n %y : Tensor = aten::exp(%t)\n"
        " return (%y, %r)",
    )


@pytest.mark.parametrize("asked", ["aten::size(%t)", "aten::size(%i)"])
def test_sizes_of_dimensions_that_may_not_be_stay(asked: str) -> None:
    expect_same(peephole.do, HEAD + f"%l : int[] = {asked}\n %r : int = aten::__getitem__(%l, %1)\n return (%r)")


def test_sizes_that_were_changed_as_a_list_stay() -> None:
    expect_same(
        peephole.do,
        HEAD + "%l : int[] = aten::size(%x)\n %m : int[] = aten::_set_item(%l, %0, %n)\n"
        " %r : int = aten::__getitem__(%l, %0)\n return (%r)",
    )


@pytest.mark.parametrize("kind", ["min", "max"])
def test_extremes_of_written_out_lists_are_taken_of_two_at_a_time(kind: str) -> None:
    expect(
        peephole.do,
        HEAD + f"%l : float[] = prim::ListConstruct(%f, %one, %zero)\n %r : float = prim::{kind}(%l)\n return (%r)",
        HEAD + "%l : float[] = prim::ListConstruct(%f, %one, %zero)\n"
        f" %q : float = prim::{kind}(%one, %f)\n %r : float = prim::{kind}(%zero, %q)\n return (%r)",
    )


def test_a_number_made_a_tensor_of_its_own_dtype_is_itself_again() -> None:
    made = "%v : {}() = aten::tensor(%n, %none, %none, %false)\n"
    head = HEAD + "%false : bool = prim::Constant[value=0]()\n "
    again = " %r : int = aten::Int(%v)\n return (%r)"
    expect(peephole.do, head + made.format("Long") + again, head + made.format("Long") + " return (%n)")
    expect_same(peephole.do, head + made.format("Int") + again)
    written = made.format("Long") + " %w : Tensor = aten::add_(%v, %n, %1)\n"
    expect_same(peephole.do, head + written + again)


def test_counters_of_ranges_with_step_one() -> None:
    derived = "%r : int = aten::__derive_index(%n, {}, {})\n return (%r)"
    expect(
        peephole.do,
        HEAD + derived.format("%k", "%1").replace("%k", "%1"),
        HEAD + "%r : int = aten::add(%n, %1)\n return (%r)",
    )
    expect(peephole.do, HEAD + derived.format("%0", "%1"), HEAD + "return (%n)")
    expect_same(peephole.do, HEAD + derived.format("%0", "%n"))


@pytest.mark.parametrize(
    ("type_", "asked", "known"),
    [
        ("float", "[float]", True), ("float", "[int, float]", True), ("float", "[int]", False),
        ("str", "[float]", False), ("int", "[str, float]", False), ("int", "[bool]", None),
        ("bool", "[int, float]", None), ("int?", "[int]", None), ("Tensor", "[Tensor]", True),
        ("Tensor", "[int, Tensor]", True), ("Tensor", "[int, str]", False), ("Tensor", "[int[]]", False),
        ("Tensor?", "[Tensor]", None), ("Tensor", "[Union(Tensor, int)]", None),
        ("float", "[Union(int, float)]", None), ("Tensor[]", "[Tensor]", False), ("Tensor[]", "[Tensor[]]", None),
    ],
)  # fmt: skip
def test_what_types_say_of_isinstance(type_: str, asked: str, known: bool | None) -> None:
    graph = parse_ir(f"""graph(%v : {type_}, %x : Tensor):
      %c : bool = prim::isinstance[types={asked}](%v)
      %y : Tensor = prim::If(%c)
        block0():
          %a : Tensor = aten::relu(%x)
          -> (%a)
        block1():
          %b : Tensor = aten::neg(%x)
          -> (%b)
      return (%y)""")
    fold_control.do(graph, by_types=True)
    taken = {True: "aten::relu", False: "aten::neg", None: "prim::If"}[known]
    assert graph.returns[0].defining_node is not None
    assert graph.returns[0].defining_node.op == taken
    if known is not None:
        again = parse_ir(str(graph))
        assert not fold_control.do(again)


@pytest.mark.parametrize(("wider", "goes"), [("int?", True), ("Union(int, str)", True), ("Any", True), ("str", False)])
def test_casts_that_say_less_go(wider: str, goes: bool) -> None:
    graph = parse_ir(f"graph(%n : int):\n  %r : {wider} = prim::unchecked_cast(%n)\n  return (%r)")
    assert peephole.do(graph) is goes


@pytest.mark.parametrize("number", [2, 0.2, -3, float("nan")])
def test_numbers_in_front_are_numbers(number: float) -> None:
    """A trace has `n * x` as a product of a tensor that stands for the number."""
    for dtype in (flambeau.float32, flambeau.float64, flambeau.int64, flambeau.uint8):
        x = flambeau.arange(3).to(dtype)
        for function in (lambda x: number * x, lambda x: number + x, lambda x: flambeau.add(number + x * 0, x)):
            traced = flambeau.trace(function, x)
            graph = clone_graph(traced.graph)
            peephole.do(graph)
            used = [n.result() for n in graph.find_all("prim::Constant") if n.result().is_used]
            assert not any(literals.is_tensor(constants.constant_value(v)) for v in used)
            for _ in range(4):
                found = traced(x)
            assert found.dtype is function(x).dtype
            np.testing.assert_array_equal(found.numpy(), function(x).numpy())


@pytest.mark.parametrize("number", [True, 1j])
def test_other_numbers_stay(number: complex) -> None:
    traced = flambeau.trace(lambda x: number * x, flambeau.ones(2))
    assert traced(flambeau.ones(2)).tolist() == (number * flambeau.ones(2)).tolist()


def test_lengths_that_are_known() -> None:
    sizes = "%l : int[] = aten::size(%x)"
    entries = "%l : Dict(int, int) = prim::DictConstruct(%0, %n, %1, %n)"
    for line in (sizes, entries):
        asked = f"{line}\n %r : int = aten::len(%l)\n return (%r)"
        expect(peephole.do, HEAD + asked, HEAD + f"{line}\n {TWO}\n return (%r)")


def test_weights_with_norms_of_their_own_become_their_parts() -> None:
    expect(
        peephole.do,
        """graph(%v : Float(*, *, 3), %g : Float(*, 1, 1)):
          %dim : int = prim::Constant[value=0]()
          %w : Float(*, *, 3) = aten::_weight_norm(%v, %g, %dim)
          return (%w)""",
        """graph(%v : Float(*, *, 3), %g : Float(*, 1, 1)):
          %dim : int = prim::Constant[value=0]()
          %order : int = prim::Constant[value=2]()
          %rest : int[] = prim::Constant[value=[1, 2]]()
          %keep : bool = prim::Constant[value=1]()
          %none : NoneType = prim::Constant()
          %n : Tensor = aten::linalg_vector_norm(%v, %order, %rest, %keep, %none)
          %d : Tensor = aten::div(%g, %n)
          %w : Float(*, *, 3) = aten::mul(%v, %d)
          return (%w)""",
    )


ONES = """graph(%x : Float(*, 3, device=cpu), %d : Double(*, device=cpu)):
  %2 : NoneType = prim::Constant()
  %size : int[] = prim::Constant[value=annotate(List[int], [{size}])]()
  %one : {type} = aten::ones(%size, %2, %2, %2, %2)
  %e : {of} = aten::exp(%{x})
  %p : {of} = aten::mul({operands})
  %r : Tensor = aten::tanh(%p)
  return (%r)
"""


@pytest.mark.parametrize(
    ("size", "kind", "x", "operands", "goes"),
    [
        ("", "Float(device=cpu)", "x", "%e, %one", True),
        ("", "Float(device=cpu)", "x", "%one, %e", True),
        ("", "Float(device=cpu)", "d", "%e, %one", False),
        ("3", "Float(3, device=cpu)", "x", "%e, %one", False),
    ],
)
def test_times_one_goes(size: str, kind: str, x: str, operands: str, goes: bool) -> None:
    of = "Float(*, 3, device=cpu)" if x == "x" else "Double(*, device=cpu)"
    graph = parse_ir(ONES.format(size=size, type=kind, of=of, x=x, operands=operands))
    peephole.do(graph)
    assert ("aten::mul" in str(graph)) == (not goes)
