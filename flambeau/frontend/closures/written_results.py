"""What a function that calls itself gives, as its simple returns say: for calls of itself that come before these.

def solve(board):                        →    bool, as `return True` says
    ...
        if solve(board): return True
    return False

What is said this way is compared with what the function gives once it is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.frontend.trees.own_statements import own_statements
from flambeau.frontend.trees.tree_views import (
    Compare,
    Const,
    Def,
    Expr,
    FalseLit,
    NoneLit,
    Not,
    Return,
    StringLiteral,
    TernaryIf,
    TrueLit,
    UnaryMinus,
    Var,
)
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, NONE, STRING, Type

_NUMBERS = {int: INT, float: FLOAT, complex: COMPLEX}
_WIDER = (BOOL, INT, FLOAT, COMPLEX)


def written_result(tree: Def, parameters: Mapping[str, Type]) -> Type | None:
    """The type of the literals, comparisons and parameters that a function returns; of numbers the widest,
    of nothing None's.

    None where it returns none of these, or some of several types.
    """
    returned = [arm for s in own_statements(tree.body) if isinstance(s, Return) for arm in _arms(s.value)]
    if all(isinstance(value, NoneLit) for value in returned):
        return NONE
    types = {type_ for type_ in (_type_of(value, parameters) for value in returned) if type_ is not None}
    if types.issubset(_WIDER):
        return max(types, key=_WIDER.index, default=None)
    return types.pop() if len(types) == 1 else None


def _arms(value: Expr) -> list[Expr]:
    """What a conditional expression may be; any other expression itself."""
    return [*_arms(value.body), *_arms(value.orelse)] if isinstance(value, TernaryIf) else [value]


def _type_of(value: Expr, parameters: Mapping[str, Type]) -> Type | None:
    if isinstance(value, TrueLit | FalseLit | Compare | Not):
        return BOOL
    if isinstance(value, StringLiteral):
        return STRING
    if isinstance(value, Var):
        return parameters.get(value.name)
    value = value.value if isinstance(value, UnaryMinus) else value
    return _NUMBERS[type(value.value)] if isinstance(value, Const) else None
