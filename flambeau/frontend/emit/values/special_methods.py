"""Methods of values that are more than one operator: of tuples, texts, futures, and subscripts by name.

`simple_value`, which offers them, gives its own class as `wrap`, so that this module need not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, Select, Subscript
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, NONE, FutureType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Wrap = Callable[[Value], Sugared]


@dataclass(slots=True)
class TupleMethod(Sugared):
    """`t.count`, `t.index` of a tuple of one type: those of the list of its items."""

    wrap: Wrap
    tuple: Value
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"method {self.name}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """An int."""
        items = unpack_tuple(e, self.tuple)
        if not items or any(i.static_type != items[0].static_type for i in items):
            raise CompileError(f"{self.name} of a tuple is for items of one type", where)
        listed = pack_list(e, items, items[0].static_type)
        return self.wrap(call_operator(e, where, f"python::{self.name}", [listed, *args], keywords))


SEARCHES: Final = frozenset({"find", "rfind", "index", "rindex", "count", "startswith", "endswith"})
"""Methods of texts that take where to start and to end."""


@dataclass(slots=True)
class SearchMethod(Builtin):
    """`s.find` and its like; `s.startswith` and `s.endswith` also of a tuple of texts.

    To the operators, an `end` of -1 is the text's end; to Python, it is the last letter, as any negative index.
    """

    wrap: Wrap
    text: Value
    name: str

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """An int or a bool."""
        kind = f"aten::{self.name}"
        args = [self._bounded(e, where, arg, position) for position, arg in enumerate(args)]
        if (
            not args
            or not isinstance(args[0].value.static_type, TupleType)
            or self.name not in ("startswith", "endswith")
        ):
            return self.wrap(call_operator(e, where, kind, [Given(self.text, where), *args], keywords))
        result = e.constant(False)
        for item in unpack_tuple(e, args[0].value):
            operands = [Given(self.text, where), Given(item, args[0].where), *args[1:]]
            index = call_operator(e, where, kind, operands, keywords)
            result = call_operator(e, where, "aten::__or__", [result, index])
        return self.wrap(result)

    def _bounded(self, e: Emitter, where: SourceRange, arg: Given, position: int) -> Given:
        """`start` and `end`, the second and third argument, as the operators count; None is what they are without."""
        if position not in (1, 2):
            return arg
        if arg.value.static_type == NONE:
            return Given(e.constant(0 if position == 1 else 2**63 - 1), arg.where)
        node = arg.value.defining_node
        constant = node.attributes.get("value") if node is not None and node.op == "prim::Constant" else None
        if position == 1 or arg.value.static_type != INT or (constant is not None and constant != -1):
            return arg
        length = call_operator(e, where, "aten::len", [self.text])
        if constant is None:
            is_last = call_operator(e, where, "aten::eq", [arg.value, e.constant(-1)])
            length = call_operator(e, where, "aten::mul", [length, call_operator(e, where, "aten::Int", [is_last])])
        return Given(call_operator(e, where, "aten::add", [arg.value, length]), arg.where)


@dataclass(slots=True)
class GetItemMethod(Sugared):
    """`x.__getitem__`, called by its name: a subscript."""

    wrap: Wrap
    owner: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method __getitem__"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`x[index]`."""
        if len(tree.args) != 1 or tree.keywords or not isinstance(tree.callee, Select):
            count = len(tree.args) + len(tree.keywords)
            raise CompileError(f"__getitem__ expected exactly 1 argument, got {count}", tree.callee.range)
        return e.sugared(Subscript(tree.range, tree.callee.value, tree.args), hint)


@dataclass(slots=True)
class WaitMethod(Sugared):
    """`future.wait`."""

    wrap: Wrap
    future: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method wait"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The task's result."""
        assert isinstance(self.future.static_type, FutureType)
        if args or keywords:
            raise CompileError("wait() takes no arguments", where)
        return self.wrap(e.emit("aten::wait", (self.future,), self.future.static_type.element))
