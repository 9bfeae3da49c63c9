"""What of a scripted module is fixed once its methods are compiled: names, submodules, hooks."""

from __future__ import annotations

from typing import Any, NoReturn

from flambeau.jit.modules import own_state
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.nn.module import Module

NO_MORE = (
    "Can't add a new parameter after ScriptModule construction. Tried to add '{name}': its programs were compiled "
    "without it. Register it on the Python module and script that again"
)
NO_MODULE = (
    "Cannot re-assign modules in a ScriptModule with {what}, tried to add the module '{name}': its programs were "
    "compiled without it. Add it to the Python module and script that again"
)
NOT_DELETED = (
    "cannot delete methods or parameters of a script module: '{name}' is part of its programs. Delete it from the "
    "Python module and script that again"
)
NO_HOOK = (
    "{method} is not supported on ScriptModules: programs that call the module would not run the hook. Register it on "
    "the Python module, with types, and script that again"
)
NO_GRADIENT_HOOK = (
    "{method} is not supported on ScriptModules: a call of one is a node of the tape, so that gradients inside of it "
    "go to no hook. Register a hook on what goes in or comes out, x.register_hook(f), or on a Python module around it"
)


class FixedModule(ScriptModule):
    """A scripted module refuses what its compiled methods would not know of."""

    _is_of_module = True
    _loads_plainly = True

    def _knows(self, name: str) -> bool:
        script_object = vars(self).get("script_object")
        return script_object is None or name in script_object.type.definition.slots

    def register_parameter(self, name: str, parameter: Any) -> None:
        """Only for a name that is there. Raises RuntimeError for another."""
        if not self._knows(name):
            raise RuntimeError(NO_MORE.format(name=name))
        setattr(self, name, parameter)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Only for a name that is there. Raises RuntimeError for another."""
        if not self._knows(name):
            raise RuntimeError(NO_MORE.format(name=name))
        setattr(self, name, tensor)

    def add_module(self, name: str, module: Any) -> None:
        """Only for a name that is there. Raises RuntimeError for another."""
        setattr(self, name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module) and not self._knows(name):
            what = "another module" if isinstance(value, ScriptModule) else "non-scripted module"
            raise RuntimeError(NO_MODULE.format(what=what, name=name))
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        script_object = vars(self).get("script_object")
        if script_object is not None:
            definition = script_object.type.definition
            if any(name in names for names in (definition.slots, definition.constants, definition.methods)):
                raise RuntimeError(NOT_DELETED.format(name=name))
        super().__delattr__(name)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        own = self._exported("_save_to_state_dict")
        if own is None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
        else:
            own_state.save(own, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool, *lists: list[str]
    ) -> None:
        own = self._exported("_load_from_state_dict")
        if own is None:
            super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        else:
            own_state.load(own, state_dict, prefix, local_metadata, strict, *lists)

    def _exported(self, name: str) -> Any:
        """A method that Python has too, if the module's program has its own; else None."""
        script_object = vars(self).get("script_object")
        is_own = script_object is not None and name in script_object.type.definition.methods
        return self.__getattr__(name) if is_own else None

    def register_forward_pre_hook(self, *args: Any, **options: Any) -> NoReturn:
        """Hooks are compiled with the module. Raises RuntimeError."""
        raise RuntimeError(NO_HOOK.format(method="register_forward_pre_hook"))

    def register_forward_hook(self, *args: Any, **options: Any) -> NoReturn:
        """Hooks are compiled with the module. Raises RuntimeError."""
        raise RuntimeError(NO_HOOK.format(method="register_forward_hook"))

    def register_full_backward_hook(self, *args: Any, **options: Any) -> NoReturn:
        """Gradients of a program are the program's own. Raises RuntimeError."""
        raise RuntimeError(NO_GRADIENT_HOOK.format(method="register_full_backward_hook"))

    def register_full_backward_pre_hook(self, *args: Any, **options: Any) -> NoReturn:
        """Gradients of a program are the program's own. Raises RuntimeError."""
        raise RuntimeError(NO_GRADIENT_HOOK.format(method="register_full_backward_pre_hook"))

    def register_backward_hook(self, *args: Any, **options: Any) -> NoReturn:
        """Gradients of a program are the program's own. Raises RuntimeError."""
        raise RuntimeError(NO_GRADIENT_HOOK.format(method="register_backward_hook"))
