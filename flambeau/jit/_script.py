"""TorchScript's inner names about scripting functions; `flambeau.script` is what programs use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.jit.function import ScriptFunction
from flambeau.jit.overloads import declarations
from flambeau.jit.resolver import overloaded
from flambeau.jit.script import CLASSES


def _get_overloads(obj: Callable[..., Any]) -> list[ScriptFunction] | None:
    """What an overloaded function is compiled to, one for each declared signature, in order; None for another one.

    Raises CompileError for a declaration without types or with defaults of its own, RuntimeError where the
    implementation is missing.

    Args:
        obj: the implementation.

    >>> def plain(x):
    ...     return x
    >>> _get_overloads(plain) is None
    True
    """
    declared = declarations(obj)
    if not declared:
        return None
    return [ScriptFunction(f, obj) for f in overloaded(obj, declared, CLASSES, get_tree(obj).range).functions]
