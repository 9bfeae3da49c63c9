"""Gradients of operators on tensors with a number that is no constant among the operands: to the tape, whose formulas
serve the others, numbers are constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.autodiff.graph_operators import Builder
from flambeau.ir.graph import Node
from flambeau.schema.rule_tables import RuleTable

Rule = Callable[[Builder, Node, Any], Any]
number_gradients: Final = RuleTable[Rule]("gradients in graphs where an operand is a number that is no constant")
"""By an overload and an argument."""


@number_gradients("aten::pow.Tensor_Scalar self")
def _power(builder: Builder, node: Node, grad: Any) -> Any:
    """`grad * c * x ** (c - 1)`, 0 where c is 0: of x ** 0 then, whose own derivatives are no nan where x is 0."""
    f, base, exponent = builder.operators, builder.proxy(node.operand(0)), builder.proxy(node.operand(1))
    is_constant = f.eq(f.full_like(base, exponent), 0)
    one_if_constant = builder.scalar("aten::Int", [builder.scalar("aten::eq", [exponent, 0])])
    return f.where(is_constant, 0, grad * exponent * f.pow(base, exponent - 1 + one_if_constant))


@number_gradients("aten::pow.Tensor_Scalar exponent")
def _exponent(builder: Builder, node: Node, grad: Any) -> Any:
    """`grad * x ** c * log(x)`, 0 where x is 0."""
    f, base, power = builder.operators, builder.proxy(node.operand(0)), builder.proxy(node.result())
    is_zero = f.eq(base, 0)
    return grad * power * f.log(f.where(is_zero, 1, base))


@number_gradients("aten::pow.Scalar self")
def _base(builder: Builder, node: Node, grad: Any) -> Any:
    base, exponent = builder.proxy(node.operand(0)), builder.proxy(node.operand(1))
    return grad * exponent * builder.operators.pow(base, exponent - 1)


@number_gradients("aten::lerp.Scalar weight")
def _weight(builder: Builder, node: Node, grad: Any) -> Any:
    return grad * (builder.proxy(node.operand(1)) - builder.proxy(node.operand(0)))


@number_gradients("aten::pow.Scalar exponent")
def _of_exponent(builder: Builder, node: Node, grad: Any) -> Any:
    """`grad * c ** x * log(c)`, 0 where c is 0."""
    f, exponent = builder.operators, builder.proxy(node.operand(1))
    base = f.full_like(exponent, builder.proxy(node.operand(0)))
    is_zero = f.eq(base, 0)
    return f.where(is_zero, 0, grad * builder.proxy(node.result()) * f.log(f.where(is_zero, 1, base)))


@number_gradients("aten::lerp.Scalar self")
def _from(builder: Builder, node: Node, grad: Any) -> Any:
    return grad * (1.0 - builder.proxy(node.operand(2)))


@number_gradients("aten::lerp.Scalar end")
def _to(builder: Builder, node: Node, grad: Any) -> Any:
    return grad * builder.proxy(node.operand(2))
