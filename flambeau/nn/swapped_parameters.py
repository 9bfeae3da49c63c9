"""Whether conversions of modules, and state that is loaded, give parameters other contents or other objects.

`flambeau.__future__` has these under PyTorch's names. Both are off: a conversion gives parameters other memory.

>>> from flambeau import __future__
>>> __future__.get_swap_module_params_on_conversion()
False
"""

from __future__ import annotations

from typing import Final


class _Switches:
    overwrite = False
    swap = False


_switches: Final = _Switches()


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to(...)` and its like put new parameters into the module: optimisers then keep the old ones.

    Args:
        value: whether they do.

    >>> from flambeau import nn
    >>> layer = nn.Linear(1, 1)
    >>> before = layer.weight
    >>> set_overwrite_module_params_on_conversion(True)
    >>> layer.double().weight is before
    False
    >>> set_overwrite_module_params_on_conversion(False)
    """
    _switches.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether `module.to(...)` and its like put new parameters into the module."""
    return _switches.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to(...)`, `load_state_dict` and their like exchange parameters with what they become, class and
    attributes included (`utils.swap_tensors`). What is loaded is then what `parameter.module_load(value)` gives.

    Args:
        value: whether they do.

    >>> from flambeau import nn
    >>> layer = nn.Linear(1, 1)
    >>> before = layer.weight
    >>> set_swap_module_params_on_conversion(True)
    >>> layer.double().weight is before, before.dtype
    (True, flambeau.float64)
    >>> set_swap_module_params_on_conversion(False)
    """
    _switches.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether `module.to(...)`, `load_state_dict` and their like exchange parameters with what they become."""
    return _switches.swap
