"""What an archive keeps of an object: the values of its attributes, or what its `__getstate__` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from flambeau.program.classes import ClassDefinition
from flambeau.program.object import UNSET, ScriptObject
from flambeau.schema.types import BOOL, NONE, OptionalType, Type

GETSTATE, SETSTATE = "__getstate__", "__setstate__"
FULL_BACKWARD_HOOK = "_is_full_backward_hook"
"""An attribute that PyTorch looks for in every module; None but for modules that were trained there."""
FULL_BACKWARD_HOOK_TYPE: Final = OptionalType(BOOL)
NO_SETSTATE = (
    "cannot save an object of class '{name}': it has __getstate__ but no __setstate__, so nothing could be made of its "
    "state again. Add a compiled method __setstate__(self, state) that takes what __getstate__ returns"
)
WRONG_SETSTATE = (
    "cannot save an object of class '{name}': '__getstate__' takes self alone and returns {given}, '__setstate__' "
    "takes self and {taken}; the types must be the same"
)


def has_own_state(definition: ClassDefinition) -> bool:
    """Whether objects of a class are saved as what `__getstate__` gives.

    Raises RuntimeError for a class without the `__setstate__` that takes it.
    """
    getter = definition.methods.get(GETSTATE)
    if getter is None:
        return False
    setter = definition.find_method(SETSTATE)
    if setter is None:
        raise RuntimeError(NO_SETSTATE.format(name=definition.name))
    declared = getter.schema.returns[0].type if getter.schema.returns else NONE
    taken = [a.type for a in setter.schema.arguments[1:]]
    if len(getter.schema.arguments) != 1 or taken != [declared]:
        shown = ", ".join(t.annotation for t in taken) or "nothing else"
        raise RuntimeError(WRONG_SETSTATE.format(name=definition.name, given=declared.annotation, taken=shown))
    return True


def own_state(value: Any, definition: ClassDefinition) -> tuple[Any, Type]:
    """What `__getstate__` gives, and its type."""
    getter = definition.methods[GETSTATE]
    return getter(value), getter.schema.returns[0].type


def members_of(value: Any, definition: ClassDefinition) -> Iterator[tuple[str, Type, Any]]:
    """The attributes of an object that have values: name, type and value."""
    for attribute in definition.attributes:
        member = attribute_or_unset(value, attribute.name)
        if member is not UNSET:
            yield attribute.name, attribute.type, member
        if attribute.name == "training" and has_full_backward_hook(definition):
            yield FULL_BACKWARD_HOOK, FULL_BACKWARD_HOOK_TYPE, None
    for name in none_constants(definition):
        yield name, NONE, None


def has_full_backward_hook(definition: ClassDefinition) -> bool:
    """Whether a module's class gets the attribute that PyTorch looks for: if it has none."""
    return definition.is_module and FULL_BACKWARD_HOOK not in definition.slots


def none_constants(definition: ClassDefinition) -> list[str]:
    """The attributes that are None in programs, which are attributes to other readers."""
    return [name for name, value in definition.constants.items() if value is None]


def attribute_or_unset(value: Any, name: str) -> Any:
    """The value of an attribute; UNSET if nothing was assigned to it."""
    if isinstance(value, ScriptObject):
        slot = value.type.definition.slot(name)
        return value.values[slot] if slot < len(value.values) else UNSET
    return getattr(value, name, UNSET)
