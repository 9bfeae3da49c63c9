"""Functions without mutation, as PyTorch's users know the transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.util.inversions import WITHOUT_WRITES

REMOVES: Final = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The same function without writes in between: what it writes becomes new values, and arguments that it writes are
    written once, at the end. The graph that runs is that of `fx.functionalized`.

    Args:
        func: a function of tensors.
        remove: "mutations", or "mutations_and_views", which asks for copies in place of views too. Views of what is
            never written again are values like others here, so that both give the same.

    Raises RuntimeError for another `remove`, and for writes what `fx.functionalized` raises.

    >>> import flambeau
    >>> def f(x):
    ...     y = x * 2
    ...     y[0] += 1
    ...     return y
    >>> functionalize(f)(flambeau.ones(2))
    tensor([3., 2.])
    """
    if remove not in REMOVES:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove=\"mutations\": all inplace and out= operators will be removed from the program, and replaced"
            " with their out-of-place equivalents.\n"
            "     remove=\"mutations_and_views\": In addition to the above, all aliasing operators {view} will be"
            " replaced with their non-aliasing counterparts, {view}_copy.\n"
        )
    return WITHOUT_WRITES.implementation(func)
