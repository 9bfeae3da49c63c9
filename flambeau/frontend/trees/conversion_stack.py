"""Runs conversion rules with a stack of its own, so that depth is bounded by memory only."""

from __future__ import annotations

import ast

from flambeau.frontend.trees.conversion_rules import Context, Rule, Step, refused
from flambeau.frontend.trees.expression_conversion import EXPRESSIONS
from flambeau.frontend.trees.statement_conversion import STATEMENTS
from flambeau.frontend.trees.tree_views import Tree

RULES: dict[type[ast.AST], Rule] = {**EXPRESSIONS, **STATEMENTS}
"""Every kind of node that the language has."""


def convert_node(context: Context, node: ast.AST) -> Tree:
    """The tree of one node. Raises `UnsupportedNodeError` for a kind without a rule."""
    return run(context, _begin(context, node))


def run(context: Context, step: Step) -> Tree:
    """The tree that a conversion returns, all nodes it asks for converted on the way."""
    under_way = [(context, step)]
    answer: Tree | None = None
    while True:
        context, step = under_way[-1]
        try:
            wanted = step.send(answer)
        except StopIteration as finished:
            under_way.pop()
            answer = finished.value
            if not under_way:
                assert answer is not None
                return answer
        else:
            if isinstance(wanted, tuple):
                context, wanted = wanted
            under_way.append((context, _begin(context, wanted)))
            answer = None


def _begin(context: Context, node: ast.AST) -> Step:
    rule = RULES.get(type(node))
    if rule is None:
        raise refused(context, node)
    return rule(context, node)
