"""Files that PyTorch writes for phones, `_save_for_lite_interpreter(path)`: they hold the program too, which runs.

>>> import io, flambeau
>>> file = io.BytesIO(flambeau.script(flambeau.nn.ReLU()).save_to_buffer())
>>> module = _load_for_lite_interpreter(file)
>>> module(flambeau.tensor([-1.0, 2.0])), module.find_method("backward")
(tensor([0., 2.]), False)

What is loaded is called, and its methods are called by name; the instructions for phones in the file are not read.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from flambeau.jit.inventory import export_opnames
from flambeau.jit.loading.load import MapLocation, Source, load
from flambeau.jit.modules.script_module import RecursiveScriptModule

__all__ = ["LiteScriptModule", "_export_operator_list", "_load_for_lite_interpreter"]
NO_METHOD = "Method '{name}' is not defined. The module has {known}"


class LiteScriptModule:
    """A module of which only methods are called.

    >>> import flambeau
    >>> LiteScriptModule(flambeau.script(flambeau.nn.ReLU())).run_method("forward", flambeau.tensor([-1.0]))
    tensor([0.])
    """

    def __init__(self, module: RecursiveScriptModule) -> None:
        self._module = module

    def __call__(self, *inputs: Any) -> Any:
        return self.run_method("forward", *inputs)

    def forward(self, *inputs: Any) -> Any:
        """What the method `forward` gives."""
        return self.run_method("forward", *inputs)

    def find_method(self, method_name: str) -> bool:
        """Whether there is a method of this name."""
        return method_name in self._methods()

    def run_method(self, method_name: str, *inputs: Any) -> Any:
        """What a method gives. Raises RuntimeError if there is none of this name."""
        if not self.find_method(method_name):
            raise RuntimeError(NO_METHOD.format(name=method_name, known=", ".join(sorted(self._methods())) or "none"))
        return getattr(self._module, method_name)(*inputs)

    def operators(self) -> set[str]:
        """The operators that its methods use, with their overloads."""
        return set(export_opnames(self._module))

    def _methods(self) -> list[str]:
        return list(self._module.script_object.type.definition.methods)


def _load_for_lite_interpreter(
    f: Source, map_location: MapLocation = None, _extra_files: MutableMapping[str, Any] | None = None
) -> LiteScriptModule:
    """The module in a file for phones, or in an archive. See `jit.load` for the arguments, and for what it raises.

    >>> import io, flambeau
    >>> file = io.BytesIO(flambeau.script(flambeau.nn.ReLU()).save_to_buffer())
    >>> _load_for_lite_interpreter(file).find_method("forward")
    True
    """
    return LiteScriptModule(load(f, map_location, _extra_files))


def _export_operator_list(module: LiteScriptModule) -> set[str]:
    """The operators that the methods of a module use, with their overloads.

    >>> import flambeau
    >>> _export_operator_list(LiteScriptModule(flambeau.script(flambeau.nn.Sigmoid())))
    {'aten::sigmoid'}
    """
    return module.operators()
