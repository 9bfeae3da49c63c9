"""Functions that a module runs before and after `forward`, or when its state is read or loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.nn.members import Members
from flambeau.util.record import dataclass

Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Registered:
    """One hook as it was registered."""

    function: Hook
    with_kwargs: bool = False
    """Whether it is given the call's keyword arguments, too."""
    always: bool = False
    """Whether it runs although `forward` failed."""
    gives_nothing: bool = False
    """Whether it is an error that it gives something."""


Hooks = dict[int, Registered]
"""Hooks in the order in which they run, by the number in their handle."""


def run(module: Members, pre: Hooks, post: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward` between its hooks.

    A hook before it may give other arguments: one that is no tuple is the only one. A hook behind it may give another
    result. Raises RuntimeError for a hook with keyword arguments that gives no pair.
    """
    ran: set[int] = set()
    try:
        for hook in list(pre.values()):
            args, kwargs = _before(module, hook, args, kwargs)
        result = module.forward(*args, **kwargs)
        for number, hook in list(post.items()):
            ran.add(number)
            result = _after(module, hook, args, kwargs, result)
    except Exception:
        for number, hook in post.items():
            if hook.always and number not in ran:
                _after(module, hook, args, kwargs, None)
        raise
    return result


def _before(
    module: Members, hook: Registered, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    returned = hook.function(module, args, kwargs) if hook.with_kwargs else hook.function(module, args)
    if returned is None:
        return args, kwargs
    if not hook.with_kwargs:
        return returned if isinstance(returned, tuple) else (returned,), kwargs
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            f"a forward pre-hook with keyword arguments gives None or a tuple of new arguments and new keyword "
            f"arguments, but got {returned!r}"
        )
    return returned


def _after(module: Members, hook: Registered, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    returned = hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)
    return result if returned is None else returned
