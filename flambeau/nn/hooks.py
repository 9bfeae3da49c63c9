"""Functions that a module runs before and after `forward`, or when its state is read or loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.nn.backward_hooks import BackwardHooks
from flambeau.nn.members import Members
from flambeau.tensor.grad_mode import is_grad_enabled
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


@dataclass(slots=True)
class _Everywhere:
    """Hooks of all modules, which run before a module's own."""

    pre: Hooks
    post: Hooks
    backward: Hooks
    before_backward: Hooks
    registration: dict[str, Hooks]
    """Called when a parameter, a buffer or a module is registered, by which of them."""


everywhere = _Everywhere({}, {}, {}, {}, {"parameter": {}, "buffer": {}, "module": {}})
MIXED: Final = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module: register all of them by "
    "register_full_backward_hook"
)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What becomes a member of a module: the value, or what the last hook of that kind gives for it."""
    for hook in everywhere.registration[kind].values():
        returned = hook.function(module, name, value)
        value = value if returned is None else returned
    return value


def check_kind(module: Any, *, full: bool) -> None:
    """Raise RuntimeError if a module has hooks of gradients by the other name."""
    if module._is_full_backward_hook is not None and module._is_full_backward_hook != full:
        raise RuntimeError(MIXED)
    module._is_full_backward_hook = full


def are_everywhere() -> bool:
    """Whether there are hooks of all modules."""
    return bool(everywhere.pre or everywhere.post or everywhere.backward or everywhere.before_backward)


def _backward_hooks(module: Any) -> BackwardHooks | None:
    """What looks at the gradients of a call; None if nobody does."""
    post = [*everywhere.backward.values(), *module._backward_hooks.values()]
    pre = [*everywhere.before_backward.values(), *module._backward_pre_hooks.values()]
    if not (post or pre) or not is_grad_enabled():
        return None
    return BackwardHooks(module, [h.function for h in post], [h.function for h in pre])


def run(module: Members, pre: Hooks, post: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward` between its hooks.

    A hook before it may give other arguments: one that is no tuple is the only one. A hook behind it may give another
    result. Raises RuntimeError for a hook with keyword arguments that gives no pair.
    """
    pre, post = everywhere.pre | pre, everywhere.post | post
    ran: set[int] = set()
    try:
        for hook in list(pre.values()):
            args, kwargs = _before(module, hook, args, kwargs)
        looking = _backward_hooks(module)
        args = args if looking is None else looking.arguments(args)
        result = module.forward(*args, **kwargs)
        for number, hook in list(post.items()):
            ran.add(number)
            result = _after(module, hook, args, kwargs, result)
        result = result if looking is None else looking.results(result)
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
