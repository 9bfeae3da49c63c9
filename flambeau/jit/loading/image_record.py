"""What the cache on disk keeps of an archive that was loaded and called: its image.

An image lies under a hash over the archive's directory, and holds for a file that has its stamp to the byte. It says
which plan a method has for which arguments, and where in the file the tensors lie that the plan is given.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flambeau.executor.records import RecordError
from flambeau.executor.stored import CacheEntry, entry_under
from flambeau.program.origin import NO_NAMES, Origin
from flambeau.schema.types import (
    BoolType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.serialize.archive_reader.file_stamp import Stamp, directory_key

RECORD: Final = "image"
MOST_CALLS: Final = 8
"""Kinds of calls that are kept of a method, the newest ones."""
_NUMBERS: Final = (type(None), bool, int, float)
_SIMPLE: Final = (TensorType, IntType, FloatType, BoolType, StringType, NoneType)


class KeptParameter(NamedTuple):
    """A parameter of a method."""

    name: str
    type: Type
    is_by_name: bool
    default: tuple[Any, ...]
    """What it is if the call does not say; empty where the call has to."""


class StoredTensor(NamedTuple):
    """A tensor in the file: where its elements lie."""

    begin: int
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes from an element to the next along each dimension."""


class KeptCall(NamedTuple):
    """What calls of one kind run."""

    plan: str
    """The key of the plan's entry in the cache."""
    modes: tuple[bool, ...]
    """Whether gradients are recorded where it holds: either, or both."""
    hidden: tuple[Any, ...]
    """What the plan is given of the object behind the arguments: of tensors where they lie; each number, or tuple of
    numbers, in a list of its own."""


class KeptMethod(NamedTuple):
    """How a method is called."""

    name: str
    """Its qualified name."""
    parameters: tuple[KeptParameter, ...]
    calls: dict[str, KeptCall]
    """By what a plan relies on of the arguments, as `specialise.spec` describes it."""


class KeptImage(NamedTuple):
    """All that is kept of an archive."""

    stamp: Stamp
    name: str
    """The name of the Python class that the module is of."""
    is_training: bool | None
    """Whether all modules are in training; None where some are, or do not say."""
    methods: dict[str, KeptMethod]

    def written(self) -> tuple[Any, ...]:
        """As a record holds it."""
        methods = [
            (name, m.name, [*map(tuple, m.parameters)], [(key, *call) for key, call in m.calls.items()])
            for name, m in self.methods.items()
        ]
        stamp = self.stamp
        return (stamp.size, stamp.digest, stamp.tensors), self.name, self.is_training, methods

    @classmethod
    def read(cls, record: Any) -> KeptImage:
        """What `written` gave. Raises RecordError for anything else."""
        try:
            stamp, name, is_training, methods = record
            known = {
                m: KeptMethod(
                    full, tuple([KeptParameter(*p) for p in parameters]), {c[0]: KeptCall(*c[1:]) for c in calls}
                )
                for m, full, parameters, calls in methods
            }
            return cls(Stamp(*stamp), name, is_training, known)
        except (TypeError, ValueError, IndexError) as error:
            raise RecordError(f"it is no image: {error}") from error


def is_simple(type_: Type) -> bool:
    """Whether calls with values of a type can be told apart without the program: tensors, numbers, texts, None in their
    place, lists and tuples of them."""
    if isinstance(type_, OptionalType | ListType) or (isinstance(type_, TupleType) and type_.name is None):
        return all(map(is_simple, type_.contained))
    return isinstance(type_, _SIMPLE)


def is_number(value: Any) -> bool:
    """Whether a value is kept as it is: a number, None, or a tuple of them."""
    return type(value) in _NUMBERS or (type(value) is tuple and all(type(one) in _NUMBERS for one in value))


def image_entry(memory: memoryview) -> CacheEntry | None:
    """Where the image of a file lies, or would; None where nothing is kept of it."""
    key = directory_key(memory)
    return None if key is None else entry_under(Origin(key, NO_NAMES), RECORD)
