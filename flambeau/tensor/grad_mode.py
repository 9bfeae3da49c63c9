"""Whether operations are recorded for `backward` on this thread: on, unless something turns it off.

>>> with no_grad():
...     is_grad_enabled()
False
>>> is_grad_enabled()
True
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

import numpy as np

from flambeau.util.locks import Lock
from flambeau.util.user_code import warn_user

F = TypeVar("F", bound=Callable[..., Any])


GRAD_MODE: Final = "__grad_mode__"
"""The attribute of a decorated function that says whether it records: of several decorators the innermost."""
NO_GRAD: Final = "no_grad"
INFERENCE: Final = "inference"
"""The modes that a view was made in, of those made while nothing is recorded."""
OF_INFERENCE: Final = -(1 << 62)
"""The version of memory that was made in `inference_mode()`: it counts no writes, and is less than 0."""
INFERENCE_WRITTEN: Final = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
INFERENCE_SAVED: Final = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


class _Mode(threading.local):
    enabled: bool = True
    inference: bool = False
    """Whether an `inference_mode()` is around."""
    first_version: int = 0
    """The version of memory that is made now."""
    keeps_all: bool = False
    """Whether formulas may keep what was made in `inference_mode()`: the tape of a transform ends with it."""
    unrecorded: str = NO_GRAD
    """Which mode it is in which nothing is recorded."""


mode: Final = _Mode()
"""What holds on this thread, for whoever asks often."""
_mode: Final = mode


inference_blocks: Final = ctypes.c_int64(0)
"""How many blocks of `inference_mode()` there are in all threads: while there are none, native code asks nobody for the
version of new memory."""
_counting: Final = Lock()


def _count_blocks(more: int) -> None:
    with _counting:
        inference_blocks.value += more


def refuse_saving(version: int) -> None:
    """Raise RuntimeError for memory of this version if it was made in `inference_mode()`: no formula may keep it."""
    if version < 0 and not mode.keeps_all:
        raise RuntimeError(INFERENCE_SAVED)


def may_write(version: int) -> bool:
    """Whether memory of this version may be written on this thread: outside of `inference_mode()` none made in it."""
    return version >= 0 or mode.inference


def refuse_writing(version: int) -> None:
    """Raise RuntimeError for memory of this version if it was made in `inference_mode()`, and there is none now."""
    if not may_write(version):
        raise RuntimeError(INFERENCE_WRITTEN)


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


CLASS: Final = (
    "Decorating classes is deprecated: what is decorated is the call of the class. Decorate its __init__, or the "
    "methods that are meant"
)


class _Switch:
    """Turns recording on or off within a `with` block, or while a decorated function runs."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(mode.enabled)
        mode.enabled = self._enabled and not mode.inference
        return self

    def __exit__(self, *error: object) -> None:
        mode.enabled = self._before.pop()

    def _again(self) -> _Switch:
        """Another block of the same kind: a decorated function may call itself."""
        return _Switch(self._enabled)

    def __call__(self, function: F) -> F:
        enabled, again = self._enabled, self._again
        if inspect.isclass(function):
            warn_user(CLASS, FutureWarning)
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


def _decorated(mode: _Switch, function: Any) -> Any:
    """What `mode` makes of a function, as `@no_grad` above it. Raises TypeError for what cannot be called."""
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"{type(mode).__name__}() takes a function to decorate, or nothing, but got {kind}")
    return mode(function)


class no_grad(_Switch):  # noqa: N801  (as programs write it)
    """Record nothing: for what changes parameters in place, and for evaluation. A context manager and a decorator.

    >>> import flambeau
    >>> with flambeau.no_grad():
    ...     recorded = flambeau.is_grad_enabled()
    >>> recorded
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        """The mode; of `@no_grad` without parentheses the function, decorated."""
        return super().__new__(cls) if function is None else _decorated(cls(), function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(False)


class enable_grad(_Switch):  # noqa: N801  (as programs write it)
    """Record, also inside `no_grad`. A context manager and a decorator.

    >>> import flambeau
    >>> with flambeau.no_grad(), flambeau.enable_grad():
    ...     recorded = flambeau.is_grad_enabled()
    >>> recorded
    True
    """

    def __new__(cls, function: Any = None) -> Any:
        """The mode; of `@enable_grad` without parentheses the function, decorated."""
        return super().__new__(cls) if function is None else _decorated(cls(), function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
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
        if not isinstance(mode, bool | np.bool_):
            kind = type(mode).__name__
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {kind}")
        super().__init__(bool(mode))
        self._before.append(_mode.enabled)
        _mode.enabled = mode and not _mode.inference

    def __enter__(self) -> Self:
        mode.enabled = self._enabled and not mode.inference
        return self

    def __call__(self, function: F) -> F:
        """Above a function, it holds for the function's calls alone."""
        mode.enabled = self._before.pop()
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"flambeau.autograd.grad_mode.set_grad_enabled(mode={self._enabled})"


class inference_mode(_Switch):  # noqa: N801  (as programs write it)
    """Record nothing, for good: what is made inside, views of it included, never takes part in gradients.

    Such a tensor says so (`is_inference()`), counts no writes (`_version` raises RuntimeError), and outside may neither
    be written in place, nor ask for a gradient, nor be what a formula has to keep for `backward()`: RuntimeError.
    `clone()` outside gives an ordinary one. `enable_grad` inside records nothing. In a scripted function the block is
    what `no_grad` is, and what is made in it is ordinary; a call in the mode gives tensors of the mode. A context
    manager and a decorator.

    Args:
        mode: whether nothing is recorded; False records, also within another one or within `no_grad`.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with flambeau.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference(), y.clone().is_inference()
    (False, True, False)
    """

    def __new__(cls, mode: Any = True) -> Any:
        """The mode; of `@inference_mode` without parentheses the function, decorated."""
        if callable(mode):
            return inference_mode(True)(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)
        self._inference = bool(mode)
        self._outer: list[tuple[bool, int, str]] = []

    def __enter__(self) -> Self:
        self._outer.append((mode.inference, mode.first_version, mode.unrecorded))
        self._before.append(mode.enabled)
        mode.inference, mode.enabled = self._inference, self._enabled
        mode.first_version = OF_INFERENCE if self._inference else 0
        mode.unrecorded = INFERENCE if self._inference else NO_GRAD
        _count_blocks(self._inference)
        return self

    def __exit__(self, *error: object) -> None:
        mode.inference, mode.first_version, mode.unrecorded = self._outer.pop()
        _count_blocks(-self._inference)
        super().__exit__(*error)

    def _again(self) -> _Switch:
        return inference_mode(self._inference)


def is_inference_mode_enabled() -> bool:
    """Whether an `inference_mode()` is around.

    >>> with inference_mode():
    ...     is_inference_mode_enabled()
    True
    """
    return mode.inference


class transform_mode(inference_mode):  # noqa: N801  (as the others)
    """What a transform (`flambeau.func.grad`) runs its function in: all is recorded, and may be kept.

    >>> with inference_mode(), transform_mode():
    ...     is_grad_enabled()
    True
    """

    def __new__(cls) -> Self:
        """The mode."""
        return object.__new__(cls)

    def __init__(self) -> None:
        super().__init__(False)
        self._kept: list[bool] = []

    def __enter__(self) -> Self:
        self._kept.append(mode.keeps_all)
        mode.keeps_all = True
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        mode.keeps_all = self._kept.pop()


class inference_block(_Switch):  # noqa: N801  (it stands for `inference_mode` in scripted functions)
    """What `inference_mode` is inside of a scripted function: nothing is recorded, and what is made is ordinary.

    Args:
        mode: whether nothing is recorded.

    >>> with inference_block(True):
    ...     is_grad_enabled(), is_inference_mode_enabled()
    (False, False)
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)


def as_here() -> _Switch:
    """A block in which the mode is what it is now on this thread, for another thread."""
    if mode.inference:
        return inference_mode(True)
    return enable_grad() if mode.enabled else no_grad()
