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
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor


class AskingCall:
    """What is known of the last call with arguments that ask."""

    __slots__ = ("_is_recorded", "_kinds")

    def __init__(self, kinds: tuple[Any, ...], *, is_recorded: bool) -> None:
        self._kinds = kinds
        self._is_recorded = is_recorded
        """Whether a result depends on what asks: native code alone does not serve it while gradients are recorded."""

    def __call__(self, quick: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result, or `MISSED`: of other arguments, or where native code does not serve them."""
        kinds = self._kinds
        if len(arguments) != len(kinds) or (self._is_recorded and is_grad_enabled()):
            return MISSED
        plain: list[Any] = []
        pairs: dict[int, tuple[Tensor, Tensor]] = {}
        for value, known in zip(arguments, kinds, strict=True):
            if not isinstance(value, Tensor):
                if type(value) is not known:
                    return MISSED
                plain.append(value)
                continue
            array, asks = value._array, value.asks()
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
        if type(result) is tuple:
            return tuple([_original(r, pairs) for r in result])
        return _original(result, pairs)


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
    results = result if type(result) is tuple else (result,)
    if not all(isinstance(r, Tensor) for r in results):
        return None
    kinds = tuple(map(_kind_of, arguments))
    return None if None in kinds else AskingCall(kinds, is_recorded=flow.is_recorded)


def _kind_of(argument: Any) -> Any:
    """What must be the same of an argument in the next call; None where that is not for us to say."""
    if isinstance(argument, Tensor):
        return argument._array.dtype, argument._array.shape, argument.asks()
    return type(argument) if type(argument) in (bool, int, float, str) else None
