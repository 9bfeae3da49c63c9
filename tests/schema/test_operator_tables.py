"""Facts about operators are in their declarations, code about them is registered: no other table names operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

import flambeau.jit
import flambeau.tools  # noqa: F401  (every room that registers rules)
from flambeau.ir import kinds
from flambeau.schema import registry
from flambeau.schema.rule_tables import RuleLists, RuleTable, listing
from tests.source_tree import MODULES, NODES, Nodes, walk
from tests.together import together


@cache
def is_operator(name: object) -> bool:
    """Whether a text is the name of an operator; kinds of nodes that are the structure of graphs are none."""
    return isinstance(name, str) and "::" in name and name not in kinds.STRUCTURAL and bool(registry.overloads(name))


def literals(node: ast.AST) -> Iterator[object]:
    """The constants that a container or a pattern with alternatives lists."""
    match node:
        case ast.Dict(keys, values):
            items = [*keys, *values]
        case ast.Set(items) | ast.Tuple(items) | ast.List(items):
            pass
        case ast.MatchOr(patterns):
            items = [p.value for p in patterns if isinstance(p, ast.MatchValue)]
        case _:
            return
    yield from (i.value for i in items if isinstance(i, ast.Constant))


COMPREHENSIONS = ast.GeneratorExp, ast.SetComp, ast.ListComp, ast.DictComp


def tables(nodes: Nodes) -> Iterator[tuple[int, set[str]]]:
    """Lines of tables with the operators that they name: two or more, or all that begin alike (f"aten::{name}")."""
    for node in nodes.of(ast.Dict, ast.Set, ast.Tuple, ast.List, ast.MatchOr):
        names = {str(value) for value in literals(node) if is_operator(value)}
        if len(names) > 1:
            yield node.lineno, names
    for comprehension in nodes.of(*COMPREHENSIONS):
        built = [n.values[0] for n in walk(comprehension) if isinstance(n, ast.JoinedStr)]
        listed = [v for n in walk(comprehension.generators[0].iter) for v in literals(n)]
        for prefix in {str(n.value) for n in built if isinstance(n, ast.Constant)}:
            names = {f"{prefix}{v}" for v in listed if is_operator(f"{prefix}{v}")}
            if len(names) > 1:
                yield comprehension.lineno, names


@together("module", [name for name in MODULES if not f"{name}.".startswith("flambeau.ops.")])
def test_i14_no_table_names_operators(module: str) -> None:
    found = [f"line {line}: {', '.join(sorted(names))}" for line, names in tables(NODES[module])]
    text = "a fact belongs into the declaration (schema.traits), a rule is registered (schema.rule_tables)"
    assert not found, f"{text}: {found}"


def test_the_search_finds_tables() -> None:
    code = 'X = {"aten::add", "aten::mul"}\nif k in ("aten::add", "prim::If"): rewrites("aten::add", "aten::mul")'
    assert list(tables(Nodes(ast.parse(code)))) == [(1, {"aten::add", "aten::mul"})]
    code = 'Y = frozenset(f"aten::{n}" for n in ("relu", "tanh"))'
    assert list(tables(Nodes(ast.parse(code)))) == [(1, {"aten::relu", "aten::tanh"})]


def test_i14_rules_are_for_operators_that_there_are() -> None:
    for name, purposes in listing().items():
        if name.startswith("example::"):
            continue  # an example of a docstring, which may run in the same process, has declared it
        is_there = registry.overloads(name.partition(".")[0]) or kinds.is_known(name)
        assert is_there, f"{name} has rules ({', '.join(purposes)}), but there is no such operator"


def test_rules_are_listed_by_operator() -> None:
    table, several = RuleTable[type]("one, in a test"), RuleLists[type]("several, in a test")
    table("aten::add")(int)
    several("aten::add")(int)
    several("aten::add", "aten::mul")(float)
    with pytest.raises(ValueError, match="aten::add has two rules: one, in a test"):
        table("aten::add")(str)
    rules = listing()
    assert rules["aten::add"]["one, in a test"] == ("int",)
    assert rules["aten::add"]["several, in a test"] == ("int", "float")
    assert rules["aten::mul"]["several, in a test"] == ("float",)


@pytest.mark.parametrize(
    ("text", "name"),
    [("+", "aten::add"), ("+=", "aten::add_"), ("is not", "aten::__isnot__"), ("//", "aten::floordiv")],
)
def test_operators_are_found_by_what_python_writes(text: str, name: str) -> None:
    assert registry.spelled(text) == name
