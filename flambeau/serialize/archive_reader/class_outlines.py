"""What the classes of an archive consist of, without the bodies of methods: an outline each, in the cache on disk.

A process that reads outlines parses the code of a class when something asks for a body. They lie under a hash over all
of the code and over what its reader allows, so that whoever finds them knows that the code was read in full before and
nothing was to be said against it. An outline is an attribute's or a parameter's name and type, as written:

>>> from flambeau.schema.types import INT
>>> counter = ClassDefinition("__torch__.Counter")
>>> _ = counter.add_attribute("n", INT)
>>> Outlines.of({counter.name: counter}, NO_NAMES).classes["__torch__.Counter"].attributes
(('n', 0, False, False),)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from flambeau.executor.records import RecordError, dumps, loads
from flambeau.executor.stored import CacheEntry, entry_under
from flambeau.program.classes import Attribute, ClassDefinition
from flambeau.program.function import Function
from flambeau.program.origin import NO_NAMES, Names, Origin
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import ClassType, EnumType, InterfaceType, TupleType, Type
from flambeau.util.locks import NoForkLock
from flambeau.util.record import dataclass

WHAT: Final = "classes"


@dataclass(frozen=True, slots=True)
class Outline:
    """One class; types are numbers in the table of all."""

    is_module: bool
    attributes: tuple[tuple[str, int, bool, bool], ...]
    """Name, type, whether it is a parameter, whether it is a buffer."""
    constants: tuple[tuple[str, Any], ...]
    hooks: tuple[tuple[str, ...], tuple[str, ...]]
    methods: tuple[tuple[str, tuple[tuple[Any, ...], ...], int], ...]
    """Name; of each parameter the name, the type, whether it is given by name, and the default if it has one; result.
    """


class OutlinedClass(ClassDefinition):
    """A class of which only the outline was read, whose methods are made when something asks for them.

    >>> from flambeau.schema.types import INT
    >>> asked = []
    >>> counter = OutlinedClass("__torch__.Counter", False, lambda: asked.append("methods") or {}, NoForkLock())
    >>> _ = counter.add_attribute("n", INT)
    >>> asked[:], counter.methods, asked
    ([], {}, ['methods'])
    """

    def __init__(
        self, name: str, is_module: bool, methods: Callable[[], dict[str, Function]], lock: NoForkLock
    ) -> None:
        """`methods` makes them, while the lock is held."""
        super().__init__(name, is_module=is_module)
        del self.methods
        self._make_methods = methods
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        if name != "methods":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        with self._lock:
            if name not in self.__dict__:
                self.methods = self._make_methods()
        return self.__dict__[name]


class Outlines:
    """The outlines of the classes of one archive."""

    def __init__(self, types: list[str | bytes], classes: dict[str, Outline]) -> None:
        self._written = types
        """Of each type its name if it is one of the archive, else its record."""
        self.classes = classes
        self._known: dict[int, Type] = {}

    @classmethod
    def of(cls, definitions: Mapping[str, ClassDefinition], names: Names) -> Outlines:
        """The outlines of classes. Raises RecordError for a class with what no record can hold."""
        table = _Types(names)
        return cls(table.written, {name: _outline(one, table) for name, one in definitions.items()})

    def type(self, number: int, names: Names) -> Type:
        """A type of the table. Raises RecordError if it is none, or one that the archive does not have."""
        known = self._known.get(number)
        if known is None:
            written = self._written[number] if type(number) is int and number < len(self._written) else None
            type_ = names.find_type(written) if isinstance(written, str) else loads(written or b"", names)
            if not isinstance(type_, Type):
                raise RecordError(f"there is no type {written!r}")
            known = self._known[number] = type_
        return known

    def attributes(self, outline: Outline, names: Names) -> Iterator[tuple[str, Type, bool, bool]]:
        """What `ClassDefinition.add_attributes` takes. Raises RecordError as `type` does."""
        known = self._known
        for name, number, is_parameter, is_buffer in outline.attributes:
            type_ = known.get(number)
            yield name, self.type(number, names) if type_ is None else type_, is_parameter, is_buffer

    def signature(self, name: str, parameters: tuple[Any, ...], result: int, names: Names) -> FunctionSchema:
        """The schema of a method."""
        arguments = [
            Argument(own, self.type(type_, names), kwarg_only=by_name, **({"default": default[0]} if default else {}))
            for own, type_, by_name, *default in parameters
        ]
        return FunctionSchema(name, "", tuple(arguments), (Argument("", self.type(result, names)),))


class StoredOutlines:
    """The outlines of one archive on disk."""

    def __init__(self, origin: Origin | None) -> None:
        self._entry: CacheEntry | None = None if origin is None else entry_under(origin, WHAT)
        self._names = NO_NAMES if origin is None else origin.names
        self._read = self._found()

    def _found(self) -> Outlines | None:
        kept = None if self._entry is None else self._entry.read()
        match kept:
            case (list(types), dict(classes)) if all(map(_is_outline, classes.values())):
                return Outlines(types, {name: Outline(*fields) for name, fields in classes.items()})
        return None

    def find(self, name: str) -> tuple[Outlines, Outline] | None:
        """The outline of a class, if an earlier process left it."""
        outline = None if self._read is None else self._read.classes.get(name)
        return None if self._read is None or outline is None else (self._read, outline)

    def keep(self, types: Mapping[str, Type]) -> None:
        """Leave what the classes among these consist of to later processes."""
        if self._entry is None or self._read is not None:
            return
        definitions = {n: t.definition for n, t in types.items() if isinstance(t, ClassType)}
        if not definitions:
            return
        try:
            outlines = Outlines.of(definitions, self._names)
        except RecordError as error:
            self._entry.say_why_not(error)
            return
        fields = {
            name: (one.is_module, one.attributes, one.constants, one.hooks, one.methods)
            for name, one in outlines.classes.items()
        }
        self._entry.keep((outlines._written, fields))


class _Types:
    """The table of types while it is made."""

    def __init__(self, names: Names) -> None:
        self.written: list[str | bytes] = []
        self._names = names
        self._numbers: dict[tuple[Type, bool], int] = {}
        self._of_objects: dict[int, tuple[int, Type]] = {}
        """The same by identity: most types are named many times."""
        self._attributes: dict[int, tuple[tuple[str, int, bool, bool], Attribute]] = {}
        """What is written of attributes, by identity: classes that are written alike share them."""

    def number(self, type_: Type) -> int:
        """The number of a type. Raises RecordError for one that no record can hold."""
        known = self._of_objects.get(id(type_))
        if known is not None:
            return known[0]
        if isinstance(type_, ClassType | EnumType | InterfaceType):  # of a name there is one
            number = self._write(type_.name)
        else:
            key = type_, getattr(type_, "inferred", False)
            if key not in self._numbers:
                if any(isinstance(part, TupleType) and part.name is not None for part in type_.walk()):
                    raise RecordError(f"{type_} has names, which its own definition says")
                self._numbers[key] = self._write(dumps(type_, self._names))
            number = self._numbers[key]
        self._of_objects[id(type_)] = number, type_
        return number

    def attribute(self, attribute: Attribute) -> tuple[str, int, bool, bool]:
        """What is written of an attribute. Raises RecordError as `number` does."""
        known = self._attributes.get(id(attribute))
        if known is None:
            written = attribute.name, self.number(attribute.type), attribute.is_parameter, attribute.is_buffer
            known = self._attributes[id(attribute)] = written, attribute
        return known[0]

    def _write(self, what: str | bytes) -> int:
        self.written.append(what)
        return len(self.written) - 1


def _outline(definition: ClassDefinition, types: _Types) -> Outline:
    for value in definition.constants.values():
        if type(value) not in _PLAIN and not _is_plain(value):
            raise RecordError(f"{value!r} is one of the archive's constants, or what else is not the same when read")
    methods = []
    for name, function in definition.methods.items():
        parameters = []
        for a in function.schema.arguments:
            default = (a.default,) if a.default is not NO_DEFAULT else ()
            if default and not _is_plain(default):
                raise RecordError(f"the default of {a.name} is not the same when read")
            parameters.append((a.name, types.number(a.type), a.kwarg_only, *default))
        methods.append((name, tuple(parameters), types.number(function.schema.returns[0].type)))
    return Outline(
        definition.is_module,
        tuple(map(types.attribute, definition.attributes)),
        tuple(definition.constants.items()),
        definition.hooks,
        tuple(methods),
    )


def _is_outline(fields: Any) -> bool:
    return isinstance(fields, tuple) and len(fields) == len(Outline.__match_args__)


_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str})


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
