"""Goldens of printed code: literals, constants and expressions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flambeau.ir import Graph, parse_ir
from flambeau.ir.constants import insert_constant
from flambeau.program.function import Function
from flambeau.schema.function import parse_schema
from flambeau.schema.types import INT, TENSOR, ListType, OptionalType, TupleType
from flambeau.serialize import print_code, print_code_with_constants, print_with_marks
from flambeau.tensor.tensor import wrap
from tests.serialize.printing import body, code


def test_literals() -> None:
    graph = Graph()
    values = [1.0, 0.1, 1e10, 1e300, -0.0, math.inf, -math.inf, math.nan, 3 + 4j, "a\n\t\"'\x0e", True, None, -3]
    items = [insert_constant(graph, v) for v in values]
    for item in items:
        graph.insert("prim::Print", [item], ())
    shown = [line.strip() for line in print_code(graph, name="f").splitlines()[1:]]
    assert shown == [
        "print(1.)", "print(0.10000000000000001)", "print(10000000000.)", "print(1.0000000000000001e+300)",
        "print(-0.)",
        "print(inf)", "print(-inf)", "print(nan)", "print(3.+4.j)", r'print("a\n\t\"\'\016")', "print(True)",
        "print(None)", "print(-3)",
    ]  # fmt: skip


def test_container_literals() -> None:
    graph = Graph()
    for value, type_ in (
        ([1, 2], None), ((1, "z"), None), ((1,), None), ({"a": 1}, None), ([[1], [2, 3]], None), ([], ListType(INT)),
        ([None, 1], ListType(OptionalType(INT))),
    ):  # fmt: skip
        graph.insert("prim::Print", [insert_constant(graph, value, type_)], ())
    long, *lines = print_code(graph, name="f").splitlines()[1:]
    assert long == "  _0 = annotate(List[Optional[int]], [None, 1])"
    assert [line.strip()[len("print(") : -1] for line in lines] == [
        "[1, 2]", '(1, "z")', "(1,)", '{"a": 1}', "[[1], [2, 3]]", "annotate(List[int], [])", "_0",
    ]  # fmt: skip


def test_long_constants_come_first() -> None:
    text = "a" * 50
    assert code(f"""
        graph(%x : Tensor):
          %1 : Tensor = aten::neg(%x)
          %s : str = prim::Constant[value="{text}"]()
           = prim::Print(%s)
          return (%1)
    """) == body(f's = "{text}"', "_0 = torch.neg(x)", "print(s)", "return _0")


def test_values_without_literal_go_to_the_table_once() -> None:
    graph = Graph()
    first, second, third = (wrap(np.array(v, dtype=np.float32)) for v in ([1, 2], [1, 2], [1, 3]))
    for value in (first, second, third, "é", [first, third]):
        graph.insert("prim::Print", [insert_constant(graph, value)], ())
    text, constants = print_code_with_constants(graph, name="f")
    shown = [line.strip()[len("print(") : -1] for line in text.splitlines()[1:]]
    assert shown == [
        "CONSTANTS.c0", "CONSTANTS.c0", "CONSTANTS.c1", "CONSTANTS.c2", "[CONSTANTS.c0, CONSTANTS.c1]",
    ]  # fmt: skip
    assert constants.c0 is first
    assert constants.c1 is third
    assert constants.c2 == "é"


def test_containers() -> None:
    assert code("""
        graph(%x : int, %s : str, %o : int?):
          %1 : int[] = prim::ListConstruct()
          %2 : int?[] = prim::ListConstruct(%x)
          %3 : Dict(str, int) = prim::DictConstruct(%s, %x)
          %4 : Dict(str, Tensor) = prim::DictConstruct()
          %5 : (int) = prim::TupleConstruct(%x)
          %6 : (int, str) = prim::TupleConstruct(%x, %s)
           = prim::Print(%1, %2)
           = prim::Print(%3, %4)
          %7 : int, %8 : str = prim::TupleUnpack(%6)
          %9 : int = prim::TupleIndex(%5, %x)
          %10 : int = aten::__getitem__(%1, %9)
          return (%10)
    """) == body(
        "_0 = annotate(List[int], [])",
        "_1 = annotate(List[Optional[int]], [x])",
        "_2 = {s: x}",
        "_3 = annotate(Dict[str, Tensor], {})",
        "_4 = (x,)",
        "_5 = (x, s)",
        "print(_0, _1)",
        "print(_2, _3)",
        "_6, _7, = _5",
        "return _0[(_4)[x]]",
    )


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        ("%y : Tensor = prim::unchecked_cast(%o)", "unchecked_cast(Tensor, o)"),
        ("%y : Tensor = aten::_unwrap_optional(%o)", "torch._unwrap_optional(o)"),
        ("%y : Tensor = prim::Uninitialized()", "uninitialized(Tensor)"),
        ("%y : int = aten::Int(%x)", "int(x)"),
        ("%y : float = aten::Float(%x)", "float(x)"),
        ("%y : bool = aten::Bool(%x)", "bool(x)"),
        ("%y : int = aten::IntImplicit(%x)", "annotate(int, x)"),
        ("%y : int[] = prim::tolist(%x, %n, %n)", "annotate(List[int], x.tolist())"),
        ("%y : int = prim::device(%x)", "ops.prim.device(x)"),
        ("%y : Tensor = my::op(%x, %n)", "ops.my.op(x, n)"),
        ('%y : Tensor = prim::GetAttr[name="w"](%m)', "m.w"),
        ('%y : Tensor = prim::GetAttr[name="0"](%m)', 'getattr(m, "0")'),
        ('%y : Tensor = prim::CallMethod[name="forward"](%m, %x, %n)', "(m).forward(x, n, )"),
        ('%y : Tensor = prim::CallMethod[name="forward"](%m)', "(m).forward()"),
        ("%y : Tensor = ^fn(3, None)(%x)", "^fn(3, None)(x)"),
        ("%y : __torch__.M = prim::CreateObject()", "__torch__.M.__new__(__torch__.M)"),
        ("%y : (int, int) = prim::TupleSlice[beg=0, end=2](%t)", "(t)[0:2]"),
        ("%y : bool = aten::__isnot__(%o, %none)", "torch.__isnot__(o, None)"),
    ],
)
def test_forms(node: str, shown: str) -> None:
    text = code(f"""
        graph(%x : Tensor, %n : int, %o : Tensor?, %m : __torch__.M, %t : (int, int, int)):
          %none : NoneType = prim::Constant()
          {node}
          return (%y)
    """)
    assert text == body(f"return {shown}")


def test_isinstance_keeps_a_line_of_its_own() -> None:
    assert code("""
        graph(%x : Any):
          %1 : bool = prim::isinstance[types=[int]](%x)
          %2 : bool = prim::isinstance[types=[float, str]](%x)
          %3 : bool = aten::__and__(%1, %2)
          return (%3)
    """) == body("_0 = isinstance(x, int)", "_1 = isinstance(x, (float, str))", "return torch.__and__(_0, _1)")


def test_attribute_assignment_and_unpacking() -> None:
    assert code("""
        graph(%m : __torch__.M, %l : int[], %t : (int, Tensor)):
          %1 : int, %2 : Tensor = prim::TupleUnpack(%t)
          %3 : int = prim::ListUnpack(%l)
           = prim::SetAttr[name="w"](%m, %2)
          %4 : int = aten::mul(%1, %3)
          return (%4)
    """) == body("_0, _1, = t", "_2, = l", "m.w = _1", "return torch.mul(_0, _2)")


def test_functions_are_called_by_qualified_name() -> None:
    graph = parse_ir("""graph(%x : Tensor):
      %f : Function = prim::Constant[name="g"]()
      %1 : Tensor = prim::CallFunction(%f, %x)
      return (%1)""")
    assert print_code(graph, name="f").endswith("  return __torch__.g(x, )\n")
    node = graph.find("prim::Constant")
    assert node is not None
    node.attributes["function"] = Function("__torch__.some.module.g", graph, parse_schema("g(Tensor x) -> Tensor"))
    assert print_code(graph, name="f").endswith("  return __torch__.some.module.g(x, )\n")


def test_exceptions() -> None:
    assert code("""
        graph(%s : str):
          %none : NoneType = prim::Constant()
          %e : str = prim::Constant[value="builtins.ValueError"]()
          %m : str = prim::Constant[value="bad"]()
           = prim::RaiseException(%m, %none)
           = prim::RaiseException(%s, %e)
          return (%s)
    """) == body(
        'ops.prim.RaiseException("bad")', 'ops.prim.RaiseException(s, "builtins.ValueError")', "return s"
    )


def test_with_blocks() -> None:
    assert code("""
        graph(%c : __torch__.C, %x : Tensor):
          %1 : Tensor = prim::Enter(%c)
           = prim::Print(%1)
          %2 : NoneType = prim::Enter(%c)
          %3 : NoneType = prim::Exit(%c)
          %4 : NoneType = prim::Exit(%c)
          return (%x)
    """) == body("with c as _0:", "  print(_0)", "  with c:", "    pass", "return x")


def test_fork_is_a_nested_function() -> None:
    assert code("""
        graph(%x : Tensor):
          %f : Future(Tensor) = prim::fork_0(%x)
          %y : Tensor = aten::wait(%f)
          return (%y)
        with prim::fork_0 = graph(%a : Tensor):
          %b : Tensor = aten::neg(%a)
          return (%b)
    """) == body(
        "def __forked_function():", "  return torch.neg(x)", "f = fork(__forked_function)", "return torch.wait(f)"
    )


def test_deep_chains_do_not_exhaust_the_stack() -> None:
    graph = Graph()
    value = graph.add_parameter(name="x")
    for _ in range(3000):
        value = graph.insert("my::op", [value]).result()
    graph.add_return(value)
    assert print_code(graph, name="f").count("ops.my.op") == 3000


def test_marks_tell_where_code_came_from() -> None:
    graph = parse_ir("""graph(%x : Tensor):
      %1 : Tensor = my::inner(%x) # m.py:3:4
      %2 : Tensor = my::outer(%1) # m.py:2:0
      return (%2)""")
    printed = print_with_marks(graph, name="f")
    places = {}
    for mark, following in zip(printed.marks, [*printed.marks[1:], None], strict=True):
        stretch = printed.text[mark.offset : following.offset if following else None]
        places.setdefault(str(mark.range), []).append(stretch)
    assert places["m.py:3:4"] == ["ops.my.inner(x)"]
    assert places["m.py:2:0"] == ["ops.my.outer(", ")"]


def test_arguments_after_a_given_one_are_all_given() -> None:
    assert code("""
        graph(%x : Tensor, %end : int?):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %1 : Tensor = aten::slice(%x, %zero, %one, %end, %one)
          %2 : Tensor = aten::slice(%1, %zero, %zero, %end, %two)
          return (%2)
    """) == body("_0 = torch.slice(torch.slice(x, 0, 1, end), 0, 0, end, 2)", "return _0")


def test_results_of_operators_are_plain_tuples() -> None:
    """Their types have field names and the operator's own name, which code cannot call."""
    graph = Graph()
    x = graph.add_parameter(name="x")
    type_ = TupleType((TENSOR, INT), "max", ("values", "indices"))
    graph.add_return(graph.insert("prim::TupleConstruct", [x, graph.add_parameter(INT, "n")], [type_]).result())
    assert print_code(graph, name="f") == "def f(x: Tensor,\n    n: int) -> Tuple[Tensor, int]:\n  return (x, n)\n"
