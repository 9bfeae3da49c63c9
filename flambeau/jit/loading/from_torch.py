"""`flambeau.jit.from_torch`: a module that PyTorch holds in memory, taken over through an archive in memory."""

from __future__ import annotations

import io
from typing import Any, Final

from flambeau.jit.loading.load import load
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.torch_counterparts import is_torch_module
from flambeau.util.installed_torch import installed

NO_MODULE: Final = "from_torch takes a module of PyTorch, scripted, traced or not, not a {kind}"


def from_torch(module: Any) -> RecursiveScriptModule:
    """A module of an installed PyTorch as one of Flambeau: its code, parameters, buffers and whether it trains.

    A module that is not scripted is given to `torch.jit.script` first, whose errors come through; trace it before, by
    `torch.jit.trace`, where that refuses it. Parameters are copied. Raises TypeError for anything else.

    Args:
        module: a `torch.nn.Module`, or what `torch.jit.script` and `torch.jit.trace` give.

    >>> from_torch(3)
    Traceback (most recent call last):
    TypeError: from_torch takes a module of PyTorch, scripted, traced or not, not a int
    """
    torch: Any = installed()
    if torch is None or not is_torch_module(module):
        raise TypeError(NO_MODULE.format(kind=type(module).__name__))
    scripted = module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module)
    memory = io.BytesIO()
    torch.jit.save(scripted, memory)
    memory.seek(0)
    return load(memory)
