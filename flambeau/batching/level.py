"""The level of one `vmap`: operators on batched tensors, by the rule for their kind.

A rule gets the operator and its arguments, with `Operand`s in the place of tensors, and computes the results of the
whole batch by operators on the values behind them. It returns tensors with the batch as first axis, `NotBatched` for
one result for all, or None if it does not know these arguments. What has no rule is run once for each element of the
batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.batching import fallback, rules, user_rules
from flambeau.batching.batched import BRANCH, ITEM, Batch, BatchedTensor, batched
from flambeau.batching.operand import NotBatched, Operand
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.gradient import Decomposed
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.own_gradient import gradient_of
from flambeau.schema.types import BOOL, FLOAT, INT, NUMBER
from flambeau.tensor import dispatch, recorder
from flambeau.tensor.levels import Level, Wrapper
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import PerformanceWarning

RANDOM_REFUSED: Final = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
WRITTEN: Final = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic: make what is written with "
    "x.new_zeros(...) or flambeau.zeros_like(x) of a batched tensor x."
)
SLOW: Final = (
    "there is no batching rule for {name}: vmap runs it once for each element of the batch, which is slow"
)


class BatchLevel(Level):
    """One `vmap` at work: what it is called with stands for `size` examples at once.

    >>> import flambeau
    >>> from flambeau.batching.batched import batched
    >>> level = BatchLevel(2, "error")
    >>> with level.opened():
    ...     y = batched(level, flambeau.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum()
    ...     print(type(y).__name__, y.shape)
    BatchedTensor flambeau.Size([])
    """

    transform = "vmap"

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        """How many elements the batch has."""
        self.randomness = randomness
        self._decomposed: list[OpDef] = []

    def lifted(self, value: Tensor) -> Wrapper:
        """The tensor as one of this level."""
        if self.owns(value):
            assert isinstance(value, Wrapper)
            return value
        result = batched(self, value, is_batched=False)
        result.is_wrapped_number = value.is_wrapped_number
        return result

    def run(self, definition: OpDef, arguments: Sequence[Any], parts: Callable[[Callable[[], Any]], Any]) -> Any:
        """Run an operator on the whole batch."""
        if definition.family == "metadata":
            return definition.kernel(*arguments)
        operands = [self._operand(a) for a in arguments]
        if not _any_batched(operands):
            return self._on_one(definition, arguments, operands)
        _refuse_numbers(definition)
        if definition.draws(arguments):
            self._check_randomness()
        written = recorder.tensors_written(definition, arguments)
        if any(not (self.owns(w) and w._wrapped.is_batched) for w in written):
            raise RuntimeError(WRITTEN)
        result = self._by_rule(definition, operands)
        if result is None:
            body = _parts_of(definition, arguments)
            if body is not None and not written and definition not in self._decomposed:
                self._decomposed.append(definition)  # what stands in for it may call it
                try:
                    return parts(body)
                finally:
                    self._decomposed.pop()
            rules.refuse_dynamic(definition, operands)
            warnings.warn(SLOW.format(name=definition.name), PerformanceWarning, stacklevel=2)
            result = fallback.looped(definition, operands, self.size)
        return self._results(definition, arguments, result)

    def _by_rule(self, definition: OpDef, operands: Sequence[Any]) -> Any:
        """The results of the whole batch by a user's rule, or that of the package; None where there is none."""
        if user_rules.is_passed_over():
            return fallback.looped(definition, operands, self.size)
        result = user_rules.applied(definition, operands, user_rules.VmapInfo(self.size, self.randomness))
        return rules.applied(definition, operands, self) if result is None else result

    def _on_one(self, definition: OpDef, arguments: Sequence[Any], operands: Sequence[Any]) -> Any:
        """Run an operator none of whose operands differs within the batch."""
        if definition.draws(arguments):
            self._check_randomness()
            if self.randomness == "different":
                return self._results(definition, arguments, fallback.looped(definition, operands, self.size))
        result = dispatch.run(definition, [_plain(o) for o in operands])
        return self._results(definition, arguments, NotBatched(result))

    def untouched(self, definition: OpDef, arguments: Sequence[Any], proceed: Callable[..., Any]) -> Any:
        """Run an operator without batched operands: it may draw numbers."""
        if definition.effect is not Effect.RANDOM or not definition.draws(arguments):
            return proceed(arguments)
        self._check_randomness()
        if self.randomness == "same":
            return proceed(arguments)
        drawn = rules.drawn(definition, arguments, self.size)
        if drawn is None:
            drawn = OPERATORS.stack([proceed(arguments) for _ in range(self.size)])
        return batched(self, drawn)

    def _check_randomness(self) -> None:
        if self.randomness == "error":
            raise RuntimeError(RANDOM_REFUSED)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            if self.owns(value):
                state: Batch = value._wrapped
                return Operand(state.value, state.is_batched, value.is_wrapped_number)
            return Operand(value, False, value.is_wrapped_number)
        if type(value) in (list, tuple):
            return [self._operand(v) for v in value]
        return value

    def _results(self, definition: OpDef, arguments: Sequence[Any], result: Any) -> Any:
        is_batched = True
        if isinstance(result, NotBatched):
            result, is_batched = result.value, False
        if isinstance(result, Tensor):
            return self._result(definition, arguments, result, is_batched=is_batched)
        if isinstance(result, list | tuple):
            listed = [
                self._result(definition, arguments, r, is_batched=is_batched) if isinstance(r, Tensor) else r
                for r in result
            ]
            return listed if isinstance(result, list) else tuple(listed)
        return result

    def _result(self, definition: OpDef, arguments: Sequence[Any], result: Tensor, *, is_batched: bool) -> Any:
        shown: Tensor | None = None
        for argument in arguments:
            if isinstance(argument, Wrapper) and self.owns(argument):
                value = argument._wrapped.value
                if result is value:
                    return argument
                if result._base is not None and (result._base is value or result._base is value._base):
                    shown = argument
        wrapper: Tensor = batched(self, result, is_batched=is_batched)
        if shown is not None and definition.family == "view":
            wrapper._base = shown if shown._base is None else shown._base
        return wrapper


def _parts_of(definition: OpDef, arguments: Sequence[Any]) -> Callable[[], Any] | None:
    """What runs the operators that an operator consists of, or that stand in for it; None if there are none."""
    names = [a.name for a in definition.schema.arguments]
    body = rules.body_of(definition)
    gradient = gradient_of(definition)
    if body is None and isinstance(gradient, Decomposed):
        body, names[0] = gradient.body, gradient.first
    if body is not None:
        return partial(body, OPERATORS, **dict(zip(names, arguments, strict=True)))
    return partial(definition.kernel, *arguments) if definition.family == "composite" else None


def _any_batched(operands: Sequence[Any]) -> bool:
    return any(
        o.is_batched if isinstance(o, Operand) else isinstance(o, list) and _any_batched(o) for o in operands
    )


def _plain(operand: Any) -> Any:
    if isinstance(operand, Operand):
        return operand.value
    return [_plain(o) for o in operand] if isinstance(operand, list) else operand


def _refuse_numbers(definition: OpDef) -> None:
    """Raise RuntimeError for an operator that makes a Python value of a tensor's elements."""
    if definition.family in ("metadata", "query", "composite", "view") or not definition.schema.returns:
        return
    kind = definition.schema.returns[0].type
    if kind == BOOL and len(definition.schema.arguments) == 1:
        raise RuntimeError(BRANCH)
    if kind in (INT, FLOAT, NUMBER):
        raise RuntimeError(ITEM)


__all__ = ["BatchLevel", "BatchedTensor"]
