"""Objects in programs: attributes, methods, operators, contexts; named tuples, enums, forms of the language."""

from __future__ import annotations

import enum
import typing
from collections.abc import Mapping
from typing import Any

import pytest

import flambeau
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.interpreter.reference import evaluate
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import INT, TENSOR, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

METHODS = """
def get(self):
    return self.n

def add(self, k: int = 2) -> int:
    self.n += k
    return self.get() + self.base

def __enter__(self):
    self.n = self.n * 10
    return self.n

def __exit__(self, type: Any, value: Any, tb: Any):
    self.n = self.n + 1

def __add__(self, other: int):
    return self.n + other

def __getitem__(self, i: int):
    return self.n * i

def __setitem__(self, i: int, v: int):
    self.n = i + v

def __len__(self):
    return 7

def __bool__(self):
    return self.n > 0

def __contains__(self, i: int):
    return i == self.n

def __call__(self, i: int):
    return i + 1

def __int__(self):
    return self.n
"""


class Counter:
    """Stands for the class in annotations."""


class Bare:
    """A class with nothing in it."""


class WithClasses(Names):
    """Resolves two Python classes to compiled ones."""

    def __init__(self, classes: Mapping[type, ClassDefinition], values: Mapping[str, Any]) -> None:
        super().__init__({**values, **{cls.__name__: cls for cls in classes}, "Any": Any})
        self.classes = classes

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        found = self.classes.get(cls)
        return None if found is None else found.type


@pytest.fixture
def scope() -> WithClasses:
    counter, bare = ClassDefinition("__torch__.Counter"), ClassDefinition("__torch__.Bare")
    counter.add_attribute("n", INT)
    counter.add_constant("base", 100)
    found = WithClasses({Counter: counter, Bare: bare}, {})
    for tree in parse_source(METHODS):
        counter.add_method(tree.name, compile_def(tree, found, self_type=counter.type))
    return found


def method(scope: WithClasses, source: str) -> tuple[Function, ScriptObject]:
    """A function of a `Counter` and an object to call it with."""
    [function] = compile_source(source, scope)
    made = ScriptObject(scope.classes[Counter].type)
    made.set("n", 3)
    return function, made


USES = {
    "attribute": ("c.n", 3, 3),
    "constant": ("c.base", 100, 3),
    "method": ("c.add(5)", 108, 8),
    "default": ("c.add()", 105, 5),
    "operator": ("c + 4", 7, 3),
    "item": ("c[5]", 15, 3),
    "length": ("len(c)", 7, 3),
    "truth": ("1 if c else 2", 1, 3),
    "contains": ("3 in c", True, 3),
    "call": ("c(4)", 5, 3),
    "cast": ("int(c)", 3, 3),
    "hasattr": ("hasattr(c, 'n') and hasattr(c, 'add') and not hasattr(c, 'm')", True, 3),
    "getattr": ("getattr(c, 'n'), getattr(c, 'm', 9)", (3, 9), 3),
}


@pytest.mark.parametrize(("expression", "result", "left"), USES.values(), ids=USES)
def test_objects_in_expressions(scope: WithClasses, expression: str, result: Any, left: int) -> None:
    function, made = method(scope, f"def f(c: Counter):\n    return {expression}\n")
    assert evaluate(function.graph, [made]) == (result,)
    assert made.get("n") == left


def test_objects_as_targets(scope: WithClasses) -> None:
    source = (
        "def f(c: Counter):\n    c[2] = 5\n    a = c.n\n    c.n = 1\n    c.n += 1\n    c[1] += 4\n    return a, c.n\n"
    )
    function, made = method(scope, source)
    assert evaluate(function.graph, [made]) == ((7, 7),)


def test_with_leaves_on_every_way_out(scope: WithClasses) -> None:
    source = """
def f(c: Counter, k: int):
    for i in range(3):
        with c as n:
            if i == k:
                break
            if n > 1000:
                return -n
    return c.n
"""
    function, made = method(scope, source)
    assert [node.op for node in function.graph.all_nodes()].count("prim::Exit") == 3
    assert evaluate(function.graph, [made, 1]) == (311,)
    assert made.get("n") == 311
    assert evaluate(function.graph, [made, 9]) == (-3110,)
    assert made.get("n") == 3111


REFUSED = {
    "new attribute": (
        "c.m = 1",
        "Tried to set nonexistent attribute: m. Did you forget to initialize it in __init__()?",
    ),
    "wrong type": ("c.n = 'a'", "Wrong type for attribute assignment. Expected int but got str"),
    "no attribute": ("c.zzz", "object has no attribute or method 'zzz'"),
    "no methods": ("with b:\n        pass", "does not define __enter__ and __exit__ methods"),
    "in place": ("b += 1", "Cannot emit inplace op on"),
    "delete": ("del c[0]", "Class does not define __delitem__"),
    "truth": ("return not b", "Could not cast value of type"),
    "iterate": ("for i in b:\n        pass", "object is not iterable"),
    "call": ("b()", "object has no attribute or method '__call__'"),
}


@pytest.mark.parametrize(("statement", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_uses_of_objects(scope: WithClasses, statement: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(f"def f(c: Counter, b: Bare):\n    {statement}\n", scope)
    assert message in caught.value.message
    assert caught.value.range is not None
    assert caught.value.range.file_line_col()[1] == 2


CONTEXTS = {
    "__enter__ must have only one argument and one return value": ("self, x: int", "self, a: Any, b: Any, c: Any"),
    "__exit__ must have four arguments": ("self", "self, a: Any"),
    "argument 2 of __exit__ must have Any type": ("self", "self, a: Any, b: int, c: Any"),
}


@pytest.mark.parametrize(("message", "parameters"), CONTEXTS.items())
def test_context_managers_have_the_right_signatures(
    scope: WithClasses, message: str, parameters: tuple[str, str]
) -> None:
    bare = scope.classes[Bare]
    for name, wanted in zip(("__enter__", "__exit__"), parameters, strict=True):
        [tree] = parse_source(f"def {name}({wanted}):\n    return 1\n")
        bare.add_method(name, compile_def(tree, scope, self_type=bare.type))
    with pytest.raises(CompileError, match=message):
        compile_source("def f(b: Bare):\n    with b:\n        pass\n", scope)


def test_self_cannot_be_assigned(scope: WithClasses) -> None:
    [tree] = parse_source("def f(self):\n    self = 1\n")
    with pytest.raises(CompileError, match="Cannot re-assign 'self'"):
        compile_def(tree, scope, self_type=scope.classes[Counter].type)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point(typing.NamedTuple):
    x: int
    y: float = 2.0


class Form:
    def __init__(self, name: str) -> None:
        self.language_form = name


VALUES = {
    "Color": Color,
    "Point": Point,
    "Optional": typing.Optional,
    "List": list,
    "Any": Any,
    "annotate": Form("annotate"),
    "unwrap": Form("unwrap_optional"),
    "is_scripting": Form("is_scripting"),
    "is_tracing": Form("is_tracing"),
    "script_isinstance": Form("isinstance"),
    "flambeau": flambeau,
    "Tensor": flambeau.Tensor,
    "FLAG": True,
    "typing": typing,
}

VALUE_CASES: dict[str, tuple[str, list[Any], Any]] = {
    "enum members": ("c: Color", [Color.BLUE], "c == Color.BLUE, Color.RED.value + c.value, c.name"),
    "named tuple": ("x: int", [4], "Point(x, y=1.5).x, Point(x).y, Point(x)[0]"),
    "annotate": ("x: int", [4], "annotate(Optional[int], None), annotate(List[int], []), annotate(Optional[int], x)"),
    "unwrap": ("x: Optional[int]", [4], "unwrap(x) + 1"),
    "known while compiling": ("x: int", [4], "1 if is_scripting() and not is_tracing() else nowhere"),
    "constants": ("x: int", [4], "x if FLAG else nowhere, 1 if typing.TYPE_CHECKING else x, hasattr(typing, 'List')"),
    "isinstance": (
        "x: int",
        [4],
        "isinstance(x, int), isinstance(x, (str, (float,))), script_isinstance(x, List[int])",
    ),
    "device": ("x: int", [4], "flambeau.device('cpu').type, flambeau.device('cuda', x).index"),
}

VALUE_RESULTS: dict[str, Any] = {
    "enum members": (True, 3, "BLUE"),
    "named tuple": (4, 2.0, 4),
    "annotate": (None, [], 4),
    "unwrap": 5,
    "known while compiling": 1,
    "constants": (4, 4, True),
    "isinstance": (True, False, False),
    "device": ("cpu", 4),
}


@pytest.mark.parametrize("name", VALUE_CASES)
def test_values_of_python_in_programs(name: str) -> None:
    parameter, arguments, expression = VALUE_CASES[name]
    [function] = compile_source(f"def f({parameter}):\n    return {expression}\n", Names(VALUES))
    assert evaluate(function.graph, arguments) == (VALUE_RESULTS[name],)


def test_named_tuples_come_back_as_the_users_class() -> None:
    [function] = compile_source("def f(p: Point):\n    return Point(p.x + 1, p.y)\n", Names(VALUES))
    [result] = evaluate(function.graph, [Point(1, 2.5)])
    assert type(result) is Point
    assert result == Point(2, 2.5)


def test_iteration_over_an_enum() -> None:
    source = """
def f(x: int):
    for c in Color:
        if c.value > x:
            break
        x += c.value
    return x
"""
    [function] = compile_source(source, Names(VALUES))
    assert evaluate(function.graph, [1]) == (4,)


def test_tolist_takes_the_type_that_is_expected() -> None:
    source = "def f(x: Tensor):\n    y: List[List[int]] = x.tolist()\n    return y\n"
    [function] = compile_source(source, Names(VALUES))
    assert evaluate(function.graph, [flambeau.tensor([[1, 2], [3, 4]])]) == ([[1, 2], [3, 4]],)


def test_empty_lists_take_the_type_of_a_parameter() -> None:
    source = (
        "def f(x: int):\n    return g([], {}), [x] + []\ndef g(a: list[int], b: dict[str, int]):\n    return a, b\n"
    )
    [function, _] = compile_source(source, Names(VALUES))
    assert str(function.schema) == "f(int x) -> (((int[], Dict(str, int)), int[]))"


def test_inferred_parameters_are_tensors_and_results_plain() -> None:
    [function] = compile_source("def f(x, y: Tensor):\n    return x\n", Names(VALUES))
    assert str(function.schema) == "f(Tensor x, Tensor y) -> Tensor"
    assert getattr(function.schema.arguments[0].type, "inferred", False)
    assert not getattr(function.schema.returns[0].type, "inferred", False)
    assert function.schema.returns[0].type == TENSOR
