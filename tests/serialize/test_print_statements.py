"""Goldens of printed code: signatures, names, order of evaluation and statements."""

from __future__ import annotations

from flambeau.ir import parse_ir
from flambeau.program.function import Function
from flambeau.schema.function import parse_schema
from flambeau.serialize import print_code
from tests.serialize.printing import body, code


def test_signature_has_a_parameter_per_line_with_types_and_defaults() -> None:
    graph = parse_ir("graph(%x.1 : Tensor, %n.1 : int, %s : str[]?):\n  return (%x.1)")
    schema = parse_schema("f(Tensor x, int n=3, str[]? s=None) -> Tensor")
    assert print_code(Function("__torch__.m.f", graph, schema)) == (
        "def f(x: Tensor,\n    n: int=3,\n    s: Optional[List[str]]=None) -> Tensor:\n  return x\n"
    )


def test_method_leaves_out_the_type_of_its_first_parameter() -> None:
    graph = parse_ir("graph(%self : __torch__.M, %x : Tensor):\n  return (%x)")
    text = print_code(graph, name="forward", is_method=True)
    assert text == "def forward(self,\n    x: Tensor) -> Tensor:\n  return x\n"


def test_nothing_to_return_is_none() -> None:
    graph = parse_ir("graph(%x : Tensor):\n  %n : NoneType = prim::Constant()\n  return (%n)")
    assert print_code(graph, name="f") == "def f(x: Tensor) -> NoneType:\n  return None\n"


def test_single_uses_nest_and_default_arguments_at_the_end_go() -> None:
    assert code("""
        graph(%x : Tensor, %y : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %3 : Tensor = aten::mul(%x, %y)
          %4 : Tensor = aten::add(%3, %y, %one)
          %5 : Tensor = aten::add(%4, %y, %two)
          return (%5)
    """) == body("_0 = torch.add(torch.add(torch.mul(x, y), y), y, alpha=2)", "return _0")


def test_a_second_use_makes_a_variable() -> None:
    assert code("""
        graph(%x : Tensor):
          %1 : Tensor = aten::neg(%x)
          %2 : Tensor = aten::mul(%1, %1)
          return (%2)
    """) == body("_0 = torch.neg(x)", "return torch.mul(_0, _0)")


def test_operands_are_evaluated_in_the_order_of_the_graph() -> None:
    """The second operand is made first here, so it cannot stand inside the call after the first."""
    assert code("""
        graph(%x : Tensor):
          %1 : Tensor = aten::relu_(%x)
          %2 : Tensor = aten::neg(%x)
          %3 : Tensor = aten::mul(%2, %1)
          return (%3)
    """) == body("_0 = torch.relu_(x)", "return torch.mul(torch.neg(x), _0)")


def test_a_long_operand_takes_what_is_evaluated_before_it_along() -> None:
    assert code("""
        graph(%first : Tensor, %another_long_name : Tensor):
          %1 : Tensor = aten::relu_(%first)
          %2 : Tensor = aten::mul(%another_long_name, %another_long_name)
          %3 : Tensor = aten::mul(%1, %2)
          return (%3)
    """) == body(
        "_0 = torch.relu_(first)",
        "_1 = torch.mul(another_long_name, another_long_name)",
        "return torch.mul(_0, _1)",
    )


def test_names_are_unique_and_escaped() -> None:
    assert code("""
        graph(%in : Tensor, %a.1 : Tensor, %hi.sub.x.5 : Tensor):
          %a.2 : Tensor = aten::mul(%in, %a.1)
          %while : Tensor = aten::mul(%a.2, %a.2)
          %a.3 : Tensor = aten::mul(%while, %while)
          %print : Tensor = aten::mul(%a.3, %hi.sub.x.5)
          %torch : Tensor = aten::mul(%print, %print)
           = prim::Print(%torch)
          return (%torch)
    """) == body(
        "a0 = torch.mul(in0, a)",
        "while0 = torch.mul(a0, a0)",
        "a1 = torch.mul(while0, while0)",
        "print0 = torch.mul(a1, hi_sub_x)",
        "torch0 = torch.mul(print0, print0)",
        "print(torch0)",
        "return torch0",
    )


def test_a_builtin_that_the_code_does_not_use_may_name_a_parameter() -> None:
    assert code("graph(%range : int, %int : int):\n  %1 : int = aten::mul(%range, %int)\n  return (%1)") == body(
        "return torch.mul(range, int)"
    )


def test_conditional_assigns_in_both_arms() -> None:
    assert code("""
        graph(%c : bool, %x : int):
          %y : int, %z : int = prim::If(%c)
            block0():
              %1 : int = aten::mul(%x, %x)
              -> (%1, %x)
            block1():
              -> (%x, %x)
           = prim::If(%c)
            block0():
               = prim::Print(%y)
              -> ()
            block1():
              -> ()
          %4 : int = aten::mul(%y, %z)
          return (%4)
    """) == body(
        "if c:", "  y, z = torch.mul(x, x), x", "else:", "  y, z = x, x",
        "if c:", "  print(y)", "else:", "  pass",
        "return torch.mul(y, z)",
    )  # fmt: skip


def test_optional_result_of_a_conditional_is_annotated_once() -> None:
    assert code("""
        graph(%c : bool, %x : int?):
          %n : NoneType = prim::Constant()
          %y : int? = prim::If(%c)
            block0():
              -> (%x)
            block1():
              -> (%n)
          return (%y)
    """) == body("if c:", "  y : Optional[int] = x", "else:", "  y = None", "return y")


def test_counting_loop() -> None:
    assert code("""
        graph(%n : int, %x.1 : int):
          %t : bool = prim::Constant[value=1]()
          %x.5 : int = prim::Loop(%n, %t, %x.1)
            block0(%i : int, %x.3 : int):
              %x.4 : int = aten::mul(%x.3, %i)
              -> (%t, %x.4)
          return (%x.5)
    """) == body("x0 = x", "for i in range(n):", "  x0 = torch.mul(x0, i)", "return x0")
    assert "for i in range(n):" in code("""
        graph(%n : int):
          %t : bool = prim::Constant[value=1]()
           = prim::Loop(%n, %t)
            block0(%i : int):
              -> (%t)
          return (%n)
    """)


def test_testing_loop_assigns_condition_and_variables_together() -> None:
    assert code("""
        graph(%x.1 : int, %c.1 : bool):
          %max : int = prim::Constant[value=9223372036854775807]()
          %x : int = prim::Loop(%max, %c.1, %x.1)
            block0(%i : int, %x.3 : int):
              %x.5 : int = aten::mul(%x.3, %x.3)
              %c : bool = aten::lt(%x.5, %max)
              -> (%c, %x.5)
          return (%x)
    """) == body(
        "x0 = x", "i = c", "while i:", "  x1 = torch.mul(x0, x0)",
        "  i, x0 = torch.lt(x1, 9223372036854775807), x1", "return x0",
    )  # fmt: skip


def test_loop_variable_whose_first_value_is_none_is_annotated() -> None:
    assert "  x: Optional[int] = None\n" in code("""
        graph(%n : int):
          %t : bool = prim::Constant[value=1]()
          %none : NoneType = prim::Constant()
          %x : int? = prim::Loop(%n, %t, %none)
            block0(%i : int, %x.3 : int?):
              -> (%t, %i)
          return (%x)
    """)


def test_loop_that_counts_and_tests_is_printed_as_one_that_tests() -> None:
    graph = parse_ir("""
        graph(%n : int, %x.1 : int):
          %t : bool = prim::Constant[value=1]()
          %x : int = prim::Loop(%n, %t, %x.1)
            block0(%i : int, %x.3 : int):
              %x.5 : int = aten::mul(%x.3, %i)
              %go : bool = aten::lt(%x.5, %n)
              -> (%go, %x.5)
          return (%x)
    """)
    before = str(graph)
    assert print_code(graph, name="f").split(":\n", 1)[1] == body(
        "x0 = x", "i = 0", "_0 = torch.gt(n, 0)", "while _0:", "  x1 = torch.mul(x0, i)", "  go = torch.lt(x1, n)",
        "  _1 = torch.add(i, 1)", "  _0, x0, i = torch.__and__(torch.lt(_1, n), go), x1, _1", "return x0",
    )  # fmt: skip
    assert str(graph) == before
