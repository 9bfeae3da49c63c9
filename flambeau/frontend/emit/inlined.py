"""A loop over a generator: the generator's statements where the loop stands, and the loop's body at each `yield`.

for v in g(n):      →      the body of g with `v = …` and the loop's body in place of each `yield …`
    print(v)

So both take turns as in Python, and what comes behind a `break` is not run. Names of the two are kept apart: each has
its own scopes, and its own names in the graph. To leave the generator early a flag is set, which every loop of the
generator that has a `yield` or `return` looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flambeau.frontend.emit.flow import Flow, LoopState
from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.function_scope import FunctionScope
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.with_statements import leave_contexts
from flambeau.frontend.scopes.captured_names import Name, unique_name
from flambeau.frontend.scopes.scope_tree import Scope, scope_tree
from flambeau.frontend.trees.own_statements import own_statements
from flambeau.frontend.trees.tree_views import Def, Return, Stmt, Yield
from flambeau.ir.graph import Block, Node
from flambeau.schema.types import BOOL, INT, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class Expansion:
    """A generator that is inlined; what `yield` and `return` in it mean."""

    element: Type | None
    """What its signature says that it yields."""
    use: Callable[[Emitter, Sugared], bool]
    """Emits the body of the loop for an item; whether control goes on behind it."""
    flag: Variable | None
    """Set when the generator is left early; None where nothing leaves it."""
    contexts: int
    """How many objects were entered before it."""


def inlined_scope(
    e: Emitter, tree: Def, resolver: Any, scope_name: str, symbols: Scope | None, *, has_self: bool = False
) -> FunctionScope[Sugared]:
    """The scope of a function that is inlined here: its names have slots of their own."""
    around = e.scope
    return FunctionScope(
        name=tree.name,
        resolver=resolver,
        unique_name=scope_name,
        symbols=symbols or scope_tree(tree),
        suffix=f".{e.builder.new_number()}",
        expanding=(*around.expanding, id(tree)),
        has_self=has_self,
        inherited=around.inherited,
        annotated=around.annotated,
    )


@contextmanager
def inlining(
    e: Emitter, where: SourceRange, tree: Def, scope: FunctionScope[Sugared], flow: Flow[Sugared]
) -> Iterator[None]:
    """Emit the statements of a function that is called at `where`; refusals say who called it."""
    caller = e.scope.name
    try:
        with e.acting_as(scope, flow), e.graph.at_range(tree.range):
            yield
    except CompileError as error:
        if error.range is not None and error.range.source is not tree.range.source:
            raise
        raise error.with_caller(tree.name, caller, where) from None


def expand(
    e: Emitter,
    where: SourceRange,
    tree: Def,
    resolver: Any,
    names: Mapping[Name, Variable | Sugared],
    element: Type | None,
    body: Callable[[Sugared], bool],
    *,
    jumps: bool,
    is_method: bool = False,
    symbols: Scope | None = None,
) -> bool:
    """Emit `body` for each item that a generator yields; `names` are its parameters and what it sees around it.

    `jumps` says whether the body has a `break` or `continue`. Gives whether control can go on behind the loop.
    """
    scope_name = unique_name(tree, e.builder.scope_names)
    scope = inlined_scope(e, tree, resolver, scope_name, symbols, has_self=is_method)
    scope.frame.names.update(names)
    flag: Variable | None = None
    if jumps or any(isinstance(s, Return) for s in own_statements(tree.body)):
        name = f"$left{e.builder.new_number()}"
        e.store(name, e.constant(False))
        flag = e.scope.variable(name)
    consumer = _Consumer(e.scope, e.flow, e.scope.frame, body, jumps, flag, len(e.flow.contexts))
    flow = e.flow.inlined(Expansion(element, consumer.emit, flag, consumer.contexts))
    if flag is None:
        e.flow.last_loop = None
        with inlining(e, where, tree, scope, flow):
            return e.statements(tree.body)
    node, block = _once(e)
    with e.inside(block):
        with inlining(e, where, tree, scope, flow):
            e.statements(tree.body)
        block.add_return(e.constant(True))
    e.flow.last_loop = node, LoopState(None, consumer.contexts, consumer.frame, consumer.breaks)
    return True


@dataclass(slots=True)
class _Consumer:
    """The function that loops over a generator, and the body of its loop."""

    scope: FunctionScope[Sugared]
    flow: Flow[Sugared]
    frame: Frame[Sugared]
    """The names around the loop."""
    body: Callable[[Sugared], bool]
    jumps: bool
    flag: Variable | None
    contexts: int
    """How many objects were entered around the loop."""
    breaks: list[dict[Name, Variable]] = field(default_factory=list)

    def emit(self, e: Emitter, item: Sugared) -> bool:
        """The body of the loop for an item; whether control goes on behind it."""
        with e.acting_as(self.scope, self.flow):
            if not self.jumps:
                with self.scope.within(Frame(self.frame)):
                    return self.body(item)
            _, block = _once(e)
            loop = LoopState(
                lambda: e.constant(True), len(e.flow.contexts), self.frame, self.breaks, self.flag, self.contexts
            )
            with e.inside(block, Frame(self.frame)), e.flow.inside_loop(loop):
                self.body(item)
                block.add_return(e.constant(True))
        return True


def _once(e: Emitter) -> tuple[Node, Block]:
    """A loop of one iteration, which a `break` leaves."""
    node = e.graph.insert("prim::Loop", (e.constant(1), e.constant(True)), ())
    block = node.add_block()
    block.add_parameter(INT)
    return node, block


def emit_expanded_yield(e: Emitter, tree: Yield, expansion: Expansion) -> bool:
    """`yield value` where a generator is inlined: the body of the loop."""

    def use(item: Sugared) -> bool:
        value = item.as_value(e, tree.range)
        if expansion.element is not None:
            value = convert(e, value, expansion.element, implicit=False)
        falls = expansion.use(e, SimpleValue(value))
        check_left(e)
        return falls

    if not tree.is_from:
        return use(SimpleValue(e.value(tree.value, expansion.element)))
    falls = e.loop_over(tree.range, e.sugared(tree.value).iterate(e, tree.value.range), use)
    check_left(e)
    return falls


def emit_expanded_return(e: Emitter, expansion: Expansion) -> bool:
    """`return` where a generator is inlined: its end."""
    assert expansion.flag is not None
    leave_contexts(e, e.flow.contexts[expansion.contexts :])
    e.insert("prim::Store", (e.constant(True),), name=expansion.flag.slot, type=BOOL)
    e.insert("prim::BreakStmt")
    return False


def check_left(e: Emitter, body: tuple[Stmt, ...] | None = None) -> None:
    """Behind a loop of a generator with this body, or behind a `yield`: go on leaving it, if it is being left."""
    expansion = e.flow.generator
    if not isinstance(expansion, Expansion) or expansion.flag is None:
        return
    if body is not None and not any(isinstance(s, Return | Yield) for s in own_statements(body)):
        return
    node = e.graph.insert("prim::If", (e.load("left", expansion.flag),), ())
    with e.inside(node.add_block()):
        e.insert("prim::BreakStmt")
    node.add_block()
