"""`flambeau._C.ModuleDict(module._c)` and its like: the submodules, parameters or buffers right in a module, by name.

>>> import flambeau
>>> c = flambeau.script(flambeau.nn.Sequential(flambeau.nn.ReLU()))._c
>>> [name for name, _ in ModuleDict(c).items()], len(ParameterDict(c).items())
(['0'], 0)
"""

from __future__ import annotations

from typing import Any

from flambeau.jit.torch_names.handle import ModuleHandle


class _Table:
    """Some attributes of a module."""

    def __init__(self, handle: ModuleHandle) -> None:
        self._handle = handle

    def _names(self) -> list[str]:
        raise AssertionError("each kind has its own")

    def items(self) -> list[tuple[str, Any]]:
        """Names and values."""
        return [(name, self._handle.getattr(name)) for name in self._names()]

    def contains(self, name: str) -> bool:
        """Whether there is one of that name."""
        return name in self._names()

    def getattr(self, name: str) -> Any:
        """One value. Raises AttributeError."""
        return self._handle.getattr(name)

    def setattr(self, name: str, value: Any) -> None:
        """Put another value in its place. Raises RuntimeError for one of another type."""
        self._handle.setattr(name, value)


class ModuleDict(_Table):
    """The submodules."""

    def _names(self) -> list[str]:
        return [name for name, child in self._handle.ours._modules.items() if child is not None]


class ParameterDict(_Table):
    """The parameters."""

    def _names(self) -> list[str]:
        return [name for name, tensor in self._handle.ours._parameters.items() if tensor is not None]


class BufferDict(_Table):
    """The buffers."""

    def _names(self) -> list[str]:
        return [name for name, tensor in self._handle.ours._buffers.items() if tensor is not None]
