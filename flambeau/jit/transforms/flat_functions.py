"""Scripted functions of containers as functions of what lies in them, for containers of one structure.

`loss(p: dict[str, Tensor], x: Tensor)`, called with `{"w": ..., "b": ...}`, is

```
def flat(_a0: Tensor, _a1: Tensor, _a2: Tensor):
    return _f({"w": _a0, "b": _a1}, _a2)
```

whose dictionary the compiler knows, so that it is none in native code, and by whose parameters there are gradients.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from flambeau.executor.executor import attach
from flambeau.jit.transforms.outlines import compiled_text
from flambeau.program.function import Function
from flambeau.schema.types import ClassType, DictType, ListType, OptionalType, TensorType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.trees import LEAF, REGISTERED, Structure

MARK: Final = "_a"
MOST: Final = 16
"""How many structures functions are kept for."""


class OtherStructureError(Exception):
    """A value is not of the containers that a function declares, or of such that no program builds."""


@dataclass(slots=True)
class Opened:
    """Arguments taken apart as a function declares them."""

    leaves: list[Any] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    """What each leaf was declared as."""
    structures: list[Structure] = field(default_factory=list)
    """How the leaves lie in each argument."""
    texts: list[str] = field(default_factory=list)
    """How each argument is made of its leaves."""
    classes: dict[str, type] = field(default_factory=dict)
    """The named tuples in the texts."""

    @property
    def spans(self) -> list[range]:
        """The numbers of the leaves of each argument."""
        ends, spans = 0, []
        for structure in self.structures:
            spans.append(range(ends, ends + structure.count))
            ends += structure.count
        return spans

    def add(self, declared: Type, value: Any) -> None:
        """Another argument. Raises OtherStructureError."""
        structure, text = self._part(declared, value)
        self.structures.append(structure)
        self.texts.append(text)

    def _part(self, declared: Type, value: Any) -> tuple[Structure, str]:
        if not holds_tensors(declared):
            self.leaves.append(value)
            self.types.append(declared)
            return LEAF, f"{MARK}{len(self.leaves) - 1}"
        if isinstance(declared, OptionalType):
            return (Structure(type(None)), "None") if value is None else self._part(declared.element, value)
        if isinstance(declared, DictType):
            return self._dict(declared, value)
        if isinstance(declared, ClassType):
            return self._object(declared, value)
        return self._sequence(declared, value)

    def _object(self, declared: ClassType, value: Any) -> tuple[Structure, str]:
        """An object of a registered dataclass, made anew of what its fields hold."""
        cls = declared.definition.python
        values, names = _fields(cls, value)
        types = [declared.definition.attribute(name).type for name in names]
        parts = [self._part(type_, one) for type_, one in zip(types, values, strict=True)]
        self.classes[f"{MARK}_{cls.__name__}"] = cls
        inside = ", ".join([f"{name}={text}" for name, (_, text) in zip(names, parts, strict=True)])
        return Structure(cls, names, [s for s, _ in parts]), f"{MARK}_{cls.__name__}({inside})"

    def _dict(self, declared: DictType, value: Any) -> tuple[Structure, str]:
        if type(value) is not dict or not value or not all(type(k) in (str, int) for k in value):
            raise OtherStructureError
        parts = [self._part(declared.value, one) for one in value.values()]
        texts = [f"{key!r}: {text}" for key, (_, text) in zip(value, parts, strict=True)]
        return Structure(dict, list(value), [s for s, _ in parts]), f"{{{', '.join(texts)}}}"

    def _sequence(self, declared: Type, value: Any) -> tuple[Structure, str]:
        if not isinstance(value, list if isinstance(declared, ListType) else tuple) or not value:
            raise OtherStructureError
        types = declared.elements if isinstance(declared, TupleType) else declared.contained * len(value)
        parts = [self._part(t, v) for t, v in zip(types, value, strict=True)]
        structure, inside = Structure(type(value), None, [s for s, _ in parts]), ", ".join([t for _, t in parts])
        if isinstance(declared, ListType):
            return structure, f"[{inside}]"
        name = "" if type(value) is tuple else f"{MARK}_{type(value).__name__}"
        if name:
            self.classes[name] = type(value)
        return structure, f"{name}({inside}{',' * (not name)})"


OTHERS: Final = (OtherStructureError, TypeError, ValueError, AttributeError)
"""What taking apart values of other structures raises."""


def holds_tensors(declared: Type) -> bool:
    """Whether a type is a container of tensors, or of such containers."""
    match declared:
        case OptionalType() | ListType():
            return _is_part(declared.element, is_optional=isinstance(declared, OptionalType))
        case DictType():
            return _is_part(declared.value)
        case TupleType():
            return any(map(_is_part, declared.elements))
        case ClassType():
            return is_registered(declared) and any(_is_part(a.type) for a in declared.definition.attributes)
    return False


def is_registered(declared: ClassType) -> bool:
    """Whether a class is a dataclass that transforms take apart (`pytree.register_dataclass`)."""
    cls = declared.definition.python
    return declared.definition.has_instances and cls in REGISTERED and dataclasses.is_dataclass(cls)


def _fields(cls: Any, value: Any) -> tuple[list[Any], list[str]]:
    """What the fields of an object hold, and their names: all that it is made of. Raises OtherStructureError."""
    if type(value) is not cls:
        raise OtherStructureError
    values, names = REGISTERED[cls].opened(value)
    if names != [field.name for field in dataclasses.fields(cls)]:
        raise OtherStructureError
    return list(values), list(names)


def _is_part(declared: Type, *, is_optional: bool = False) -> bool:
    return (isinstance(declared, TensorType) and not is_optional) or holds_tensors(declared)


def key_of(declared: Type) -> Callable[[Any, list[Any]], Hashable] | None:
    """What appends the leaves of a value of a type to a list, and gives a key of how they lie; None for leaves.

    Raises OtherStructureError, or AttributeError and TypeError of Python, for other values.
    """
    if not holds_tensors(declared):
        return None
    match declared:
        case OptionalType():
            return _optional_key(key_of(declared.element))
        case DictType():
            return _dict_key(key_of(declared.value))
        case ListType():
            return _list_key(key_of(declared.element))
        case ClassType():
            return _object_key(declared)
    assert isinstance(declared, TupleType)
    return _tuple_key([key_of(one) for one in declared.elements])


def _optional_key(inner: Any) -> Callable[[Any, list[Any]], Hashable]:
    return lambda value, leaves: None if value is None else inner(value, leaves)


def _dict_key(inner: Any) -> Callable[[Any, list[Any]], Hashable]:
    def key(value: Any, leaves: list[Any]) -> Hashable:
        if type(value) is not dict:
            raise OtherStructureError
        if inner is None:
            leaves.extend(value.values())
            return tuple(value)
        return tuple([(name, inner(one, leaves)) for name, one in value.items()])

    return key


def _list_key(inner: Any) -> Callable[[Any, list[Any]], Hashable]:
    def key(value: Any, leaves: list[Any]) -> Hashable:
        if inner is None:
            leaves.extend(value)
            return type(value), len(value)
        return type(value), *[inner(one, leaves) for one in value]

    return key


def _object_key(declared: ClassType) -> Callable[[Any, list[Any]], Hashable]:
    definition = declared.definition
    inner = {a.name: key_of(a.type) for a in definition.attributes}

    def key(value: Any, leaves: list[Any]) -> Hashable:
        keys: list[Any] = [definition.python]
        for one, name in zip(*_fields(definition.python, value), strict=True):
            part = inner[name]
            if part is None:
                leaves.append(one)
            else:
                keys.append(part(one, leaves))
        return tuple(keys)

    return key


def _tuple_key(inner: Sequence[Any]) -> Callable[[Any, list[Any]], Hashable]:
    is_flat = all(one is None for one in inner)

    def key(value: Any, leaves: list[Any]) -> Hashable:
        if is_flat:
            leaves.extend(value)
            return type(value), len(value)
        keys: list[Any] = [type(value)]
        for one, part in zip(inner, value, strict=True):
            if one is None:
                leaves.append(part)
            else:
                keys.append(one(part, leaves))
        return tuple(keys)

    return key


def flat_function(function: Function, opened: Opened) -> Function:
    """The function of the leaves."""
    header = ", ".join([f"{MARK}{n}: {t.annotation}" for n, t in enumerate(opened.types)])
    lines = [f"def flat({header}):", f"    return {MARK}_f({', '.join(opened.texts)})"]
    return compiled_text(f"{function.name}_flat", lines, {f"{MARK}_f": function, **opened.classes})


class FlatFunctions:
    """The flat forms of one function, by how its arguments lie."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._keys = [key_of(a.type) for a in function.schema.arguments]
        self.takes_containers = any(key is not None for key in self._keys)
        self._functions: SpecialisationCache[Any, Function] = SpecialisationCache(
            "structures of a function", MOST, describe=str
        )

    def pattern(self, arguments: Sequence[Any], leaves: list[Any]) -> Hashable:
        """How they lie; the leaves are appended. Raises what `OTHERS` names for values of other types."""
        keys = []
        for key, value in zip(self._keys, arguments, strict=True):
            if key is None:
                leaves.append(value)
            else:
                keys.append(key(value, leaves))
        return tuple(keys)

    def of(self, arguments: Sequence[Any]) -> tuple[Function, list[Any]] | None:
        """The function for arguments like these, and their leaves; None where there is none."""
        leaves: list[Any] = []
        try:
            pattern = self.pattern(arguments, leaves)
            function = self._functions.get_or_make(pattern, lambda cause: self.opened(arguments)[0])
        except (*OTHERS, CompileError):
            return None
        return function, leaves

    def opened(self, arguments: Sequence[Any]) -> tuple[Function, Opened]:
        """A new function for arguments like these, and how they lie. Raises what `OTHERS` names, and CompileError."""
        opened = Opened()
        for argument, value in zip(self._function.schema.arguments, arguments, strict=True):
            opened.add(argument.type, value)
        function = flat_function(self._function, opened)
        attach(function)
        return function, opened
