"""Calls with tensors that ask for gradients, once more with arguments as before: what was found out is not looked for
again.

What a function does with such arguments depends on their dtypes, sizes and on which of them ask. A call remembers these
of the one before; the function's native code then runs on plain tensors of the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.analysis.gradients import Flow
from flambeau.codegen.callable_type import MISSED
from flambeau.tensor import unrecorded
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor


class AskingCall:
    """What is known of the last call with arguments that ask."""

    __slots__ = ("_kinds", "_marks")

    def __init__(self, kinds: tuple[Any, ...], marks: Any) -> None:
        self._kinds = kinds
        self._marks = marks

    def __call__(self, quick: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result, or `MISSED`: of other arguments, or where native code does not serve them."""
        kinds = self._kinds
        if len(arguments) != len(kinds):
            return MISSED
        plain: list[Any] = []
        pairs: dict[int, tuple[Tensor, Tensor]] = {}
        for value, known in zip(arguments, kinds, strict=True):
            if not isinstance(value, Tensor):
                if type(value) is not known:
                    return MISSED
                plain.append(value)
                continue
            array, asks = value._array, value._requires_grad or value.grad_fn is not None
            if (array.dtype, array.shape, asks) != known or value.is_wrapped_number:
                return MISSED
            if asks:
                if id(value) not in pairs:
                    pairs[id(value)] = (value, Tensor(array, value._storage))
                value = pairs[id(value)][1]
            plain.append(value)
        result = quick(*plain)
        if result is MISSED:
            return result
        several = type(result) is tuple
        found = [_original(r, pairs) for r in result] if several else [_original(result, pairs)]
        if is_grad_enabled():
            for one, marked in zip(found, self._marks, strict=True):
                if marked:
                    unrecorded.mark(one, arguments)
        return tuple(found) if several else found[0]


def _original(result: Any, pairs: dict[int, tuple[Tensor, Tensor]]) -> Any:
    """The argument itself where a result is what stood in for it."""
    for original, stand_in in pairs.values():
        if stand_in is result:
            return original
    return result


def remembered(flow: Flow, arguments: Sequence[Any], result: Any) -> AskingCall | None:
    """What the next call may rely on; None where more is needed than results that ask."""
    if flow.is_open or True in flow.written or any(flow.parameters) or flow.attributes:
        return None
    marks = flow.results[0] if len(flow.results) == 1 else flow.results
    flat = marks if isinstance(marks, tuple) else (marks,)
    results = result if type(result) is tuple else (result,)
    are_tensors = all(isinstance(r, Tensor) for r in results)
    if len(flat) != len(results) or not are_tensors or not all(isinstance(m, bool) for m in flat):
        return None
    kinds = tuple(map(_kind_of, arguments))
    return None if None in kinds else AskingCall(kinds, flat)


def _kind_of(argument: Any) -> Any:
    """What must be the same of an argument in the next call; None where that is not for us to say."""
    if isinstance(argument, Tensor):
        asks = argument._requires_grad or argument.grad_fn is not None
        return argument._array.dtype, argument._array.shape, asks
    return type(argument) if type(argument) in (bool, int, float, str) else None
