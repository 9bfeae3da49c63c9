"""Which modules run, at any moment of a step: their names, on the way there and, where inputs ask, on the way back.

>>> import flambeau
>>> from flambeau import nn
>>> model = nn.Sequential(nn.Linear(2, 2))
>>> with ModuleTracker() as tracker:
...     _ = model[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
...     _ = model(flambeau.ones(1, 2))
['Global', 'Sequential', 'Sequential.0']
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

from flambeau.autograd.engine import queue_callback
from flambeau.autograd.graph import register_multi_grad_hook
from flambeau.nn.module import Module
from flambeau.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import flatten

__all__ = ["ModuleTracker"]
ROOT: Final = "Global"


class ModuleTracker:
    """Within a block, the set of names of the modules that run.

    Names are `Kind.child.grandchild`, from the module that was called first; `Global` is always there. On the way back
    a module is there from when the gradients of its results come until those of its inputs are known.

    >>> with ModuleTracker() as tracker:
    ...     tracker.parents, tracker.is_bw
    ({'Global'}, False)
    """

    parents: set[str]
    """The names of the modules that run."""

    def __init__(self) -> None:
        self.parents = {ROOT}
        self.is_bw = False
        """Whether the way back has begun."""
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._block: ExitStack | None = None

    def __enter__(self) -> Self:
        self._block = ExitStack()
        self._block.callback(register_module_forward_pre_hook(self._before).remove)
        self._block.callback(register_module_forward_hook(self._after).remove)
        return self

    def __exit__(self, *error: object) -> None:
        if self._block is not None:
            self._block.close()

    def _name(self, module: Module) -> str:
        """Names a module and all below it when it is first seen, since only those that are called first are roots."""
        if module not in self._names:
            root = type(module).__name__
            for inner, child in module.named_modules():
                self._names.setdefault(child, f"{root}.{inner}" if inner else root)
        return self._names[module]

    def _enter(self, name: str, *, is_bw: bool) -> None:
        if not is_bw and self.is_bw:  # a step after a way back begins anew
            self.parents = {ROOT}
        if is_bw and not self.is_bw:
            queue_callback(self._end)
        self.is_bw = is_bw
        self.parents.add(name)

    def _end(self) -> None:
        """The way back is over."""
        self.is_bw, self.parents = False, {ROOT}

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _before(self, module: Module, inputs: Any) -> None:
        name = self._name(module)
        self._enter(name, is_bw=False)
        if asking := _asking(inputs):
            register_multi_grad_hook(asking, lambda _: self._leave(name))

    def _after(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self._leave(name)
        if asking := _asking(outputs):
            register_multi_grad_hook(asking, lambda _: self._enter(name, is_bw=True))


def _asking(values: Any) -> list[Tensor]:
    """The tensors among arguments or results through which gradients go."""
    return [leaf for leaf in flatten(values)[0] if isinstance(leaf, Tensor) and leaf.requires_grad]
