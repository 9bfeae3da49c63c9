"""What all trees are: immutable, with a place, printable from their fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, dataclass_transform

from flambeau.frontend.trees.tree_text import Shape, layout
from flambeau.util.record import dataclass, field, fields
from flambeau.util.source import SourceRange

OPTION = {"option": True}
"""Metadata of a field that prints as an option."""

HIDDEN = {"hidden": True}
"""Metadata of a field that does not print."""

OPERATOR_WORDS = {"//": "floordiv", "**": "pow operator"}
"""Operators that print as words."""

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def tree_class(cls: type[_Class]) -> type[_Class]:
    """Make `cls` a kind of tree: a frozen dataclass with slots that compares by identity."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)


@tree_class
class Tree:
    """Anything written in a program; `range` is its place.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    return x + 1\\n")
    >>> print(tree.body[0].value.range.start, [type(part).__name__ for part in tree.body[0].walk()])
    21 ['Return', 'BinOp', 'Var', 'Ident', 'Const']
    """

    HEAD: ClassVar[str] = "tree"
    """First word of the s-expression."""

    range: SourceRange

    @property
    def head(self) -> str:
        """First word of this tree's s-expression."""
        return self.HEAD

    @property
    def children(self) -> tuple[Tree, ...]:
        """Direct subtrees, in printed order, absent ones left out."""
        below: list[Tree] = []
        for name in self._parts() if self.__class__ not in _PARTS else _PARTS[self.__class__]:
            value = getattr(self, name)
            if value.__class__ is tuple:
                below += [item for item in value if isinstance(item, Tree)]
            elif isinstance(value, Tree):
                below.append(value)
        return tuple(below)

    def walk(self) -> Iterator[Tree]:
        """This tree and all trees in it, parents first; a subtree that is shared appears each time."""
        pending: list[Tree] = [self]
        while pending:
            tree = pending.pop()
            yield tree
            pending.extend(reversed(tree.children))

    def shape(self) -> Shape:
        """Head and parts for printing: trees, texts, and further shapes for lists and options."""
        parts: list[Any] = []
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if item.metadata.get("hidden"):
                continue
            if item.metadata.get("option"):
                parts.append(("option", () if value is None else (value,)))
            elif isinstance(value, tuple):
                parts.append(("list", value))
            else:
                parts.append(value)
        return self.head, tuple(parts)

    def _parts(self) -> tuple[str, ...]:
        """The names of the fields, but for the range."""
        names = _PARTS[self.__class__] = tuple([item.name for item in fields(self)[1:]])
        return names

    def __str__(self) -> str:
        return layout(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.range}>"


_PARTS: dict[type[Tree], tuple[str, ...]] = {}
"""What `Tree._parts` said of each class."""


@tree_class
class Ident(Tree):
    """A name as such: of a variable, parameter, attribute or keyword.

    Example: `x` → `(ident x)`
    """

    HEAD: ClassVar[str] = "ident"
    name: str


@tree_class
class Expr(Tree):
    """Something with a value, or a type where types are written.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    return x + 1\\n")
    >>> print(isinstance(tree.body[0].value, Expr), isinstance(tree.body[0], Expr))
    True False
    """


@tree_class
class Stmt(Tree):
    """Something that is done.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    return x + 1\\n")
    >>> print(isinstance(tree.body[0], Stmt), isinstance(tree.body[0].value, Stmt))
    True False
    """
