"""What the tests of the package's shape measure: modules, syntax trees, imports, cycles, complexity."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "flambeau"
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}
Measured = TypeVar("Measured")
Node = TypeVar("Node", bound=ast.AST)


class ByModule(Mapping[str, Measured], Generic[Measured]):
    """Something of each module of the package, computed when it is first asked for: not while tests are collected."""

    def __init__(self, compute: Callable[[str], Measured]) -> None:
        self._compute = compute
        self._computed: dict[str, Measured] = {}

    def __getitem__(self, name: str) -> Measured:
        if name not in self._computed:
            self._computed[name] = self._compute(name)
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


TREES = ByModule(lambda name: ast.parse(MODULES[name].read_text(encoding="utf-8")))
LEAVES = frozenset({"ctx", "op", "ops", "names", "type_comment", "kind", "level", "lineno", "id", "attr", "conversion"})
"""Fields that hold no nodes, or only signs as `ast.Add`; `names` of imports are reached through these."""


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without signs and aliases of imports: `ast.walk` takes five times as long."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in node._fields:
            if field not in LEAVES:
                value = getattr(node, field, None)
                if isinstance(value, ast.AST):
                    waiting.append(value)
                elif isinstance(value, list):
                    waiting += [item for item in value if isinstance(item, ast.AST)]


class Nodes:
    """The nodes of a tree by their classes, as what looks through the whole package asks for a few classes."""

    def __init__(self, tree: ast.AST) -> None:
        self._by_class: dict[type[ast.AST], list[ast.AST]] = {}
        for node in walk(tree):
            self._by_class.setdefault(type(node), []).append(node)

    def of(self, *classes: type[Node]) -> Iterator[Node]:
        """Those of these classes."""
        for one in classes:
            yield from self._by_class.get(one, ())  # type: ignore[misc]


NODES = ByModule(lambda name: Nodes(TREES[name]))


def imports_of(name: str, *, with_types: bool) -> set[str]:
    """The modules of the package that a module imports anywhere; `with_types`: those for type checkers alone too."""
    nodes = NODES[name]
    typing_only = {
        id(inner)
        for block in nodes.of(ast.If)
        if any("TYPE_CHECKING" in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in walk(block.test))
        for statement in block.body
        for inner in walk(statement)
    }
    targets: set[str] = set()
    for node in nodes.of(ast.Import, ast.ImportFrom):
        if id(node) in typing_only and not with_types:
            continue
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import; write the full name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                targets.add(full if full in MODULES else str(node.module))
    return {target for target in targets if target in MODULES and target != name}


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of several nodes that reach each other, in the graph of nodes to their successors.

    >>> cycles({"a": {"b"}, "b": {"a", "c"}, "c": set()}) == [{"a", "b"}]
    True
    """
    reached = {node: _reachable(graph, node) for node in graph}
    knots = {frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return sorted((set(knot) for knot in knots if len(knot) > 1), key=len, reverse=True)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen


def complexity(function: ast.AST) -> int:
    """One more than the decisions in a function: branches, loops, handlers, comprehensions, cases, `and` and `or`.

    McCabe, "A complexity measure", 1976, with `with` and `assert` counted too.
    """
    decisions = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.With, ast.Assert, ast.comprehension)
    return 1 + sum(
        len(node.values) - 1 if isinstance(node, ast.BoolOp) else isinstance(node, (*decisions, ast.match_case))
        for node in walk(function)
    )


def functions(name: str) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a module, those in others too."""
    return NODES[name].of(ast.FunctionDef)
