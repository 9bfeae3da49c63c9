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
    found: Module = _prepared(module, {})
    return found


def _inside(module: Module) -> list[Module]:
    """A module and all below it, those too whose `__init__` did not run: that is refused later, with the name."""
    found = {id(module): module}
    waiting = [module]
    while waiting:
        for child in vars(waiting.pop()).get("_modules", {}).values():
            if child is not None and id(child) not in found:
                found[id(child)] = child
                waiting.append(child)
    return list(found.values())


def _prepared(module: Any, made: dict[int, Any]) -> Any:
    if id(module) in made:
        return made[id(module)]
    found = getattr(module, METHOD)() if hasattr(type(module), METHOD) else module
    made[id(module)] = found
    if not isinstance(found, Module) or "_modules" not in vars(found):
        return found
    children = {n: None if c is None else _prepared(c, made) for n, c in found._modules.items()}
    if any(children[n] is not c for n, c in found._modules.items()):
        found = made[id(module)] = copy.copy(found)
        object.__setattr__(found, "_modules", children)
    return found
