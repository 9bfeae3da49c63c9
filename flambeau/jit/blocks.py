"""Contexts that programs know: statements that stay Python, blocks with a name, blocks that must be fused."""

from __future__ import annotations

import warnings
from typing import Final, Self

ONLY_SCRIPTED = "Only works in script mode: strict_fusion has nothing to look at in Python"


class _Context:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class _IgnoreContextManager(_Context):
    """The statements of `with _IgnoreContextManager(a="inp:int", b="out:list[int]"):` stay Python in a program.

    What they read and assign of the program's variables is said by name, with a type; other names mean what they mean
    around the program. In Python it does nothing.

    >>> import flambeau
    >>> def f(n: int) -> int:
    ...     with _IgnoreContextManager(n="inp:int", total="out:int"):
    ...         total = sum({n, 2 * n})
    ...     return total
    >>> f(3)
    9
    """

    def __init__(self, **names: str) -> None:
        self.names = names


class record_function(_Context):  # noqa: N801  (the name that programs know it by)
    """A name for a block: nodes of a compiled block show it as their scope. It costs nothing when the program runs.

    Args:
        name: the name.
        args: accepted, without effect.

    >>> with record_function("loss"):
    ...     pass
    """

    language_form: Final = "record_function"

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args


class strict_fusion(_Context):  # noqa: N801
    """In a program, all tensor operators of the block are to be in fused groups.

    A call for which one stays alone raises RuntimeError, naming the operators. Asked of native code alone: other
    backends do not fuse. In Python it warns.

    >>> import flambeau
    >>> @flambeau.script
    ... def twice(x: flambeau.Tensor) -> flambeau.Tensor:
    ...     with flambeau.jit.strict_fusion():
    ...         return x + x
    >>> twice(flambeau.ones(2))
    tensor([2., 2.])
    """

    language_form: Final = "strict_fusion"

    def __enter__(self) -> Self:
        warnings.warn(ONLY_SCRIPTED, UserWarning, stacklevel=2)
        return self
