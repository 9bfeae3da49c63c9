"""Calls of functions, methods and properties that function modes and subclasses of tensors answer.

`answer(function, args, kwargs)` asks the modes of this thread, the last one first, then the classes of the arguments,
subclasses before their bases; `NOT_OVERRIDDEN` says that nobody has to do with the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FunctionType
from typing import Any, Final

from flambeau.tensor.interceptors import changed, without_functions
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import FUNCTION, is_special, overrides_functions, special
from flambeau.tensor.switched_functions import SwitchedFunctions, switched
from flambeau.util.installed_torch import is_function as is_torch_function
from flambeau.util.locks import Lock

NOT_OVERRIDDEN: Final = object()
"""Nobody answers a call: it runs."""
ALL_REFUSED: Final = (
    "Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{asked}"
)
NO_DATA: Final = (
    ".{name}() is not supported for tensor subclasses, got {cls}: its tensors stand for others, and have no memory of "
    "their own. Read those that they stand for"
)
READS: Final = ("numpy", "tolist", "item", "__dlpack__", "__array__")
"""Methods that read elements."""
_SEQUENCES: Final = (list, tuple)


def may_be() -> bool:
    """Whether it is worth to look: somebody has a subclass of tensors, or this thread has interceptors."""
    return special.exists or bool(thread.handlers)


def overriding(values: Iterable[Any]) -> list[Any]:
    """The values, one of each class, whose classes answer calls; subclasses before their bases."""
    chosen: list[Any] = []
    for value in _leaves(values):
        cls = type(value)
        if overrides_functions(cls) and cls not in map(type, chosen):
            position = next((i for i, one in enumerate(chosen) if issubclass(cls, type(one))), len(chosen))
            chosen.insert(position, value)
    return chosen


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) in _SEQUENCES:
            yield from value
        else:
            yield value


def answer(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, is_operator: bool = False
) -> Any:
    """What a mode or a subclass says a call gives; `NOT_OVERRIDDEN` where there is none.

    Where all who were asked return NotImplemented, so does an operator of Python's (`x + y`), and others raise
    TypeError.
    """
    stack = thread.handlers
    modes = stack.functions if stack else ()
    asked = [] if thread.ignores_subclasses else overriding((*args, *kwargs.values()))
    if not modes and not asked:
        return NOT_OVERRIDDEN
    types = tuple(map(type, asked))
    _note_classes(types)
    if modes:
        mode = modes[-1]
        with changed(functions=modes[:-1]):
            result = mode.__flambeau_function__(function, types, tuple(args), dict(kwargs))
        if result is not NotImplemented:
            return result
    for value in asked:
        cls: Any = type(value)
        method = getattr(cls, FUNCTION, None) or cls.__torch_function__
        with without_functions():
            result = method(function, types, tuple(args), dict(kwargs))
        if result is not NotImplemented:
            return result
    if is_operator:
        return NotImplemented
    raise TypeError(_refusal(function, modes[-1:], types))


def _note_classes(types: Sequence[type]) -> None:
    """Have all functions ask once there are classes that answer, other than the package's own."""
    if not switched.always and any(cls.__module__.partition(".")[0] != "flambeau" for cls in types):
        switched.ask_always()


def _refusal(function: Callable[..., Any], modes: Sequence[Any], types: Sequence[type]) -> str:
    lines = [f"  - mode object {m!r}" for m in modes] + [f"  - tensor subclass {t}" for t in types]
    return ALL_REFUSED.format(name=_shown(function), asked="\n".join(lines))


def _shown(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", getattr(function, "__name__", repr(function)))
    return f"torch.{name.rpartition('.')[2]}" if "." not in name else f"torch.{name}"


@contextmanager
def subclasses_ignored() -> Iterator[None]:
    """Within the block, subclasses of tensors are plain tensors to functions: what `DisableTorchFunctionSubclass` does.

    >>> with subclasses_ignored():
    ...     thread.ignores_subclasses
    True
    """
    before, thread.ignores_subclasses = thread.ignores_subclasses, True
    try:
        yield
    finally:
        thread.ignores_subclasses = before


@contextmanager
def nobody_asked() -> Iterator[None]:
    """Within the block, neither subclasses of tensors nor function modes answer calls: `DisableTorchFunction`."""
    with subclasses_ignored(), without_functions():
        yield


def default_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__flambeau_function__`: run the call on plain tensors; tensors that come out are of the subclass."""
    if not all(issubclass(cls, t) for t in types) or is_torch_function(func):
        return NotImplemented
    with subclasses_ignored():
        result = func(*args, **(kwargs or {}))
        return result if getattr(func, "__self__", None) in _KEPT else of_class(result, cls)


_KEPT: set[Any] = set()
"""Properties whose results stay what they are: `x.grad`."""


def of_class(value: Any, cls: Any) -> Any:
    """A result as a subclass of tensors returns it: tensors of another class become ones of `cls`, in tuples too."""
    if hasattr(value, "_of_new_result"):
        return value if isinstance(value, cls) else value._of_new_result(cls)
    if isinstance(value, tuple | list):
        parts = [of_class(part, cls) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


_NOT_ASKED: Final = frozenset({
    "__init__", "__init_subclass__", "__new__", "__class__", "__hash__", "__reduce__", "__reduce_ex__", "__getattr__",
    "__getattribute__", "__setattr__", "__delattr__", "as_subclass", "_is_recorded",
    "_ask", "asking_from_the_start", "asks", "shares_storage",
    "bump_version", "_only_element", "__buffer__", "__dir__", "__sizeof__", "_make_subclass", FUNCTION,
    "__torch_function__", "_make_wrapper_subclass",
})  # fmt: skip
"""Members of `Tensor` that are about the object in Python."""


def members(root: type) -> Iterator[tuple[Any, str, Any]]:
    """The methods and properties of `Tensor` that ask nobody themselves."""
    for cls in reversed(root.__mro__[:-1]):
        for name, member in list(cls.__dict__.items()):
            asks = name in _NOT_ASKED or getattr(member, "is_overridable", False)
            if isinstance(member, FunctionType | property) and not asks:
                yield cls, name, member


def wrapped_member(root: type, name: str, member: Any) -> Any:
    """The method or property of `Tensor` that asks modes and subclasses first, and then does what `member` does."""
    if not isinstance(member, property):

        @functools.wraps(member)
        def method(*args: Any, **kwargs: Any) -> Any:
            result = answer(getattr(root, name), args, kwargs)
            return member(*args, **kwargs) if result is NOT_OVERRIDDEN else result

        return method

    def get(self: Any) -> Any:
        result = answer(getattr(root, name).__get__, (self,), {})
        return member.__get__(self) if result is NOT_OVERRIDDEN else result

    def assign(self: Any, value: Any) -> None:
        if answer(getattr(root, name).__set__, (self, value), {}) is NOT_OVERRIDDEN:
            member.__set__(self, value)

    return property(get, None if member.fset is None else assign, doc=member.__doc__)


def wrap_members(cls: type) -> None:
    """Have what a subclass of `Tensor` inherits, and is no operator, ask it; and functions written in Python."""
    switched.ask_always()
    if any(overrides_functions(base) for base in cls.__mro__[1:]):
        return  # inherits what asks
    root = next(base for base in cls.__mro__ if "_is_root" in base.__dict__)
    for _, name, member in members(root):
        if getattr(cls, name, None) is getattr(root, name):
            setattr(cls, name, wrapped_member(root, name, member))


def guard_reads(cls: type) -> None:
    """Have what reads elements of a subclass of `Tensor` refuse those that have none: that stand for other tensors."""
    for name in READS:
        member = getattr(cls, name, None)
        if member is not None and not getattr(member, "looks_for_data", False):
            setattr(cls, name, _guarded(member, name))


def _guarded(member: Any, name: str) -> Any:
    @functools.wraps(member)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._storage.has_data:
            raise RuntimeError(NO_DATA.format(name=name, cls=type(self).__name__))
        return member(self, *args, **kwargs)

    method.looks_for_data = True  # type: ignore[attr-defined]
    return method


class _WatchedMembers:
    """The methods and properties of `Tensor` ask function modes for as long as any thread has one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._functions = SwitchedFunctions()
        self._known: set[FunctionType] = set()

    def watched(self, root: type) -> AbstractContextManager[None]:
        """Within the block, members of `root` that are no operators ask the modes of the thread that uses them. They
        stay the objects that they are, so that tables of functions that were made before know them.
        """
        with self._lock:
            if not self._known:
                for _, _, member in members(root):
                    self._add(member)
        return self._functions.asking()

    def _add(self, member: Any) -> None:
        if not isinstance(member, property):
            parts = [(member, member)]
        else:
            bound: Any = member
            parts = [(member.fget, bound.__get__), (member.fset, bound.__set__)]
        for function, known_as in parts:
            if isinstance(function, FunctionType) and function not in self._known:
                self._known.add(function)
                self._functions.add(function, functools.partial(_asker, known_as))
                self._functions.rest(function)


def _asker(known_as: Callable[..., Any], written: FunctionType) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        result = answer(known_as, args, kwargs)
        return written(*args, **kwargs) if result is NOT_OVERRIDDEN else result

    return ask


watched_members: Final = _WatchedMembers()


def are_special(types: Iterable[type]) -> bool:
    """Whether a tensor of one of these classes may not be passed to a kernel directly."""
    return any(map(is_special, types))
