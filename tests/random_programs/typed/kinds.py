"""The types that generated programs use, and the classes that each program makes for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kind:
    """A type.

    >>> Kind("dict", (STR, Kind("optional", (INT,)))).text
    'dict[str, Optional[int]]'
    """

    head: str
    parts: tuple[Kind, ...] = ()
    name: str = ""
    """Of a class."""

    @property
    def text(self) -> str:
        """The annotation."""
        if self.name:
            return self.name
        inner = ", ".join(part.text for part in self.parts)
        if self.head in ("optional", "union"):
            return f"{self.head.title()}[{inner}]"
        return f"{self.head}[{inner}]" if self.parts else self.head


INT, BOOL, STR, FLOAT = Kind("int"), Kind("bool"), Kind("str"), Kind("float")
INTS, STRS, TABLE = Kind("list", (INT,)), Kind("list", (STR,)), Kind("dict", (STR, INT))
PLAIN = (INT, INT, STR, BOOL, FLOAT)


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a parameter with its default."""

    text: str
    kind: Kind
    default: str = ""
    is_fixed: bool = False
    """Whether nothing assigns to it: it is known to be narrower than it was declared, or a loop counts with it."""


@dataclass(frozen=True, slots=True)
class Callee:
    """A function or method."""

    name: str
    parameters: tuple[Name, ...]
    returns: Kind
    rank: int
    """Calls only what has a smaller one, so that every program ends."""
    form: str = "method"
    """Or "property", "static", "class"."""


@dataclass(slots=True)
class Class:
    """A class of the program: "class", "dataclass", "record" (a named tuple), "enum" or "module"."""

    name: str
    form: str
    family: int
    """Grows with each class without a base; objects hold objects of smaller ones, so that none holds itself."""
    base: Class | None = None
    fields: list[Name] = field(default_factory=list)
    """Its own, as parameters of its constructor or with a first value."""
    given: list[Name] = field(default_factory=list)
    """All parameters of the constructor."""
    methods: list[Callee] = field(default_factory=list)
    operators: set[str] = field(default_factory=set)
    members: tuple[str, ...] = ()
    subclasses: list[Class] = field(default_factory=list)
    is_ordered: bool = False

    @property
    def kind(self) -> Kind:
        """Its type."""
        return Kind(self.form if self.form in ("enum", "module") else "object", (), self.name)

    def line(self) -> Iterator[Class]:
        """It and its bases."""
        at: Class | None = self
        while at is not None:
            yield at
            at = at.base

    def all_fields(self) -> list[Name]:
        """Those of the bases, too."""
        return [name for at in self.line() for name in at.fields]

    def all_methods(self) -> list[Callee]:
        """Those of the bases, too."""
        return list({method.name: method for at in [*self.line()][::-1] for method in at.methods}.values())

    def has(self, operator: str) -> bool:
        """Whether it or a base defines an operator."""
        return any(operator in at.operators for at in self.line())

    def under(self) -> list[Class]:
        """It and all that inherit from it."""
        return [self, *(c for subclass in self.subclasses for c in subclass.under())]
