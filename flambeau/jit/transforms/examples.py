"""Operators on one example of a batch, inserted into a graph as operators on all examples at once.

The rules of `vmap` (`batching.rules`) are traced: what they see stands for values of the graph, and their operators are
nodes. A rule that asks for what only the run knows raises `UntraceableError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.proxies import IntProxy, ListProxy, TensorProxy, UntraceableError, refuse
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.batching import rules
from flambeau.batching.operand import NotBatched, Operand, all_of
from flambeau.batching.user_rules import plain_operand
from flambeau.ir.graph import Graph, Value
from flambeau.schema.gradient import Decomposed
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.own_gradient import gradient_of
from flambeau.schema.types import IntType

DRAWS: Final = "an operator that draws random numbers"


class BatchSize(IntProxy):
    """How many examples there are: at least one."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True


class Example(TensorProxy):
    """The tensor of one example; its value is that of all examples, which lie along the first axis."""

    __slots__ = ()

    @property
    def shape(self) -> list[Any]:
        """The sizes: 1, or what stands for another."""
        return super().shape[1:]

    def dim(self) -> int:
        """The rank. Raises UntraceableError if it is not known."""
        return super().dim() - 1

    def numel(self) -> Any:
        """How many elements there are."""
        number: Any = 1
        for size in self.shape:
            number = size * number
        return number

    def has_sizes(self, wanted: Any) -> bool:
        """Whether sizes are surely its own."""
        return super().has_sizes([self.builder.size_of_batch, *wanted])


class Examples(ListProxy):
    """A list of tensors of each example."""

    __slots__ = ()

    def __getitem__(self, index: int) -> Any:
        return Example(self.builder, super().__getitem__(index).value)


class ExampleBuilder(Builder):
    """Inserts operators on examples at the insertion point of a graph, by the rules for whole batches."""

    randomness: Final = "error"

    def __init__(self, graph: Graph, batch: Value, axis: int) -> None:
        """The examples are as many as a tensor, a parameter of the graph, is long along an axis."""
        super().__init__(graph, SymbolicSizes(graph))
        self.whole = Builder(graph, self.sizes)
        """Inserts what rules call."""
        sizes = self.sizes.of(batch)
        assert sizes is not None
        number = graph.insert("aten::size", [batch, self.constant(axis)], [IntType()]).result()
        self.size_of_batch = BatchSize(self.whole, number, sizes[axis])
        self._decomposed: list[OpDef] = []

    def insert(self, definition: OpDef, arguments: Sequence[Any]) -> Any:
        """The results of an overload, for all examples. Raises UntraceableError."""
        operands = [_operand(self.whole, a) for a in arguments]
        if definition.effect is Effect.RANDOM:
            refuse(DRAWS)
        if not any(o.is_batched for o in all_of(operands)):
            return self._of_all(self.whole.insert(definition, [plain_operand(o) for o in operands]))
        if definition.schema.is_mutable and not isinstance(arguments[0], Example):
            refuse("a write of examples into what all of them share")
        rules.refuse_dynamic(definition, operands)
        result = rules.applied(definition, operands, TracedLevel(self.size_of_batch, self.randomness))
        if result is not None:
            return self._of_all(result.value) if isinstance(result, NotBatched) else self._of_each(result)
        return self._by_parts(definition, arguments)

    def _by_parts(self, definition: OpDef, arguments: Sequence[Any]) -> Any:
        """The results by the operators that stand in for one without a rule."""
        names = [a.name for a in definition.schema.arguments]
        body = rules.body_of(definition)
        gradient = gradient_of(definition)
        if body is None and isinstance(gradient, Decomposed):
            body, names[0] = gradient.body, gradient.first
        if body is None or definition in self._decomposed:
            raise UntraceableError(f"{definition.full_name}, which has no rule for whole batches")
        self._decomposed.append(definition)  # what stands in for it may call it
        try:
            return body(self.operators, **dict(zip(names, arguments, strict=True)))
        finally:
            self._decomposed.pop()

    def _of_all(self, result: Any) -> Any:
        """A result that all examples share."""
        if isinstance(result, list | tuple):
            return type(result)([self._of_all(one) for one in result])
        return TensorProxy(self, result.value) if isinstance(result, TensorProxy) else result

    def _of_each(self, result: Any) -> Any:
        """A result of each example."""
        if isinstance(result, list | tuple):
            return type(result)([self._of_each(one) for one in result])
        if isinstance(result, ListProxy):
            return Examples(self, result.value)
        return Example(self, result.value) if isinstance(result, TensorProxy) else refuse("a number of each example")


class TracedLevel:
    """What rules know of the batch."""

    __slots__ = ("randomness", "size")

    def __init__(self, size: Any, randomness: str) -> None:
        self.size = size
        self.randomness = randomness


def _operand(whole: Builder, argument: Any) -> Any:
    """An argument as rules see it."""
    if isinstance(argument, TensorProxy):
        return Operand(TensorProxy(whole, argument.value), isinstance(argument, Example))  # type: ignore[arg-type]
    return [_operand(whole, one) for one in argument] if isinstance(argument, list | tuple) else argument
