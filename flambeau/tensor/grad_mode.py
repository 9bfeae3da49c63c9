"""Whether operations are recorded for `backward` on this thread: on, unless something turns it off.

>>> with no_grad():
...     is_grad_enabled()
False
>>> is_grad_enabled()
True
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    enabled: bool = True
    inference: bool = False
    """Whether an `inference_mode()` is around."""


mode: Final = _Mode()
"""What holds on this thread, for whoever asks often."""
_mode: Final = mode


GRAD_MODE: Final = "__grad_mode__"
"""The attribute of a decorated function that says whether it records: of several decorators the innermost."""
NO_GRAD: Final = "no_grad"
"""The mode that a view was made in, of those made while nothing is recorded."""


def is_grad_enabled() -> bool:
    """Whether operations on tensors that need gradients are recorded on this thread.

    >>> import flambeau
    >>> flambeau.is_grad_enabled()
    True
    """
    return mode.enabled


_asked: list[bool] = []
_when_asked: list[Callable[[], None]] = []


def note_asked() -> bool:
    """Say that a tensor asks for gradients: until one does, nobody has to look for those that do. True."""
    if not _asked:
        _asked.append(True)
        for action in _when_asked:
            action()
    return True


def has_asked() -> bool:
    """Whether any tensor has ever asked for gradients."""
    return bool(_asked)


def when_asked(action: Callable[[], None]) -> None:
    """Do something when the first tensor asks for gradients."""
    _when_asked.append(action)


class _Switch:
    """Turns recording on or off within a `with` block, or while a decorated function runs."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(mode.enabled)
        mode.enabled = self._enabled
        return self

    def __exit__(self, *error: object) -> None:
        mode.enabled = self._before.pop()

    def _again(self) -> _Switch:
        """Another block of the same kind: a decorated function may call itself."""
        return _Switch(self._enabled)

    def __call__(self, function: F) -> F:
        enabled, again = self._enabled, self._again
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with again():
                return function(*args, **kwargs)

        vars(call).setdefault(GRAD_MODE, enabled)
        return call  # type: ignore[return-value]

    def _generator(self, function: F) -> F:
        """A generator that runs within the block, and stops outside of it."""
        again = self._again

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            running, send, argument = function(*args, **kwargs), True, None
            while True:
                try:
                    with again():
                        value = running.send(argument) if send else running.throw(argument)
                except StopIteration as end:
                    return end.value
                try:
                    argument, send = (yield value), True
                except GeneratorExit:
                    with again():
                        running.close()
                    raise
                except BaseException as error:
                    argument, send = error, False

        return generate  # type: ignore[return-value]


class no_grad(_Switch):  # noqa: N801  (as programs write it)
    """Record nothing: for what changes parameters in place, and for evaluation. A context manager and a decorator.

    >>> import flambeau
    >>> with flambeau.no_grad():
    ...     recorded = flambeau.is_grad_enabled()
    >>> recorded
    False
    """

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(False)
        if function is not None:
            raise TypeError("no_grad() takes no arguments: write @no_grad() above a function")


class enable_grad(_Switch):  # noqa: N801  (as programs write it)
    """Record, also inside `no_grad`. A context manager and a decorator.

    >>> import flambeau
    >>> with flambeau.no_grad(), flambeau.enable_grad():
    ...     recorded = flambeau.is_grad_enabled()
    >>> recorded
    True
    """

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_Switch):  # noqa: N801  (as programs write it)
    """Record or do not, from this call on; as a context manager, until the block's end.

    Args:
        mode: whether to record.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._before.append(_mode.enabled)
        _mode.enabled = mode

    def __enter__(self) -> Self:
        mode.enabled = self._enabled
        return self


class inference_mode(_Switch):  # noqa: N801  (as programs write it)
    """Record nothing. A context manager and a decorator.

    Tensors that are made inside are ordinary ones: they may be changed and differentiated outside, where PyTorch
    refuses that, and `is_inference()` of them is False. `enable_grad` inside records, which it does not in PyTorch.

    Args:
        mode: whether nothing is recorded; False records, also within another one or within `no_grad`.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with flambeau.inference_mode():
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool = True) -> None:
        if callable(mode):
            raise TypeError("inference_mode() takes a bool: write @inference_mode() above a function")
        super().__init__(not mode)
        self._inference = mode
        self._outer: list[bool] = []

    def __enter__(self) -> Self:
        self._outer.append(mode.inference)
        mode.inference = self._inference
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        mode.inference = self._outer.pop()

    def _again(self) -> _Switch:
        return inference_mode(self._inference)


def is_inference_mode_enabled() -> bool:
    """Whether an `inference_mode()` is around.

    >>> with inference_mode():
    ...     is_inference_mode_enabled()
    True
    """
    return mode.inference
