"""Hooks of all modules, under the path that other code imports them from.

>>> from flambeau import nn, ones
>>> with register_module_forward_hook(lambda module, args, result: print(type(module).__name__)):
...     _ = nn.ReLU()(ones(1))
ReLU
"""

from __future__ import annotations

from flambeau.nn.hooks import Hook, Registered, everywhere
from flambeau.nn.module import Module as Module
from flambeau.util.hooks import RemovableHandle, add_hook


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every module's `forward`; what it gives are the new arguments."""
    return add_hook(everywhere.pre, Registered(hook))


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, result)` after every module's `forward`; what it gives is the new result."""
    return add_hook(everywhere.post, Registered(hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` for every module whose gradients are computed."""
    return add_hook(everywhere.backward, Registered(hook))


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` for every module whose gradients are about to be computed."""
    return add_hook(everywhere.before_backward, Registered(hook))
