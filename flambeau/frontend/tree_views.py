"""Trees of a program: what was written, in the language's own kinds, each with its place.

The front end turns Python's `ast` into these trees, and the emitter turns them into IR. They are immutable and compare
by identity. `str(tree)` is the s-expression of TorchScript's tree views:

    y = x + 1   →   (assign
                      (list (variable (ident y)))
                      (option
                        (+ (variable (ident x)) (const 1)))
                      (option))

A field that holds a tuple prints as `(list …)`, one that may be absent as `(option …)`, the others as themselves.
A range ends where its last part ends: closing brackets and quotes are not part of it, as in TorchScript.
"""

from __future__ import annotations

from flambeau.frontend.tree_base import Expr, Ident, Stmt, Tree
from flambeau.frontend.tree_expressions import (
    And,
    Apply,
    Attribute,
    BinOp,
    Compare,
    Const,
    DictComp,
    DictLiteral,
    Dots,
    FalseLit,
    Invert,
    ListComp,
    ListLiteral,
    NoneLit,
    Not,
    Or,
    Select,
    SliceExpr,
    Starred,
    StringLiteral,
    Subscript,
    TernaryIf,
    TrueLit,
    TupleLiteral,
    UnaryMinus,
    Var,
)
from flambeau.frontend.tree_extras import (
    Clause,
    Comprehension,
    Formatted,
    Import,
    Lambda,
    SetLiteral,
    UnaryPlus,
    Walrus,
)
from flambeau.frontend.tree_statements import (
    Assert,
    Assign,
    AugAssign,
    Break,
    ClassDef,
    Continue,
    Decl,
    Def,
    Delete,
    ExprStmt,
    For,
    If,
    Param,
    Pass,
    Raise,
    Return,
    While,
    With,
    WithItem,
)

__all__ = [
    "And",
    "Apply",
    "Assert",
    "Assign",
    "Attribute",
    "AugAssign",
    "BinOp",
    "Break",
    "ClassDef",
    "Clause",
    "Compare",
    "Comprehension",
    "Const",
    "Continue",
    "Decl",
    "Def",
    "Delete",
    "DictComp",
    "DictLiteral",
    "Dots",
    "Expr",
    "ExprStmt",
    "FalseLit",
    "For",
    "Formatted",
    "Ident",
    "If",
    "Import",
    "Invert",
    "Lambda",
    "ListComp",
    "ListLiteral",
    "NoneLit",
    "Not",
    "Or",
    "Param",
    "Pass",
    "Raise",
    "Return",
    "Select",
    "SetLiteral",
    "SliceExpr",
    "Starred",
    "Stmt",
    "StringLiteral",
    "Subscript",
    "TernaryIf",
    "Tree",
    "TrueLit",
    "TupleLiteral",
    "UnaryMinus",
    "UnaryPlus",
    "Var",
    "Walrus",
    "While",
    "With",
    "WithItem",
]
