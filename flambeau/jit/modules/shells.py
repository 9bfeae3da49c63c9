"""What is kept of a module after it was scripted: its structure, for looking things up, without its data.

A class of modules outlives the module that it was made from, and that module may change. Its shell has the same Python
class, the same names, hooks and replaced methods, shells for submodules, and placeholders for tensors: one for each
tensor, so that what is shared is seen to be.
"""

from __future__ import annotations

import inspect
import types
import weakref
from typing import Any

import numpy as np

from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.tensor.tensor import Tensor, wrap

_placeholders: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}
"""By the identity of the tensor that each stands for."""


def shell_of(module: Module, shells: dict[int, Module]) -> Module:
    """The structure of a module; `shells` has the shells that there are, by the identity of the module.

    >>> from flambeau import nn
    >>> layer = nn.Linear(1000, 1000)
    >>> shell = shell_of(layer, {})
    >>> [name for name, _ in shell.named_parameters()], shell.weight.shape
    (['weight', 'bias'], flambeau.Size([0]))
    """
    if id(module) in shells:
        return shells[id(module)]
    if "script_object" in vars(module):
        return module
    shell = shells[id(module)] = object.__new__(type(module))
    own = vars(shell)
    for name, value in vars(module).items():
        if inspect.ismethod(value) and value.__self__ is module:
            own[name] = types.MethodType(value.__func__, shell)
        elif isinstance(value, dict) and name in Module.HOOKS:
            own[name] = dict(value)
        else:
            own[name] = value if inspect.isroutine(value) or isinstance(value, type | bool) else None
    own["_transient"] = set(module._transient)
    own["_parameters"] = {n: _placeholder(t) for n, t in module._parameters.items()}
    own["_buffers"] = {n: _placeholder(t) for n, t in module._buffers.items()}
    own["_modules"] = {n: None if c is None else shell_of(c, shells) for n, c in module._modules.items()}
    return shell


def _placeholder(tensor: Tensor | None) -> Tensor | None:
    if tensor is None:
        return None
    known = _placeholders.get(id(tensor))
    if known is not None and known[0]() is tensor:
        return known[1]
    key = id(tensor)
    plain = wrap(np.empty(0, np.float32))
    placeholder = Parameter(plain, requires_grad=False) if isinstance(tensor, Parameter) else plain
    _placeholders[key] = (weakref.ref(tensor, lambda gone: _forget(key, gone)), placeholder)
    return placeholder


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    if key in _placeholders and _placeholders[key][0] is gone:
        del _placeholders[key]
