"""Values with gradients of their own where a graph runs as it is written: a call of a custom function.

%y : Tensor = prim::OwnGradient[backward=<function g>](%r, %x)    →    %r, behind a node of the tape whose way back is g

Plans have neither (`passes.drop_own_gradients`): gradients went back through such values before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.autograd.function import Function as CustomFunction
from flambeau.ir.graph import Node
from flambeau.tensor.tensor import Tensor


def kernel(node: Node) -> Callable[..., Any]:
    """What gives the results of a node for its operands."""
    count, numbers, attributes = len(node.results), node.attribute("kept"), node.attributes
    first = (None,) * count
    rest = (None,) * (len(node.operands) - count - node.attribute("arguments"))

    def values_of(ctx: Any) -> list[Any]:
        tensors = iter(ctx.saved_tensors)
        return [next(tensors) if value is None else value[0] for value in ctx.others]

    class Call(CustomFunction):
        @staticmethod
        def forward(*operands: Any) -> Any:
            return operands[:count] if count > 1 else operands[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            results = output if count > 1 else (output,)
            kept = [(*results, *inputs[count:])[number] for number in numbers]
            ctx.save_for_backward(*[value for value in kept if isinstance(value, Tensor)])
            ctx.others = [None if isinstance(value, Tensor) else (value,) for value in kept]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return first + tuple(attributes["backward"](*grads, *values_of(ctx))) + rest

    if "jvp" in attributes:

        def jvp(ctx: Any, *tangents: Any) -> Any:
            arguments = tangents[count : count + node.attribute("arguments")]
            pushed = attributes["jvp"](*arguments, *values_of(ctx))
            return tuple(pushed) if count > 1 else pushed[0]

        Call.jvp = staticmethod(jvp)  # type: ignore[method-assign]
    return Call.apply
