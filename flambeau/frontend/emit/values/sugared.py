"""Values as the compiler sees them: values of the graph, or something that only means one, a module or a `range`.

    torch.relu(x)[0]    `torch` a namespace, `torch.relu` an operator, its result a `SimpleValue`, the item another

A sugared value answers for each thing that can be done with it; whatever it does not answer is refused with its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from flambeau.frontend.emit.flow import Flow
from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.function_scope import FunctionScope
from flambeau.frontend.emit.graph_builder import Builder
from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.tree_views import Apply, Attribute, Expr, Ident, Stmt, Var
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError, NotSupportedError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a call."""

    value: Value
    where: SourceRange
    name: str = ""
    """The keyword; empty for a positional argument."""


class Emitter(Protocol):
    """What a function is emitted through, as sugared values and the rules of trees see it."""

    builder: Builder
    """Inserts nodes, and knows the graph's variables."""
    scope: FunctionScope[Sugared]
    """What names mean."""
    flow: Flow[Sugared]
    """The control flow around the statement."""
    type_variables: TypeVariables
    """The types that only what follows tells."""
    rules: Rules
    arrays: bool
    """Whether what NumPy's functions make are arrays, as the function takes or gives some."""
    shared: dict[int, Value]
    """Values of trees that stand in two places but are evaluated once."""

    @property
    def graph(self) -> Graph: ...
    def sugared(self, tree: Expr, hint: Type | None = None) -> Sugared: ...
    def value(self, tree: Expr, hint: Type | None = None) -> Value: ...
    def statements(self, body: Sequence[Stmt]) -> bool: ...
    def wrap(self, value: Any, where: SourceRange) -> Sugared: ...
    def python_value(self, tree: Expr) -> Any: ...
    def loop_over(self, where: SourceRange, iteration: Iteration, body: Callable[[Sugared], bool]) -> bool: ...

    def insert(self, kind: str, inputs: Sequence[Value] = (), type_: Type | None = None, **attributes: Any) -> Node: ...
    def emit(self, kind: str, inputs: Sequence[Value], type_: Type, **attributes: Any) -> Value: ...
    def constant(self, value: Any, type_: Type | None = None) -> Value: ...
    def function_constant(self, function: Function) -> Value: ...
    def inside(self, block: Block, frame: Frame[Sugared] | None = None) -> AbstractContextManager[Frame[Sugared]]: ...
    def acting_as(self, scope: FunctionScope[Sugared], flow: Flow[Sugared]) -> AbstractContextManager[None]: ...

    def load(self, name: Name, variable: Variable) -> Value: ...
    def store(self, name: Name, value: Value, type_: Type | None = None, wide: Type | None = None) -> None: ...
    def store_aside(self, name: str, value: Value) -> Variable: ...
    def lookup(self, name: Name, where: SourceRange) -> Sugared | None: ...


ExpressionRule = Callable[["Emitter", Any, "Type | None"], "Sugared"]
"""Emits one kind of expression; the type is a hint, wanted where the expression alone does not tell (`[]`, `None`)."""
StatementRule = Callable[["Emitter", Any], bool]
"""Emits one kind of statement; False if control never goes on behind it."""


@dataclass(kw_only=True, slots=True)
class Rules:
    """The tables of a language: what is emitted how."""

    expressions: Mapping[type, ExpressionRule]
    statements: Mapping[type, StatementRule]
    wrap: Callable[[Emitter, Any, SourceRange], Sugared]
    """Makes a sugared value of a Python value that a name or attribute stands for."""
    attribute: Callable[[Emitter, SourceRange, Value, str], Sugared | None]
    """An attribute of a value of the graph; None if its type has none of that name."""
    loop: Callable[[Emitter, SourceRange, Iteration, Callable[[Sugared], bool]], bool]
    """Emits a loop over something."""
    iterator: Callable[[Emitter, SourceRange, Value], Sugared | None]
    """What a loop over an object goes over; None for what is no object."""
    keep: Callable[[Emitter, Expr], Sugared | None]
    """What a variable stands for that is given a generator expression; None for another expression."""
    generator_method: Callable[[Emitter, Value, str, SourceRange], Sugared | None]
    """A method of an object that yields; None for other methods."""
    joined: Callable[..., bool | None]
    """Emits a loop over several things in step, if a generator is among them."""
    branch: Callable[[Emitter, Value, SourceRange, Callable[[], bool]], bool]
    """Emits what runs if a condition holds."""
    search: Callable[[Emitter, SourceRange, Value, Value], Value | None]
    """Whether an object that is gone over item by item has an item; None for what is no such object."""


Form = Callable[["Emitter", "Apply", "Type | None"], "Sugared"]
"""A call that needs the trees of its arguments, as `isinstance(x, int)` does."""


Transform = Callable[[Function, int], Function]
"""A function with the parameters of another, given with how many of these are its own: the rest it reads around it."""


class Sugared:
    """What a name or expression stands for."""

    is_function: ClassVar[bool] = False
    """Whether a call may have given it: a function, or functions, made by the program."""

    is_lazy: ClassVar[bool] = False
    """Whether its items come as they are asked for."""

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return "value"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The value it is. Raises CompileError if it is none."""
        raise CompileError(f"{self.kind} cannot be used as a value", where)

    def stored_value(self, e: Emitter, where: SourceRange) -> Value | None:
        """The value that a variable holds when this is assigned to it; None if the name just stands for it."""
        return None

    def kept(self, e: Emitter, where: SourceRange) -> Sugared:
        """What a variable or a parameter that is given it stands for."""
        return self

    def here(self, e: Emitter) -> Sugared:
        """What a name that stands for it means in this function."""
        return self

    def emit_effect(self, e: Emitter, where: SourceRange) -> None:
        """What it does where it is a statement of its own."""

    def check_named(self, where: SourceRange) -> None:
        """Raise CompileError for what no name may stand for."""

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`self.name`."""
        raise CompileError(f"attribute lookup is not defined on {self.kind}", where)

    def has_attribute(self, e: Emitter, where: SourceRange, name: str) -> bool:
        """Whether `self.name` exists."""
        text = f"hasattr's first argument must be an object or NamedTuple, but got {self.kind} instead"
        raise CompileError(text, where)

    def set_attribute(
        self, e: Emitter, where: SourceRange, name: str, value: Value, annotation: Type | None = None
    ) -> None:
        """`self.name = value`, or `self.name: annotation = value`."""
        raise CompileError(f"attribute assignment is not defined on {self.kind}", where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """`self(*args, **keywords)`."""
        raise CompileError(f"cannot call a {self.kind}", where)

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call that is emitted from its tree; None if the values of its arguments are all it needs."""
        return None

    def transformed(self, e: Emitter, transform: Transform) -> Sugared | None:
        """What a transform makes of it, if it is a function that is compiled for each call; None for anything else."""
        return None

    def specialised(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], transform: Transform
    ) -> tuple[Function, list[Given]] | None:
        """What a transform makes of it for these arguments, and all that this is called with, by name; None for what is
        no function that is compiled for each call."""
        return None

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """Its items, for unpacking; `size` is how many are wanted, where that is known."""
        raise CompileError(f"{self.kind} cannot be used as a tuple", where)

    def as_keywords(self, e: Emitter, where: SourceRange) -> dict[str, Sugared]:
        """What `**self` spreads out in a call."""
        text = "keyword-arg expansion is not supported for what has no names while compiling. Write the arguments out"
        raise NotSupportedError(text, where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """How a loop goes over it."""
        raise CompileError(f"'{self.kind}' object is not iterable", where)

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """`self[index]`."""
        raise CompileError(f"'{self.kind}' object is not subscriptable", where)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value | None:
        """`item in self`; None for what is a value of the graph, which answers itself."""
        return None

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """`len(self)`."""
        raise CompileError(f"'{self.kind}' object has no len()", where)


class Builtin(Sugared):
    """What is called by a name that the compiler knows, and is nothing without the call."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "builtin"


@dataclass(slots=True)
class FormValue(Sugared):
    """A builtin that looks at the trees of its arguments."""

    name: str
    emit: Form

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """What the form makes of the call."""
        return self.emit(e, tree, hint)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values, as if each were a variable."""
        with e.scope.nested():
            trees = [_as_variable(e, f"$given{i}", argument) for i, argument in enumerate(args)]
            pairs = [(Ident(k.where, k.name), _as_variable(e, f"$given_{k.name}", k)) for k in keywords]
            named = tuple(Attribute(ident.range, ident, tree) for ident, tree in pairs)
            return self.emit(e, Apply(where, Var(where, Ident(where, self.name)), tuple(trees), named), None)


def _as_variable(e: Emitter, name: str, argument: Given) -> Var:
    e.scope.frame.names[name] = e.store_aside(name, argument.value)
    return Var(argument.where, Ident(argument.where, name))


class Iteration(ABC):
    """How a loop goes over something: a length known when the loop starts, and an item for each index."""

    unrolled: list[Sugared] | None = None
    """The items, when the loop is unrolled once for each: those of a tuple differ in type."""

    @property
    def is_parallel(self) -> bool:
        """Whether the iterations may run at the same time."""
        return False

    @abstractmethod
    def trip_count(self, e: Emitter, where: SourceRange) -> Value | None:
        """How many items; None if it goes on as long as its companions in a `zip`."""

    @abstractmethod
    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The item of round `index`."""

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The whole loop, of what has a form of its own for that, and whether control goes on behind it; else None.

        `jumps` says whether the body has a `break` or `continue`.
        """
        return None
