"""What attributes of modules are in programs besides values: walks over modules, Python methods, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.frontend.emit.schema_matching import call_operator, match_single
from flambeau.frontend.emit.values.python_calls import UNUSED, modifier, python_schema, refusing
from flambeau.frontend.emit.values.simple_value import SimpleValue, module_items
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.jit.modules.python_view import view_of
from flambeau.nn.module import Module
from flambeau.schema.types import NONE, STRING, OptionalType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

FAILED_FUNCTION = (
    "'{owner}' object has no attribute or method '{name}'. (This function exists as an attribute on the Python module, "
    "but we failed to compile it to a TorchScript function. The reason: {reason})"
)
WALKS = frozenset((
    "modules", "named_modules", "children", "named_children", "parameters", "named_parameters", "buffers",
    "named_buffers",
))  # fmt: skip
TABLES = frozenset(("keys", "values", "items"))


@dataclass(slots=True)
class Walk(Sugared):
    """`self.children`, `self.named_parameters` and the like: a call gives a tuple, so that a loop is unrolled."""

    owner: Value
    module: Module
    """A module of the owner's class."""
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """All that the walk comes to, in the order of Python."""
        if args or keywords:
            raise CompileError(f"{self.name}() takes no arguments in a program", where)
        with_names = self.name if self.name.startswith("named_") else f"named_{self.name}"
        paths = [path for path, _ in getattr(self.module, with_names)()]
        items = [self._at(e, where, path) for path in paths]
        if with_names != self.name:
            return TupleValue(items)
        names = [SimpleValue(e.constant(path)) for path in paths]
        return TupleValue([TupleValue([name, value]) for name, value in zip(names, items, strict=True)])

    def _at(self, e: Emitter, where: SourceRange, path: str) -> Sugared:
        value: Sugared = SimpleValue(self.owner)
        for name in path.split(".") if path else ():
            value = value.attribute(e, where, name)
        if isinstance(value, SimpleValue) and isinstance(value.value.static_type, OptionalType):
            value = SimpleValue(call_operator(e, where, "aten::_unwrap_optional", [value.value]))  # it is there
        return value


@dataclass(slots=True)
class TableMethod(Sugared):
    """`keys`, `values`, `items` of a `ModuleDict` or `ParameterDict`."""

    owner: Value
    keys: list[str]
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tuple of what is in the table."""
        keys: list[Sugared] = [SimpleValue(e.constant(key)) for key in self.keys]
        if self.name == "keys":
            return TupleValue(keys)
        values = module_items(e, where, self.owner) or []
        if self.name == "values":
            return TupleValue(values)
        return TupleValue([TupleValue([key, value]) for key, value in zip(keys, values, strict=True)])


@dataclass(slots=True)
class Contains(Sugared):
    """`key in self.table`."""

    keys: list[str]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Whether the key is one of the table's; a constant, if the key is."""
        key = args[0].value
        if key.static_type != STRING:
            raise CompileError(f"a key is a str, but found {key.static_type.annotation}", where)
        known = (
            key.defining_node.attribute("value")
            if key.defining_node is not None and key.defining_node.op == "prim::Constant"
            else None
        )
        if known is not None:
            return SimpleValue(e.constant(known in self.keys))
        is_there = e.constant(False)
        for candidate in self.keys:
            same = call_operator(e, where, "aten::eq", [key, e.constant(candidate)])
            is_there = call_operator(e, where, "aten::__or__", [is_there, same])
        return SimpleValue(is_there)


@dataclass(slots=True)
class PythonMethod(Sugared):
    """A method marked to stay Python: called with the scripted module as `self`, or a refusal if it is unused."""

    owner: Value
    name: str
    python: Callable[..., Any]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "python method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A node that calls it."""
        schema = python_schema(self.python.__get__(object()), e.scope.resolver, where)
        match = match_single(schema, args, keywords, where)
        with e.graph.at_range(where):
            operands = match.operands(e)
            result = match.returns[0]
            if modifier(self.python) == UNUSED:
                callee = e.function_constant(refusing(schema))
                return SimpleValue(e.emit("prim::CallFunction", (callee, *operands), result))
            by_name = [a.name for a in schema.arguments if a.kwarg_only]
            called = _on_view(self.name, self.python, by_name, gives_result=result != NONE)
            if result == NONE:
                e.insert(f"^{self.name}", (self.owner, *operands), callable=called)
                return SimpleValue(e.constant(None))
            return SimpleValue(e.emit(f"^{self.name}", (self.owner, *operands), result, callable=called))


def _on_view(
    name: str, python: Callable[..., Any], by_name: Sequence[str], *, gives_result: bool
) -> Callable[..., Any]:
    def call(owner: Any, *values: Any) -> Any:
        last = len(values) - len(by_name)
        result = python(view_of(owner), *values[:last], **dict(zip(by_name, values[last:], strict=True)))
        return result if gives_result else None

    call.__name__ = name
    return call


@dataclass(slots=True)
class FunctionAttribute(Sugared):
    """A Python function that is an attribute of the instance; it is not given the module."""

    owner: str
    name: str
    python: Callable[..., Any]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The function as a value."""
        return e.wrap(self.python, where).as_value(e, where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the compiled function."""
        self._compile(e, where)
        return e.wrap(self.python, where).call(e, where, args, keywords)

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call whose arguments the function looks at itself."""
        return e.wrap(self.python, tree.callee.range).call_tree(e, tree, hint)

    def _compile(self, e: Emitter, where: SourceRange) -> None:
        try:
            e.scope.resolver.compile_function(self.python, where)
        except CompileError as error:
            text = FAILED_FUNCTION.format(owner=self.owner, name=self.name, reason=error.message)
            raise CompileError(text, error.range, error.call_chain) from None
