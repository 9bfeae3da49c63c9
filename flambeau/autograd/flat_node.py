"""Gradients that have the derivative 0 by what they were computed for: those of `relu`, whose slope is 0 or 1.

Their formulas choose by truths about the operand, through which nothing flows, so that a gradient of them would be
refused as one of a constant. It is zeros, and the operand has been used.

>>> import flambeau
>>> x = flambeau.tensor([1.0, -1.0], requires_grad=True)
>>> (slope,) = flambeau.autograd.grad(flambeau.relu(x).sum(), x, create_graph=True)
>>> slope
tensor([1., 0.], grad_fn=<ReluBackward0Backward0>)
>>> flambeau.autograd.grad(slope.sum(), x)
(tensor([0., 0.]),)
"""

from __future__ import annotations

from flambeau.autograd.node import Edge, Gradients, Node, edge_of
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.levels import unrecorded
from flambeau.tensor.tensor import Tensor


class FlatGradientBackward0(Node):
    """A gradient as it was computed, and used by an operand that it does not depend on."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, edges: tuple[Edge, Edge]) -> None:
        super().__init__(edges)
        self.operator = operator

    def name(self) -> str:
        """After the node whose gradient it is."""
        return f"{self.operator}Backward0"

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradient as it is, and zeros."""
        gradient = gradients[0]
        if gradient is None:
            return [None, None]
        return [gradient, None if self.edges[1] is None else OPERATORS.zeros_like(gradient)]


def flat(gradient: Tensor, node: Node, operand: Edge) -> Tensor:
    """The gradient that `node` gave, as one that depends on an operand by a slope of 0."""
    result = unrecorded(gradient)
    result._node, result.output_nr = FlatGradientBackward0(node.name(), (edge_of(gradient), operand)), 0
    return result


def flat_by_operands(gradients: Gradients, node: Node) -> Gradients:
    """The gradients of a node's operands: those that depend on nothing depend on their operands by a slope of 0."""
    return [
        gradient if gradient is None or edge is None or gradient.requires_grad else flat(gradient, node, edge)
        for gradient, edge in zip(gradients, node.edges, strict=True)
    ]
