"""Operators as values: `torch.relu`, `x.relu`, `x.float`, `x.tolist`, called with what is passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.implicit_conversions import unpack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.object_methods import (
    hash_of,
)
from flambeau.frontend.emit.values.operator_arguments import adapted
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Sugared
from flambeau.frontend.emit.values.tensor_attributes import ELEMENT_CODES
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.types import (
    ListType,
    NamedType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_LIST_TYPE = "Expected type hint for result of tolist(): write `values: List[float] = x.tolist()`, as it is"
BAD_ELEMENT_TYPE = "{type} is not one of the supported element types for tolist"
UNARY = {"prim::abs": "__abs__", "aten::round": "__round__"}
"""The methods of objects that builtin functions call."""


@dataclass(slots=True)
class OperatorValue(Builtin):
    """A builtin operator, perhaps with its first argument bound: `torch.relu`, `x.relu`."""

    name: str
    receiver: Given | None = None

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """`",".join(map(str, x))`, where what is joined is no value."""
        if self.name != "aten::join" or len(tree.args) != 1 or tree.keywords:
            return None
        where, source = tree.args[0].range, e.sugared(tree.args[0])
        items = listed(e, where, source) if source.kind in ("map", "zip") else source.as_value(e, where)
        return self.call(e, tree.callee.range, [Given(items, where)], ())

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The overload that fits."""
        bound = [*args] if self.receiver is None else [self.receiver, *args]
        bound = [*adapted(e, where, self.name, bound, SimpleValue)]
        if self.name == "aten::hash" and len(bound) == 1 and isinstance(bound[0].value.static_type, NamedType):
            return SimpleValue(hash_of(e, where, bound[0].value))
        keywords = _outputs_by_name(self.name, keywords, e)
        if self.name in UNARY and len(bound) == 1 and isinstance(bound[0].value.static_type, NamedType):
            return SimpleValue(bound[0].value).attribute(e, where, UNARY[self.name]).call(e, where, (), keywords)
        return SimpleValue(call_operator(e, where, self.name, bound, keywords))

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """An overload, `ops.aten.add.Tensor`: the operator itself, as operands' types choose its overload."""
        overload = "" if name == "default" else name
        if self.receiver is not None or not any(d.schema.overload == overload for d in registry.overloads(self.name)):
            raise CompileError(f"attribute lookup is not defined on {self.kind}", where)
        return self


def _outputs_by_name(name: str, keywords: Sequence[Given], e: Emitter) -> Sequence[Given]:
    """`out=(v, i)` as the two keywords that the operator has for it."""
    pairs = [k for k in keywords if k.name == "out" and isinstance(k.value.static_type, TupleType)]
    if not pairs:
        return keywords
    items = unpack_tuple(e, pairs[0].value)
    for definition in registry.overloads(f"{name}"):
        outs = [a for a in definition.schema.arguments if a.kwarg_only and a.alias is not None and a.alias.is_write]
        if len(outs) == len(items):
            named = [Given(v, pairs[0].where, a.name) for v, a in zip(items, outs, strict=True)]
            return [*(k for k in keywords if k is not pairs[0]), *named]
    return keywords


@dataclass(slots=True)
class ConversionValue(Builtin):
    """`x.float`, `x.cpu`: a conversion of a tensor by `aten::to`."""

    tensor: Value
    target: Any
    type: Type

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The converted tensor."""
        operands = [Given(self.tensor, where), Given(e.constant(self.target, self.type), where), *args]
        return SimpleValue(call_operator(e, where, "aten::to", operands, keywords))


@dataclass(slots=True)
class ToListValue(Sugared):
    """`x.tolist`, whose result has the type that is expected of it."""

    tensor: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method tolist"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`x.tolist()` where a type is expected."""
        where: SourceRange = tree.callee.range
        if hint is None:
            raise CompileError(NO_LIST_TYPE, where)
        depth, element = 0, hint
        while isinstance(element, ListType):
            depth, element = depth + 1, element.element
        if type(element) not in ELEMENT_CODES:
            raise CompileError(BAD_ELEMENT_TYPE.format(type=element.annotation), where)
        operands = (self.tensor, e.constant(depth), e.constant(ELEMENT_CODES[type(element)]))
        return SimpleValue(e.emit("prim::tolist", operands, hint))
