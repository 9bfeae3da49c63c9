"""What conversion rules share: their type, the text they read, ranges and refusals."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable
from typing import Any, Union

from flambeau.frontend.source.python_source import ParsedText
from flambeau.frontend.trees.tree_views import Expr, Ident, Stmt, Tree
from flambeau.util.errors import UnsupportedNodeError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Wanted = Union[ast.AST, "tuple[Context, ast.AST]"]
"""A node to be converted, with its context where that is another one."""

Step = Generator[Wanted, Any, Tree]
"""A conversion under way: yields a node, is sent its tree, returns the tree it was started for."""

Rule = Callable[["Context", Any], Step]


@dataclass(frozen=True)
class Context:
    """The text that is being converted, and what its functions are."""

    text: ParsedText
    function: str
    """Name of the function around; empty at the top of a source text."""
    self_name: str | None
    """Type name of the first parameter, in methods."""
    is_text: bool = False
    """Whether this is a source text, which may nest functions and has its defaults in its trees."""
    is_nested: bool = False
    """Whether it is a function inside a function."""
    in_loop: bool = False
    """Whether `break` and `continue` have a loop to leave."""
    broken: str = ""
    """The flag that a `break` sets, because the loop has an `else`; empty if it has none."""

    assigned: frozenset[str] | None = None
    """What the function assigns, where it names globals and is no function inside a function."""

    def range(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> SourceRange:
        """All of a node."""
        return self.text.range(node)

    def span(self, node: ast.expr | ast.stmt, parts: Iterable[Tree], token: str = " ") -> SourceRange:
        """From a node's first token to the end of its last part."""
        start = self.text.start(node)
        return self.text.source.range(start, max([start + len(token), *(part.range.end for part in parts)]))

    def ident(self, node: ast.Name | ast.arg, name: str) -> Ident:
        """A name that begins where `node` does."""
        start = self.text.start(node)
        return Ident(self.text.source.range(start, start + len(name)), name)

    def ident_after(self, start: int, name: str) -> Ident:
        """A name that is the first such text from offset `start` on; at `start` itself if it is spelt otherwise."""
        position = (self.text.source.text or "").find(name, start)
        position = start if position < 0 else position
        return Ident(self.text.source.range(position, position + len(name)), name)


def union(first: Tree, *others: Tree) -> SourceRange:
    """The range that covers all of these trees."""
    start = min(tree.range.start for tree in (first, *others))
    end = max(tree.range.end for tree in (first, *others))
    return first.range.source.range(start, end)


def all_of(nodes: Iterable[Wanted]) -> Generator[Wanted, Any, tuple[Any, ...]]:
    """The trees of several nodes."""
    trees = []
    for node in nodes:
        trees.append((yield node))
    return tuple(trees)


def optional(node: Wanted | None) -> Generator[Wanted, Any, Any]:
    """The tree of a node that may be absent."""
    return None if node is None else (yield node)


_CONSTRUCTS: dict[str, tuple[str, str, str]] = {
    # kind of node: its name in the message, its first token, what to write instead
    "AsyncFor": ("async for loops", "async for", "use a plain for"),
    "AsyncFunctionDef": ("async function definitions", "async def", "use jit.fork for work in parallel"),
    "AsyncWith": ("async with statements", "async with", "use a plain with"),
    "Await": ("Await", "", "use jit.wait on a future"),
    "ClassDef": ("class definitions", "class", "define the class outside of the function"),
    "Global": (
        "global variables",
        "global",
        "a program reads them and does not assign them. Pass the value as an argument and return it",
    ),
    "Import": ("import statements", "import", "import at the top of the module"),
    "ImportFrom": ("import statements", "from", "import at the top of the module"),
    "TryStar": ("try blocks", "try", "test for the condition with if before it fails"),
    "Yield": ("Yield", "", "put it on a line of its own: it has no value here"),
    "YieldFrom": ("YieldFrom", "", "put it on a line of its own: it has no value here"),
}


def refused(context: Context, node: ast.AST) -> UnsupportedNodeError:
    """The refusal of a node that has no rule. A statement's first word or the whole expression is underlined."""
    kind = type(node).__name__
    construct, token, instead = _CONSTRUCTS.get(kind, (kind, "", ""))
    if not isinstance(node, (ast.expr, ast.stmt)):
        return UnsupportedNodeError.of(construct, None, instead)
    where = context.text.first(node, token) if token else context.range(node)
    return UnsupportedNodeError.of(construct, where, instead)


Expressions = tuple[Expr, ...]
Statements = tuple[Stmt, ...]
