"""Whole numbers that a program on arrays writes as an expression, computed exactly, as Python does.

np.uint64(2**64 - 1)    →    the number 18446744073709551615, whose steps do not fit into 64 bits
x[i] & (1 << 63)        →    9223372036854775808, of uint64
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.trees.tree_views import BinOp, Const, Expr, UnaryMinus

MOST_BITS: Final = 4096
"""Of numbers beyond nothing is computed: what they are in is beyond too."""
BEYOND: Final = 1 << (MOST_BITS + 1)
_OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "**": operator.pow,
}  # fmt: skip


def whole_number(tree: Expr) -> int | None:
    """The int that an expression of literals is; None for any other, and for what raises."""
    spine: list[BinOp] = []
    while isinstance(tree, BinOp):
        spine.append(tree)
        tree = tree.left
    value, count = literal_start(tree, spine)
    return value if count == len(spine) else None


def literal_start(first: Expr, spine: Sequence[BinOp]) -> tuple[int | None, int]:
    """The int that a chain that leans to the left begins with, and how many of its operators, the last ones in
    `spine`, are in it; None where it begins with no literal.
    """
    value = _literal(first)
    count = 0
    for node in reversed(spine):
        right = None if value is None or node.op not in _OPERATORS else whole_number(node.right)
        following = None if value is None or right is None else _computed(node.op, value, right)
        if following is None:
            break
        value, count = following, count + 1
    return value, count


def _literal(tree: Expr) -> int | None:
    if isinstance(tree, UnaryMinus):
        inner = whole_number(tree.value)
        return None if inner is None else -inner
    return tree.value if isinstance(tree, Const) and type(tree.value) is int else None


def _computed(op: str, left: int, right: int) -> int | None:
    if max(left.bit_length(), right.bit_length()) > MOST_BITS:
        return BEYOND
    if (op in ("//", "%") and right == 0) or (op in ("<<", ">>", "**") and right < 0):
        return None
    if (op == "<<" and left and right > MOST_BITS) or (op == "**" and (abs(left) - 1).bit_length() * right > MOST_BITS):
        return BEYOND
    return _OPERATORS[op](left, right)
