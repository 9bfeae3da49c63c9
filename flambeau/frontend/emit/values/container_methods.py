"""Methods of lists and dicts that take more than TorchScript's operators: iterables, keys to sort by, keywords.

x.extend(range(n))    →    the list of the range, then aten::extend        x.sort(key=f)    →    x[:] = sorted(x, key=f)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.frontend.emit.implicit_conversions import convert, pack_tuple, unpack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import (
    Apply,
    Clause,
    Comprehension,
    DictLiteral,
    Expr,
    Ident,
    ListLiteral,
    Starred,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import DictType, ListType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Wrap = Callable[[Value], Sugared]


def named(e: Emitter, where: SourceRange, name: str, meaning: Sugared) -> Var:
    """A name of this scope that stands for something, to build a tree with."""
    e.scope.frame.names[name] = meaning
    return Var(where, Ident(where, name))


def listed(e: Emitter, where: SourceRange, source: Sugared) -> Value:
    """What can be looped over as a list; a list is taken as it is."""
    value = source.stored_value(e, where)
    if value is not None and isinstance(value.static_type, ListType):
        return value
    item = Var(where, Ident(where, "$item"))
    with e.scope.nested():
        clause = Clause(where, item, named(e, where, "$source", source), ())
        return e.value(Comprehension(where, None, item, (clause,)))


def called(e: Emitter, where: SourceRange, function: Any, owner: Sugared | None, tree: Apply) -> Value:
    """A builtin function called with an object, if there is one, and with the arguments of a call."""
    with e.scope.nested():
        callee = named(e, where, "$function", e.wrap(function, where))
        first = () if owner is None else (named(e, where, "$owner", owner),)
        return e.value(Apply(tree.range, callee, (*first, *tree.args), tree.keywords))


@dataclass(slots=True)
class ContainerMethod(Builtin):
    """`x.extend`, `x.sort` of a list, `d.update` of a dict."""

    wrap: Wrap
    operator: Sugared
    """What other calls mean."""
    owner: Value
    name: str

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call that TorchScript does not have; None for the others."""
        where = tree.callee.range
        if any(isinstance(a, Starred) for a in tree.args) or any(k.name == "**" for k in tree.keywords):
            return None
        if self.name == "sort" and any(k.name == "key" for k in tree.keywords):
            items = called(e, where, sorted, self.wrap(self.owner), tree)
            ends = [e.constant(None)] * 3
            return self.wrap(call_operator(e, where, "python::set_slice", [self.owner, *ends, items]))
        if self.name == "extend" and len(tree.args) == 1 and not tree.keywords:
            return self.wrap(self._extended(e, tree, where))
        if self.name == "update" and len(tree.args) <= 1:
            return self.wrap(self._updated(e, tree, where))
        return None

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The operator."""
        return self.operator.call(e, where, args, keywords)

    def _hint(self, e: Emitter, tree: Expr) -> Type | None:
        """What a literal is to be: as the owner, if that has a type yet."""
        literal = ListLiteral if isinstance(self.owner.static_type, ListType) else DictLiteral
        is_typed = isinstance(tree, literal) and not e.type_variables.ids([self.owner.static_type])
        return self.owner.static_type if is_typed else None

    def _extended(self, e: Emitter, tree: Apply, where: SourceRange) -> Value:
        source = e.sugared(tree.args[0], self._hint(e, tree.args[0]))
        value = source.stored_value(e, tree.args[0].range)
        if value is None or not isinstance(value.static_type, ListType | TupleType):
            value = listed(e, tree.args[0].range, source)
        return call_operator(e, where, "aten::extend", [Given(self.owner, where), Given(value, tree.args[0].range)])

    def _updated(self, e: Emitter, tree: Apply, where: SourceRange) -> Value:
        result = e.constant(None)
        for arg in tree.args:
            source = e.sugared(arg, self._hint(e, arg))
            value = source.stored_value(e, arg.range)
            if value is None or not isinstance(value.static_type, DictType):
                with e.scope.nested():
                    again = named(e, arg.range, "$source", source)
                    value = called(e, where, dict, None, Apply(tree.range, tree.callee, (again,), ()))
            call_operator(e, where, "aten::update", [Given(self.owner, where), Given(value, arg.range)])
        for keyword in tree.keywords:
            item = e.value(keyword.value)
            call_operator(e, keyword.range, "aten::_set_item", [self.owner, e.constant(keyword.name), item])
        return result


@dataclass(slots=True)
class ReplaceMethod(Sugared):
    """`p._replace` of a named tuple."""

    wrap: Wrap
    owner: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method _replace"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A named tuple with other values in some fields. Raises CompileError for a field that it does not have."""
        type_ = self.owner.static_type
        assert isinstance(type_, TupleType)
        items = unpack_tuple(e, self.owner)
        for keyword in keywords:
            if keyword.name not in type_.fields:
                raise CompileError(f"_replace() got an unexpected field name '{keyword.name}'", keyword.where)
            index = type_.fields.index(keyword.name)
            value = convert(e, keyword.value, type_.elements[index], implicit=True)
            if not is_subtype(value.static_type, type_.elements[index]):
                wanted, actual = type_.elements[index].annotation, value.static_type.annotation
                raise CompileError(f"field '{keyword.name}' is a {wanted}, not a {actual}", keyword.where)
            items[index] = value
        if args:
            raise CompileError("_replace() takes no positional arguments", args[0].where)
        return self.wrap(pack_tuple(e, items, type_))


def named_tuple_attribute(e: Emitter, wrap: Wrap, value: Value, name: str) -> Sugared | None:
    """What every named tuple has beside its fields; None for another name."""
    assert isinstance(value.static_type, TupleType)
    if name == "_replace":
        return ReplaceMethod(wrap, value)
    if name == "_fields":
        return wrap(pack_tuple(e, [e.constant(field) for field in value.static_type.fields]))
    return None
