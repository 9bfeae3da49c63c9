"""Hooks of all modules, under the path that other code imports them from.

>>> from flambeau import nn, ones
>>> with register_module_forward_hook(lambda module, args, result: print(type(module).__name__)):
...     _ = nn.ReLU()(ones(1))
ReLU
"""

from __future__ import annotations

from flambeau.nn.hooks import Hook, Registered, everywhere
from flambeau.nn.module import Module as Module
from flambeau.nn.state import IncompatibleKeys as _IncompatibleKeys  # noqa: F401
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


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a module gets a parameter; what it gives takes its place."""
    return add_hook(everywhere.registration["parameter"], Registered(hook))


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module gets a buffer; what it gives takes its place."""
    return add_hook(everywhere.registration["buffer"], Registered(hook))


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a module gets a submodule; what it gives takes its place."""
    return add_hook(everywhere.registration["module"], Registered(hook))
