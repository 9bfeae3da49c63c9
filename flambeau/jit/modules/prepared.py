"""Modules that name a substitute for themselves: what `__prepare_scriptable__` gives is compiled in their place.

>>> from flambeau import nn
>>> class Fast(nn.Module):
...     def __prepare_scriptable__(self):
...         return nn.ReLU()
>>> type(prepared(nn.Sequential(Fast()))[0]).__name__
'ReLU'
"""

from __future__ import annotations

import copy
from typing import Any

from flambeau.nn.module import Module

METHOD = "__prepare_scriptable__"


def prepared(module: Module) -> Module:
    """A module with every substitute in place: itself, if there is none in it. What is shared stays shared."""
    if not any(hasattr(type(m), METHOD) for m in _inside(module)):
        return module
    replacement: Module = _prepared(module, {})
    return replacement


def _inside(module: Module) -> list[Module]:
    """A module and all below it, those too whose `__init__` did not run: that is refused later, with the name."""
    modules = {id(module): module}
    waiting = [module]
    while waiting:
        for child in vars(waiting.pop()).get("_modules", {}).values():
            if child is not None and id(child) not in modules:
                modules[id(child)] = child
                waiting.append(child)
    return list(modules.values())


def _prepared(module: Any, replacements: dict[int, Any]) -> Any:
    if id(module) in replacements:
        return replacements[id(module)]
    replacement = getattr(module, METHOD)() if hasattr(type(module), METHOD) else module
    replacements[id(module)] = replacement
    if not isinstance(replacement, Module) or "_modules" not in vars(replacement):
        return replacement
    children = {n: None if c is None else _prepared(c, replacements) for n, c in replacement._modules.items()}
    if any(children[n] is not c for n, c in replacement._modules.items()):
        replacement = replacements[id(module)] = copy.copy(replacement)
        object.__setattr__(replacement, "_modules", children)
    return replacement
