"""Sums, products, quotients and powers."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.pointwise import binary
from flambeau.ops.families.promotion import to_float
from flambeau.schema.dtype import Category, DType, bool_


def check_alpha(common: DType, x: Any, y: Any, alpha: Any) -> None:
    """Refuse a factor of a higher kind than the operands."""
    if isinstance(alpha, bool) and common is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and common.category < Category.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def check_sub(common: DType, x: Any, y: Any, alpha: Any) -> None:
    """Refuse the difference of bools."""
    if common is bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    check_alpha(common, x, y, alpha)


binary(
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    scalar=lambda s, x, y, alpha: s.add(x, s.mul(alpha, y)),
    check=check_alpha,
    out=("out",),
    doc="x + alpha * y. Bools add as `or`; integers wrap.",
)
binary(
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    scalar=lambda s, x, y, alpha: s.sub(x, s.mul(alpha, y)),
    check=check_sub,
    out=("out",),
    aliases=("subtract",),
    doc="x - alpha * y.",
)
binary(
    "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.mul(x, y),
    out=("out",),
    aliases=("multiply",),
    doc="x * y. Bools multiply as `and`; integers wrap.",
)
binary(
    "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.div(x, y),
    result=to_float,
    out=("out",),
    aliases=("divide", "true_divide"),
    doc="The true quotient: integers give floats.",
)
