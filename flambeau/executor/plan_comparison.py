"""Whether native code gives what a kernel gives, and sooner: both are called with other elements, a few at a time.

The elements are those of a call in other orders, ones near to these, usual numbers and extreme ones.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.tensor.repeated_kernels import tensors_of
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.missed import MISSED
from flambeau.util.user_code import PendingWarning, holding_warnings

Native = Callable[..., Any]
FEW_DRAWS: Final = 12
"""Calls with other elements that are compared where results consist of elements of the operands."""
MOST_DRAWS: Final = 512
ENOUGH: Final = 1 << 14
"""Such calls where results are computed, and elements of results that are enough: functions that differ at all in the
last place do so for one element in some hundreds."""
GAIN: Final = 0.8
"""Of the kernel's time, what a plan may take."""
SHOWN: Final = "results lie in the memory of operands"


class Comparison:
    """Native code beside the kernel, for calls like one."""

    def __init__(self, run: Native, native: Native, arguments: Sequence[Any]) -> None:
        """`run` takes the arguments, `native` the tensors among them."""
        self.native = native
        self._run = run
        self._calls = itertools.islice(_draws(arguments), MOST_DRAWS)
        self._times = [float("inf"), float("inf")]
        """The least seconds of the kernel and of native code."""
        self._elements = self._compared = 0
        self._are_moved = True
        self._before: Sequence[Tensor] = ()

    def go_on(self, seconds: float) -> str | None:
        """Compare for about so long: why native code does not do in place of the kernel, empty where it gives just the
        same, and sooner; None where that is not known yet."""
        warnings: list[PendingWarning] = []
        end = time.perf_counter() + seconds
        reason: str | None = None
        with np.errstate(all="ignore"), holding_warnings(warnings):
            while reason is None:
                call = next(self._calls, None)
                reason = self._verdict() if call is None else self._compare(call)
                if reason is None and time.perf_counter() >= end:
                    break
        return "it warns" if warnings and not reason else reason

    def _compare(self, drawn: Sequence[Any]) -> str | None:
        """Compare one call; what is said of all, where that is known now."""
        tensors = tensors_of(drawn)
        expected, seconds = _timed(self._run, drawn)
        result, native_seconds = _timed(self.native, tensors)
        if expected is _REFUSED:
            return None if result is _REFUSED or result is MISSED else "it gives what is refused"
        self._times = [min(self._times[0], seconds), min(self._times[1], native_seconds)]
        if not _is_same(result, expected, [*tensors, *self._before]):
            return SHOWN if _shows(expected, tensors) else "results differ"
        self._before = tensors_of((result,))
        self._compared += 1
        parts = [one._array for one in tensors_of(_parts(expected))]
        self._elements += sum([part.size for part in parts])
        self._are_moved = self._are_moved and (self._compared > FEW_DRAWS or _are_moved(parts, tensors))
        is_enough = self._compared >= FEW_DRAWS and (self._are_moved or self._elements >= ENOUGH)
        return self._verdict() if is_enough else None

    def _verdict(self) -> str:
        """What is said of native code whose results are the kernel's, after so many calls."""
        if self._compared < 2:
            return "no elements to compare it with"
        return "" if self._times[1] < GAIN * self._times[0] else "it takes as long"


_REFUSED: Final = object()
"""What calls give that raise."""


def _timed(call: Native, arguments: Sequence[Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    try:
        result = call(*arguments)
    except Exception:
        result = _REFUSED
    return result, time.perf_counter() - start


def _shows(result: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether a result lies in the memory of an operand: it takes no loop."""
    parts = tensors_of(_parts(result))
    return any(np.may_share_memory(part._array, t._array) for part in parts for t in tensors)


def _are_moved(results: Sequence[np.ndarray[Any, Any]], tensors: Sequence[Tensor]) -> bool:
    """Whether all fractions among results are elements of the operands, or 0 or 1; or there are no operands."""
    known = [t._array.reshape(-1) for t in tensors if t._array.dtype.kind == "f"]
    if not tensors:
        return True
    numbers = np.concatenate([*known, [0.0, 1.0]])
    return all(part.dtype.kind in "biu" or bool(np.isin(part, numbers).all()) for part in results)


def _is_same(result: Any, expected: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether two results are of the same types, with the same bits that lie the same way, in memory of their own."""
    if type(result) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        same = map(lambda a, b: _is_same(a, b, tensors), result, expected)
        return len(result) == len(expected) and all(same)
    if not isinstance(expected, Tensor):
        return bool(result == expected or (result != result and expected != expected))
    a, b = result._array, expected._array
    is_own = result._base is None and not any(np.may_share_memory(a, t._array) for t in tensors)
    are_alike = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    are_alike = are_alike and result.is_wrapped_number == expected.is_wrapped_number
    return is_own and are_alike and _has_same_bits(a, b)


def _has_same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    are_nan = np.isnan(a) & np.isnan(b)
    return np.where(are_nan, 0, a).tobytes() == np.where(are_nan, 0, b).tobytes()


def _parts(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else (result,)


def _draws(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments of a call with other elements in its tensors: its own in another order, ones near to these,
    usual numbers and extreme ones."""
    random = np.random.default_rng(0)
    for number in itertools.count():
        yield [_drawn(a, number, random) for a in arguments]


def _drawn(argument: Any, number: int, random: np.random.Generator) -> Any:
    if isinstance(argument, list | tuple):
        return [_drawn(one, number, random) for one in argument]
    if not isinstance(argument, Tensor):
        return argument
    known = argument._array.reshape(-1)
    if number:
        known = random.permutation(known)
    if known.dtype.kind == "f" and number % 4 == 2:
        known = (known * random.uniform(0.5, 1.5, known.size)).astype(known.dtype)
    elif known.dtype.kind == "f" and number % 4 == 3:
        known = (random.standard_normal(known.size) * 10.0 ** random.integers(-3, 4)).astype(known.dtype)
        if number % 8 == 7:
            count = 1 + known.size // 8
            known[random.integers(0, known.size, count)] = random.choice(_EXTREME, count)
    return redrawn(argument, known)


_EXTREME: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38)


def redrawn(tensor: Tensor, elements: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that lies like another, in memory of its own, with elements from a list of as many."""
    array = tensor._array
    steps = zip(array.shape, array.strides, strict=True)
    extent = 1 + sum([(size - 1) * stride for size, stride in steps]) // array.itemsize
    memory = np.resize(elements, max(extent, 1)).astype(array.dtype, copy=False)
    return wrap(np.lib.stride_tricks.as_strided(np.ascontiguousarray(memory), array.shape, array.strides))
