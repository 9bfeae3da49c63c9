"""The operators as batching rules call them: run on tensors, inserted as nodes on what stands for values of a graph.

>>> import flambeau
>>> EITHER.unsqueeze(flambeau.ones(2), 0).shape
flambeau.Size([1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.opdef import OpDef
from flambeau.schema.symbolic import SymbolicNumber, SymbolicTensor
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


class EitherOperators:
    """Every operator as a method, eager or of the builder of a graph, as the operands are."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        eager = getattr(OPERATORS, name)

        def either(*args: Any, **kwargs: Any) -> Any:
            builder = builder_among(args)
            return eager(*args, **kwargs) if builder is None else getattr(builder.operators, name)(*args, **kwargs)

        setattr(self, name, either)
        return either


EITHER: Final = EitherOperators()
"""The operators of all rules."""


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """The results of an overload on all its arguments."""
    builder = builder_among(arguments)
    return dispatch.run(definition, list(arguments)) if builder is None else builder.insert(definition, arguments)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """The results of the overload of an operator that takes such arguments."""
    builder = builder_among(args)
    return dispatch.call(name, *args, **kwargs) if builder is None else builder.call(name, args, kwargs)


def builder_among(arguments: Sequence[Any]) -> Any:
    """The builder of the graph that arguments are of; None where they are tensors."""
    for one in arguments:
        if isinstance(one, SymbolicTensor | SymbolicNumber) and hasattr(one, "builder"):
            return one.builder
        if isinstance(one, list):
            builder = builder_among(one)
            if builder is not None:
                return builder
    return None


def sizes_of(value: Any) -> Any:
    """The sizes of a tensor as numbers, or as what stands for numbers of a graph."""
    return value._array.shape if isinstance(value, Tensor) else tuple(value.shape)
