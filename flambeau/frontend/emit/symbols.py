"""Python's operators, and the operators of graphs that they are."""

from __future__ import annotations

from typing import Final

BINARY: Final = {
    "+": "aten::add", "-": "aten::sub", "*": "aten::mul", "/": "aten::div", "//": "aten::floordiv",
    "%": "aten::remainder", "**": "aten::pow", "@": "aten::matmul", "&": "aten::__and__", "|": "aten::__or__",
    "^": "aten::__xor__", "<<": "aten::__lshift__", ">>": "aten::__rshift__",
}  # fmt: skip

COMPARE: Final = {
    "<": "aten::lt", ">": "aten::gt", "<=": "aten::le", ">=": "aten::ge", "==": "aten::eq", "!=": "aten::ne",
    "is": "aten::__is__", "is not": "aten::__isnot__",
}  # fmt: skip
