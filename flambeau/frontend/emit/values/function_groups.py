"""Functions in a list or tuple, and functions that a condition or an index chooses: known to the compiler, no values.

for g in [relu, lambda x: x * 2]: y = g(y)    →    the body once for each
(g if c else h)(x)                            →    prim::If(%c) with a call in each arm
{"a": g, "b": h}[k](x)                        →    the number of k in a dict of numbers, and a call of that function
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue, UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Iteration, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.subtype import unify
from flambeau.schema.types import INT, STRING, DictType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

FIXED = (
    "a {kind} of functions is known while compiling and has no '{name}': write all functions in one literal, and "
    "choose by index"
)
NO_KEY = "KeyError: {key!r}: there are functions for {keys}"
OUT_OF_RANGE = "index {index} is out of range: there are {count} functions"
TWO_RESULTS = "the functions that are chosen among return {first} and {second}: they have to return one type"


@dataclass(slots=True)
class FunctionsValue(Sugared):
    """`[f, g]` of functions."""

    is_function: ClassVar[bool] = True

    items: list[Sugared]
    ranges: list[SourceRange]
    """Where each was written."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "list of functions"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Functions are no values. Raises CompileError."""
        self.items[0].as_value(e, self.ranges[0])
        return Sugared.as_value(self, e, where)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The functions."""
        return self.items

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the functions, unrolled."""
        return UnrolledIteration(self.items)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many."""
        return e.constant(len(self.items))

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The function at an index, or one that is chosen by it when the program runs."""
        count = len(self.items)
        node = index.defining_node
        constant: int | None = node.attribute("value") if node is not None and node.op == "prim::Constant" else None
        if index.static_type != INT:
            raise CompileError("an index of functions must be an integer", where)
        if constant is not None:
            if not -count <= constant < count:
                raise CompileError(OUT_OF_RANGE.format(index=constant, count=count), where)
            return self.items[constant]
        numbers = pack_list(e, [e.constant(i) for i in range(count)], INT)
        return ChosenFunction(call_operator(e, where, "aten::__getitem__", [numbers, index]), self.items)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """Lists of functions are written out in one place. Raises CompileError."""
        raise CompileError(FIXED.format(kind="list", name=name), where)


@dataclass(slots=True)
class FunctionTable(Sugared):
    """`{"a": f, "b": g}` of functions; the keys are known."""

    is_function: ClassVar[bool] = True

    keys: list[str | int]
    items: list[Sugared]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "dict of functions"

    def _numbers(self, e: Emitter) -> Value:
        """The dict of the number of each key."""
        numbers = dict(zip(self.keys, range(len(self.keys)), strict=True))
        flat = [e.constant(part) for pair in numbers.items() for part in pair]
        return e.emit("prim::DictConstruct", flat, DictType(flat[0].static_type, INT))

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The function of a key, or one that is chosen by it when the program runs."""
        constant = _constant(index)
        if constant is not None:
            if constant not in self.keys:
                raise CompileError(NO_KEY.format(key=constant, keys=", ".join(map(repr, self.keys))), where)
            return self.items[self.keys.index(constant)]
        return ChosenFunction(call_operator(e, where, "aten::__getitem__", [self._numbers(e), index]), self.items)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value:
        """`key in functions`."""
        return call_operator(e, where, "aten::__contains__", [self._numbers(e), item])

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many."""
        return e.constant(len(self.keys))

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the keys, unrolled."""
        return UnrolledIteration([SimpleValue(e.constant(key)) for key in self.keys])

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`get`, `items`, `keys`, `values`."""
        if name == "get":
            return FormValue("get", lambda e, tree, hint: self._get(e, tree))
        keys: list[Sugared] = [SimpleValue(e.constant(key)) for key in self.keys]
        pairs = [TupleValue(list(pair)) for pair in zip(keys, self.items, strict=True)]
        views: dict[str, Sequence[Sugared]] = {"keys": keys, "values": self.items, "items": pairs}
        if name not in views:
            raise CompileError(FIXED.format(kind="dict", name=name), where)
        return FormValue(name, lambda e, tree, hint: FunctionsValue(list(views[name]), [where] * len(keys)))

    def _get(self, e: Emitter, tree: Apply) -> Sugared:
        """`functions.get(key, function)`."""
        if len(tree.args) != 2 or tree.keywords:
            raise CompileError("get of a dict of functions takes a key and the function for other keys", tree.range)
        index, other = e.value(tree.args[0]), e.sugared(tree.args[1])
        constant = _constant(index)
        if constant is not None:
            return self.items[self.keys.index(constant)] if constant in self.keys else other
        last = e.constant(len(self.items))
        number = call_operator(e, tree.range, "aten::get", [self._numbers(e), index, last])
        return ChosenFunction(number, [*self.items, other])


def _constant(value: Value) -> str | int | None:
    """A text or number that is known while compiling."""
    node = value.defining_node
    if node is None or node.op != "prim::Constant" or value.static_type not in (INT, STRING):
        return None
    constant: str | int = node.attribute("value")
    return constant


def wrap_group(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """A list, tuple or dict of functions that the program finds outside of it; None for anything else."""
    items = list(value.values()) if type(value) is dict else value
    if not isinstance(items, list | tuple) or not items or not all(map(_is_function, items)):
        return None
    if type(value) is not dict:
        return FunctionsValue([e.wrap(item, where) for item in items], [where] * len(items))
    is_keyed = all(isinstance(k, str) for k in value) or all(isinstance(k, int) for k in value)
    return FunctionTable(list(value), [e.wrap(item, where) for item in items]) if is_keyed else None


def _is_function(value: Any) -> bool:
    return callable(value) and not hasattr(value, "forward")


def chosen(e: Emitter, where: SourceRange, condition: Value, if_true: Sugared, if_false: Sugared) -> ChosenFunction:
    """One of two functions, by a condition."""
    return ChosenFunction(call_operator(e, where, "aten::Int", [condition]), [if_false, if_true])


@dataclass(slots=True)
class ChosenFunction(Sugared):
    """One of several functions, by number."""

    is_function: ClassVar[bool] = True

    index: Value
    items: list[Sugared]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the one that is chosen. Raises CompileError if they return values of different types."""
        return self._call(e, where, 0, args, keywords)

    def _call(
        self, e: Emitter, where: SourceRange, at: int, args: Sequence[Given], keywords: Sequence[Given]
    ) -> Sugared:
        if at == len(self.items) - 1:
            return self.items[at].call(e, where, args, keywords)
        test = call_operator(e, where, "aten::eq", [self.index, e.constant(at)])
        node = e.graph.insert("prim::If", (test,), ())
        results: list[Value] = []
        for function in (self.items[at], None):
            block = node.add_block()
            with e.inside(block):
                outcomes = (
                    self._call(e, where, at + 1, args, keywords)
                    if function is None
                    else function.call(e, where, args, keywords)
                )
                results.append(outcomes.as_value(e, where))
                block.add_return(results[-1])
        common = unify(results[0].static_type, results[1].static_type)
        if common is None:
            text = TWO_RESULTS.format(first=results[0].static_type.annotation, second=results[1].static_type.annotation)
            raise CompileError(text, where)
        return SimpleValue(node.add_result(common))


@dataclass(slots=True)
class PartialCall(Sugared):
    """`functools.partial(f, a, k=b)` with values of the program."""

    is_function: ClassVar[bool] = True

    function: Sugared
    args: list[Given]
    keywords: list[Given]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "partial function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with the given arguments first; keywords of the call replace those given."""
        names = {k.name for k in keywords}
        kept = [k for k in self.keywords if k.name not in names]
        return self.function.call(e, where, [*self.args, *args], [*kept, *keywords])


def emit_partial(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`functools.partial(f, ...)`."""
    if not tree.args:
        raise CompileError("partial expected a function", tree.callee.range)
    rest = Apply(tree.range, tree.callee, tree.args[1:], tree.keywords)
    args, keywords = emit_arguments(e, rest)
    return PartialCall(e.sugared(tree.args[0]), args, keywords)
