"""Where the attributes of objects lie in native code: behind their first words, in the order of the class.

    class Node:                        word 3, 4   1 or 0, the address of the left node
        left: Optional["Node"]         word 5      the key
        key: int
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Mapped, Representation, Tupled, is_key, word_count
from flambeau.codegen.graph.results import with_names
from flambeau.codegen.layouts import OBJECT
from flambeau.program.classes import ClassDefinition
from flambeau.schema.set_type import SetType
from flambeau.schema.types import Type
from flambeau.util.record import dataclass

FIRST = OBJECT.words
"""The word of an object where its first attribute is."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The attributes of a class, in order."""

    names: tuple[str, ...]
    reps: tuple[Representation, ...]
    offsets: tuple[int, ...]
    """The word of the object where each begins."""

    @property
    def words(self) -> int:
        """How many words they take."""
        return sum(map(word_count, self.reps))

    @property
    def placed(self) -> Iterator[tuple[int, Representation]]:
        """Of each, where it begins and how it looks."""
        return zip(self.offsets, self.reps, strict=True)

    def field(self, name: str) -> tuple[int, Representation]:
        """The same of one attribute."""
        index = self.names.index(name)
        return self.offsets[index], self.reps[index]


def fields_of(definition: ClassDefinition) -> Fields:
    """The attributes of a class. Raises `CannotCompileError` for one whose type does not say how its values look."""
    reps = tuple([_field(definition, a.name, a.type) for a in definition.attributes])
    offsets, offset = [], FIRST
    for rep in reps:
        offsets.append(offset)
        offset += word_count(rep)
    return Fields(tuple([a.name for a in definition.attributes]), reps, tuple(offsets))


def python_fields(definition: ClassDefinition) -> dict[str, Representation]:
    """How attributes look, by name, with the names of tuples that have some."""
    return {a.name: with_names(_field(definition, a.name, a.type), a.type) for a in definition.attributes}


def _field(definition: ClassDefinition, name: str, type_: Type) -> Representation:
    rep = _of_set(type_) if isinstance(type_, SetType) else result_types.of_type(type_)
    if rep is None:
        class_name = definition.name.rpartition(".")[2]
        reason = f"attribute {name} of class {class_name} is a {type_.annotation}, which has no native form in objects"
        raise CannotCompileError(reason)
    with_names(rep, type_)
    return rep


def _of_set(type_: SetType) -> Mapped | None:
    key = result_types.of_type(type_.element)
    return None if key is None or not is_key(key) else Mapped(key, Tupled(()), is_set=True)
