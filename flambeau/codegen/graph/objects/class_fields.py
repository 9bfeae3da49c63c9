"""Where the attributes of objects lie in native code: behind their first words, in the order of the class.

    class Node:                        word 3, 4   1 or 0, the address of the left node
        left: Optional["Node"]         word 5      the key
        key: int
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import (
    Listed,
    Mapped,
    Object,
    Optional,
    Representation,
    Tupled,
    Unknown,
    word_count,
)
from flambeau.codegen.graph.results import with_names
from flambeau.codegen.layouts import OBJECT
from flambeau.program.classes import Attribute, ClassDefinition
from flambeau.schema.types import OptionalType, TensorType, Type
from flambeau.util.record import dataclass

LearnedFields = dict[tuple[ClassDefinition, str], Representation]
"""How tensors in attributes look, from what was assigned to these."""
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


def fields_of(definition: ClassDefinition, learned: LearnedFields | None = None) -> Fields:
    """The attributes of a class, with what was learned of tensors in them. Raises `CannotCompileError` for one whose
    type does not say how its values look, of which nothing can be learned.
    """
    reps = tuple([_field(definition, a, learned) for a in definition.attributes])
    offsets, offset = [], FIRST
    for rep in reps:
        offsets.append(offset)
        offset += word_count(rep)
    return Fields(tuple([a.name for a in definition.attributes]), reps, tuple(offsets))


def python_fields(definition: ClassDefinition, learned: LearnedFields | None = None) -> dict[str, Representation]:
    """How attributes look, by name, with the names of tuples that have some."""
    return {a.name: with_names(_field(definition, a, learned), a.type) for a in definition.attributes}


def is_learned(type_: Type) -> bool:
    """Whether what an attribute holds is learned from what is assigned: a tensor, of any dtype and rank."""
    return isinstance(type_.element if isinstance(type_, OptionalType) else type_, TensorType)


def has_learned(reps: Sequence[Representation], learned: LearnedFields) -> bool:
    """Whether values hold objects with tensors in them, at any depth."""
    seen: set[ClassDefinition] = set()
    waiting = list(reps)
    while waiting:
        match waiting.pop():
            case Object(definition) if definition not in seen:
                seen.add(definition)
                if any((definition, a.name) in learned for a in definition.attributes):
                    return True
                waiting += fields_of(definition, learned).reps
            case Listed(inner) | Mapped(value=inner) | Optional(inner):
                waiting.append(inner)
            case Tupled(items=items):
                waiting += items
    return False


def _field(definition: ClassDefinition, attribute: Attribute, learned: LearnedFields | None) -> Representation:
    name, type_ = attribute.name, attribute.type
    if learned is not None and is_learned(type_):
        return learned.get((definition, name), Unknown(name))
    rep = result_types.of_parameter(type_)
    if rep is None:
        class_name = definition.name.rpartition(".")[2]
        where = "from outside" if is_learned(type_) else "in native code"
        reason = f"attribute {name} of class {class_name} is a {type_.annotation}, which objects {where} cannot have"
        raise CannotCompileError(reason)
    with_names(rep, type_)
    return rep
