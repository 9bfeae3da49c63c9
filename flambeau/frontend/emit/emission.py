"""What is known while one function is being emitted: its graph, its scopes, and the tables of how trees are emitted.

The `emit_*` modules and the sugared values are given an `Emission` and know nothing of each other: an expression inside
an expression goes through `Emission.sugared`, a statement inside a statement through `Emission.statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from flambeau.frontend.constants import constant_type
from flambeau.frontend.emit.environment import Absent, Frame, Variable
from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.resolver import MISSING, Resolver
from flambeau.frontend.trees.views import Expr, Select, Stmt, Var
from flambeau.frontend.values.receivers import Receiver
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Iteration, Sugared
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.program.function import Function
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import FUNCTION, OptionalType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

ExpressionRule = Callable[["Emission", Any, "Type | None"], Sugared]
"""Emits one kind of expression; the type is a hint, wanted where the expression alone does not tell (`[]`, `None`)."""
StatementRule = Callable[["Emission", Any], bool]
"""Emits one kind of statement; False if control never goes on behind it."""


@dataclass(slots=True)
class LoopState:
    """The innermost loop around a statement. `condition` emits the test for another round; None in an unrolled loop."""

    emit_condition: Callable[[], Value] | None
    contexts: int = 0
    """How many objects were entered outside the loop."""
    outside: Frame[Sugared] | None = None
    """The scope around the loop."""
    breaks: list[dict[str, Variable]] = field(default_factory=list)
    """For each `break`, what variables of the loop's own are known there."""
    leaves: Variable | None = None
    """What a `break` sets, because it leaves a generator that is inlined around the body."""
    contexts_around: int | None = None
    """How many objects were entered outside of that generator."""


@dataclass(kw_only=True, slots=True)
class Rules:
    """The tables of a language: what is emitted how."""

    expressions: Mapping[type, ExpressionRule]
    statements: Mapping[type, StatementRule]
    wrap: Callable[[Emission, Any, SourceRange], Sugared]
    """Makes a sugared value of a Python value that a name or attribute stands for."""
    loop: Callable[[Emission, SourceRange, Iteration, Callable[[Sugared], bool]], bool]
    """Emits a loop over something."""
    iterator: Callable[[Emission, SourceRange, Value], Sugared | None]
    """What a loop over an object goes over; None for what is no object."""
    keep: Callable[[Emission, Expr], Sugared | None]
    """What a variable stands for that is given a generator expression; None for another expression."""
    generator_method: Callable[[Emission, Value, str, SourceRange], Sugared | None]
    """A method of an object that yields; None for other methods."""
    joined: Callable[..., bool | None]
    """Emits a loop over several things in step, if a generator is among them."""
    branch: Callable[[Emission, Value, SourceRange, Callable[[], bool]], bool]
    """Emits what runs if a condition holds."""
    search: Callable[[Emission, SourceRange, Value, Value], Value | None]
    """Whether an object that is gone over item by item has an item; None for what is no such object."""


CALLS: Final = ("prim::CallFunction", "prim::CallMethod", "prim::CallFunctionValue")
"""What runs code that is not here, beside what Python runs."""


@dataclass(slots=True)
class Generated:
    """The list that a generator's values go to, and the values and nodes whose types wait for the first one."""

    result: Value
    element: Type | None
    values: list[Value] = field(default_factory=list)
    appends: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Stops:
    """A generator that stops at each `yield`: what it says that it yields, and the types of what it does."""

    element: Type | None
    found: list[Type] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class Emission:
    """The state of emitting one function."""

    name: str
    graph: Graph
    resolver: Resolver
    rules: Rules
    declared_return: Type | None = None
    """What the signature says; None if it says nothing."""
    merged_return: Type | None = None
    """What the return statements so far have in common."""
    frame: Frame[Sugared] = field(default_factory=Frame)
    loop: LoopState | None = None
    contexts: list[Value] = field(default_factory=list)
    """The objects of the `with` statements around a statement, outermost first."""
    arrays: bool = False
    """Whether what NumPy's functions make are arrays, as the function takes or gives some."""
    array_result: Type | None = None
    """What the returns so far have in common, where they give arrays."""
    has_self: bool = False
    """Whether it is a method: its first parameter cannot be assigned."""
    receiver: Receiver | None = None
    """The object that the function initialises: `self` of an `__init__`."""
    wrap_return: Callable[[Value], Value] | None = None
    """What the body of a `try` makes of a value that it returns from the function around it."""
    exits: set[int] | None = None
    """The `break`s and `continue`s that leave the body of a `try`; None where there is no loop around it."""
    mirrors: dict[str, Callable[[Value], None]] = field(default_factory=dict)
    """Told of each value that is stored in a variable, by its slot."""
    cells: dict[str, Value] = field(default_factory=dict)
    """The lists of one that hold variables which other functions see, by slot."""
    home: str = ""
    """The function, as the names of variables that leave it say."""
    generated: Any = None
    """What a generator has yielded (`Generated`), or is inlined for (`Expansion`); None in other functions."""
    suffix: str = ""
    """What the names of variables end in, in the graph: of a generator that is inlined."""
    expanding: tuple[int, ...] = ()
    """The generators that are being inlined."""
    caught: Value | None = None
    """The exception whose handler this is."""
    type_variables: TypeVariables = field(default_factory=TypeVariables)
    """The types that only what follows tells."""
    inherited: tuple[Type, Type] | None = None
    """In a method compiled for a class that inherits it: the types of `self` and of the class it was written in."""
    calls: int = 0
    """How many calls of functions and methods there were."""
    writes: int = 0
    """How many assignments of attributes there were."""
    annotated: dict[int, SourceRange] = field(default_factory=dict)
    """Where names are declared that were met already: a loop that is unrolled comes there again."""
    entries: list[Any] = field(default_factory=list)
    """The loops and bodies of `try` around a statement (`widening.Entry`), outermost first."""
    last_loop: tuple[Node, LoopState] | None = None
    """The loop that was emitted last."""
    slots: int = 0
    """How many names were stored under another one."""
    shared: dict[int, Value] = field(default_factory=dict)
    """Values of trees that stand in two places but are evaluated once: the middle of `a < b < c`."""

    # -- trees --------------------------------------------------------------------------------------------------------

    def sugared(self, tree: Expr, hint: Type | None = None) -> Sugared:
        """What an expression stands for."""
        shared = self.shared.get(id(tree))
        if shared is not None:
            return SimpleValue(shared)
        rule = self.rules.expressions.get(type(tree))
        if rule is None:
            raise CompileError(f"Cannot emit expr for: {tree}", tree.range)
        with self.graph.at_range(tree.range):
            return rule(self, tree, hint)

    def value(self, tree: Expr, hint: Type | None = None) -> Value:
        """The value of an expression. Raises CompileError if it has none."""
        return self.sugared(tree, hint).as_value(self, tree.range)

    def statements(self, body: Sequence[Stmt]) -> bool:
        """Emit statements in order, up to one behind which control never goes on; whether there is none."""
        for statement in body:
            with self.graph.at_range(statement.range):
                try:
                    falls = self.rules.statements[type(statement)](self, statement)
                except CompileError as error:
                    if not self.type_variables.tolerates(error):
                        raise
                    for part in ("body", "orelse"):
                        self.statements(getattr(statement, part, ()))
                    continue
                if not falls:
                    return False
        return True

    def wrap(self, value: Any, where: SourceRange) -> Sugared:
        """What a Python value is in a program."""
        return self.rules.wrap(self, value, where)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def python_value(self, tree: Expr) -> Any:
        """The Python value of a dotted name that is no variable of the program; MISSING for anything else."""
        if isinstance(tree, Var):
            return MISSING if self.frame.find(tree.name) is not None else self.resolver.resolve(tree.name)
        if isinstance(tree, Select):
            owner = self.python_value(tree.value)
            return MISSING if owner is MISSING else self.resolver.member(owner, tree.name)
        return MISSING

    def insert(self, kind: str, inputs: Sequence[Value] = (), type_: Type | None = None, **attributes: Any) -> Node:
        """A node at the insertion point, with one result if a type is given."""
        return self.graph.insert(kind, inputs, () if type_ is None else (type_,), **attributes)

    def emit(self, kind: str, inputs: Sequence[Value], type_: Type, **attributes: Any) -> Value:
        """The result of a new node with one result."""
        self.calls += kind in CALLS or kind.startswith("^")
        return self.graph.insert(kind, inputs, (type_,), **attributes).output()

    def constant(self, value: Any, type_: Type | None = None) -> Value:
        """A constant. Raises TypeError for a value that constants cannot hold."""
        actual = type_ if type_ is not None else constant_type(value)
        if value is None:
            return self.emit("prim::Constant", (), actual)
        return self.emit("prim::Constant", (), actual, value=value)

    def function_constant(self, function: Function) -> Value:
        """A compiled function as a value."""
        return self.emit("prim::Constant", (), FUNCTION, name=function.name.rpartition(".")[2], function=function)

    @contextmanager
    def inside(self, block: Block, frame: Frame[Sugared] | None = None) -> Iterator[Frame[Sugared]]:
        """Emit into `block`, in a scope of its own."""
        before, self.frame = self.frame, Frame(self.frame) if frame is None else frame
        try:
            with self.graph.inserting(block):
                yield self.frame
        finally:
            self.frame = before

    # -- names --------------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope in the same block, whose names are others than those of the same name outside: of a comprehension."""
        before, self.frame = self.frame, Frame(self.frame, hides=True)
        try:
            yield
        finally:
            self.frame = before

    def load(self, name: str, variable: Variable) -> Value:
        """The value of a variable here."""
        value = self.emit("prim::Load", (), variable.type, name=variable.slot)
        if name.isascii():
            value.set_name(name)
        return value

    def store(self, name: str, value: Value, type_: Type | None = None, wide: Type | None = None) -> None:
        """Let a variable of this scope hold a value from here on, known as `type_`; a new one may become a `wide`."""
        known = value.type if type_ is None else type_
        found = self.frame.names.get(name)
        if not isinstance(found, Variable):  # a name that this scope deleted is, assigned again, what it is outside
            found = self.frame.find_outside(name)
        slot, before = (found.slot, found.declared) if isinstance(found, Variable) else (self._new_slot(name), None)
        before = wide if before is None else before
        declared = self.as_written(known) if before is None or not is_subtype(known, before) else before
        self.insert("prim::Store", (value,), name=slot, type=known)
        self.frame.names[name] = Variable(known, slot, declared)
        if slot in self.mirrors:
            self.mirrors[slot](value)
        if not value.has_name and name.isascii() and value.owner_block is self.graph.insertion_block:
            value.set_name(name)

    def as_written(self, type_: Type) -> Type:
        """A type as the source of an inherited method has it: `self` is an object of the base that the method is in."""
        if self.inherited is None:
            return type_
        own, base = self.inherited
        if type_ == own:
            return base
        if not isinstance(type_, TupleType | OptionalType):
            return type_
        return type_.with_contained(tuple(map(self.as_written, type_.contained)))

    def store_aside(self, name: str, value: Value) -> Variable:
        """A variable that no name of this scope means: a parameter of a generator that is inlined."""
        self.slots += 1
        variable = Variable(value.type, f"{name}.{self.slots}")
        self.insert("prim::Store", (value,), name=variable.slot, type=value.type)
        return variable

    def loop_over(self, where: SourceRange, iteration: Iteration, body: Callable[[Sugared], bool]) -> bool:
        """`body` for each item of an iteration."""
        return self.rules.loop(self, where, iteration, body)

    def _new_slot(self, name: str) -> str:
        """What to store a new variable under: its name, unless that would overwrite the one that it shadows."""
        if isinstance(self.frame.find(name), Absent | None):
            return name + self.suffix
        self.slots += 1
        return f"{name}.{self.slots}"

    def lookup(self, name: str, where: SourceRange) -> Sugared | None:
        """What a name of the program itself stands for; None if the program has no such name.

        Raises CompileError when it has one that cannot be used here.
        """
        found = self.frame.find(name)
        if isinstance(found, Variable):
            return SimpleValue(self.load(name, found))
        if isinstance(found, Absent):
            raise absent_error(found, where)
        return None if found is None else found.here(self)


def absent_error(absent: Absent, where: SourceRange) -> CompileError:
    """The refusal of a name that is defined on some paths only, or that is gone."""
    if absent.where is None:
        return CompileError(absent.message, where)
    message = f"{absent.message}:\n{absent.where.highlight()}and was used here"
    return CompileError(message, where)
