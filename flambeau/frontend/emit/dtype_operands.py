"""Dtypes among operands: to operators they are ints, to NumPy they are no numbers.

np.zeros(3, x.dtype)    the parameter `dtype` takes it        x[x.dtype], -x.dtype, np.sqrt(x.dtype)    refused
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.values.sugared import Given
from flambeau.ir.graph import Value
from flambeau.schema.dtype_code import is_code_of_dtype
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import IntType, NumberType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NO_NUMBER: Final = "dtypes are no numbers: programs compare them, print them, and make arrays of them"


def check_number(value: Value, where: SourceRange) -> None:
    """Raise CompileError for a dtype where a number is meant."""
    if is_code_of_dtype(value.static_type):
        raise CompileError(NO_NUMBER, where)


def check_numbers(schema: FunctionSchema, operands: Sequence[Given], where: SourceRange) -> None:
    """Raise CompileError for a dtype that an operator takes for an int, unless it only compares it."""
    if all(not is_code_of_dtype(operand.value.static_type) for operand in operands):
        return
    if all(is_code_of_dtype(operand.value.static_type) for operand in operands) and len(operands) == 2:
        return  # whether they are equal: whoever calls operators of two dtypes has refused all else
    for formal, operand in zip(schema.positional, operands, strict=False):
        is_of_numbers = isinstance(formal.type, IntType | NumberType) or formal.broadcast
        if is_of_numbers and formal.name not in ("dtype", "item"):
            check_number(operand.value, where)
