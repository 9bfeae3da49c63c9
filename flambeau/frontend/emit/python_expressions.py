"""What Python has and TorchScript has not, made of what both have.

[v for v in x if v > 2]    →    a loop with a branch that appends        f"{x:.2f}"    →    python::format(%x, ".2f")
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final

from flambeau.frontend.emit.assignment import assign, assign_name
from flambeau.frontend.emit.comparisons import compare
from flambeau.frontend.emit.comprehensions import of_union
from flambeau.frontend.emit.conditions import Condition, ConditionValue, emit_condition
from flambeau.frontend.emit.container_displays import dict_type, list_element, without_none
from flambeau.frontend.emit.control_flow import emit_branches
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import convert, pack_list
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.numpy.element_arithmetic import positive
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared
from flambeau.frontend.trees.tree_views import (
    Bind,
    Clause,
    Comprehension,
    Formatted,
    Import,
    Length,
    SetLiteral,
    Starred,
    UnaryPlus,
    Walrus,
)
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.types import (
    BOOL,
    STRING,
    TENSOR,
    AnyType,
    DictType,
    ListType,
    NamedType,
    TensorType,
    TupleType,
    Type,
    is_number,
)
from flambeau.util.errors import CompileError, UnsupportedNodeError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

CONVERSIONS: Final[Mapping[str, Callable[[object], str]]] = {"r": repr, "s": str, "a": ascii}
"""The functions that `!r`, `!s` and `!a` call in f-strings."""


def emit_plus(e: Emitter, tree: UnaryPlus, hint: Type | None) -> Sugared:
    """`+a`: the number itself, a bool as an int."""
    value = e.value(tree.value, hint)
    if isinstance(value.static_type, NamedType):
        return SimpleValue(value).attribute(e, tree.range, "__pos__").call(e, tree.range, (), ())
    if isinstance(value.static_type, ArrayType):
        return SimpleValue(positive(e, tree.range, value))
    if value.static_type == BOOL:
        return SimpleValue(call_operator(e, tree.range, "aten::Int", [value]))
    if not is_number(value.static_type) and not isinstance(value.static_type, TensorType):
        raise CompileError(
            f"unary plus is for numbers and tensors, not for a {value.static_type.annotation}", tree.range
        )
    return SimpleValue(value)


def emit_walrus(e: Emitter, tree: Walrus, hint: Type | None) -> Sugared:
    """`(name := value)`; in a comprehension, a name that is a variable around it is that variable."""
    value = e.value(tree.value, hint)
    name, before, frame = tree.target.name, e.scope.frame, e.scope.frame
    while frame.parent is not None:
        if frame.hides and isinstance(frame.parent.find(name), Variable):
            e.scope.frame = frame.parent
        frame = frame.parent
    try:
        assign_name(e, tree.target.range, name, SimpleValue(value))
    finally:
        e.scope.frame = before
    return SimpleValue(value)


def emit_bind(e: Emitter, tree: Bind, hint: Type | None) -> Sugared:
    """A name bound on the way through a condition."""
    assign_name(e, tree.target.range, tree.target.name, e.sugared(tree.value))
    return ConditionValue(Condition(known=True))


def emit_length(e: Emitter, tree: Length, hint: Type | None) -> Sugared:
    """Whether a pattern's length fits: known for tuples, asked of lists, False for what is no sequence."""
    value = e.value(tree.value)
    match value.static_type:
        case TupleType(elements):
            fits = len(elements) >= tree.count if tree.at_least else len(elements) == tree.count
            return ConditionValue(Condition(known=fits))
        case ListType():
            length = call_operator(e, tree.range, "aten::len", [value])
            kind = "aten::ge" if tree.at_least else "aten::eq"
            return SimpleValue(call_operator(e, tree.range, kind, [length, e.constant(tree.count)]))
    return ConditionValue(Condition(known=False))


def emit_set(e: Emitter, tree: SetLiteral, hint: Type | None) -> Sugared:
    """`{a, b}`; `{*x}` alone is a set of what `x` has."""
    if len(tree.items) == 1 and isinstance(tree.items[0], Starred):
        spread = tree.items[0].value
        return SimpleValue(sets.to_set(e, tree.range, e.sugared(spread)))
    stars = [item for item in tree.items if isinstance(item, Starred)]
    if stars:
        raise CompileError(sets.SPREAD, stars[0].range)
    return SetDisplay(tree, [e.value(item) for item in tree.items])


@dataclass(slots=True)
class SetDisplay(Sugared):
    """A set display: a set, but behind `in`, where its items are compared one by one."""

    tree: SetLiteral
    items: list[Value]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "set"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """A new set."""
        return sets.display(e, where, self.items)

    def stored_value(self, e: Emitter, where: SourceRange) -> Value:
        """A new set."""
        return self.as_value(e, where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A method of the set."""
        return SimpleValue(self.as_value(e, where)).attribute(e, where, name)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the set's items."""
        return SimpleValue(self.as_value(e, where)).iterate(e, where)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many distinct items."""
        return SimpleValue(self.as_value(e, where)).length(e, where)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value:
        """`item in {a, b}`."""
        result = e.constant(False)
        for member in self.items:
            equal = compare(e, where, "==", member, item)
            result = call_operator(e, where, "aten::__or__", [result, equal])
        return result


def emit_formatted(e: Emitter, tree: Formatted, hint: Type | None) -> Sugared:
    """`{value!r:spec}` of an f-string: Python's text of it."""
    value = e.value(tree.value)
    if tree.conversion:
        text = e.wrap(CONVERSIONS[tree.conversion], tree.range).call(e, tree.range, [Given(value, tree.range)], ())
        value = text.as_value(e, tree.range)
    if tree.spec is None:
        return SimpleValue(value)
    spec = e.value(tree.spec)
    return SimpleValue(call_operator(e, tree.range, "python::format", [value, spec]))


def emit_comprehension(e: Emitter, tree: Comprehension, hint: Type | None) -> Sugared:
    """`[element for … if …]` and `{key: element for … if …}` with any number of clauses and conditions."""
    wanted = of_union(without_none(hint), ListType if tree.key is None else DictType)
    if tree.key is not None:
        return SimpleValue(_dict(e, tree, wanted if isinstance(wanted, DictType) else None))
    if wanted is not None and not isinstance(wanted, ListType | AnyType):
        raise CompileError(f"Expected an annotation of type List, but got {wanted.annotation}", tree.range)
    return SimpleValue(_list(e, tree, wanted.element if isinstance(wanted, ListType) else None))


def _list(e: Emitter, tree: Comprehension, element: Type | None) -> Value:
    result = pack_list(e, (), element or TENSOR)
    values: list[Value] = []
    appends: list[Value] = []

    def add() -> None:
        value = e.value(tree.element, element)
        if element is not None:
            value = convert(e, value, element, implicit=False)
        values.append(value)
        appends.append(e.emit("aten::append", (result, value), result.static_type))

    _loops(e, tree.clauses, add)
    type_ = ListType(list_element(e, tree.range, values, None if element is None else ListType(element)))
    for value in (result, *appends):
        value.set_type(type_)
    return result


def _dict(e: Emitter, tree: Comprehension, wanted: DictType | None) -> Value:
    result = e.emit("prim::DictConstruct", (), wanted or DictType(STRING, TENSOR))
    keys: list[Value] = []
    values: list[Value] = []

    def add() -> None:
        assert tree.key is not None
        keys.append(e.value(tree.key, wanted.key if wanted else None))
        values.append(e.value(tree.element, wanted.value if wanted else None))
        e.insert("aten::_set_item", (result, keys[-1], values[-1]))

    _loops(e, tree.clauses, add)
    result.set_type(dict_type(e, tree.range, keys, values, wanted))
    return result


def _loops(e: Emitter, clauses: tuple[Clause, ...], add: Callable[[], None]) -> None:
    """A loop for each clause, with a branch for each condition; `add` is innermost."""
    if not clauses:
        add()
        return
    first, rest = clauses[0], clauses[1:]
    iteration = e.sugared(first.iterable).iterate(e, first.iterable.range)

    def body(each: Sugared) -> bool:
        with e.scope.nested():
            assign(e, first.target, each, first.iterable.range)
            _conditions(e, first, 0, lambda: _loops(e, rest, add))
        return True

    emit_for(e, first.range, iteration, body)


def _conditions(e: Emitter, clause: Clause, index: int, inner: Callable[[], None]) -> None:
    if index == len(clause.conditions):
        inner()
        return
    tree = clause.conditions[index]
    condition = emit_condition(e, tree)
    if condition.known:
        _conditions(e, clause, index + 1, inner)
        return
    if condition.known is not None:  # the items that never come still tell what the list or dict is of
        condition = Condition(e.constant(False))

    def body() -> bool:
        _conditions(e, clause, index + 1, inner)
        return True

    emit_branches(e, condition, tree.range, body, lambda: True)


def emit_import(e: Emitter, tree: Import) -> bool:
    """`import m`: the name stands for the module, which is imported while compiling."""
    if not e.scope.resolver.reaches_python:
        raise UnsupportedNodeError.of("import statements", tree.range, "code that came in a file imports nothing")
    try:
        imported: object = importlib.import_module(tree.module)
        if tree.member:
            imported = getattr(imported, tree.member, None) or importlib.import_module(f"{tree.module}.{tree.member}")
    except ImportError as error:
        text = f"import statements aren't supported for what cannot be imported while compiling: {error}"
        raise UnsupportedNodeError(text, tree.range) from None
    e.scope.frame.names[tree.ident.name] = e.wrap(imported, tree.range)
    return True
