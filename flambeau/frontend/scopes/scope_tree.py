"""The scope tree of a function, made before its graph: what each function in it binds, and what it captures from where.

def outer(x):                    outer: binds x, total, inner
    total = 0                      inner: binds y; captures total, which it assigns, and x, both of outer
    def inner(y):
        nonlocal total
        total += x * y

Lambdas are functions too. A comprehension has a scope of its own, which binds its targets; what `:=` assigns in it is
a name of the function around.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from flambeau.frontend.trees.expression_trees import DictComp, ListComp, Starred, Var
from flambeau.frontend.trees.python_trees import Clause, Comprehension, Import, Lambda, Nonlocal
from flambeau.frontend.trees.statement_trees import AugAssign, Decl, Def
from flambeau.frontend.trees.tree_base import Expr, Ident, Stmt, Tree
from flambeau.util.record import dataclass, field

TARGETS: Final = frozenset({"Assign", "AugAssign", "For", "PythonBlock", "Walrus", "WithItem"})
"""Trees whose targets are assigned."""
UNWANTED: Final = "_"
AnyComprehension = ListComp | DictComp | Comprehension
COMPREHENSIONS: Final = (ListComp, DictComp, Comprehension)
FUNCTIONS: Final = (Def, Lambda)
SCOPED: Final = (Def, Lambda, ListComp, DictComp, Comprehension)
"""Trees with scopes of their own."""


@dataclass(eq=False, slots=True)
class Binding:
    """A name of one scope."""

    name: str
    is_parameter: bool
    is_captured: bool = False
    """Whether a function inside uses it."""
    is_assigned_inside: bool = False
    """Whether a function inside assigns it."""
    is_read: bool = True
    """Whether anything may read it: asked of `_` alone, which names what nobody wants."""


@dataclass(eq=False, frozen=True, slots=True)
class Capture:
    """A name that a function uses and does not bind itself."""

    name: str
    binding: Binding | None = None
    """What it is in the defining scope; None for a name of no function around."""
    is_assigned: bool = False
    """Whether the function, or one inside it, assigns it: `nonlocal`."""


@dataclass(eq=False, slots=True)
class Scope:
    """What the names of one function or comprehension are."""

    parent: Scope | None
    """The scope of what is around it."""
    bindings: dict[str, Binding]
    captures: dict[str, Capture] = field(default_factory=dict)
    """What it, or a function inside it, uses of the functions around, in the order of the first uses."""
    inner: dict[int, Scope] = field(default_factory=dict)
    """The scopes of the functions and comprehensions inside it, by the identity of their trees."""
    is_comprehension: bool = False

    def resolve(self, name: str) -> Binding | None:
        """What a name is in this scope or the nearest around that binds it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings:
                return scope.bindings[name]
            scope = scope.parent
        return None

    def of(self, tree: Def | Lambda) -> Scope:
        """The scope of a function inside this one."""
        scope = self._find(tree)
        if scope is None:  # a tree that stands for a generator expression is made when it is met
            scope = self.inner[id(tree)] = scope_tree(tree, self)
        return scope

    def _find(self, tree: Def | Lambda) -> Scope | None:
        """The scope of a function here, or in a comprehension here."""
        if id(tree) in self.inner:
            return self.inner[id(tree)]
        inside = (scope._find(tree) for scope in self.inner.values() if scope.is_comprehension)
        return next((scope for scope in inside if scope is not None), None)


def scope_tree(tree: Def | Lambda, parent: Scope | None = None) -> Scope:
    """The scope of a function, and of those inside it."""
    body: Sequence[Tree] = tree.body if isinstance(tree, Def) else (tree.body,)
    own = list(_own(body))
    declared = {name for part in own if isinstance(part, Nonlocal) for name in part.names}
    parameters = _parameters(tree.decl)
    names = dict.fromkeys((*parameters, *sorted(_assigned(own) - declared)))
    scope = Scope(parent, {name: Binding(name, name in parameters) for name in names})
    _note_uses(scope, own, declared)
    if UNWANTED in scope.bindings:
        is_captured = any(UNWANTED in inner.captures for inner in scope.inner.values())
        scope.bindings[UNWANTED].is_read = is_captured or _is_read(UNWANTED, own)
    return scope


def _is_read(name: str, own: Sequence[Tree]) -> bool:
    """Whether a function does more with a name of its own than to assign it."""
    targets = [part for part in own if part.__class__.__name__ in TARGETS and not isinstance(part, AugAssign)]
    assigned = {id(v) for part in targets for target in _targets_of(part) for v in _targets(target)}
    return any(isinstance(part, Var) and part.name == name and id(part) not in assigned for part in own)


def _comprehension_scope(tree: AnyComprehension, parent: Scope) -> Scope:
    """The scope of a comprehension, which binds its targets."""
    names = dict.fromkeys(v.name for clause in _clauses(tree) for v in _targets(clause.target))
    scope = Scope(parent, {name: Binding(name, is_parameter=False) for name in names}, is_comprehension=True)
    _note_uses(scope, _inside(tree), ())
    return scope


def _note_uses(scope: Scope, parts: Iterable[Tree], declared: Iterable[str]) -> None:
    """Find what a scope uses and does not bind; `declared` are names that it declares to be of a function around."""
    uses: dict[str, bool] = {}
    for part in parts:
        if isinstance(part, Var):
            uses.setdefault(part.name, False)
        elif isinstance(part, SCOPED):
            inner = scope.inner[id(part)] = _inner_scope(part, scope)
            for capture in inner.captures.values():
                uses[capture.name] = uses.get(capture.name, False) or capture.is_assigned
    uses.update(dict.fromkeys(sorted(declared), True))
    for name, is_assigned in uses.items():
        if name not in scope.bindings:
            scope.captures[name] = _capture(scope, name, is_assigned)


def _inner_scope(part: Def | Lambda | AnyComprehension, scope: Scope) -> Scope:
    """The scope of a function or comprehension inside another."""
    return scope_tree(part, scope) if isinstance(part, Def | Lambda) else _comprehension_scope(part, scope)


def _capture(scope: Scope, name: str, is_assigned: bool) -> Capture:
    """What a scope uses of those around it; a comprehension runs in the function around, and captures nothing of it."""
    binding = None if scope.parent is None else scope.parent.resolve(name)
    if binding is not None and not scope.is_comprehension:
        binding.is_captured = True
        binding.is_assigned_inside |= is_assigned
    return Capture(name, binding, is_assigned)


def _parameters(decl: Decl) -> list[str]:
    return [p.name for p in (*decl.params, decl.vararg, decl.kwarg) if p is not None]


# -- statements -------------------------------------------------------------------------------------------------------


def assigned_names(body: Sequence[Stmt]) -> set[str]:
    """The names that statements bind. Assigned somewhere in a function, they are its own everywhere, as in Python."""
    return _assigned(_own(body))


def used_names(body: Sequence[Stmt]) -> list[str]:
    """The names that statements, and functions inside them, mention, in the order of the first mention."""
    return list(dict.fromkeys(part.name for statement in body for part in statement.walk() if isinstance(part, Var)))


def _assigned(parts: Iterable[Tree]) -> set[str]:
    names: set[str] = set()
    for part in parts:
        if part.__class__.__name__ in TARGETS:
            names.update(v.name for target in _targets_of(part) for v in _targets(target))
        if isinstance(part, Import):
            names.add(part.ident.name)
        elif isinstance(part, Def):
            names.add(part.name)
        elif isinstance(part, COMPREHENSIONS):  # by `:=`
            names |= _assigned(_inside(part))
    return names


def _targets_of(part: Tree) -> list[Expr]:
    """What a tree assigns to."""
    single = getattr(part, "target", None)
    targets = (*getattr(part, "targets", ()), *(() if single is None else (single,)))
    return [target for target in targets if isinstance(target, Expr)]


def _own(body: Sequence[Tree]) -> Iterator[Tree]:
    """The trees of a body, but for what is inside nested functions and comprehensions.

    Defaults of functions, and what the first clause of a comprehension goes over, are computed around them.
    """
    pending: list[Tree] = list(reversed(body))
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, FUNCTIONS):
            pending.extend(p.default for p in part.decl.params if p.default is not None)
        elif isinstance(part, COMPREHENSIONS):
            pending.append(_clauses(part)[0].iterable)
        elif not isinstance(part, Ident):  # the leaves, which many are
            pending.extend(reversed(part.children))


def _clauses(tree: AnyComprehension) -> Sequence[ListComp | DictComp | Clause]:
    """What says a target and what it goes over, from the outermost loop to the innermost."""
    return tree.clauses if isinstance(tree, Comprehension) else (tree,)


def _inside(tree: AnyComprehension) -> Iterator[Tree]:
    """The trees that are evaluated in a comprehension: all but what its first clause goes over."""
    first = _clauses(tree)[0].iterable
    pending: list[Tree] = list(tree.children)
    parts: list[Tree] = []
    while pending:
        part = pending.pop(0)
        if isinstance(part, Clause):
            pending[:0] = part.children
        elif part is not first:
            parts.append(part)
    return _own(parts)


def _targets(target: Expr) -> list[Var]:
    """The names that a target binds; items and attributes bind none."""
    if isinstance(target, Var):
        return [target]
    if isinstance(target, Starred):
        return _targets(target.value)
    return [name for item in getattr(target, "items", ()) for name in _targets(item)]
