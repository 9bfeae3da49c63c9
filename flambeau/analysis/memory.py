"""The locations that values may point to: memory of tensors, lists, dicts and objects, and what lies inside containers.

A `Location` stands for memory that one node makes, or, per kind of type, for all memory that the graph shares with the
outside (a wildcard). A location that has escaped may be reached through the wildcard of its kind as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    AnyType,
    AwaitType,
    BoolType,
    ClassType,
    DictType,
    FloatType,
    FutureType,
    GeneratorType,
    IntType,
    ListType,
    NamedType,
    NoneType,
    OptionalType,
    RRefType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
    without_refinement,
)

Keys = frozenset[str]
ANYTHING = "*"
NO_KEYS: Keys = frozenset()
TENSOR: Keys = frozenset({"Tensor"})


def keys_of(type_: Type) -> Keys:
    """The kinds of memory a value of this type may be; empty for numbers, strings and the like."""
    plain = _KEYS_OF_PLAIN.get(type_.__class__)
    if plain is not None:
        return plain
    match type_:
        case OptionalType() | UnionType():
            return frozenset().union(*map(keys_of, type_.contained))
        case ListType() | DictType() | SetType():
            return frozenset({str(without_refinement(type_))})
        case TupleType():
            return frozenset({"tuple"}) if any(map(keys_of, type_.elements)) else NO_KEYS
        case NamedType():
            return frozenset({"object"})
        case AnyType() | VarType() | FutureType() | AwaitType() | RRefType():
            return frozenset({ANYTHING})
        case GeneratorType():
            return frozenset({"Generator"})
    return frozenset({ANYTHING}) if type_.kind in ("AnyListType", "AnyTupleType", "AnyDictType") else NO_KEYS


_KEYS_OF_PLAIN: Final[Mapping[type[Type], Keys]] = {
    TensorType: TENSOR, IntType: NO_KEYS, FloatType: NO_KEYS, BoolType: NO_KEYS, StringType: NO_KEYS, NoneType: NO_KEYS,
}  # fmt: skip
"""What `keys_of` says of the types of most values."""


def compatible(a: Keys, b: Keys) -> bool:
    """Whether memory of one kind may be memory of the other."""
    return bool(a & b) or (bool(a) and ANYTHING in b) or (bool(b) and ANYTHING in a)


def element_keys(type_: Type) -> Keys:
    """The kinds of memory that a container of this type may hold."""
    match type_:
        case OptionalType() | UnionType():
            return frozenset().union(*map(element_keys, type_.contained))
        case ListType() | DictType() | SetType() | TupleType():
            return frozenset().union(*map(keys_of, type_.contained))
        case ClassType() | NamedType() | AnyType() | VarType() | FutureType() | AwaitType() | RRefType():
            return frozenset({ANYTHING})
    return NO_KEYS


class Location:
    """Memory that a value may point to."""

    __slots__ = ("contents", "element_keys", "escaped", "is_wild", "keys")

    def __init__(self, keys: Keys, elements: Keys, *, is_wild: bool = False) -> None:
        self.keys = keys
        self.element_keys = elements
        self.is_wild = is_wild
        self.escaped = is_wild
        """Whether the outside may reach it."""
        self.contents: set[Location] = set()
        """What was put in, as far as the graph shows."""

    def overlaps(self, other: Location) -> bool:
        """Whether both may be the same memory."""
        if self is other:
            return True
        if not (self.escaped and other.escaped and (self.is_wild or other.is_wild)):
            return False
        return compatible(self.keys, other.keys)


def own_locations(type_: Type) -> set[Location]:
    """The location of a value of this type, and those in it, which nothing else points to."""
    if isinstance(type_, OptionalType | UnionType):
        return set().union(*map(own_locations, type_.contained))
    keys = keys_of(type_)
    if not keys:
        return set()
    location = Location(keys, element_keys(type_))
    if location.element_keys:
        location.contents = set().union(*map(own_locations, type_.contained))
    return {location}


class Memory:
    """All locations of one graph."""

    def __init__(self) -> None:
        self._wild: dict[str, Location] = {}
        self.changed = False
        """Set when a location that was there before gets contents or escapes: what was read from it says too little."""

    def wildcard(self, key: str, elements: Keys = NO_KEYS) -> Location:
        """All outside memory of a kind."""
        location = self._wild.get(key)
        if location is None:
            location = self._wild[key] = Location(frozenset({key}), elements, is_wild=True)
        elif not elements <= location.element_keys:
            location.element_keys |= elements
            self.changed = True
        return location

    def wildcards(self, type_: Type) -> set[Location]:
        """All outside memory that a value of this type may be."""
        elements = element_keys(type_)
        return {self.wildcard(key, elements) for key in keys_of(type_)}

    def contents(self, location: Location) -> set[Location]:
        """What may lie in a location."""
        if not location.escaped:
            return location.contents
        return location.contents | {self.wildcard(key) for key in location.element_keys}

    def reach(self, locations: Iterable[Location]) -> set[Location]:
        """The locations and everything in them, at any depth."""
        reached = set(locations)
        waiting = list(reached)
        while waiting:
            new = self.contents(waiting.pop()) - reached
            reached |= new
            waiting.extend(new)
        return reached

    def fill(self, container: Location, locations: Iterable[Location]) -> None:
        """Put something into a container that nothing has looked into yet."""
        container.contents.update(locations)
        if container.escaped:
            self.escape(container.contents)

    def put(self, container: Location, locations: Iterable[Location]) -> None:
        """Something may now lie in `container`."""
        new = set(locations) - container.contents
        if new:
            container.contents |= new
            self.changed = True
        if container.escaped:
            self.escape(new)

    def escape(self, locations: Iterable[Location]) -> None:
        """The outside may now reach these locations and what is in them."""
        for location in self.reach(locations):
            if not location.escaped:
                location.escaped = self.changed = True


def any_overlap(a: Iterable[Location], b: Iterable[Location]) -> bool:
    """Whether any location of one may be one of the other."""
    first, second = set(a), set(b)
    if not first.isdisjoint(second):
        return True
    return any(x.overlaps(y) for x in first if x.escaped for y in second if y.escaped)


def of_kind(locations: Iterable[Location], wanted: Keys) -> list[Location]:
    """Those locations that may be memory of these kinds."""
    return [p for p in locations if compatible(p.keys, wanted)]
