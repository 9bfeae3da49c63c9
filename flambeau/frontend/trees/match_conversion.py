"""`match` as what it means: a chain of branches with tests of the subject, and names bound where a case is taken.

match x:                          if x == 1: …
    case 1: …              →      elif (n := x) and n < 0: n = x; …
    case n if n < 0: …
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from flambeau.frontend.trees.conversion_rules import Context, Statements, Step, Wanted, all_of, optional
from flambeau.frontend.trees.tree_views import (
    And,
    Apply,
    Assign,
    Bind,
    Compare,
    Const,
    Expr,
    FalseLit,
    Ident,
    If,
    Length,
    NoneLit,
    Or,
    Select,
    SliceExpr,
    Stmt,
    Subscript,
    TrueLit,
    UnaryMinus,
    Var,
)
from flambeau.util.errors import NotSupportedError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

ALTERNATIVE_NAMES = "alternatives of a match pattern that bind names aren't supported. Write a case for each"
REST = "**rest in a match pattern isn't supported. Read the dict in the case's body"


@dataclass(slots=True)
class _Pattern:
    """What has to hold of a subject, and what is bound if it does."""

    tests: list[Expr] = field(default_factory=list)
    bound: list[tuple[Ident, Expr]] = field(default_factory=list)

    def add(self, other: _Pattern) -> None:
        self.tests += other.tests
        self.bound += other.bound


Part = Generator[Wanted, Any, _Pattern]


def convert_match(context: Context, node: ast.Match) -> Step:
    """The branches."""
    where = context.text.first(node, "match")
    value: Expr = yield node.subject
    prelude: list[Stmt] = []
    subject = value
    if not isinstance(value, Var):
        subject = Var(value.range, Ident(value.range, f"$match{node.lineno}"))
        prelude.append(Assign(value.range, (subject,), value, None))
    cases: list[tuple[_Pattern, Expr | None, Statements]] = []
    for case in node.cases:
        pattern = yield from _pattern(context, case.pattern, subject)
        guard: Expr | None = yield from optional(case.guard)
        body: Statements = yield from all_of(case.body)
        cases.append((pattern, guard, body))
    rest: Statements = ()
    for pattern, guard, body in reversed(cases):
        rest = _case(where, pattern, guard, body, rest)
    return If(where, TrueLit(where), (*prelude, *rest), ())


def _case(where: SourceRange, pattern: _Pattern, guard: Expr | None, body: Statements, rest: Statements) -> Statements:
    """One case, with what follows if it is not taken."""
    named = [Assign(i.range, (Var(i.range, i),), value, None) for i, value in pattern.bound]
    taken = (*named, *body)
    tests = [*pattern.tests]
    if guard is not None:
        tests += [Bind(i.range, Var(i.range, i), value) for i, value in pattern.bound]
        tests.append(guard)
    if not tests:
        return taken
    return (If(where, _all(tests), taken, rest),)


def _all(tests: list[Expr]) -> Expr:
    result = tests[-1]
    for test in reversed(tests[:-1]):
        result = And(test.range.union(result.range), test, result)
    return result


def _pattern(context: Context, node: ast.pattern, subject: Expr) -> Part:
    where = _place(context, node)
    match node:
        case ast.MatchValue():
            value: Expr = yield node.value
            return _Pattern([Compare(where, "==", subject, value)])
        case ast.MatchSingleton():
            literal = NoneLit(where) if node.value is None else TrueLit(where) if node.value else FalseLit(where)
            return _Pattern([Compare(where, "is", subject, literal)])
        case ast.MatchAs():
            inner = _Pattern() if node.pattern is None else (yield from _pattern(context, node.pattern, subject))
            if node.name is not None:
                inner.bound.append((Ident(where, node.name), subject))
            return inner
        case ast.MatchOr():
            return (yield from _alternatives(context, node, subject, where))
        case ast.MatchSequence():
            return (yield from _sequence(context, node.patterns, subject, where))
        case ast.MatchMapping():
            return (yield from _mapping(context, node, subject, where))
        case ast.MatchClass():
            return (yield from _class(context, node, subject, where))
    raise NotSupportedError(f"{type(node).__name__} aren't supported", where)


def _alternatives(context: Context, node: ast.MatchOr, subject: Expr, where: SourceRange) -> Part:
    result: Expr | None = None
    for alternative in node.patterns:
        inner = yield from _pattern(context, alternative, subject)
        if inner.bound:
            raise NotSupportedError(ALTERNATIVE_NAMES, where)
        test = _all(inner.tests) if inner.tests else TrueLit(where)
        result = test if result is None else Or(where, result, test)
    assert result is not None
    return _Pattern([result])


def _sequence(context: Context, patterns: list[ast.pattern], subject: Expr, where: SourceRange) -> Part:
    stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    result = _Pattern([Length(where, subject, len(patterns) - len(stars), bool(stars))])
    for index, pattern in enumerate(patterns):
        after = len(patterns) - index
        is_behind = bool(stars) and index > stars[0]
        if isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                stop = None if after == 1 else UnaryMinus(where, Const(where, after - 1))
                part = SliceExpr(where, Const(where, index), stop, None)
                result.bound.append((Ident(where, pattern.name), Subscript(where, subject, (part,))))
            continue
        position: Expr = UnaryMinus(where, Const(where, after)) if is_behind else Const(where, index)
        result.add((yield from _pattern(context, pattern, Subscript(where, subject, (position,)))))
    return result


def _mapping(context: Context, node: ast.MatchMapping, subject: Expr, where: SourceRange) -> Part:
    if node.rest is not None:
        raise NotSupportedError(REST, where)
    result = _Pattern()
    for key, pattern in zip(node.keys, node.patterns, strict=True):
        name: Expr = yield key
        result.tests.append(Compare(where, "in", name, subject))
        result.add((yield from _pattern(context, pattern, Subscript(where, subject, (name,)))))
    return result


_ITSELF = ("bool", "float", "int", "str", "list", "dict", "tuple")
"""Classes whose one positional pattern is matched with the subject itself."""


def _class(context: Context, node: ast.MatchClass, subject: Expr, where: SourceRange) -> Part:
    cls: Expr = yield node.cls
    tested = Apply(where, Var(where, Ident(where, "isinstance")), (subject, cls), ())
    result = _Pattern([tested])
    for index, pattern in enumerate(node.patterns):
        is_itself = isinstance(cls, Var) and cls.name in _ITSELF
        part = subject if is_itself else Subscript(where, subject, (Const(where, index),))
        result.add((yield from _pattern(context, pattern, part)))
    for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
        result.add((yield from _pattern(context, pattern, Select(where, subject, Ident(where, name)))))
    return result


def _place(context: Context, node: ast.pattern) -> SourceRange:
    start = context.text.offset(node.lineno, node.col_offset)
    return context.text.source.range(start, context.text.offset(node.end_lineno, node.end_col_offset))
