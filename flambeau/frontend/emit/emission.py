"""The state of emitting one function: a builder of its graph, the scope of its names, the flow around its statements.

`emit_*` functions and sugared values see it as an `Emitter` and know nothing of each other: an expression inside an
expression goes through `sugared`, a statement inside a statement through `statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.frontend.emit.flow import Flow
from flambeau.frontend.emit.frames import Absent, Frame, Variable
from flambeau.frontend.emit.function_scope import FunctionScope
from flambeau.frontend.emit.graph_builder import Builder
from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.emit.unset_variables import check_is_set
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Iteration, Rules, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.frontend.trees.tree_views import Expr, Select, Stmt, Var
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.program.function import Function
from flambeau.schema.dtype_code import DtypeCode
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@dataclass(kw_only=True, slots=True)
class Emission:
    """The state of emitting one function."""

    builder: Builder
    scope: FunctionScope[Sugared]
    flow: Flow[Sugared]
    rules: Rules
    type_variables: TypeVariables
    arrays: bool = False
    """Whether what NumPy's functions make are arrays, as the function takes or gives some."""
    shared: dict[int, Value] = field(default_factory=dict)
    """Values of trees that stand in two places but are evaluated once: the middle of `a < b < c`."""

    @property
    def graph(self) -> Graph:
        """The graph that is being built."""
        return self.builder.graph

    # -- trees --------------------------------------------------------------------------------------------------------

    def sugared(self, tree: Expr, hint: Type | None = None) -> Sugared:
        """What an expression stands for."""
        shared = self.shared.get(id(tree))
        if shared is not None:
            return SimpleValue(shared)
        rule = self.rules.expressions.get(type(tree))
        if rule is None:
            raise CompileError(f"Cannot emit expr for: {tree}", tree.range)
        graph = self.builder.graph
        before, graph.current_range = graph.current_range, tree.range
        try:
            return rule(self, tree, hint)
        finally:
            graph.current_range = before

    def value(self, tree: Expr, hint: Type | None = None) -> Value:
        """The value of an expression. Raises CompileError if it has none."""
        return self.sugared(tree, hint).as_value(self, tree.range)

    def statements(self, body: Sequence[Stmt]) -> bool:
        """Emit statements in order, up to one behind which control never goes on; whether there is none."""
        for statement in body:
            with self.builder.graph.at_range(statement.range):
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

    def python_value(self, tree: Expr) -> Any:
        """The Python value of a dotted name that is no variable of the program; MISSING for anything else."""
        if isinstance(tree, Var):
            is_own = self.scope.frame.find(tree.name) is not None
            return MISSING if is_own else self.scope.resolver.resolve(tree.name)
        if isinstance(tree, Select):
            owner = self.python_value(tree.value)
            return MISSING if owner is MISSING else self.scope.resolver.member(owner, tree.name)
        return MISSING

    def loop_over(self, where: SourceRange, iteration: Iteration, body: Callable[[Sugared], bool]) -> bool:
        """`body` for each item of an iteration."""
        return self.rules.loop(self, where, iteration, body)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def insert(self, kind: str, inputs: Sequence[Value] = (), type_: Type | None = None, **attributes: Any) -> Node:
        """A node at the insertion point, with one result if a type is given."""
        return self.builder.graph.insert(kind, inputs, () if type_ is None else (type_,), **attributes)

    def emit(self, kind: str, inputs: Sequence[Value], type_: Type, **attributes: Any) -> Value:
        """The result of a new node with one result."""
        if inputs and self.type_variables.is_pending:
            type_ = self.type_variables.derived([value.static_type for value in inputs], type_)
        return self.builder.emit(kind, inputs, type_, **attributes)

    def constant(self, value: Any, type_: Type | None = None) -> Value:
        """A constant. Raises TypeError for a value that constants cannot hold."""
        return self.builder.constant(value, type_)

    def function_constant(self, function: Function) -> Value:
        """A compiled function as a value."""
        return self.builder.function_constant(function)

    @contextmanager
    def inside(self, block: Block, frame: Frame[Sugared] | None = None) -> Iterator[Frame[Sugared]]:
        """Emit into `block`, in a scope of its own."""
        inner = Frame(self.scope.frame) if frame is None else frame
        with self.scope.within(inner), self.builder.graph.inserting(block):
            yield inner

    @contextmanager
    def acting_as(self, scope: FunctionScope[Sugared], flow: Flow[Sugared]) -> Iterator[None]:
        """Emit statements of another function: of one that is inlined, or of the one that it is inlined in."""
        before = self.scope, self.flow
        self.scope, self.flow = scope, flow
        try:
            yield
        finally:
            self.scope, self.flow = before

    # -- names --------------------------------------------------------------------------------------------------------

    def load(self, name: Name, variable: Variable) -> Value:
        """The value of a variable here; of one that is a dtype that is known, a constant."""
        if isinstance(variable.type, DtypeCode) and variable.type.dtype is not None:
            return self.builder.constant(variable.type.dtype.code, variable.type)
        if variable.value is not None:
            return variable.value
        value = self.builder.emit("prim::Load", (), variable.type, name=variable.slot)
        text = str(name)
        if text.isascii():
            value.set_name(text)
        return value

    def store(self, name: Name, value: Value, type_: Type | None = None, wide: Type | None = None) -> None:
        """Let a variable of this scope hold a value from here on, known as `type_`; a new one may become a `wide`."""
        frame = self.scope.frame
        stored = value.static_type if type_ is None else type_
        meaning = frame.names.get(name)
        if not isinstance(meaning, Variable):  # a name that this scope deleted is, assigned again, what it is outside
            meaning = frame.find_outside(name)
        if isinstance(meaning, Variable):
            slot, before = meaning.slot, meaning.declared
        else:
            slot, before = self._new_slot(name), None
        before = wide if before is None else before
        declared = self.scope.as_written(stored) if before is None or not is_subtype(stored, before) else before
        frame.names[name] = Variable(stored, slot, declared)
        self.builder.store(slot, value, stored)
        unset = self.scope.perhaps_unset.get(name)
        if unset is not None and unset[0].slot == slot:
            self.builder.store(unset[1].slot, self.constant(True), unset[1].type)
        text = str(name)
        if not value.has_name and text.isascii() and value.owner_block is self.graph.insertion_block:
            value.set_name(text)

    def store_aside(self, name: str, value: Value) -> Variable:
        """A variable that no name of this scope means: a parameter of a generator that is inlined."""
        variable = Variable(value.static_type, self.builder.new_slot(name))
        self.builder.store(variable.slot, value, value.static_type)
        return variable

    def _new_slot(self, name: Name) -> str:
        """What to store a new variable under: its name, unless that would overwrite the one that it shadows."""
        if isinstance(self.scope.frame.find(name), Absent | None):
            return f"{name}{self.scope.suffix}"
        return self.builder.new_slot(str(name))

    def lookup(self, name: Name, where: SourceRange) -> Sugared | None:
        """What a name of the program itself stands for; None if the program has no such name.

        Raises CompileError when it has one that cannot be used here.
        """
        meaning = self.scope.frame.find(name)
        if isinstance(meaning, Variable):
            check_is_set(self, name, meaning)
            return SimpleValue(self.load(name, meaning))
        if isinstance(meaning, Absent):
            raise absent_error(meaning, where)
        return None if meaning is None else meaning.here(self)


def absent_error(absent: Absent, where: SourceRange) -> CompileError:
    """The refusal of a name that is defined on some paths only, or that is gone."""
    if absent.where is None:
        return CompileError(absent.message, where)
    message = f"{absent.message}:\n{absent.where.highlight()}and was used here"
    return CompileError(message, where)
