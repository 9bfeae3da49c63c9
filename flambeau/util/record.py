"""`dataclass` as in the standard library, with methods that cost nothing until they are used.

The standard library writes and compiles five functions for each class when the class is made; with hundreds of classes
that was a third of the time an import takes. Here `__init__` is compiled when a class has had some instances, since
many never have more than a few, and the other methods are the same few functions for all classes. Type checkers see
the standard library's own.

>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> replace(Point(3), y=4)
Point(x=3, y=4)
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

FIELDS = "__record_fields__"
"""Attribute of a class with its fields by name, inherited ones first."""
FEW = 48
"""Instances that are made field by field: compiling an `__init__` takes as long as they take beyond it."""


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    slots: bool = False,
    weakref_slot: bool = False,
    kw_only: bool = False,
) -> Any:
    """Makes a record of a class: `__init__`, `__repr__` and the like from its annotations, as Python's own does.

    >>> @_dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0)
    (Point(x=1, y=0), True)
    """

    def decorate(cls: type) -> type:
        fields = _gather(cls, kw_only)
        members = dict(cls.__dict__)
        _make_methods(members, fields, frozen=frozen, eq=eq, shows=repr)
        if slots:
            _make_slots(members, cls, fields, frozen=frozen, weakref_slot=weakref_slot)
            result = type(cls)(cls.__name__, cls.__bases__, members)
        else:
            result = cls
            for name, spec in fields.items():
                if name in cls.__dict__ and spec.default is MISSING:
                    delattr(cls, name)
                elif name in cls.__dict__:
                    setattr(cls, name, spec.default)
            for name, value in members.items():
                if cls.__dict__.get(name, MISSING) is not value and name not in fields:
                    setattr(cls, name, value)
        if "__init__" not in cls.__dict__:
            result.__init__ = _late_init(result)  # type: ignore[misc]
        return result

    return decorate if cls is None else decorate(cls)


def _fields(record: Any) -> tuple[Field[Any], ...]:
    """The fields of a record, or of a class of records, in order.

    >>> from flambeau.util.record import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> [f.name for f in _fields(Point)]
    ['x', 'y']
    """
    return tuple(getattr(record, FIELDS).values())


def _replace(record: Any, /, **changes: Any) -> Any:
    """A record like another, but for some fields. Raises TypeError for a field that is not in `__init__`.

    >>> from flambeau.util.record import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> _replace(Point(1, 2), y=3)
    Point(x=1, y=3)
    """
    for name, spec in getattr(record, FIELDS).items():
        if spec.init and name not in changes:
            changes[name] = getattr(record, name)
    return record.__class__(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, fields, replace
else:
    dataclass, fields, replace = _dataclass, _fields, _replace

__all__ = ["dataclass", "field", "fields", "replace"]


# -- fields -----------------------------------------------------------------------------------------------------------


def _gather(cls: type, kw_only: bool) -> dict[str, Field[Any]]:
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(base.__dict__.get(FIELDS, {}))
    own = cls.__dict__
    for name, kind in cls.__annotations__.items():
        if not isinstance(kind, str):
            raise TypeError(f"{cls.__qualname__}: annotations must be text: from __future__ import annotations")
        if kind.startswith("ClassVar"):
            continue
        default = own.get(name, MISSING)
        spec: Field[Any] = default if isinstance(default, Field) else field(default=default)
        if type(spec.default).__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name}: a mutable default is shared: use default_factory")
        spec.name, spec.type = name, kind
        if spec.kw_only is MISSING:
            spec.kw_only = kw_only
        fields[name] = spec
    return fields


def _has_default(spec: Field[Any]) -> bool:
    return spec.default is not MISSING or spec.default_factory is not MISSING


# -- methods ----------------------------------------------------------------------------------------------------------


def _make_methods(
    members: dict[str, Any], fields: dict[str, Field[Any]], *, frozen: bool, eq: bool, shows: bool
) -> None:
    """Put what a class does not define itself into its members."""
    defines = set(members)
    members[FIELDS] = fields
    members.setdefault("__match_args__", tuple(n for n, f in fields.items() if f.init and not f.kw_only))
    if shows and "__repr__" not in defines:
        members["__repr__"] = _represent
    if eq:
        has_hash = "__hash__" in defines and not (members["__hash__"] is None and "__eq__" in defines)
        if "__eq__" not in defines:
            members["__eq__"] = _equality([n for n, f in fields.items() if f.compare])
        if not has_hash:
            names = [n for n, f in fields.items() if (f.compare if f.hash is None else f.hash)]
            members["__hash__"] = _hashing(names) if frozen else None
    if frozen:
        members["__setattr__"], members["__delattr__"] = _refuse_set, _refuse_delete


def _make_slots(
    members: dict[str, Any], cls: type, fields: dict[str, Field[Any]], *, frozen: bool, weakref_slot: bool
) -> None:
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    names = [name for name in fields if name not in inherited]
    members["__slots__"] = (*names, "__weakref__") if weakref_slot else tuple(names)
    members["__qualname__"] = cls.__qualname__
    for name in (*fields, "__dict__", "__weakref__"):
        members.pop(name, None)
    if frozen:
        members.setdefault("__getstate__", _get_state)
        members.setdefault("__setstate__", _set_state)


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda record: ()
    get = attrgetter(names[0])
    return lambda record: (get(record),)


def _equality(names: list[str]) -> Callable[[Any, Any], Any]:
    values = _values(names)

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807 - it becomes a method
        if other is self:
            return True
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(names: list[str]) -> Callable[[Any], int]:
    values = _values(names)

    def __hash__(self: Any) -> int:  # noqa: N807 - it becomes a method
        return hash(values(self))

    return __hash__


@reprlib.recursive_repr()
def _represent(self: Any) -> str:
    shown = ", ".join(f"{n}={getattr(self, n)!r}" for n, f in getattr(self, FIELDS).items() if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


# -- __init__ ---------------------------------------------------------------------------------------------------------


def _late_init(cls: type) -> Callable[..., None]:
    """An `__init__` for the first instances of a class, after which it makes the real one."""
    left, filling = FEW, None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes a method
        nonlocal left, filling
        left -= 1
        if left > 0:
            filling = filling or _Filling(cls)
            if filling.fill(self, args, kwargs):
                return
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = _init(cls)  # type: ignore[misc]
        cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

    return __init__


class _Filling:
    """Sets the fields of new instances one by one."""

    def __init__(self, cls: type) -> None:
        specs: dict[str, Field[Any]] = getattr(cls, FIELDS)
        self._positional = [n for n, f in specs.items() if f.init and not f.kw_only]
        self._fields = [(n, f.init, f.default, f.default_factory) for n, f in specs.items()]
        self._is_simple = len(self._positional) == len(self._fields)
        self._put = object.__setattr__ if vars(cls).get("__setattr__") is _refuse_set else setattr
        self._finishes = hasattr(cls, "__post_init__")

    def fill(self, record: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the fields could be set; none was where the arguments do not fit."""
        put = self._put
        if self._is_simple and not kwargs and len(args) == len(self._positional):
            for name, value in zip(self._positional, args, strict=True):
                put(record, name, value)
        else:
            values = self._values(args, kwargs)
            if values is None:
                return False
            for name, value in values:
                put(record, name, value)
        if self._finishes:
            record.__post_init__()
        return True

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]] | None:
        """Each field that has a value with it; None where the arguments do not fit."""
        by_name = dict(zip(self._positional, args, strict=False))
        by_name.update(kwargs)
        left = len(args) + len(kwargs)
        values: list[tuple[str, Any]] = []
        for name, is_given, default, make in self._fields:
            if is_given and name in by_name:
                values.append((name, by_name[name]))
                left -= 1
            elif make is not MISSING:
                values.append((name, make()))
            elif default is not MISSING:
                values.append((name, default))
            elif is_given:
                return None
        return None if left else values


def _init(cls: type) -> Callable[..., None]:
    fields: dict[str, Field[Any]] = getattr(cls, FIELDS)
    scope: dict[str, Any] = {"_missing": MISSING, "_set": object.__setattr__}
    body: list[str] = []
    is_frozen = vars(cls).get("__setattr__") is _refuse_set
    for spec in fields.values():
        if spec.init or _has_default(spec):
            value = _initial_value(spec, scope)
            body.append(_assignment(cls, spec.name, value, scope) if is_frozen else f"self.{spec.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n  ".join(body or ["pass"])
    exec(f"def __init__({_parameters(fields)}):\n  {lines}", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _initial_value(spec: Field[Any], scope: dict[str, Any]) -> str:
    """The expression that a field is set to; the names that it uses are put into `scope`."""
    name = spec.name
    if spec.default_factory is not MISSING:
        scope[f"_make_{name}"] = spec.default_factory
        return f"_make_{name}() if {name} is _missing else {name}" if spec.init else f"_make_{name}()"
    if spec.default is not MISSING:
        scope[f"_default_{name}"] = spec.default
        return name if spec.init else f"_default_{name}"
    return name


def _assignment(cls: type, name: str, value: str, scope: dict[str, Any]) -> str:
    """The statement that sets a field of a frozen class."""
    if hasattr(getattr(cls, name, None), "__set__"):  # a slot, which takes a value sooner than an attribute
        scope[f"_set_{name}"] = getattr(cls, name).__set__
        return f"_set_{name}(self, {value})"
    return f"_set(self, {name!r}, {value})"


def _parameters(fields: dict[str, Field[Any]]) -> str:
    positional = ["self"]
    keyword: list[str] = []
    for name, spec in fields.items():
        if spec.init:
            default = f"_default_{name}" if spec.default is not MISSING else "_missing"
            parameter = f"{name}={default}" if _has_default(spec) else name
            (keyword if spec.kw_only else positional).append(parameter)
    return ", ".join([*positional, *(["*", *keyword] if keyword else [])])
