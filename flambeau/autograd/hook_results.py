"""What hooks return in the place of gradients, checked: as many, of the same shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.tensor.tensor import Tensor

OTHER_TYPE: Final = "hook '{name}' has changed the type of value (was torch.{was}Tensor got torch.{got}Tensor)"
OTHER_COUNT: Final = "hook '{name}' has returned an incorrect number of values (got {got}, but expected {expected})"
OTHER_SHAPE: Final = "hook '{name}' has changed the size of value: a gradient of shape {own} to one of shape {other}"
RETURNED: Final = (
    "expected None, but hook '{name}' returned '{kind}': a hook on what was accumulated changes `grad` of the tensor "
    "that it is called with"
)


def replaced(hook: Callable[[Tensor], Any], gradient: Tensor) -> Tensor:
    """What a hook returns in the place of a gradient. Raises TypeError, or RuntimeError for another shape or dtype."""
    returned = hook(gradient)
    return gradient if returned is None else fitting(hook, returned, gradient)


def replaced_all(hook: Callable[..., Any], returned: Any, gradients: list[Tensor | None]) -> list[Tensor | None]:
    """What a hook of a node returned in the place of several gradients. Raises RuntimeError for another number of them,
    and as `fitting` does."""
    listed = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(listed) != len(gradients):
        raise RuntimeError(OTHER_COUNT.format(name=name_of(hook), got=len(listed), expected=len(gradients)))
    pairs = zip(listed, gradients, strict=True)
    return [one if one is None or was is None else fitting(hook, one, was) for one, was in pairs]


def name_of(hook: Callable[..., Any]) -> str:
    """What a hook is called, for messages.

    >>> name_of(print)
    'print'
    """
    return getattr(hook, "__name__", None) or repr(hook)


def fitting(hook: Callable[..., Any], returned: Any, gradient: Tensor) -> Tensor:
    """What a hook returned, like what it was called with. Raises TypeError for what is no tensor, RuntimeError for
    another shape or dtype."""
    if not isinstance(returned, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    name = name_of(hook)
    if returned._array.dtype != gradient._array.dtype:
        was, got = gradient.dtype.display, returned.dtype.display
        raise RuntimeError(OTHER_TYPE.format(name=name, was=was, got=got))
    if returned._array.shape != gradient._array.shape:
        own, other = list(gradient._array.shape), list(returned._array.shape)
        raise RuntimeError(OTHER_SHAPE.format(name=name, own=own, other=other))
    return returned
