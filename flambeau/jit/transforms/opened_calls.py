"""Calls of scripted functions with containers, as calls of functions of the tensors in them, which give tensors.

`f(p, x)` with `p = {"w": ..., "b": ...}`, which gives `{"y": ...}`    →    `flat(w, b, x)`, which gives `(y,)`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.jit.function import ScriptFunction
from flambeau.jit.open_function import OpenFunction
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.flat_functions import FlatFunctions
from flambeau.jit.transforms.flat_results import flat_results
from flambeau.program.function import Function
from flambeau.util.errors import CompileError
from flambeau.util.inversions import OPENED_CALL
from flambeau.util.kept_on import KeptOn
from flambeau.util.trees import Structure

_flat: Final[KeptOn[Function, FlatFunctions]] = KeptOn()
_listed: Final[KeptOn[Function, tuple[ScriptFunction, Structure] | None]] = KeptOn()


@OPENED_CALL.provide
def opened_call(function: Any, arguments: Sequence[Any]) -> tuple[ScriptFunction, list[Any], Structure] | None:
    """The function of tensors, those of these arguments, and how its results lie; None for what is no function of such
    containers, or gives what no tuple holds."""
    if not isinstance(function, ScriptFunction) or (function._first and not isinstance(function, OpenFunction)):
        return None
    try:
        if function.by_types is not None:
            function = function.by_types.of(arguments, {}) or function
        if isinstance(function, OpenFunction) or len(function.schema.arguments) != len(arguments):
            return None
        base = function.script_function
        flat = _flat.get(base)
        if flat is None:
            flat = _flat[base] = FlatFunctions(base)
        opened = flat.of(arguments) if flat.takes_containers else None
    except CompileError:
        return None
    if opened is None:
        return None
    known = _listed.get(opened[0])
    if known is None:
        known = _listed[opened[0]] = _with_listed_results(opened[0])
    return None if known is None else (known[0], opened[1], known[1])


def _with_listed_results(function: Function) -> tuple[ScriptFunction, Structure] | None:
    listed = flat_results(function)
    if listed is None:
        return None
    if listed[0] is not function:
        REGISTRY.attach(listed[0])
    return ScriptFunction(listed[0]), listed[1]
