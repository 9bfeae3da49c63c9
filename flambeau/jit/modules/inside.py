"""What a scripted module is to TorchScript's users inside: `module._c`, its object with its methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flambeau.schema.types import ClassType

if TYPE_CHECKING:
    from flambeau.jit.modules.script_method import ScriptMethod
    from flambeau.jit.modules.script_module import RecursiveScriptModule


class ScriptObjectView:
    """The compiled object of a module: attributes and methods by name.

    >>> import flambeau
    >>> inside = flambeau.script(flambeau.nn.ReLU())._c
    >>> inside._has_method("forward"), inside.hasattr("inplace"), inside._method_names()
    (True, False, ['forward'])
    """

    def __init__(self, module: RecursiveScriptModule) -> None:
        self._module = module
        self._definition = module.script_object.type.definition

    @property
    def qualified_name(self) -> str:
        """The name of its class: `__torch__.package.Name`."""
        return str(self._definition.name)

    @property
    def name(self) -> str:
        """The last part of that."""
        return self.qualified_name.rpartition(".")[2]

    def _type(self) -> ClassType:
        """Its type, the same for modules that share their compiled methods."""
        return self._module.script_object.type

    def _method_names(self) -> list[str]:
        """The methods compiled so far."""
        return list(self._definition.methods)

    def _has_method(self, name: str) -> bool:
        """Whether a method of that name is compiled."""
        return name in self._definition.methods

    def _get_method(self, name: str) -> ScriptMethod:
        """A method, with this object. Raises AttributeError if there is none."""
        return self._module._method(name)

    def _get_methods(self) -> list[ScriptMethod]:
        """All methods."""
        return [self._module._method(name) for name in self._definition.methods]

    def hasattr(self, name: str) -> bool:
        """Whether the object has an attribute."""
        return name in self._definition.slots

    def getattr(self, name: str) -> Any:
        """An attribute, parameters and submodules too. Raises AttributeError if there is none."""
        return getattr(self._module, name)

    def setattr(self, name: str, value: Any) -> None:
        """Change an attribute."""
        setattr(self._module, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScriptObjectView):
            return NotImplemented
        return self._module.script_object is other._module.script_object

    def __hash__(self) -> int:
        return id(self._module.script_object)

    def __repr__(self) -> str:
        return f"ScriptObject <{self.qualified_name}>"
