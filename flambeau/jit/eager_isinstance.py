"""`flambeau.jit.isinstance` as Python runs it: the contents of containers count, as they do in a program.

>>> from typing import Dict, List, Optional
>>> isinstance([1, 2], List[int]), isinstance({"a": [1.5]}, Dict[str, List[int]]), isinstance(None, Optional[int])
(True, False, True)
"""

from __future__ import annotations

import builtins
import types
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Union

from flambeau.tensor.tensor import Tensor

BARE = "Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
BARE_DICT = "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"
NOT_A_TYPE = "isinstance's second argument must be a type or a tuple of types, not {given!r}"
EMPTY = (
    "The inner type of a container is lost when calling flambeau.jit.isinstance in eager mode: an empty container has "
    "every element type. In a compiled program its declared type decides"
)
_BARE = {
    list: "List", typing.List: "List", tuple: "Tuple", typing.Tuple: "Tuple",  # noqa: UP006
    typing.Optional: "Optional", typing.Union: "Union",
}  # fmt: skip
_DICTS = (dict, typing.Dict)  # noqa: UP006


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of the type, or of one of a tuple of types, the elements of containers included.

    An empty container fits any element type, and warns of that once. Raises RuntimeError for a container without a
    contained type, and for what is no type.

    Args:
        obj: any value.
        target_type: a type, or a tuple of types; also `list[int]` and the like.

    >>> import flambeau
    >>> flambeau.jit.isinstance([1, 2], list[int]), flambeau.jit.isinstance([1, 2], list[str])
    (True, False)
    """
    warned: list[bool] = []
    fits = any(_is(obj, target, warned) for target in _targets(target_type))
    if warned:
        warnings.warn(EMPTY, UserWarning, stacklevel=2)
    return fits


def _targets(target_type: Any) -> list[Any]:
    if builtins.isinstance(target_type, tuple):
        return [inner for part in target_type for inner in _targets(part)]
    _check(target_type)
    return [target_type]


def _check(target: Any) -> None:
    """Raise RuntimeError for what is no type."""
    if any(target is d for d in _DICTS):
        raise RuntimeError(BARE_DICT)
    for bare, name in _BARE.items():
        if target is bare:
            raise RuntimeError(BARE.format(name=name))
    is_type = target is None or target is Any or builtins.isinstance(target, type)
    if not is_type and typing.get_origin(target) is None and not hasattr(target, "__origin__"):
        raise RuntimeError(NOT_A_TYPE.format(given=target))


def _is(obj: Any, target: Any, warned: list[bool]) -> bool:
    _check(target)
    if target is Any or target is None:
        return target is Any or obj is None
    origin = typing.get_origin(target) or getattr(target, "__origin__", None)
    if origin is None:
        return builtins.isinstance(obj, target)
    args = typing.get_args(target) or getattr(target, "__args__", ())
    if origin in (Union, types.UnionType):
        return any(_is(obj, arg, warned) for arg in args)
    if not builtins.isinstance(obj, origin) or builtins.isinstance(obj, Tensor):
        return False
    holds = _CONTENTS.get(origin)
    return holds is None or holds(obj, args, warned)


def _tuple_holds(obj: tuple[Any, ...], args: Sequence[Any], warned: list[bool]) -> bool:
    return len(obj) == len(args) and all(_is(o, a, warned) for o, a in zip(obj, args, strict=True))


def _list_holds(obj: list[Any], args: Sequence[Any], warned: list[bool]) -> bool:
    if not obj:
        warned.append(True)
    return all(_is(o, args[0], warned) for o in obj)


def _dict_holds(obj: dict[Any, Any], args: Sequence[Any], warned: list[bool]) -> bool:
    if not obj:
        warned.append(True)
    return all(_is(k, args[0], warned) and _is(v, args[1], warned) for k, v in obj.items())


_CONTENTS: Final[dict[Any, Callable[[Any, Sequence[Any], list[bool]], bool]]] = {
    tuple: _tuple_holds, list: _list_holds, dict: _dict_holds,
}  # fmt: skip
"""Whether what is in a container is of the types that its own type names; what is in others does not count."""
