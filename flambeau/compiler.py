"""What programs ask of, and tell, a compiler that follows Python's bytecode: there is none, so that code is never being
followed, and marks for it change nothing.

>>> is_compiling()
False
>>> @disable
... def logged(x):
...     print("called")
...     return x
>>> logged(1)
called
1

`flambeau.script` and `flambeau.trace` compile functions; `jit.is_scripting()` and `jit.is_tracing()` ask about those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any, TypeVar, overload

from flambeau.util.absent_names import refuse as _refuse

Kind = TypeVar("Kind", bound=Callable[..., Any])


def is_compiling() -> bool:
    """Whether a compiler follows the code that asks: False, in Python and in programs.

    In programs it is a constant, so that what stands under it is not compiled.

    >>> is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """The same as `is_compiling`.

    >>> is_dynamo_compiling()
    False
    """
    return False


def is_exporting() -> bool:
    """Whether the code that asks is being exported: False.

    >>> is_exporting()
    False
    """
    return False


for _asked in (is_compiling, is_dynamo_compiling, is_exporting):
    _asked.language_form = "is_followed"  # type: ignore[attr-defined]  # how the compiler of programs knows them


@overload
def disable(fn: Kind, recursive: bool = True, *, reason: str | None = None) -> Kind: ...
@overload
def disable(fn: None = None, recursive: bool = True, *, reason: str | None = None) -> Callable[[Kind], Kind]: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function that is not to be followed: it stays as it is.

    Args:
        fn: the function; without one, what marks a function is given back.
        recursive: whether the functions that it calls are meant, too.
        reason: why.

    >>> @disable(recursive=False)
    ... def double(x):
    ...     return x * 2
    >>> double(2)
    4
    """
    return _unchanged if fn is None else fn


def allow_in_graph(fn: Kind) -> Kind:
    """Mark a function that is taken as one step: it stays as it is.

    >>> allow_in_graph(abs) is abs
    True
    """
    return fn


def assume_constant_result(fn: Kind) -> Kind:
    """Mark a function whose result is always the same: it stays as it is, and is called each time.

    >>> assume_constant_result(abs) is abs
    True
    """
    return fn


def _unchanged(fn: Kind) -> Kind:
    return fn


if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
]
