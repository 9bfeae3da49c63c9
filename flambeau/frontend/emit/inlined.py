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
from typing import Any, Final

from flambeau.frontend.emit.contexts import leave_contexts
from flambeau.frontend.emit.conversions import convert
from flambeau.frontend.emit.emission import Emission, LoopState
from flambeau.frontend.emit.environment import Frame, Variable
from flambeau.frontend.trees.base import Tree
from flambeau.frontend.trees.views import Def, Expr, Return, Stmt, Yield
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Sugared
from flambeau.schema.types import BOOL, INT, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

STATE: Final = (
    "frame", "resolver", "name", "home", "generated", "declared_return", "merged_return", "wrap_return", "has_self",
    "receiver", "loop", "caught", "exits", "suffix", "expanding",
)  # fmt: skip
"""What differs between a generator and the function that loops over it."""


@dataclass(slots=True)
class Expansion:
    """A generator that is inlined; what `yield` and `return` in it mean."""

    element: Type | None
    """What its signature says that it yields."""
    use: Callable[[Emission, Sugared], bool]
    """Emits the body of the loop for an item; whether control goes on behind it."""
    flag: Variable | None
    """Set when the generator is left early; None where nothing leaves it."""
    contexts: int
    """How many objects were entered before it."""


def own_statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Statements and those inside them, but for nested functions."""
    pending: list[Tree] = list(body)
    while pending:
        part = pending.pop()
        if isinstance(part, Stmt):
            yield part
        if not isinstance(part, Def | Expr):  # statements are also in what is neither, as handlers are
            pending += part.children


@contextmanager
def acting_as(e: Emission, state: dict[str, Any]) -> Iterator[None]:
    """Emit as the function whose state this is, which is kept up to date."""
    before = {name: getattr(e, name) for name in STATE}
    for name, value in state.items():
        setattr(e, name, value)
    try:
        yield
    finally:
        for name in STATE:
            state[name] = getattr(e, name)
            setattr(e, name, before[name])


def expand(
    e: Emission,
    where: SourceRange,
    tree: Def,
    resolver: Any,
    names: Mapping[str, Variable | Sugared],
    element: Type | None,
    body: Callable[[Sugared], bool],
    *,
    jumps: bool,
    is_method: bool = False,
) -> bool:
    """Emit `body` for each item that a generator yields; `names` are its parameters and what it sees around it.

    `jumps` says whether the body has a `break` or `continue`. Gives whether control can go on behind the loop.
    """
    e.slots += 1
    returns = any(isinstance(s, Return) for s in own_statements(tree.body))
    leaves = jumps or returns
    consumer = {name: getattr(e, name) for name in STATE}
    flag: Variable | None = None
    if leaves:
        name = f"$left{e.slots}"
        e.store(name, e.constant(False))
        found = e.frame.names[name]
        assert isinstance(found, Variable)
        flag = found
    breaks: list[dict[str, Variable]] = []
    contexts = len(e.contexts)
    outside = e.frame

    def use(e: Emission, item: Sugared) -> bool:
        with acting_as(e, consumer):
            if not jumps:
                e.frame = Frame(outside)
                return body(item)
            node = e.graph.insert("prim::Loop", (e.constant(1), e.constant(True)), ())
            block = node.add_block()
            block.add_input(INT)
            with e.inside(block, Frame(outside)):
                before = e.loop
                e.loop = LoopState(lambda: e.constant(True), len(e.contexts), outside, breaks, flag, contexts)
                body(item)
                e.loop = before
                block.add_output(e.constant(True))
        return True

    generator = {
        **consumer, "frame": Frame(), "resolver": resolver, "name": tree.name, "loop": None, "caught": None,
        "home": f"{tree.name}{tree.range.file_line_col()[1]}", "exits": None, "declared_return": None,
        "merged_return": None, "wrap_return": None, "has_self": is_method, "receiver": None, "suffix": f".{e.slots}",
        "expanding": (*e.expanding, id(tree)), "generated": Expansion(element, use, flag, contexts),
    }  # fmt: skip
    generator["frame"].names.update(names)
    if flag is None:
        falls = _run(e, where, tree, generator)
        e.merged_return = consumer["merged_return"]
        return falls
    node = e.graph.insert("prim::Loop", (e.constant(1), e.constant(True)), ())
    block = node.add_block()
    block.add_input(INT)
    with e.inside(block):
        _run(e, where, tree, generator)
        block.add_output(e.constant(True))
    e.merged_return = consumer["merged_return"]
    e.last_loop = node, LoopState(None, contexts, outside, breaks)
    return True


def _run(e: Emission, where: SourceRange, tree: Def, generator: dict[str, Any]) -> bool:
    caller = e.name
    try:
        with acting_as(e, generator), e.graph.at_range(tree.range):
            return e.statements(tree.body)
    except CompileError as error:
        if error.range is not None and error.range.source is not tree.range.source:
            raise
        raise error.with_caller(tree.name, caller, where) from None


def emit_expanded_yield(e: Emission, tree: Yield, made: Expansion) -> bool:
    """`yield value` where a generator is inlined: the body of the loop."""

    def use(item: Sugared) -> bool:
        value = item.as_value(e, tree.range)
        if made.element is not None:
            value = convert(e, value, made.element, implicit=False)
        falls = made.use(e, SimpleValue(value))
        check_left(e)
        return falls

    if not tree.is_from:
        return use(SimpleValue(e.value(tree.value, made.element)))
    falls = e.loop_over(tree.range, e.sugared(tree.value).iterate(e, tree.value.range), use)
    check_left(e)
    return falls


def emit_expanded_return(e: Emission, made: Expansion) -> bool:
    """`return` where a generator is inlined: its end."""
    assert made.flag is not None
    leave_contexts(e, e.contexts[made.contexts :])
    e.insert("prim::Store", (e.constant(True),), name=made.flag.slot, type=BOOL)
    e.insert("prim::BreakStmt")
    return False


def check_left(e: Emission, body: tuple[Stmt, ...] | None = None) -> None:
    """Behind a loop of a generator with this body, or behind a `yield`: go on leaving it, if it is being left."""
    made = e.generated
    if not isinstance(made, Expansion) or made.flag is None:
        return
    if body is not None and not any(isinstance(s, Return | Yield) for s in own_statements(body)):
        return
    node = e.graph.insert("prim::If", (e.load("left", made.flag),), ())
    with e.inside(node.add_block()):
        e.insert("prim::BreakStmt")
    node.add_block()
