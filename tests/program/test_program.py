"""Units, classes, interfaces and objects."""

from __future__ import annotations

import pytest

from flambeau.ir.graph import Graph
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.named_tuples import register_class, tuple_class
from flambeau.program.object import ScriptObject
from flambeau.program.signature import schema_of
from flambeau.program.unit import CompilationUnit, demangle, mangle
from flambeau.schema.function import parse_schema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import ANY, INT, STRING, TENSOR, ClassType, TupleType


def method(schema: str) -> Function:
    parsed = parse_schema(schema, lambda name: None)
    return Function(parsed.name, Graph(), parsed)


def definition(name: str, *methods: str, is_module: bool = False) -> ClassDefinition:
    found = ClassDefinition(name, is_module=is_module)
    for schema in methods:
        function = method(schema)
        found.add_method(function.name, function)
    return found


def test_names_are_made_unique_by_mangling() -> None:
    unit = CompilationUnit()
    unit.create_function("__torch__.f", Graph())
    assert unit.unique_name("__torch__.f") == "__torch__.___torch_mangle_0.f"
    again = unit.create_function("__torch__.f", Graph(), should_mangle=True)
    assert again.name == mangle("__torch__.f", 1)
    assert demangle(again.name) == "__torch__.f"
    with pytest.raises(RuntimeError, match=r"method '__torch__\.f' already defined"):
        unit.create_function("__torch__.f", Graph())
    with pytest.raises(KeyError, match="no function 'g' in this unit"):
        unit.get_function("g")


def test_a_type_name_belongs_to_one_type() -> None:
    unit = CompilationUnit()
    first = unit.create_class("__torch__.C")
    unit.register_type(first.type)
    with pytest.raises(RuntimeError, match=r"class '__torch__\.C' already defined: redefine it under another name"):
        unit.create_class("__torch__.C")
    assert unit.create_class("__torch__.C", should_mangle=True).name == "__torch__.___torch_mangle_0.C"
    assert [c.name for c in unit.classes()] == ["__torch__.C", "__torch__.___torch_mangle_0.C"]


def test_the_schema_of_a_graph() -> None:
    graph = Graph()
    graph.add_parameter(TENSOR, "x.1")
    graph.add_parameter(INT, "n")
    assert str(schema_of("f", graph, {"n": 2})) == "f(Tensor x, int n=2) -> ()"
    with pytest.raises(ValueError, match="f has no parameter k; it has x, n"):
        schema_of("f", graph, {"k": 2})


def test_attributes_have_slots() -> None:
    point = ClassDefinition("__torch__.Point")
    assert (point.add_attribute("x", INT), point.add_attribute("y", INT)) == (0, 1)
    instance = ScriptObject(point.type, [3])
    assert instance.get("x") == 3
    assert not instance.has("y")
    with pytest.raises(AttributeError, match=r"attribute 'y' of __torch__\.Point was never set"):
        instance.get("y")
    with pytest.raises(AttributeError, match="has no attribute or method 'z'; it has x, y"):
        instance.set("z", 1)
    with pytest.raises(RuntimeError, match="attempting to add attribute 'x'"):
        point.add_attribute("x", INT)
    late = point.add_attribute("w", INT)
    instance.set("w", 5)
    assert instance.values[late] == 5


def test_a_function_without_runner_is_refused() -> None:
    with pytest.raises(RuntimeError, match="function 'f' was compiled but nothing was set up to run it"):
        Function("f", Graph(), parse_schema("f() -> ()"))()


def test_a_new_graph_needs_new_bytecode() -> None:
    function = Function("f", Graph(), parse_schema("f() -> ()"))
    function.bytecode = object()
    function.graph = Graph()
    assert function.bytecode is None


@pytest.mark.parametrize(
    ("methods", "reason"),
    [
        (("one(Any self, Tensor x) -> Tensor",), None),
        (("one(Any self, Any x) -> Tensor",), None),
        (("one(Any self, Tensor x, int k=1) -> Tensor",), None),
        ((), "does not have method 'one'"),
        (("one(Any self, int x) -> Tensor",), "not compatible with interface __torch__.I: argument 'x' has type int"),
        (("one(Any self, Tensor y) -> Tensor",), "argument 'y' is called 'x' in the interface"),
        (("one(Any self, Tensor x, int k) -> Tensor",), "it takes 2 arguments but the interface declares 1"),
        (("one(Any self, Tensor x) -> int",), "it returns int, which is no Tensor"),
    ],
)
def test_interfaces(methods: tuple[str, ...], reason: str | None) -> None:
    interface = InterfaceDefinition("__torch__.I", {"one": parse_schema("one(Any self, Tensor x) -> Tensor")})
    candidate = definition("__torch__.C", *methods)
    found = interface.why_not(candidate.type)
    assert (found is None) if reason is None else (found is not None and reason in found)
    assert is_subtype(candidate.type, interface.type) is (reason is None)


def test_module_interfaces_take_modules() -> None:
    interface = InterfaceDefinition("__torch__.I", is_module=True)
    assert "only ScriptModule class can be subtype of module interface" in str(interface.why_not(definition("C").type))
    assert interface.why_not(definition("M", is_module=True).type) is None


def test_two_definitions_are_two_types() -> None:
    first, second = ClassDefinition("__torch__.C"), ClassDefinition("__torch__.C")
    assert first.type == ClassType("__torch__.C", first)
    assert first.type != second.type


def test_the_class_of_a_named_tuple_is_the_users_own() -> None:
    type_ = TupleType((INT, STRING), "__torch__.Pair", ("a", "b"))
    assert tuple_class(type_)(1, "x")._fields == ("a", "b")
    assert tuple_class(type_) is tuple_class(TupleType((ANY, ANY), "__torch__.Pair", ("a", "b")))

    class Pair(tuple_class(type_)):  # type: ignore[misc]
        pass

    register_class(type_, Pair)
    assert tuple_class(type_) is Pair
