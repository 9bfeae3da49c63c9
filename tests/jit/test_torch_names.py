"""Graphs, types and declarations under TorchScript's names; where PyTorch is installed, both are asked the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import _C, Tensor

TEXT = """graph(%x : Tensor, %n : int):
  %c : int = prim::Constant[value=3]()
  %y : Tensor = aten::add(%x, %n, %c)
  %z : Tensor = prim::Thing[a=1, b="s", d=1.5](%y)
  %t : bool = aten::Bool(%y)
  %w : Tensor = prim::If(%t)
    block0():
      -> (%y)
    block1():
      %q : Tensor = aten::mul(%z, %c)
      -> (%q)
  return (%w, %z)
"""


def thing() -> Any:
    return _C.parse_ir(TEXT)


def nodes(g: Any) -> dict[str, Any]:
    return {n.kind(): n for n in (*g.nodes(), *g.findAllNodes("aten::mul"))}


# -- types ------------------------------------------------------------------------------------------------------------

TYPES: list[Callable[[Any], Any]] = [
    lambda c: c.ListType(c.IntType.get()),
    lambda c: c.OptionalType(c.ListType(c.StringType.get())),
    lambda c: c.DictType(c.StringType.get(), c.TensorType.get()),
    lambda c: c.TupleType([c.BoolType.get(), c.FloatType.get()]),
    lambda c: c.TupleType([]),
    lambda c: c.UnionType([c.IntType.get(), c.StringType.get()]),
    lambda c: c.FutureType(c.ComplexType.get()),
    lambda c: c.AwaitType(c.ListType(c.IntType.get())),
    lambda c: c.ListType(c.AwaitType(c.IntType.get())),
    lambda c: c.DictType(c.IntType.get(), c.AwaitType(c.IntType.get())),
    lambda c: c.TupleType([c.AwaitType(c.IntType.get()), c.FutureType(c.IntType.get())]),
    lambda c: c.AnyType.get(),
    lambda c: c.NoneType.get(),
    lambda c: c.DeviceObjType.get(),
    lambda c: c.NumberType.get(),
    lambda c: c.TensorType.getInferred(),
    lambda c: c.TensorType.get().with_sizes([2, 3]),
]


@pytest.mark.parametrize("make", TYPES)
def test_types_as_the_peer_has_them(make: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    ours, theirs = make(_C), make(torch._C)
    of_tensors = ("dim", "sizes", "varyingSizes", "strides", "scalarType") if ours.kind() == "TensorType" else ()
    for ask in ("kind", "str", "is_interface_type", *of_tensors):
        assert getattr(ours, ask)() == getattr(theirs, ask)(), ask
    assert ours.annotation_str == theirs.annotation_str == str(ours)
    assert [str(t) for t in ours.containedTypes()] == [str(t) for t in theirs.containedTypes()]
    for other in TYPES:
        assert ours.isSubtypeOf(other(_C)) == theirs.isSubtypeOf(other(torch._C))
        assert (ours == other(_C)) == (theirs == other(torch._C))


def test_annotations_evaluate_back() -> None:
    import typing

    for make in TYPES:
        ours = make(_C)
        names = {**vars(typing), "Tensor": Tensor, "Device": flambeau.device, "NoneType": type(None)}
        if not any(word in ours.annotation_str for word in ("number", "Future", "Await")):
            eval(ours.annotation_str, names)


def test_parts_of_types() -> None:
    c = _C
    element = c.IntType.get()
    assert c.ListType(element).getElementType() == element
    assert c.OptionalType(element).getElementType() == element
    assert c.FutureType(element).getElementType() == c.AwaitType(element).getElementType() == element
    of_keys = c.DictType(c.StringType.get(), element)
    assert (of_keys.getKeyType(), of_keys.getValueType()) == (c.StringType.get(), element)
    assert c.TupleType([element, of_keys]).elements() == [element, of_keys]
    assert isinstance(c.Type.of(of_keys.ours), c.DictType)
    assert len({c.ListType(element), c.ListType(element), c.OptionalType(element)}) == 2
    for make in (lambda: c.ListType(None), lambda: c.OptionalType(None), lambda: c.TupleType([None])):
        with pytest.raises(RuntimeError, match=r"Can not create (List|Optional|Tuple)Type with None type"):
            make()
    with pytest.raises(RuntimeError, match="Can not create DictType with None type"):
        c.DictType(None, element)


def test_what_is_known_of_tensors() -> None:
    known = _C.TensorType.create_from_tensor(flambeau.ones(2, 3))
    assert known.str() == "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert (known.sizes(), known.strides(), known.dim(), known.scalarType()) == ([2, 3], [3, 1], 2, "Float")
    assert (known.dtype(), known.device(), known.requires_grad()) == (flambeau.float32, flambeau.device("cpu"), False)
    assert known.undefined() is False
    partly = known.with_sizes([1, None, -5])
    assert (partly.symbolic_sizes(), partly.varyingSizes(), partly.sizes()) == ([1, None, -5], [1, None, None], None)
    assert known.with_sizes(None).dim() is None
    assert known.with_dtype(flambeau.int64).scalarType() == "Long"
    assert known.with_device(flambeau.device("meta")).device() == flambeau.device("meta")
    assert _C.TensorType.get().requires_grad() is True
    assert _C.IntType.get().sizes() is None
    with pytest.raises(TypeError, match="a IntType has no sizes"):
        _C.IntType.get().with_sizes([1])


def test_inferred_types() -> None:
    found, none = _C.InferredType(_C.IntType.get()), _C.InferredType("it is empty")
    assert (found.success(), found.type(), found.reason()) == (True, _C.IntType.get(), "")
    assert (none.success(), none.reason()) == (False, "it is empty")
    message = "Tried to get the type from an InferredType but the type is null. it is empty"
    with pytest.raises(RuntimeError, match=message):
        none.type()


def test_types_of_classes() -> None:
    graph = flambeau.script(flambeau.nn.ReLU()).graph
    owner = next(graph.inputs()).type()
    assert owner.kind() == "ClassType"
    assert (owner.name(), owner.method_names()) == ("ReLU", ["forward"])
    assert owner.qualified_name().startswith("__torch__.flambeau.nn.")


# -- graphs -----------------------------------------------------------------------------------------------------------


def questions(c: Any) -> list[Any]:
    """What is asked of the graph, of both."""
    g = c.parse_ir(TEXT)
    n = {m.kind(): m for m in g.nodes()}
    add, other, constant, branch = n["aten::add"], n["prim::Thing"], n["prim::Constant"], n["prim::If"]
    x = next(iter(g.inputs()))
    inner = g.findNode("aten::mul")
    return [
        list(n), add.inputsSize(), add.outputsSize(), add.schema(), add.attributeNames(), add.hasAttributes(),
        add.isNondeterministic(), add.mustBeNone(), add.scopeName(), add.inputsAt(0) == x, add.output().unique(),
        add.matches("aten::add(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
        add.matches("aten::mul(Tensor self, Tensor other) -> Tensor"), add.namedInput("other").type().kind(),
        other.attributeNames(), [other.kindOf(a) for a in other.attributeNames()], other.i("a"), other.s("b"),
        other.f("d"), other.hasAttribute("zz"), constant.i("value"), constant.output().toIValue(), x.toIValue(),
        [(u.user.kind(), u.offset) for u in constant.output().uses()], x.node().kind(), x.offset(), x.debugName(),
        x.requires_grad(), x.isCompleteTensor(), g.return_node().kind(), g.param_node().kind(),
        g.findNode("aten::mul", False), [m.kind() for m in g.findAllNodes("aten::mul")],
        [len(list(b.nodes())) for b in branch.blocks()], inner.owningBlock().owningNode().kind(),
        branch.hasMultipleOutputs(), inner.hasUses(), [v.debugName() for v in g.inputs()],
        [i.user.kind() for i in add.output().uses()], str(x.type()), other.prev().kind() if other.prev() else None,
        add.isBefore(other), add.isAfter(other), inner.isAfter(add), g.copy().str().count("\n"),
    ]  # fmt: skip


def test_answers_as_the_peer_gives_them() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    if not hasattr(torch._C, "parse_ir"):
        pytest.skip("the peer cannot parse graphs")
    assert questions(_C) == questions(torch._C)


def test_graphs_can_be_built() -> None:
    g = _C.Graph()
    x = g.addInput("x")
    node = g.appendNode(g.create("aten::relu", [x]))
    g.registerOutput(node.output())
    with g.insert_point_guard(node):
        three = g.insertConstant(3)
        scaled = g.insertNode(g.create("aten::mul", [x, three]))
    node.replaceInput(0, scaled.output())
    g.lint()
    assert g.str() == (
        "graph(%x : Tensor):\n  %2 : int = prim::Constant[value=3]()\n  %3 : Tensor = aten::mul(%x, %2)\n"
        "  %1 : Tensor = aten::relu(%3)\n  return (%1)\n"
    )
    f = _C._create_function_from_graph("f", g)
    assert f(flambeau.tensor([-1.0, 2.0])).tolist() == [0.0, 6.0]
    assert _C._jit_interpret_graph(g, (flambeau.tensor([1.0]),)).tolist() == [3.0]
    with pytest.raises(ValueError, match="cannot pass None in inputs"):
        g.create("aten::relu", [None])
    two = g.create("my::op", [x], 2)
    assert (two.outputsSize(), two.kind()) == (2, "my::op")
    with pytest.raises(RuntimeError, match="Tried to access a single output on node 'my::op' which has 2 outputs"):
        two.output()


def test_values_can_be_changed() -> None:
    g = thing()
    by_kind = nodes(g)
    y = by_kind["aten::add"].output()
    y.setType(_C.TensorType.get().with_sizes([2]))
    assert str(y.type().sizes()) == "[2]"
    y.inferTypeFrom(flambeau.ones(3))
    assert y.isCompleteTensor()
    assert y.requiresGrad() is False
    assert y.setDebugName("mine").debugName() == "mine"
    with pytest.raises(RuntimeError, match="Invalid name: '12'"):
        y.setDebugName("12")
    x, n = g.inputs()
    y.replaceAllUsesAfterNodeWith(by_kind["prim::Thing"], x)
    assert [u.user.kind() for u in y.uses()] == ["prim::Thing"]
    y.replaceAllUsesWith(x)
    assert not y.uses()
    by_kind["aten::add"].destroy()
    for ask in (by_kind["aten::add"].kind, lambda: str(by_kind["aten::add"]), y.type, lambda: y.debugName()):
        with pytest.raises(RuntimeError, match="has been invalidated"):
            ask()
    with pytest.raises(RuntimeError, match="cannot remove output 0 of prim::Thing"):
        by_kind["prim::Thing"].destroy()
    assert n.setTypeAs(x).type() == x.type()
    uses = {u.user.kind(): u for u in by_kind["prim::Thing"].output().uses()}
    assert uses["prim::Return"].isAfter(uses["aten::mul"])
    assert not uses["aten::mul"].isAfter(uses["prim::Return"])


def test_nodes_can_be_changed() -> None:
    g = thing()
    by_kind = nodes(g)
    add, other, branch = by_kind["aten::add"], by_kind["prim::Thing"], by_kind["prim::If"]
    assert other.i_("a", 5).i("a") == 5
    assert other.is_("many", [1, 2]).kindOf("many") == "is"
    assert other.z_("one", flambeau.ones(1, 1)).z("one").shape == ()
    assert [one.shape for one in other.zs_("ones", [flambeau.ones(1)]).zs("ones")] == [()]
    assert getattr(other, "is")("many") == [1, 2]
    assert other.removeAttribute("many").attributeNames() == ["a", "b", "d", "one", "ones"]
    for ask, message in (
        (lambda: other.i("zz"), "required keyword attribute 'zz' is undefined"),
        (lambda: other.i("b"), "required keyword attribute 'b' has the wrong type: its kind is s, not i"),
        (lambda: other.removeAttribute("zz"), "'zz' is undefined"),
        (lambda: add.namedInput("zz"), "Couldn't find an argument called zz"),
        (lambda: add.inputsAt(9), "invalid index 9: there are 3"),
        (lambda: add.input(), "Tried to access a single input on node 'aten::add' which has 3 inputs"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ask()
    made = g.create("prim::Thing", [add.output()])
    made.copyAttributes(other).insertAfter(other)
    assert made.attributeNames() == other.attributeNames()
    other.replaceAllUsesWith(made)
    assert not other.hasUses()
    made.moveBefore(other)
    assert other.prev() == made
    clone = g.createClone(made, lambda v: next(iter(g.inputs())))
    assert clone.inputsAt(0) == next(iter(g.inputs()))
    clone.addInput(add.output())
    clone.replaceInputWith(add.output(), clone.inputsAt(0))
    clone.removeInput(1)
    assert clone.inputsSize() == 1
    clone.removeAllInputs()
    clone.addOutput()
    clone.eraseOutput(1)
    assert (clone.inputsSize(), clone.outputsSize()) == (0, 1)
    block = branch.addBlock()
    v = block.addInputToBlock("inner")
    block.registerOutput(block.addNode("aten::neg", [v]).output())
    assert [n.kind() for n in block.nodes()] == ["aten::neg"]
    assert block.paramNode().outputsAt(0) == v
    assert block.paramNode() == v.node()
    assert (block.owningNode(), block.returnNode().inputsSize()) == (branch, 1)
    assert branch.findNode("aten::neg").inputsAt(0).debugName() == "inner"


def test_inputs_and_outputs_can_be_rearranged() -> None:
    g = thing()
    x, n = g.inputs()
    g.permuteInputs([1, 0])
    assert [v.debugName() for v in g.inputs()] == ["n", "x"]
    assert (x.offset(), n.offset()) == (1, 0)
    with pytest.raises(RuntimeError, match=r"\[0, 0\] is no order of 2 parameters"):
        g.permuteInputs([0, 0])
    with pytest.raises(RuntimeError, match="cannot remove parameter 0 of a block: %n is used by aten::add"):
        g.eraseInput(0)
    g.makeMultiOutputIntoTuple()
    assert [v.type().str() for v in g.outputs()] == ["(Tensor, Tensor)"]
    inner = _C.parse_ir("graph(%a):\n  %b = aten::neg(%a)\n  return (%b)\n")
    (b,) = g.insertGraph(inner, [x])
    assert b.node().kind() == "aten::neg"
    assert b.node().inputsAt(0) == x


def test_aliases() -> None:
    g = _C.parse_ir(
        "graph(%x : Tensor, %n : int):\n  %y : Tensor = aten::mul(%x, %n)\n  %v : Tensor = aten::t(%y)\n"
        "  %w : Tensor = aten::add_(%v, %n, %n)\n  return (%y)\n"
    )
    aliases = g.alias_db()
    values = {v.debugName(): v for n in g.nodes() for v in n.outputs()} | {v.debugName(): v for v in g.inputs()}
    assert aliases.may_contain_alias(values["y"], values["v"])
    assert not aliases.may_contain_alias(values["x"], [values["y"], values["v"]])
    assert aliases.has_writers(values["y"])
    assert not aliases.has_writers(values["x"])
    assert aliases.has_writers(values["v"].node())
    picture = aliases.to_graphviz_str()
    assert picture.startswith("digraph alias_db {")
    assert '"%y" -> "%v"' in picture
    assert "%x may be WILDCARD; written by nobody" in str(aliases)
    assert "%y may be %v, %w; written by aten::add_" in str(aliases)


def test_source_ranges_and_tensor_constants() -> None:
    def f(x: Tensor) -> Tensor:
        return x + 1

    g = flambeau.script(f).graph
    assert "        return x + 1\n               ~~~~~ <--- HERE" in g.findNode("aten::add").sourceRange()
    assert "test_torch_names.py" in g.str()
    assert "test_torch_names.py" not in g.str(print_source_ranges=False)
    assert g.findNode("aten::add") == flambeau.script(f).graph.findNode("aten::add")
    text = "graph():\n  %c : {} = prim::Constant[value={}]()\n  return (%c)\n"
    scalar = _C.parse_ir(text.format("Long()", "{-17}"), parse_tensor_constants=True)
    assert _C._jit_interpret_graph(scalar, ()).item() == -17
    several = _C.parse_ir(text.format("Float(2, 3, strides=[3, 1])", "<Tensor>"), parse_tensor_constants=True)
    assert tuple(_C._jit_interpret_graph(several, ()).shape) == (2, 3)
    with pytest.raises(RuntimeError, match=r"the graph has a tensor constant, {-17}: parse_ir"):
        _C.parse_ir(text.format("Long()", "{-17}"))
    with pytest.raises(RuntimeError, match="nor its type says of which sizes"):
        _C.parse_ir(text.format("Tensor", "<Tensor>"), parse_tensor_constants=True)


def test_types_are_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match=r"IntType: No constructor defined! Write IntType\.get"):
        _C.IntType()
    assert (_C._GeneratorType.get().kind(), _C._GeneratorType.get().annotation_str) == ("GeneratorType", "Generator")


def test_passes() -> None:
    text = "graph(%x):\n  %y = aten::relu(%x)\n  return (%x)\n"
    assert [n.kind() for n in _C.run_pass("dce", _C.parse_ir(text)).nodes()] == []
    g = flambeau.ir.parse_ir(text)
    assert _C._jit_pass_dce(g) is None
    text = "graph(%x):\n  %y = aten::neg(%x)\n  %z = aten::neg(%x)\n  %w = aten::mul(%y, %z)\n  return (%w)\n"
    twice = _C.parse_ir(text)
    assert _C._jit_pass_cse(twice) is True
    assert _C._jit_pass_cse(twice) is False
    with pytest.raises(TypeError, match=r"_jit_pass_dce\(\): incompatible function arguments: expected a Graph"):
        _C._jit_pass_dce(3)
    assert not list(g.nodes())
    for name in ("inline", "cse", "peephole", "constant_propagation", "lower_all_tuples", "lint", "canonicalize"):
        _C.run_pass(name, thing().copy()) if name != "lint" else _C.run_pass(name, _C.parse_ir(text))
    with pytest.raises(RuntimeError, match="there is no pass 'nope' here; there are autocast, batch_mm, "):
        _C.run_pass("nope", g)
    with pytest.raises(AttributeError, match=r"flambeau._C has no '_jit_pass_nope'"):
        _ = _C._jit_pass_nope


# -- declarations -----------------------------------------------------------------------------------------------------

SCHEMAS = [
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    "my::op(int[2] size, ScalarType? dtype=None, str s=\"a\") -> (Tensor, int[])",
]


@pytest.mark.parametrize("text", SCHEMAS)
def test_declarations_as_the_peer_has_them(text: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    ours, theirs = _C.parse_schema(text), torch._C.parse_schema(text)
    assert str(ours) == str(theirs) == text
    assert (ours.name, ours.overload_name, ours.is_mutable) == (theirs.name, theirs.overload_name, theirs.is_mutable)
    for a, b in zip(ours.arguments + ours.returns, theirs.arguments + theirs.returns, strict=True):
        for fact in ("name", "N", "kwarg_only", "is_out", "default_value"):
            assert getattr(a, fact) == getattr(b, fact), (a.name, fact)
        assert a.has_default_value() == b.has_default_value()
        assert (a.alias_info is not None and a.is_write) == (b.alias_info is not None and b.alias_info.is_write)
        assert a.type.kind() == b.type.kind()


def test_declarations() -> None:
    first, again = _C.parse_schema(SCHEMAS[0]), _C.parse_schema(SCHEMAS[0])
    assert first == again
    assert len({first, again}) == 1
    assert first.is_backward_compatible_with(again)
    assert first.check_forward_compatible_with(again) == (True, "")
    assert len(_C._jit_get_all_schemas()) > 1000
    assert first in _C._jit_get_schemas_for_operator("aten::add")
    run, overloads = _C._jit_get_operation("aten::neg")
    assert (run(flambeau.tensor([1])).tolist(), "out" in overloads) == ([-1], True)
    assert _C._jit_get_operation("aten::ad_d") == (None, None)


def test_switches_of_executors_are_options_of_functions() -> None:
    with pytest.raises(AttributeError, match=r"has no meaning here\. Options belong to a function"):
        _ = _C._jit_set_nvfuser_guard_mode
    with pytest.raises(AttributeError, match=r"^flambeau._C has no 'nothing'$"):
        _ = _C.nothing


def test_inputs_in_a_row() -> None:
    one, two, three = (flambeau.full([2], v) for v in (1.0, 2.0, 3.0))
    nested = (one, [two], {"b": one, "a": (three, two)})
    tensors, shape = _C._jit_flatten(nested)
    assert [t[0].item() for t in tensors] == [1.0, 2.0, 3.0, 2.0, 1.0]
    again = _C._jit_unflatten(tensors, shape)
    assert again[1][0] is two
    assert again[2]["a"][0] is three
    with pytest.raises(RuntimeError, match="only tensors, and tuples, lists and dicts of them, can be flattened"):
        _C._jit_flatten((one, 3))
    with pytest.raises(RuntimeError, match="there are 1 tensors, but 5 places"):
        _C._jit_unflatten([one], shape)
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs, _ = torch._C._jit_flatten(tuple(
        torch.tensor(v.tolist()) if isinstance(v, Tensor) else [torch.tensor(t.tolist()) for t in v]
        for v in nested[:2]
    ))  # fmt: skip
    assert [t.tolist() for t in theirs] == [t.tolist() for t in _C._jit_flatten(nested[:2])[0]]


def test_package_is_importable() -> None:
    from flambeau._C import parse_ir

    assert importlib.import_module("flambeau._C") is _C
    assert parse_ir is _C.parse_ir


def test_types_of_lists_and_tensors() -> None:
    made = [_C.ListType.ofInts(), _C.ListType.ofTensors(), _C.ListType.ofBools(), _C.OptionalType.ofTensor()]
    assert [str(t) for t in made] == ["List[int]", "List[Tensor]", "List[bool]", "Optional[Tensor]"]
    more = [_C.ListType.ofFloats(), _C.ListType.ofStrings(), _C.ListType.ofComplexDoubles()]
    assert [t.str() for t in more] == ["float[]", "str[]", "complex[]"]
    assert (_C.RRefType(_C.IntType.get()).str(), _C.StreamObjType.get().kind()) == ("RRef[int]", "StreamObjType")
    dense = _C.TensorType.get().with_sizes([2, 3, 4]).contiguous()
    assert dense.strides() == [12, 4, 1]
    assert _C.TensorType.get().contiguous().strides() is None


def test_node_of_results_alone() -> None:
    g = thing()
    assert g.create("prim::Thing", 2).outputsSize() == 2


def test_moves_take_along_what_depends() -> None:
    body = "%a = aten::neg(%x)\n  %b = aten::relu(%x)\n  %c = aten::abs(%a)\n  %d = aten::exp(%b)"
    g = _C.parse_ir(f"graph(%x):\n  {body}\n  return (%d, %c)\n")
    neg, relu, absolute, exp = g.nodes()
    assert g.alias_db().move_after_topologically_valid(neg, exp)
    assert [n.kind() for n in g.nodes()] == ["aten::relu", "aten::exp", "aten::neg", "aten::abs"]
    assert not g.alias_db().move_after_topologically_valid(relu, exp)
    assert g.alias_db().move_before_topologically_valid(absolute, relu)
    assert [n.kind() for n in g.nodes()] == ["aten::neg", "aten::abs", "aten::relu", "aten::exp"]
    assert g.alias_db().move_after_topologically_valid(exp, neg)
    assert [n.kind() for n in g.nodes()] == ["aten::neg", "aten::relu", "aten::exp", "aten::abs"]
    assert not g.alias_db().move_before_topologically_valid(absolute, neg)
    g.lint()


def test_moves_keep_the_order_of_writes() -> None:
    body = "%a = aten::neg(%x)\n  %b = aten::relu_(%x)\n  %c = aten::abs(%a)"
    g = _C.parse_ir(f"graph(%x):\n  {body}\n  return (%b, %c)\n")
    neg, relu, _ = g.nodes()
    assert not g.alias_db().move_after_topologically_valid(neg, relu)
    assert not g.alias_db().move_before_topologically_valid(relu, neg)
    assert [n.kind() for n in g.nodes()] == ["aten::neg", "aten::relu_", "aten::abs"]


def test_aliases_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    thing().dump_alias_db()
    assert "ALIAS DB" in capsys.readouterr().out


def test_canonical_names() -> None:
    g = _C.parse_ir("graph(%x):\n  %foo = aten::relu(%x)\n  return (%foo)\n")
    for keeps, wanted in ((True, ["x", "foo"]), (False, ["0", "1"])):
        copy = _C._jit_pass_canonicalize(g, keeps)
        assert [v.debugName() for v in (*copy.inputs(), *copy.outputs())] == wanted
    assert [v.debugName() for v in (*g.inputs(), *g.outputs())] == ["x", "foo"]


def test_random_numbers_of_a_block() -> None:
    flambeau.manual_seed(3)
    with flambeau.random.fork_rng():
        inside = flambeau.rand(2).tolist()
    with flambeau.random.fork_rng(enabled=False):
        assert flambeau.rand(2).tolist() == inside
    assert flambeau.rand(2).tolist() != inside




@flambeau.jit.ignore
def ignored(x: Tensor) -> Tensor:
    return x + 1


def test_calls_of_python_are_of_one_kind() -> None:
    def f(x: Tensor) -> Tensor:
        return ignored(x) * 2

    graph = flambeau.script(f).graph
    node = graph.findNode("prim::PythonOp")
    assert (node.kind(), node.pyname(), node.op) == ("prim::PythonOp", "ignored", "^ignored")
    assert node.pyobj()(flambeau.ones(1)).tolist() == [2.0]
    assert (node.scalar_args(), node.attributeNames(), node.hasAttributes()) == ([], [], False)
    assert [n.kind() for n in graph.findAllNodes("^ignored")] == ["prim::PythonOp"]
    other = graph.findNode("aten::mul")
    for ask in (other.pyname, other.pyobj, other.scalar_args):
        with pytest.raises(RuntimeError, match="only nodes that call a Python function have one; this is aten::mul"):
            ask()


def test_passes_leave_no_constants_that_nobody_needs() -> None:
    text = "graph(%x : int):\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = aten::add(%1, %1)\n  return (%2)"
    graph = _C.parse_ir(text)
    _C._jit_pass_constant_propagation(graph)
    assert len(list(graph.nodes())) == 1


def test_patterns_of_all_methods_of_a_module() -> None:
    class Net(flambeau.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return flambeau.relu(x)

        @flambeau.jit.export
        def twice(self, x: Tensor) -> Tensor:
            return flambeau.relu(x) * 2

    model = flambeau.script(Net())
    relu = "graph(%x):\n  %y = aten::relu(%x)\n  return (%y)"
    x = flambeau.tensor([-2.0])
    assert (model(x).item(), model.twice(x).item()) == (0, 0)
    _C._jit_pass_custom_pattern_based_rewrite(relu, relu.replace("relu", "abs"), model._c)
    assert (model(x).item(), model.twice(x).item()) == (2, 4)


def test_groups_are_made_and_inlined() -> None:
    text = "graph(%x : Tensor):\n  %y = aten::mul(%x, %x)\n  %z = aten::exp(%y)\n  return (%z)"
    graph = _C.parse_ir(text)
    _C._jit_pass_fuse(graph)
    assert graph.findNode("prim::FusionGroup") is not None
    body = "".join(f"  %v{k} = aten::exp(%v{k - 1})\n" for k in range(1, 9))
    graph = _C.parse_ir(f"graph(%v0 : Tensor):\n{body}  return (%v8)")
    _C._jit_pass_create_functional_graphs(graph)
    assert graph.findNode("prim::FunctionalGraph") is not None
    _C._jit_pass_inline_functional_graphs(graph)
    assert [n.kind() for n in graph.nodes()] == ["aten::exp"] * 8
    loop = flambeau.CompilationUnit("def f(x: Tensor):\n  for _ in range(3):\n    x = x + 1\n  return x").f.graph
    _C._jit_pass_constant_loop_unrolling(loop)
    assert len(loop.findAllNodes("aten::add")) == 3
    frozen = flambeau.jit.freeze_module(
        flambeau.script(flambeau.nn.Sequential(flambeau.nn.Dropout(), flambeau.nn.ReLU()).eval())
    ).graph.copy()
    _C._jit_pass_optimize_frozen_graph(frozen)
    assert [n.kind() for n in frozen.nodes()] == ["aten::relu"]


def test_types_of_values() -> None:
    assert str(_C._jit_try_infer_type({"a": [1]}).type()) == "Dict[str, List[int]]"
    found = _C._jit_try_infer_type(object())
    assert (found.success(), "object" in found.reason()) == (False, True)


def test_names_that_the_package_has_too() -> None:
    assert _C.get_num_threads() == flambeau.get_num_threads()
    assert (_C.Generator, _C.Size, _C.TensorBase) == (flambeau.Generator, flambeau.Size, flambeau.Tensor)
    with pytest.raises(_C.JITException):
        flambeau.CompilationUnit("def f(x: int):\n  assert x > 0\n").f(0)
