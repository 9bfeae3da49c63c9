"""Half precision: operators compute in float32 and round once, as their kernels over arrays do."""

from __future__ import annotations

from typing import Any

from flambeau.codegen.kernel.dtypes import HALVES
from flambeau.codegen.lower.recorder import cast
from flambeau.codegen.lower.rows import Arguments
from flambeau.codegen.lower.values import Expr, LoweringError
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

COMPUTED = "float32"
"""What halves are computed in."""


def is_half(value: Any) -> bool:
    """Whether a value, or a dtype, is of half precision."""
    return (value.dtype if isinstance(value, Expr) else getattr(value, "name", "")) in HALVES


def widened(name: str, arguments: Arguments, result: DType) -> tuple[Arguments, DType]:
    """The arguments and the result's dtype of a fold or a row operator, with float32 in the place of halves.

    Raises `LoweringError` for parameters of another dtype that the operator may refuse.
    """
    tensors = {k: x for k, x in arguments.items() if isinstance(x, Expr)}
    halves = {x.dtype for x in tensors.values() if is_half(x)}
    if not halves and not is_half(result):
        return arguments, result
    first = next(iter(tensors.values()), None)
    others = {x.dtype for x in tensors.values()} - halves
    if len(halves) > 1 or (halves and (not is_half(first) or others - {COMPUTED})):
        raise LoweringError(f"{name} of {', '.join(sorted(halves | others))}")
    rounded = {k: _rounded(x, result) if x is first else x for k, x in tensors.items()}
    wide = {k: cast(x, COMPUTED) if is_half(x) else x for k, x in rounded.items()}
    return {**arguments, **wide}, dtypes.float32 if is_half(result) else result


def _rounded(x: Expr, result: DType) -> Expr:
    """What is folded, as the result's dtype has it."""
    return cast(x, result.name) if is_half(result) else x


def narrowed(exprs: tuple[Expr, ...], results: tuple[Any, ...]) -> tuple[Expr, ...]:
    """Results in the half precision that they are declared in."""
    known = (*results, *[None] * (len(exprs) - len(results)))
    return tuple(cast(x, dtype.name) if is_half(dtype) else x for x, dtype in zip(exprs, known, strict=False))


def operand(x: Expr, compute: str) -> Expr:
    """An operand in the dtype that is computed in, in float32 if that is half precision."""
    value = cast(x, compute)
    return cast(value, COMPUTED) if compute in HALVES else value


