"""Graph text: what is printed parses back to the same text, and TorchScript's own text is kept letter for letter."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.ir import Graph, parse_ir
from flambeau.ir.constants import constant_value
from flambeau.ir.literals import TensorLiteral
from flambeau.schema.device import Device
from flambeau.schema.types import BOOL, FLOAT, INT, TENSOR, EnumType, TensorType, Type
from flambeau.util.errors import ParseError


def constant(type_text: str, attributes: str) -> str:
    return f"graph():\n  %0 : {type_text} = prim::Constant{attributes}()\n  return (%0)\n"


CONSTANTS = [
    ("int", "[value=-3]"),
    ("int", "[value=9223372036854775807]"),
    ("bool", "[value=1]"),
    ("NoneType", ""),
    ("float", "[value=1.]"),
    ("float", "[value=0.10000000000000001]"),
    ("float", "[value=1.0000000000000001e-05]"),
    ("float", "[value=1e+20]"),
    ("float", "[value=-0.]"),
    ("float", "[value=inf]"),
    ("float", "[value=-inf]"),
    ("float", "[value=nan]"),
    ("float", "[value=10000000000]"),
    ("float", "[value=9999999999.]"),
    ("float", "[value=4.9406564584124654e-324]"),
    ("complex", "[value=0.+2.j]"),
    ("complex", "[value=3.-4.j]"),
    ("complex", "[value=1000000000000000.+2.5j]"),
    ("complex", "[value=-0.-infj]"),
    ("str", r'[value="a\n\tb\"c\\d\'e\016\177\000z"]'),
    ("Device", '[value="cuda:1"]'),
    ("int[]", "[value=[1, 2]]"),
    ("str[]", '[value=["a"]]'),
    ("bool[]", "[value=[True, False]]"),
    ("(int, str)", '[value=(1, "z")]'),
    ("(int)", "[value=(1,)]"),
    ("()", "[value=()]"),
    ("int[][]", "[value=[[1], [2, 3]]]"),
    ("Dict(str, int)", '[value={"a": 1}]'),
    ("Dict(int, str)", '[value={1: "b"}]'),
    ("Dict(float, int[])", "[value={1.5: [1]}]"),
    ("int?[]", "[value=annotate(List[Optional[int]], [None, 1])]"),
    ("int[]", "[value=annotate(List[int], [])]"),
    ("Dict(str, int)", "[value=annotate(Dict[str, int],{})]"),
    ("Dict(str, int?)", '[value=annotate(Dict[str, Optional[int]],{"a": 1})]'),
    ("Union(int, str)[]", '[value=annotate(List[Union[int, str]], [1, "a"])]'),
    ("Dict(str, int[])", '[value={"a": annotate(List[int], [])}]'),
    ("(Dict(str, Device), Device[])", '[value=({"a": torch.device("cpu")}, [torch.device("cpu")])]'),
    ("Enum<__torch__.mod.Col>", "[value=__torch__.mod.Col.A]"),
    ("Enum<__torch__.mod.Col>[]", "[value=[__torch__.mod.Col.A]]"),
    ("NamedTuple(a : int, b : float = 2.)", "[value=(1, 2.)]"),
    ("Long(requires_grad=0, device=cpu)", "[value={3}]"),
    ("Float(requires_grad=0, device=cpu)", "[value={-1e-10}]"),
    ("ComplexFloat(requires_grad=0, device=cpu)", "[value={(2,3)}]"),
    (
        "Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)",
        "[value= 1.5000  2.0000  3.0000  4.0000 [ CPUFloatType{2,2} ]]",
    ),
    ("Float(2, 1, 2)", "[value=(1,.,.) =   1  1  (2,.,.) =   1  1 [ CPUFloatType{2,1,2} ]]"),
    ("Float(1, 2)", "[value=100000 *  0.0544 -1.2030 [ CPUFloatType{1,2} ]]"),
    ("Float(0, 3)", "[value=[ CPUFloatType{0,3} ]]"),
    ("Float(3)", "[value=nan inf -1 [ CPUFloatType{3} ]]"),
    ("Float(11)", "[value=<Tensor>]"),
    ("Tensor[]", "[value=[<Tensors>]]"),
    ("Tensor?[]", "[value=annotate(List[Optional[Tensor]], [None,  0  1 [ CPULongType{2} ]])]"),
    ("Function", '[name="f"]'),
    ("Function", '[name="fallback_function", fallback=1]'),
    ("__torch__.M", "[value=object(0x5581)]"),
]


@pytest.mark.parametrize(("type_text", "attributes"), CONSTANTS)
def test_constants_print_as_torchscript_prints_them(type_text: str, attributes: str) -> None:
    text = constant(type_text, attributes)
    assert str(parse_ir(text)) == text


@pytest.mark.parametrize(
    ("type_text", "attributes", "value"),
    [
        ("float", "[value=10000000000]", 1e10),
        ("bool", "[value=0]", False),
        ("float[]", "[value=[10000000000]]", [1e10]),
        ("Device", '[value="cuda:1"]', Device("cuda", 1)),
        ("str", r'[value="a\016\x0e\\"]', "a\x0e\x0e\\"),
        ("str", '[value="a\nb"]', "a\nb"),
        ("complex", "[value=-0.-2.j]", complex(-0.0, -2.0)),
        ("NoneType", "", None),
    ],
)
def test_constants_have_the_values_their_types_say(type_text: str, attributes: str, value: Any) -> None:
    found = constant_value(parse_ir(constant(type_text, attributes)).returns[0])
    assert found == value
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_tensor_constants_are_made_by_the_caller() -> None:
    made: list[tuple[TensorLiteral, Type]] = []

    def make(literal: TensorLiteral, type_: Type) -> str:
        made.append((literal, type_))
        return "tensor"

    text = constant("Long(2)", "[value= 1\n  2 [ CPULongType{2} ]]")
    assert constant_value(parse_ir(text, parse_tensor_constants=make).returns[0]) == "tensor"
    literal, type_ = made[0]
    assert (literal.shape, literal.dtype, literal.value) == ((2,), type_.dtype, None)  # type: ignore[attr-defined]
    parse_ir(constant("Float()", "[value={2.5}]"), make)
    assert (made[1][0].value, made[1][0].shape) == (2.5, ())


def test_enum_members_come_from_the_class_that_the_lookup_finds() -> None:
    import enum

    class Col(enum.Enum):
        A = 1

    type_ = EnumType("__torch__.Col", INT, (("A", 1),), Col)
    text = constant("Enum<__torch__.Col>", "[value=__torch__.Col.A]")
    graph = parse_ir(text, lookup={"__torch__.Col": type_}.get)
    assert constant_value(graph.returns[0]) is Col.A
    assert str(graph) == text


WHOLE = [
    """\
graph(%x.1 : Tensor,
      %n.1 : int):
  %3 : int = prim::Constant[value=1]() # file.py:12:4
  %c : bool = prim::Constant[value=1]()
  %y : Tensor, %k : int = prim::Loop(%n.1, %c, %x.1, %3)
    block0(%i : int, %y.2 : Tensor, %c.2 : int):
      %b : bool = aten::eq(%i, %3)
      %z : Tensor = prim::If(%b)
        block0():
          -> (%y.2)
        block1():
          %t : Tensor = aten::add(%y.2, %i, %3) # <string>:3:11
          -> (%t)
       = prim::Print(%z)
      -> (%b, %z, %c.2)
  return (%y)
""",
    """\
graph(%x.1 : Tensor):
  %f.1 : Future[Tensor] = prim::fork_0(%x.1)
  %g : Tensor, %h : Tensor = prim::DifferentiableGraph_1(%x.1)
  %i : Tensor = prim::TensorExprGroup_2[striding_inputs_desc=["TENSOR_CONT", "SCALAR"], n=1](%x.1)
  %j : Tensor = my::op_3(%x.1)
  return (%f.1, %g, %h, %i, %j)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = prim::fork_0(%x)
  return (%1)
with prim::fork_0 = graph(%y : Tensor):
  return (%y)
with prim::DifferentiableGraph_1 = graph(%a : Tensor):
  return (%a, %a)
with prim::TensorExprGroup_2 = graph(%a : Tensor):
  return (%a)
""",
    """\
graph(%self.1 : __torch__.torch.nn.modules.linear.___torch_mangle_1.Linear,
      %x : Float(*, 2, strides=[2, 1], requires_grad=0, device=cpu),
      %q : Dict(str, Future(int)),
      %t : (Future[int], int),
      %i : InterfaceType<OneOf>,
      %u : Union(str[], int, str),
      %s : Float(SS(-2), SS(-3))):
  %self.sub.0.weight : Tensor = prim::GetAttr[name="weight"](%self.1)
  %7 : Tensor = ^pyf[]()(%x)
  %8 : Tensor = ^Fn[inplace=0, module="__main__", Subgraph=<Graph>](3, (a, 'b)'))(%x) # a b/c.py:625:0
  %9 : bool = prim::isinstance[types=[int, (str, int)[], __torch__.C, Tensor?]](%u)
  %10 : Tensor, %11 : bool = prim::TypeCheck[types=[Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)]](%x)
  %12 : Tensor = prim::profile[profiled_type=Double(*, requires_grad=0), seen_none=0](%x)
  %13 : Tensor = aten::relu(%x), scope: __module.l/Linear[0] # :0:0
   = prim::SetAttr[name="w"](%self.1, %13)
  return (%13)
""",
]


@pytest.mark.parametrize("text", WHOLE, ids=["control", "subgraphs", "kinds"])
def test_printing_what_was_parsed_gives_the_same_text(text: str) -> None:
    assert str(parse_ir(text)) == text


def test_types_comments_and_indentation_may_be_left_out() -> None:
    graph = parse_ir("""
        # CHECK: graph
        graph(%x, %n : int):
        # CHECK: aten::add
            %a = aten::add(%x, %x,
                           %n)
          return (%a)
    """)
    assert [v.static_type for v in graph.parameters] == [TENSOR, INT]
    assert str(graph) == "graph(%x : Tensor,\n      %n : int):\n  %a : Tensor = aten::add(%x, %x, %n)\n  return (%a)\n"


def test_source_places_become_ranges_and_scopes_stay() -> None:
    node = parse_ir(WHOLE[2]).find("aten::relu")
    assert node is not None
    assert node.scope == "__module.l/Linear[0]"
    assert node.range is not None
    assert node.range.file_line_col() == ("", 0, 0)


def test_ranges_can_be_left_out() -> None:
    from flambeau.ir import print_graph

    assert "#" not in print_graph(parse_ir(WHOLE[0]), source_ranges=False)
    assert "file.py:12:4" in str(parse_ir(WHOLE[0]))


def test_numbers_of_values_are_kept_and_new_values_get_others() -> None:
    graph = parse_ir(constant("int", "[value=1]").replace("%0", "%41"))
    graph.add_return(graph.insert("aten::neg", [graph.returns[0]], [INT]).result())
    assert "%42 : int = aten::neg(%41)" in str(graph)


def test_a_node_prints_itself_with_its_blocks() -> None:
    node = parse_ir(WHOLE[0]).find("prim::If")
    assert str(node) == (
        "%z : Tensor = prim::If(%b)\n    block0():\n      -> (%y.2)\n    block1():\n"
        "      %t : Tensor = aten::add(%y.2, %i, %3) # <string>:3:11\n      -> (%t)\n"
    ).replace("    block", "  block").replace("      ->", "    ->").replace("      %t", "    %t")
    created = Graph().create("aten::rand", types=[FLOAT, BOOL])
    assert str(created) == "%0 : float, %1 : bool = aten::rand()\n"


ERRORS = [
    ("graph(%x):\n  %y = aten::add(%z)\n  return (%y)", "%z is used but not defined before", 2, "%z"),
    ("graph(%x):\n  %x = aten::add(%x)\n  return (%x)", "%x is defined twice", 2, "%x"),
    ("graph(%x):\n  return (%x", "expected ',' but found the end of the text", 2, " "),
    ("graph(%x):\n  return (%x) %y", "expected the end of the line but found '%y'", 2, "%y"),
    ("graph(%x):\n  return (%x)\ngraph():\n", "expected the end of the graph but found 'graph'", 3, "graph"),
    ("graph(%x : Foo):\n  return (%x)", "unknown type 'Foo'", 1, ")"),
    ("graph(%x):\n  aten::add(%x)\n", "expected a node or 'return' but found 'aten::add'", 2, "aten::add"),
    ("graph(%x):\n  %y = aten::add(3)\n", "expected a value such as %x but found '3'", 2, "3"),
    ("graph(%x):\n  %y = a::b[k=;](%x)\n", "expected the value of an attribute but found ';'", 2, ";"),
    ("graph(%x):\n  %y : int = prim::Constant[value=-a]()\n", "expected a number but found 'a'", 2, "a"),
    (
        "graph(%x):\n  %y = prim::If(%x)\n    block0():\n      return (%x)",
        "expected a node or '->' but found 'return'",
        4,
        "return",
    ),
    ("grph(%x):\n", "expected 'graph' but found 'grph'", 1, "grph"),
    ("graph():\n  %y = ^f(1, (2)\n", "expected ')' but found the end of the text", 3, ""),
    ("graph():\n  %y : complex = prim::Constant[value=1.+2.]()\n", "expected an imaginary part but found 2.0", 2, "]"),
]


@pytest.mark.parametrize(("text", "message", "line", "marked"), ERRORS)
def test_errors_say_what_was_expected_and_where(text: str, message: str, line: int, marked: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_ir(text)
    assert caught.value.message == message
    assert caught.value.range is not None
    assert caught.value.range.file_line_col()[1] == line
    assert caught.value.range.text.strip() == marked.strip()
    assert " <--- HERE" in str(caught.value) or not marked


@pytest.mark.filterwarnings("ignore")
def test_torch_prints_what_parses_back() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    functional = torch.nn.functional
    names = [
        "layer_norm", "embedding", "gumbel_softmax", "max_pool2d_with_indices", "fractional_max_pool2d_with_indices",
        "multi_head_attention_forward", "cosine_embedding_loss", "ctc_loss", "pad", "dropout",
    ]  # fmt: skip
    texts: list[str] = []
    for name in names:
        function = getattr(functional, name)
        compiled = function if hasattr(function, "graph") else torch.jit.script(function)
        texts += [str(compiled.graph), str(compiled.inlined_graph)]
        folded = compiled.inlined_graph.copy()
        torch._C._jit_pass_constant_propagation(folded)
        torch._C._jit_pass_lower_all_tuples(folded)
        texts.append(str(folded))
    for text in texts:
        assert str(parse_ir(text)) == text


def test_refined_types_are_read() -> None:
    found = parse_ir(WHOLE[2]).parameters[1].static_type
    assert isinstance(found, TensorType)
    assert found.sizes == (None, 2)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        ("Float(1.5)", "expected a whole number but found '1.5'"),
        ("Float(SS(-a))", "expected a whole number but found 'a'"),
        ("Float(2, strides=3)", r"expected '\[' but found '3'"),
        ("Float(2, strides=[1.5])", "expected a whole number but found '1.5'"),
        ("Float(2, device=tpu)", "expected a device, such as cpu, but found 'tpu'"),
        ("Float(2, device=cuda:one)", "expected a whole number but found 'one'"),
    ],
)
def test_tensor_types_that_are_wrong_are_refused_at_their_place(type_: str, message: str) -> None:
    with pytest.raises(ParseError, match=message + r"(?s:.*)<--- HERE"):
        parse_ir(f"graph(%x : {type_}):\n  return (%x)")


SMALL = [
    [1, 2], [[1.5, -2.25], [3.0, 4e-3]], [True, False], [[[0.0, 0.0]] * 2] * 2, [1e10, 1.0], [float("inf"), 1.0],
    [0.5] * 11, [3],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", SMALL, ids=str)
def test_constants_of_traces_are_shown_as_by_torchscript(values: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    lines = []
    for package in (flambeau, torch):
        constant = package.tensor(values)
        trace = package.jit.trace(lambda x, constant=constant: x + constant, package.ones(1))
        shown = next(line for line in str(trace.graph).splitlines() if "[value" in line)
        lines.append(shown.partition("#")[0].partition(" : ")[2])
    assert lines[0] == lines[1]
