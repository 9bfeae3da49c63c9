"""Conversion of expressions, one rule a kind of node.

x[1:] + f(y, k=3)   →   (+ (subscript x (slice expr 1)) (apply f (y) (attribute k 3)))
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from flambeau.frontend.trees.conversion_rules import Context, Rule, Step, Wanted, all_of, optional, union
from flambeau.frontend.trees.definition_conversion import declaration
from flambeau.frontend.trees.tree_views import (
    And,
    Apply,
    Attribute,
    BinOp,
    Clause,
    Compare,
    Comprehension,
    Const,
    Decl,
    DictComp,
    DictLiteral,
    Dots,
    Expr,
    FalseLit,
    Formatted,
    GeneratorComp,
    GeneratorListComp,
    Ident,
    Invert,
    Lambda,
    ListComp,
    ListLiteral,
    NoneLit,
    Not,
    Or,
    Select,
    SetLiteral,
    SliceExpr,
    Starred,
    StringLiteral,
    Subscript,
    TernaryIf,
    TrueLit,
    TupleLiteral,
    UnaryMinus,
    UnaryPlus,
    Var,
    Walrus,
)
from flambeau.util.errors import NotSupportedError

NO_ASYNC = "async comprehensions aren't supported. Use a plain for"
UNKNOWN_CONSTANT = "Unknown Constant expression type {kind}. Use a str or a list of ints"

BINARY_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}

COMPARISON_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "in",
}


def _name(context: Context, node: ast.Name) -> Step:
    yield from ()
    ident = Ident(context.range(node), node.id)
    if node.id == "Ellipsis" and isinstance(node.ctx, ast.Load):
        return Dots(ident.range)
    return Var(ident.range, ident)


def _constant(context: Context, node: ast.Constant) -> Step:
    yield from ()
    where, value = context.range(node), node.value
    if value is True:
        return TrueLit(where)
    if value is False:
        return FalseLit(where)
    if value is None:
        return NoneLit(where)
    if value is ...:
        return Dots(where)
    if isinstance(value, str):
        return StringLiteral(where.source.range(where.start, max(where.start + 1, where.end - 1)), value)
    if isinstance(value, (int, float, complex)):
        return Const(where, value)
    raise NotSupportedError(UNKNOWN_CONSTANT.format(kind=type(value).__name__), where)


def _attribute(context: Context, node: ast.Attribute) -> Step:
    value: Expr = yield node.value
    end = context.text.end(node)
    source = context.text.source
    ident = Ident(source.range(max(value.range.end, end - len(node.attr)), end), node.attr)
    return Select(source.range(value.range.start, end), value, ident)


def _call(context: Context, node: ast.Call) -> Step:
    callee: Expr = yield node.func
    args: tuple[Expr, ...] = yield from all_of(node.args)
    keywords = []
    for keyword in node.keywords:
        value: Expr = yield keyword.value
        if keyword.arg is None:
            where = context.range(keyword)
            keywords.append(Attribute(where, Ident(where, "**"), value))
            continue
        ident = context.ident_after(context.text.start(keyword), keyword.arg)
        keywords.append(Attribute(union(ident, value), ident, value))
    return Apply(union(callee, *args, *keywords), callee, args, tuple(keywords))


def _subscript(context: Context, node: ast.Subscript) -> Step:
    value: Expr = yield node.value
    several = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    indices: tuple[Expr, ...] = yield from all_of(several or [node.slice])
    end = min(max(index.range.end for index in indices) + 1, context.text.end(node))
    return Subscript(context.text.source.range(value.range.start, end), value, indices)


def _slice(context: Context, node: ast.Slice) -> Step:
    lower = yield from optional(node.lower)
    upper = yield from optional(node.upper)
    step = yield from optional(node.step)
    return SliceExpr(context.range(node), lower, upper, step)


def _list(context: Context, node: ast.List) -> Step:
    items: tuple[Expr, ...] = yield from all_of(node.elts)
    return ListLiteral(context.span(node, items), items)


def _tuple(context: Context, node: ast.Tuple) -> Step:
    items: tuple[Expr, ...] = yield from all_of(node.elts)
    return TupleLiteral(context.span(node, items), items)


def _dict(context: Context, node: ast.Dict) -> Step:
    keys, values = [], []
    for key, value in zip(node.keys, node.values, strict=True):
        entry: Expr = yield value
        values.append(entry)
        if key is None:
            start = context.text.start(value)
            keys.append(Starred(context.text.source.range(max(start - 2, 0), entry.range.end), entry))
        else:
            keys.append((yield key))
    return DictLiteral(context.span(node, (*keys, *values)), tuple(keys), tuple(values))


def _list_comprehension(context: Context, node: ast.ListComp | ast.GeneratorExp) -> Step:
    element: Expr = yield node.elt
    clauses = yield from _clauses(context, node)
    where = context.span(node, (element, *clauses))
    if len(clauses) == 1 and not clauses[0].conditions:
        tree_class = GeneratorListComp if isinstance(node, ast.GeneratorExp) else ListComp
        return tree_class(where, element, clauses[0].target, clauses[0].iterable)
    several = GeneratorComp if isinstance(node, ast.GeneratorExp) else Comprehension
    return several(where, None, element, clauses)


def _dict_comprehension(context: Context, node: ast.DictComp) -> Step:
    key: Expr = yield node.key
    value: Expr = yield node.value
    clauses = yield from _clauses(context, node)
    where = context.span(node, (key, value, *clauses))
    if len(clauses) == 1 and not clauses[0].conditions:
        return DictComp(where, key, value, clauses[0].target, clauses[0].iterable)
    return Comprehension(where, key, value, clauses)


def _clauses(
    context: Context, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
) -> Generator[Wanted, Any, tuple[Clause, ...]]:
    """The `for` parts of a comprehension with their conditions."""
    clauses = []
    for generator in node.generators:
        if generator.is_async:
            raise NotSupportedError(NO_ASYNC, context.range(generator.target))
        target: Expr = yield generator.target
        iterable: Expr = yield generator.iter
        conditions: tuple[Expr, ...] = yield from all_of(generator.ifs)
        clauses.append(Clause(union(target, iterable, *conditions), target, iterable, conditions))
    return tuple(clauses)


def _walrus(context: Context, node: ast.NamedExpr) -> Step:
    value: Expr = yield node.value
    ident = Ident(context.range(node.target), node.target.id)
    return Walrus(context.range(node), Var(ident.range, ident), value)


def _lambda(context: Context, node: ast.Lambda) -> Step:
    decl = yield from declaration(context, node)
    assert isinstance(decl, Decl)
    body: Expr = yield node.body
    return Lambda(context.span(node, (body,), "lambda"), decl, body)


def _set(context: Context, node: ast.Set) -> Step:
    items: tuple[Expr, ...] = yield from all_of(node.elts)
    return SetLiteral(context.span(node, items), items)


def _set_comprehension(context: Context, node: ast.SetComp) -> Step:
    listed = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    items: Expr = yield listed
    return SetLiteral(items.range, (Starred(items.range, items),))


def _starred(context: Context, node: ast.Starred) -> Step:
    value: Expr = yield node.value
    return Starred(context.span(node, (value,)), value)


def _binary(context: Context, node: ast.BinOp) -> Step:
    left: Expr = yield node.left
    right: Expr = yield node.right
    return BinOp(union(left, right), BINARY_SIGNS[type(node.op)], left, right)


def _unary(context: Context, node: ast.UnaryOp) -> Step:
    value: Expr = yield node.operand
    where = context.span(node, (value,))
    if isinstance(node.op, ast.UAdd):
        return UnaryPlus(where, value)
    if isinstance(node.op, ast.USub):
        return UnaryMinus(where, value)
    return Invert(where, value) if isinstance(node.op, ast.Invert) else Not(where, value)


def _boolean(context: Context, node: ast.BoolOp) -> Step:
    kind = And if isinstance(node.op, ast.And) else Or
    result: Expr = yield node.values[0]
    for operand in node.values[1:]:
        right: Expr = yield operand
        result = kind(union(result, right), result, right)
    return result


def _compare(context: Context, node: ast.Compare) -> Step:
    result: Expr | None = None
    left: Expr = yield node.left
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        right: Expr = yield operand
        link: Expr = Compare(union(left, right), COMPARISON_SIGNS[type(operator)], left, right)
        if isinstance(operator, ast.NotIn):
            link = Not(link.range, link)
        result = link if result is None else And(union(result, link), result, link)
        left = right
    assert result is not None
    return result


def _ternary(context: Context, node: ast.IfExp) -> Step:
    condition: Expr = yield node.test
    body: Expr = yield node.body
    orelse: Expr = yield node.orelse
    return TernaryIf(union(condition, body, orelse), condition, body, orelse)


def _f_string(context: Context, node: ast.JoinedStr) -> Step:
    """`f"{a} b"` is `"{} b".format(a)`. Text that holds braces itself becomes an argument, so that it is not filled."""
    template = ""
    args: list[Expr] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            template += "{}"
            value: Expr = yield part.value
            spec: Expr | None = yield from optional(part.format_spec)
            if part.conversion != -1 or spec is not None:
                conversion = "" if part.conversion == -1 else chr(part.conversion)
                value = Formatted(context.range(node), value, conversion, spec)
            args.append(value)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            holds_braces = "{" in part.value or "}" in part.value
            template += "{}" if holds_braces else part.value
            args += [StringLiteral(context.range(node), part.value)] if holds_braces else []
    where = context.range(node)
    literal = StringLiteral(where, template)
    return Apply(where, Select(where, literal, Ident(where, "format")), tuple(args), ())


EXPRESSIONS: dict[type[ast.AST], Rule] = {
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _list_comprehension,
    ast.IfExp: _ternary,
    ast.JoinedStr: _f_string,
    ast.List: _list,
    ast.ListComp: _list_comprehension,
    ast.Lambda: _lambda,
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.Set: _set,
    ast.SetComp: _set_comprehension,
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
}
"""Every kind of expression that the language has."""
