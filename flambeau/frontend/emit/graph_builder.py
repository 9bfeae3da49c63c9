"""What puts nodes and variables of the program into a graph; it knows nothing of names or trees.

`constant(3)` inserts `%1 : int = prim::Constant[value=3]()`. Variables are slots that `prim::Store` and `prim::Load`
name, until `ssa` makes values of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from flambeau.frontend.scopes.python_constants import constant_type
from flambeau.ir.graph import Graph, Node, Value
from flambeau.program.function import Function
from flambeau.schema.types import FUNCTION, Type
from flambeau.util.record import dataclass, field

CALLS: Final = ("prim::CallFunction", "prim::CallMethod", "prim::CallFunctionValue")
"""What runs code that is not here, beside what Python runs."""


@dataclass(slots=True)
class Builder:
    """Inserts nodes at the insertion point of a graph, and knows the graph's variables by slot."""

    graph: Graph
    cells: dict[str, Value] = field(default_factory=dict)
    """The lists of one that hold variables which other functions see, by slot."""
    observers: dict[str, Callable[[Value], None]] = field(default_factory=dict)
    """Called with each value that is stored in a variable, by its slot."""
    calls: int = 0
    """How many calls of functions and methods were inserted."""
    scope_names: set[str] = field(default_factory=set)
    """The unique names of functions that variables were captured of, here and in functions that are inlined here."""
    attribute_writes: int = 0
    """How many assignments of attributes were inserted."""
    _slots: int = 0

    def insert(self, kind: str, inputs: Sequence[Value] = (), type_: Type | None = None, **attributes: Any) -> Node:
        """A node at the insertion point, with one result if a type is given."""
        return self.graph.insert(kind, inputs, () if type_ is None else (type_,), **attributes)

    def emit(self, kind: str, inputs: Sequence[Value], type_: Type, **attributes: Any) -> Value:
        """The result of a new node with one result."""
        self.calls += kind in CALLS or kind.startswith("^")
        return self.graph.insert(kind, inputs, (type_,), **attributes).result()

    def constant(self, value: Any, type_: Type | None = None) -> Value:
        """A constant. Raises TypeError for a value that constants cannot hold."""
        actual = type_ if type_ is not None else constant_type(value)
        if value is None:
            return self.emit("prim::Constant", (), actual)
        return self.emit("prim::Constant", (), actual, value=value)

    def function_constant(self, function: Function) -> Value:
        """A compiled function as a value."""
        return self.emit("prim::Constant", (), FUNCTION, name=function.name.rpartition(".")[2], function=function)

    def new_number(self) -> int:
        """A number that makes the name of a slot unique in this graph."""
        self._slots += 1
        return self._slots

    def new_slot(self, name: str) -> str:
        """A slot that no other variable of this graph has."""
        return f"{name}.{self.new_number()}"

    def store(self, slot: str, value: Value, type_: Type) -> None:
        """Let the variable hold a value from here on, known as `type_`."""
        self.graph.insert("prim::Store", (value,), (), name=slot, type=type_)
        if slot in self.observers:
            self.observers[slot](value)

    @contextmanager
    def observing_for_now(self) -> Iterator[None]:
        """Forget observers that are added meanwhile: those of a generator that does not outlive a call."""
        before = dict(self.observers)
        try:
            yield
        finally:
            self.observers = before
