"""Classes of tensors that change what calls mean: which there are, and what their base does for them.

A subclass of `Tensor` has `__flambeau_function__`, which is asked in place of functions, methods and properties that
get such a tensor; the one of `Tensor` itself runs the call and makes its results tensors of the subclass. With
`__flambeau_dispatch__` it is asked in place of kernels. `__torch_function__` and `__torch_dispatch__` mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from flambeau.util import installed_torch

FUNCTION, DISPATCH = "__flambeau_function__", "__flambeau_dispatch__"
OTHER_NAMES: Final = {"__torch_function__": FUNCTION, "__torch_dispatch__": DISPATCH}


class Special:
    """Whether any tensor may need more than its kernel; until then calls do not look."""

    exists = False


special = Special()


def disabled_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A `__flambeau_function__` for subclasses that are passed as plain tensors, as parameters are."""
    return func(*args, **(kwargs or {}))


PLAIN: Final[list[type]] = []
"""Subclasses of `Tensor` whose objects in the host's memory are to calls what plain tensors are, native ones included:
that of parameters. Objects elsewhere are of a class of their own: `tensor.settled`."""


def adopt(cls: type, wrap_members: Callable[[type], None], guard_reads: Callable[[type], None]) -> None:
    """Take notice of a new subclass of `Tensor`; `wrap_members` has what is no operator ask it, `guard_reads` has what
    reads elements look whether there are any."""
    for other, name in OTHER_NAMES.items():
        if other in cls.__dict__ and name not in cls.__dict__:
            setattr(cls, name, cls.__dict__[other])
        elif name in cls.__dict__:
            setattr(cls, other, cls.__dict__[name])
    if overrides_functions(cls):
        wrap_members(cls)
    elif not overrides_dispatch(cls):
        return
    if overrides_dispatch(cls):
        guard_reads(cls)
    special.exists = True


def overrides_functions(cls: type) -> bool:
    """Whether objects of a class are asked about calls of functions that get them.

    >>> overrides_functions(int)
    False
    """
    method = getattr(cls, FUNCTION, None) or getattr(cls, "__torch_function__", None)
    if method is None or method is disabled_function or "_is_root" in cls.__dict__:
        return False
    return not installed_torch.is_tensor_class(cls)  # PyTorch's tensors know PyTorch's functions only


def overrides_dispatch(cls: type) -> bool:
    """Whether objects of a class are asked in place of kernels."""
    return getattr(cls, DISPATCH, disabled_function) is not disabled_function


def _is_special(cls: type) -> bool:
    return goes_below(cls) or overrides_functions(cls)


def _goes_below(cls: type) -> bool:
    return hasattr(cls, "_has_no_data") or hasattr(cls, "_has_own_kernels") or overrides_dispatch(cls)


def _remembered(answer: Callable[[type], bool]) -> Callable[[type], bool]:
    """A question about classes, asked once of each; no class is kept for it."""
    answers: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

    def ask(cls: type) -> bool:
        known = answers.get(cls)
        if known is None:
            known = answers[cls] = answer(cls)
        return known

    return ask


is_special: Final = _remembered(_is_special)
"""Whether calls that get tensors of a class may not go to kernels directly."""
goes_below: Final = _remembered(_goes_below)
"""Whether operators on tensors of a class run otherwise than by their kernels: `__flambeau_dispatch__` is asked,
there is no data, or the elements are quantised."""
