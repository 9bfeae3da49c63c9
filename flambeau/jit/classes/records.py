"""Dataclasses: the methods that `dataclass` makes, written out as the source that they have nowhere.

@dataclass(order=True)          def __init__(self, x: int, y: float):
class P:                            self.x = x
    x: int                   →      self.y = y
    y: float = 0.0              def __lt__(self, other: P) -> bool:
                                    if not self.x == other.x: ...
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping
from types import FunctionType
from typing import Any, Final

from flambeau.frontend.emit.values.python_calls import IGNORE, MODIFIER
from flambeau.frontend.scopes.array_annotations import refuse_array_attribute
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.frontend.source.class_source import class_range, field_range
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.frontend.trees.tree_views import Def
from flambeau.schema.types import FLOAT, OptionalType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass

NO_TYPE = "field '{name}' of dataclass {cls} has a type that programs do not have: {reason}"
GENERATED = "This is in a method that dataclass makes for {name}"
ORDER: Final = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_DIFFER = ("if not (self.{name} == other.{name}):", "    return False")
_OPTIONALS_DIFFER = (
    "mine_{name} = self.{name}",
    "its_{name} = other.{name}",
    "if mine_{name} is None or its_{name} is None:",
    "    if not (mine_{name} is None and its_{name} is None):",
    "        return False",
    "elif not (mine_{name} == its_{name}):",
    "    return False",
)
_FIELD_IN_TEXT = re.compile(r"(?:self\.|other\.|mine_|its_|_factory_|_default_)(\w+)|^(\w+): _type")
_INIT_VARIABLE = re.compile(r"^(?:dataclasses\.)?InitVar\[(.*)\]$", re.DOTALL)


def record_fields(cls: type) -> Mapping[str, dataclasses.Field[Any]]:
    """The fields of a dataclass by name, `InitVar`s included; empty for other classes."""
    fields: Mapping[str, dataclasses.Field[Any]] = getattr(cls, "__dataclass_fields__", {})
    return {n: f for n, f in fields.items() if _kind(f) != "_FIELD_CLASSVAR"}


def is_generated(cls: type, name: str) -> bool:
    """Whether `dataclass` made a method of a class or of a base."""
    member = inspect.getattr_static(cls, name, None)
    return isinstance(member, FunctionType) and member.__code__.co_filename == "<string>" and bool(record_fields(cls))


def is_generated_text(fn: FunctionType) -> bool:
    """Whether a method is the `__repr__` of a dataclass, which Python runs."""
    return fn.__name__ == "__repr__" and fn.__code__.co_filename in ("<string>", dataclasses.__file__, reprlib.__file__)


def _kind(field: dataclasses.Field[Any]) -> str:
    return str(getattr(field, "_field_type").name)  # noqa: B009  (private, and the only way to tell)


@dataclass(frozen=True, slots=True)
class Written:
    """A method as source: its tree, what its names mean, values of defaults."""

    tree: Def
    names: Mapping[str, Any]
    defaults: Mapping[str, Any]


class RecordSource:
    """The source of what `dataclass` made for one class."""

    def __init__(self, cls: type) -> None:
        self.python = cls
        self._filename = f"<dataclass {cls.__qualname__}>"
        self.fields = record_fields(cls)
        self.stored = {n for n, f in self.fields.items() if _kind(f) == "_FIELD"}
        """Names of fields that instances have."""
        self.generated = tuple(n for n in ("__init__", "__eq__", *ORDER) if is_generated(cls, n))
        self.is_frozen = bool(cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]

    def factories(self) -> dict[str, Any]:
        """What makes the values of fields that a call leaves out, by name; for fields that are parameters."""
        return {n: f.default_factory for n, f in self._parameters() if f.default_factory is not dataclasses.MISSING}

    def written(self, name: str, resolver: Resolver) -> Written:
        """One of the methods in `generated`."""
        types = {n: self.type_of(f, resolver) for n, f in self.fields.items()}
        names: dict[str, Any] = {f"_type_{n}": t for n, t in types.items()}
        names |= {"_Self": self.python, "_are_alike": _are_alike}
        if name == "__init__":
            names |= {f"_default_{n}": f.default for n, f in self.fields.items()}
            names |= {f"_factory_{n}": f.default_factory for n, f in self.fields.items()}
            text, defaults = self._init(), {n: _fitting(f.default, types[n]) for n, f in self._parameters() if _has(f)}
        else:
            optional = {n for n, t in types.items() if isinstance(t, OptionalType)}
            text, defaults = (self._equal(optional) if name == "__eq__" else self._order(name)), {}
        [tree] = parse_source(text, self._filename)
        return Written(tree, names, defaults)

    def factory(self, name: str, resolver: Resolver) -> Written:
        """A function without parameters that makes a field's value."""
        field = self.fields[name]
        names = {"_type": self.type_of(field, resolver), "_factory": field.default_factory}
        text = f"def {name}() -> _type:\n    made: _type = _factory()\n    return made\n"
        [tree] = parse_source(text, self._filename)
        return Written(tree, names, {})

    def type_of(self, field: dataclasses.Field[Any], resolver: Resolver) -> Type:
        """The type of a field or `InitVar`. Raises CompileError if programs have none for it."""
        annotation: Any = field.type
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        if isinstance(annotation, str) and (match := _INIT_VARIABLE.match(annotation)) is not None:
            annotation = match[1]
        where = field_range(self.python, field.name)
        reason = annotation
        refuse_array_attribute(annotation, resolver, where)
        try:
            type_ = try_type_of(annotation, resolver, where)
        except CompileError as error:
            type_, reason = None, error.message
        if type_ is None:
            raise CompileError(NO_TYPE.format(name=field.name, cls=self.python.__name__, reason=reason), where)
        return type_

    def explained(self, error: CompileError) -> CompileError:
        """An error in a method that was written here, at the user's own line: that of the field it is about."""
        where = error.range
        chain = [(function, at) for function, at in error.call_chain if at.source.filename != self._filename]
        if where is None or where.source.filename != self._filename:
            return type(error)(error.message, where, chain)
        field_name = _FIELD_IN_TEXT.search(where.text)
        name = next((g for g in field_name.groups() if g), "") if field_name is not None else ""
        declared_at = field_range(self.python, name) or class_range(self.python)
        text = f"{error.message.rstrip()}\n{GENERATED.format(name=self.python.__name__)}"
        return type(error)(text, declared_at, chain)

    def _parameters(self) -> Iterator[tuple[str, dataclasses.Field[Any]]]:
        yield from ((n, f) for n, f in self.fields.items() if f.init and not f.kw_only)
        yield from ((n, f) for n, f in self.fields.items() if f.init and f.kw_only)

    def _init(self) -> str:
        plain = [f"{n}: _type_{n}" for n, f in self._parameters() if not f.kw_only]
        keyword = [f"{n}: _type_{n}" for n, f in self._parameters() if f.kw_only]
        body = []
        for name, field in self.fields.items():
            if name not in self.stored:
                continue
            if field.init:
                body.append(f"self.{name}: _type_{name} = {name}")
            elif field.default is not dataclasses.MISSING:
                body.append(f"self.{name}: _type_{name} = _default_{name}")
            elif field.default_factory is not dataclasses.MISSING:
                body.append(f"self.{name}: _type_{name} = _factory_{name}()")
        if hasattr(self.python, "__post_init__"):
            init_variables = ", ".join(n for n in self.fields if n not in self.stored)
            body.append(f"self.__post_init__({init_variables})")
        parameters = ", ".join(["self", *plain, *(["*", *keyword] if keyword else [])])
        return f"def __init__({parameters}) -> None:\n    " + "\n    ".join(body or ["pass"]) + "\n"

    def _compared(self) -> list[str]:
        return [n for n, f in self.fields.items() if n in self.stored and f.compare]

    def _equal(self, optional: Collection[str]) -> str:
        lines = ["def __eq__(self, other: _Self) -> bool:"]
        if self._has_relatives:  # an object of another class is not equal, and need not have the same fields
            lines += ["    if not _are_alike(self, other):", "        return False"]
        for name in self._compared():
            lines += ["    " + line.format(name=name) for line in (_OPTIONALS_DIFFER if name in optional else _DIFFER)]
        return "\n".join([*lines, "    return True", ""])

    @property
    def _has_relatives(self) -> bool:
        return bool(self.python.__subclasses__()) or len(self.python.__mro__) > 2

    def _order(self, name: str) -> str:
        sign = ORDER[name]
        lines = [f"def {name}(self, other: _Self) -> bool:"]
        for field in self._compared():
            lines.append(f"    if not (self.{field} == other.{field}):")
            lines.append(f"        return self.{field} {sign} other.{field}")
        return "\n".join([*lines, f"    return {sign in ('<=', '>=')}", ""])


def _are_alike(one: Any, other: Any) -> bool:
    return type(one) is type(other)


setattr(_are_alike, MODIFIER, IGNORE)


def _has(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING


def _fitting(default: Any, type_: Type) -> Any:
    """The default as the field's type has it: `x: float = 1` is a float."""
    return float(default) if type_ == FLOAT and type(default) is int else default
