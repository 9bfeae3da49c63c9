"""Scope trees: what functions and comprehensions bind, and what they use of those around them."""

from __future__ import annotations

import textwrap

import flambeau
from flambeau.frontend.scopes.scope_tree import Scope, scope_tree
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.jit import CompilationUnit


def scope_of(text: str) -> Scope:
    (tree,) = parse_source(textwrap.dedent(text), "<string>")
    return scope_tree(tree)


def test_functions_bind_parameters_and_what_they_assign() -> None:
    scope = scope_of("""
        def outer(x):
            total = 0
            def inner(y):
                nonlocal total
                total += x * y
            inner(x)
            return total
        """)
    assert list(scope.bindings) == ["x", "inner", "total"]
    (inner,) = scope.inner.values()
    assert list(inner.bindings) == ["y"]
    assert {name: c.is_assigned for name, c in inner.captures.items()} == {"total": True, "x": False}
    assert inner.captures["x"].binding is scope.bindings["x"]
    assert scope.bindings["total"].is_assigned_inside
    assert not scope.bindings["x"].is_assigned_inside


def test_comprehensions_bind_their_targets() -> None:
    scope = scope_of("""
        def f(rows, k):
            return [(last := cell) * k for row in rows if k for cell in row]
        """)
    assert list(scope.bindings) == ["rows", "k", "last"]
    (comprehension,) = scope.inner.values()
    assert comprehension.is_comprehension
    assert list(comprehension.bindings) == ["row", "cell"]
    assert list(comprehension.captures) == ["last", "k"]
    assert scope.captures == {}
    assert not scope.bindings["k"].is_captured


def test_what_a_first_clause_goes_over_is_of_the_function_around() -> None:
    scope = scope_of("""
        def f(i):
            return {i: j for i in i for j in i}
        """)
    (comprehension,) = scope.inner.values()
    assert list(comprehension.bindings) == ["i", "j"]
    assert comprehension.captures == {}


def test_functions_in_comprehensions_capture_their_targets() -> None:
    scope = scope_of("""
        def f(x, i):
            return [(lambda v: v * i + x)(2) for i in range(3)]
        """)
    (comprehension,) = scope.inner.values()
    (function,) = comprehension.inner.values()
    assert function.captures["i"].binding is comprehension.bindings["i"]
    assert function.captures["x"].binding is scope.bindings["x"]
    assert scope.bindings["x"].is_captured
    assert not scope.bindings["i"].is_captured


def test_targets_are_not_taken_along_by_functions_around() -> None:
    @flambeau.script
    def f(n: int) -> int:
        def total(m: int) -> int:
            return sum([i * m for i in range(n)])

        i = "not an int" if n > 5 else "nor this"
        return total(2) + len(i)

    assert f(3) == 6 + 8


def test_of_finds_functions_in_comprehensions() -> None:
    unit = CompilationUnit("""
def f(x: int, n: int) -> int:
    return sum([(lambda v: v * i + x)(2) for i in range(n)])
""")
    assert unit.f(10, 3) == 36
