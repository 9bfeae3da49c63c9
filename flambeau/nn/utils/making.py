"""Modules made without first values, and weights laid out otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flambeau.nn.layers.convolution import Convolution
from flambeau.nn.module import Module
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A module whose parameters are not filled: for those that are loaded at once.

    Raises RuntimeError for a class that is no module's, or whose constructor takes no `device`.

    >>> from flambeau import nn
    >>> skip_init(nn.Linear, 3, 4)
    Linear(in_features=3, out_features=4, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with dispatch.intercepting(_leave_alone):
        return module_cls(*args, **kwargs)


def _leave_alone(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
    """Run an operator, unless it writes into what it is given: while a module is made, that is a first value."""
    name = definition.schema.name
    return arguments[0] if name.endswith("_") and not name.endswith("__") else proceed(arguments)


def _laid_out(module: M, memory_format: Any, dims: int) -> M:
    for one in module.modules():
        if isinstance(one, Convolution) and type(one).dims == dims:
            one.weight.data = dispatch.call("aten::contiguous", one.weight.detach(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of two-dimensional convolutions otherwise: `flambeau.channels_last`.

    >>> import flambeau
    >>> layer = flambeau.nn.Conv2d(2, 4, 3)
    >>> convert_conv2d_weight_memory_format(layer, flambeau.channels_last).weight.stride()
    (18, 1, 6, 2)
    """
    return _laid_out(module, memory_format, 2)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of three-dimensional convolutions otherwise: `flambeau.channels_last_3d`.

    >>> import flambeau
    >>> layer = flambeau.nn.Conv3d(2, 4, 3)
    >>> convert_conv3d_weight_memory_format(layer, flambeau.channels_last_3d).weight.stride()
    (54, 1, 18, 6, 2)
    """
    return _laid_out(module, memory_format, 3)
