"""What programs say of themselves: types (`annotate`), what stays Python (`ignore`), tasks (`fork`), overloads.

Each works in plain Python too, with the same meaning, so that a program can be run without being compiled.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from flambeau.frontend.emit.values.python_calls import IGNORE, MODIFIER, UNUSED
from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.future import Future
from flambeau.interpreter.task_length import length_of
from flambeau.interpreter.tasks import submit
from flambeau.jit import eager_isinstance
from flambeau.jit.function import ScriptFunction
from flambeau.tensor import observer
from flambeau.util.scripting import is_scripting as is_scripting

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

NOT_WAITABLE = (
    "expected a {kind}, which jit.{maker} gives, got {value!r} ({type}): what is there already needs no wait"
)
NONE_GIVEN = "{kind} can't be None: give what {maker} returned"
DROPPED = (
    "ignore(True) has been deprecated. TorchScript will now drop the function call when it is saved: use unused, or "
    "ignore(drop_on_export=True)"
)


def _form(name: str) -> Callable[[F], F]:
    """Mark a function as the form of the language that the compiler knows by `name`."""

    def mark(fn: F) -> F:
        fn.language_form = name  # type: ignore[attr-defined]
        return fn

    return mark


@_form("annotate")
def annotate(the_type: Any, the_value: T) -> T:
    """`the_value`, which the compiler is to take for a `the_type`: for empty lists, None, results of `tolist`.

    >>> annotate(list[int], [])
    []
    """
    return the_value


@_form("unwrap_optional")
def _unwrap_optional(x: T | None) -> T:
    """`x`, which must not be None. Raises AssertionError for None.

    >>> _unwrap_optional(3)
    3
    """
    assert x is not None, "Unwrapping null optional"
    return x


isinstance_: Final = _form("isinstance")(eager_isinstance.isinstance)
"""Offered to users as `flambeau.jit.isinstance`."""


@_form("is_tracing")
def is_tracing() -> bool:
    """Whether a function is being traced. False in a compiled program.

    >>> is_tracing()
    False
    """
    return observer.current() is not None


# -- what stays Python ------------------------------------------------------------------------------------------------


@overload
def ignore(drop: F, **options: Any) -> F: ...
@overload
def ignore(drop: bool = ..., *, drop_on_export: bool = ...) -> Callable[[F], F]: ...
def ignore(drop: Any = False, **options: Any) -> Any:
    """A decorator: calls of the function from a compiled program stay calls of Python.

    Its annotations are its signature; a parameter or result without one is a Tensor. With `drop_on_export=True` the
    function is replaced by one that raises when the program is saved.

    Args:
        drop: the function, or nothing where the decorator is called with options.
        options: `drop_on_export`.

    >>> @ignore
    ... def now(n: int) -> int:
    ...     return n + len(open.__name__)
    """
    if callable(drop):
        return _marked(drop, IGNORE)
    drop_on_export = options.pop("drop_on_export", None)
    if options:
        raise TypeError(f"ignore() got an unexpected keyword argument '{next(iter(options))}'")
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @flambeau.jit.ignore must be a bool or a function but got {drop}")
    if drop_on_export:
        warnings.warn(DROPPED, FutureWarning, stacklevel=2)
    return lambda fn: _marked(fn, UNUSED if drop or drop_on_export else IGNORE)


def unused(fn: F) -> F:
    """A decorator: the function is not compiled, and a program that calls it raises there.

    Args:
        fn: the function or method.

    >>> @unused
    ... def training_step(x):
    ...     yield from x
    """
    _marked(fn, UNUSED)
    return fn


def _drop(fn: F) -> F:
    """A decorator: as `unused`, and left out of saved programs altogether."""
    _marked(fn, UNUSED)
    return fn


def _marked(fn: Any, mark: str) -> Any:
    if isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                setattr(accessor, MODIFIER, mark)
        return fn
    setattr(fn, MODIFIER, mark)
    return fn


# -- tasks ------------------------------------------------------------------------------------------------------------


@_form("fork")
def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Start `func(*args, **kwargs)` in another thread, and return the future of its result.

    A thread that waits for a task that has not begun runs it itself. `set_num_interop_threads` says how many tasks run
    at the same time.

    >>> wait(fork(pow, 2, 5))
    32
    """
    watching = observer.current()
    if watching is not None:
        recorded: Future = watching.forked(lambda: func(*args, **kwargs))
        return recorded
    if isinstance(func, ScriptFunction) and not kwargs and not observer.thread.is_plain:
        return func.fork_site.fork(*args)
    call = functools.partial(func, *args, **kwargs)
    return Future.of(call) if observer.thread.handlers else submit(call, length_of(func))


@_form("wait")
def wait(future: Future) -> Any:
    """The result of a task. Raises what it raised, RuntimeError for None, TypeError for what is no future.

    Args:
        future: what `fork` gave.

    >>> wait(fork(max, 1, 2))
    2
    """
    _refuse_others(future, "Future", "fork")
    return future.wait()


@_form("awaitable")
def _awaitable(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Await:
    """The result of `func(*args)`, computed when it is first asked for."""
    if kwargs:
        return Await(lambda *arguments: func(*arguments, **kwargs), *args)
    return Await(func, *args)


@_form("awaitable_nowait")
def _awaitable_nowait(value: Any) -> Await:
    """An awaitable of a value that is there."""
    return Await.of(value)


@_form("awaitable_wait")
def _awaitable_wait(value: Await) -> Any:
    """The value of an awaitable.

    >>> _awaitable_wait(_awaitable(pow, 2, 5)), _awaitable_wait(_awaitable_nowait(3))
    (32, 3)
    """
    _refuse_others(value, "Await", "_awaitable")
    return value.wait()


def _refuse_others(value: Any, kind: str, maker: str) -> None:
    if value is None:
        raise RuntimeError(NONE_GIVEN.format(kind=kind, maker=maker))
    if not callable(getattr(value, "wait", None)):
        raise TypeError(NOT_WAITABLE.format(kind=kind, maker=maker, value=value, type=type(value).__name__))
